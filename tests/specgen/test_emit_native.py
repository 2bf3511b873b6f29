"""The generated C and the generated Python agree about the headers of an edited specification."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from kafkaspec.codecs.headers import HeaderScan
from kafkaspec.codecs.python import PythonCodec
from tests.specgen.changes import BATCH
from tests.specgen.edits import Edit, Files, Tree, imported, insert, make_tree
from tests.specgen.nodes import integer, structure, uuid

pytestmark = pytest.mark.slow

ENTRIES = 3
CAPACITY = 8


def bytes_in_headers(files: Files) -> None:
    """Bytes of a fixed size in the header of a batch, and in a structure in it."""
    insert(files, BATCH, uuid("topic_id"), before="producer_id")
    insert(files, BATCH, {"id": "origin", "type": "origin"}, before="num_records")
    files["recordbatch"]["types"]["origin"] = structure(
        integer("zone", "u2"), uuid("cluster"), integer("region", "u4", default="3")
    )


def segment_of(tree: Tree) -> bytes:
    """Batches without records, whose fields differ."""
    model = tree.module("python.model.recordbatch")
    entries = [
        model.Entry(
            base_offset=100 * number,
            message=model.RecordBatch(
                base_offset=100 * number,
                last_offset_delta=number,
                base_timestamp=number,
                max_timestamp=number,
                topic_id=bytes([number]) * 16,
                origin=model.Origin(zone=number + 1, cluster=bytes(range(16)), region=number + 7),
                num_records=0,
                records=b"x" * number,
            ),
        )
        for number in range(ENTRIES)
    ]
    return PythonCodec(tree.package).serialize(
        "recordbatch.recordbatch", model.Recordbatch(entries=entries)
    )


def scan(tree: Tree, data: bytes) -> dict[str, list[int]]:
    """The columns that the C finds."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        pytest.skip("there is no C compiler")
    source, library = tree.path / "native" / "segment.c", tree.path / "segment.so"
    # A scan verifies no checksum; the library has their functions elsewhere.
    others = tree.path / "others.c"
    others.write_text("int ks_crc32(void) { return 0; } int ks_crc32c(void) { return 0; }\n")
    subprocess.run([compiler, "-shared", "-fPIC", source, others, "-o", library], check=True)
    core = ctypes.CDLL(str(library))
    width = ctypes.c_int.in_dll(core, "ks_scan_count").value
    names = [
        name.decode() for name in (ctypes.c_char_p * width).in_dll(core, "ks_scan_names") if name
    ]
    columns = (ctypes.c_int64 * (width * CAPACITY))()
    present = (ctypes.c_uint64 * CAPACITY)()
    count, position = ctypes.c_int64(), ctypes.c_int64()
    length, capacity = ctypes.c_int64(len(data)), ctypes.c_int64(CAPACITY)
    status = core.ks_scan(
        data, ctypes.c_int64(0), length, columns, capacity, present,
        ctypes.byref(count), ctypes.byref(position),
    )  # fmt: skip
    assert (status, count.value, position.value) == (0, ENTRIES, len(data))
    return {
        name: columns[place * CAPACITY : place * CAPACITY + ENTRIES]
        for place, name in enumerate(names)
        if present[0] >> place & 1
    }


def test_columns_of_headers_with_bytes(tmp_path: Path) -> None:
    tree = make_tree(
        tmp_path, Edit("bytes_in_headers", bytes_in_headers), targets=("layout", "python", "native")
    )
    with imported([tree]):
        data = segment_of(tree)
        found = scan(tree, data)
        kinds = {kind.key: kind for kind in tree.module("python.headers").KINDS}
        kind = kinds["recordbatch.record_batch"]
        headers = HeaderScan(kind, *kind.hop(data, 0, len(data), CAPACITY))
        columns = {name: list(headers.column(name)) for name in headers.names}
        absent = {name for name in columns if not headers.has(name, 0)}
    assert found["origin.zone"] == [1, 2, 3]
    assert found["origin.region"] == [7, 8, 9]
    for name in ("topic_id", "origin.cluster", "records"):
        starts, sizes = found[f"{name}.position"], found[f"{name}.size"]
        texts = [data[start : start + size] for start, size in zip(starts, sizes, strict=True)]
        assert (
            texts
            == {
                "topic_id": [bytes([number]) * 16 for number in range(ENTRIES)],
                "origin.cluster": [bytes(range(16))] * ENTRIES,
                "records": [b"x" * number for number in range(ENTRIES)],
            }[name]
        )
    assert absent == columns.keys() - found.keys()
    assert {name: columns[name] for name in columns.keys() - absent} == {
        name: found[name] for name in columns.keys() - absent
    }
