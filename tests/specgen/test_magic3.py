"""A change of format is one edit: codecs of a made-up magic 3, without a line written by hand.

Magic 3 has a batch header with one field more (``topic_id``) and one that is wider
(``producer_epoch``), and a record with one field more (``expiry_delta``); once in place of magic 2,
and once beside it, as a real KIP would have it. The expected bytes are put together here, field by
field.
"""

from __future__ import annotations

import importlib
import json
import os
import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kafkaspec.checksum import crc32, crc32c
from kafkaspec.codecs.base import Codec
from kafkaspec.codecs.native.codec import NativeCodec
from kafkaspec.codecs.native.scan import scan
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.codecs.references.construct.codec import ConstructCodec
from kafkaspec.codecs.references.kaitai.codec import KaitaiCodec
from kafkaspec.columns.memory import ColumnSet, Layout
from kafkaspec.errors import KafkaSpecError, Reason
from tests.specgen import changes
from tests.specgen.edits import Edit, Tree, imported, make_tree
from tools.native.build import NoCompilerError, build
from tools.specgen.house import TARGETS
from tools.specgen.kaitai.emit import CompilerMissing
from tools.specgen.lint.rules import lint
from tools.specgen.loader import load

pytestmark = pytest.mark.slow

DRAFTS = {
    "instead": Edit("magic_3_instead", changes.magic_3_instead),
    "beside": Edit("magic_3_beside", changes.magic_3_beside),
}
TOPIC_ID = bytes(range(0xA0, 0xB0))

RECORD = bytes.fromhex(
    "00"  # attributes
    "04"  # timestamp_delta 2
    "00"  # offset_delta
    "b817"  # expiry_delta 1500, the new field
    "066b6579"  # key
    "01"  # value null
    "02"  # one header
    "0268" "0476 76"  # h: vv
)  # fmt: skip
RECORDS = bytes([len(RECORD) << 1]) + RECORD
COVERED = (
    struct.pack(">hiqqqii", 0, 0, 1_000, 1_002, 9, 70_000, 4)  # producer_epoch has 32 bits
    + TOPIC_ID  # the new field
    + struct.pack(">i", 1)
    + RECORDS
)
MESSAGE = struct.pack(">ibI", 5, 3, crc32c(COVERED)) + COVERED
ENTRY = struct.pack(">qi", 7, len(MESSAGE)) + MESSAGE


@dataclass(frozen=True)
class Draft:
    """Generated code of a changed specification, importable as ``package``."""

    name: str
    tree: Tree
    suffix: str
    compiler_missing: str
    """Why there are no Kaitai classes, empty where there are."""

    @property
    def package(self) -> str:
        return self.tree.package

    @property
    def model(self) -> ModuleType:
        return import_module(f"{self.package}.python.model.recordbatch")

    def cls(self, name: str) -> Any:
        """A class of the typed model; those of magic 3 have a 3 where magic 2 is there too."""
        return getattr(self.model, name + self.suffix.replace("_", ""))


def make_draft(name: str, root: Path) -> Draft:
    edit = DRAFTS[name]
    missing = ""
    try:
        tree = make_tree(root / "all", edit, targets=TARGETS)
    except CompilerMissing as error:
        if os.environ.get("CI") == "true":
            raise
        missing = str(error)
        tree = make_tree(root / "fast", edit)
    return Draft(name, tree, "_3" if name == "beside" else "", missing)


@pytest.fixture(scope="module")
def drafts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Draft]]:
    """Both drafts, made once: modules stay loaded, so each package has one home."""
    made = {name: make_draft(name, tmp_path_factory.mktemp(name)) for name in DRAFTS}
    with imported([draft.tree for draft in made.values()]):
        yield made


def native(draft: Draft) -> NativeCodec:
    """The codec on a core that is compiled from the generated C here and now."""
    tree = draft.tree.path
    if not (tree / "_native.abi3.so").exists():
        try:
            build(tree, options=["-O0", "-Wall", "-Wextra", "-Werror"])
        except NoCompilerError as error:
            if os.environ.get("CI") == "true":
                raise
            pytest.skip(str(error))
        importlib.invalidate_caches()
    return NativeCodec(draft.package)


@pytest.fixture(params=list(DRAFTS))
def draft(request: pytest.FixtureRequest, drafts: dict[str, Draft]) -> Draft:
    return drafts[request.param]


@pytest.fixture(params=["native", "python", "construct", "kaitai"])
def codec(request: pytest.FixtureRequest, draft: Draft) -> Codec:
    if request.param == "native":
        return native(draft)
    if request.param == "python":
        return PythonCodec(draft.package)
    if request.param == "construct":
        pytest.importorskip("construct")
        return ConstructCodec(draft.package)
    if draft.compiler_missing:
        pytest.skip(draft.compiler_missing)
    return KaitaiCodec(draft.package)


def test_draft_keeps_the_rules(draft: Draft) -> None:
    assert lint(load(draft.tree.spec)) == []


def test_decode(draft: Draft, codec: Codec) -> None:
    entry, end = codec.parse("recordbatch.entry", ENTRY)
    batch = entry.message
    assert end == len(ENTRY)
    assert isinstance(batch, draft.cls("RecordBatch"))
    assert (batch.magic, batch.partition_leader_epoch, batch.last_offset) == (3, 5, 7)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (9, 70_000, 4)
    assert (batch.topic_id, batch.num_records, bytes(batch.records)) == (TOPIC_ID, 1, RECORDS)

    key = f"recordbatch.record_set{draft.suffix}"
    records, end = codec.parse(key, RECORDS, parameters=(batch,), complete=True)
    (record,) = records.records
    assert end == len(RECORDS)
    assert (record.offset, record.timestamp, record.expiry_delta) == (7, 1_002, 1_500)
    assert (record.key, record.value) == (b"key", None)
    assert [(header.key, header.value) for header in record.headers] == [(b"h", b"vv")]


def test_encode(draft: Draft, codec: Codec) -> None:
    batch = draft.cls("RecordBatch")(
        base_offset=7,
        partition_leader_epoch=5,
        last_offset_delta=0,
        base_timestamp=1_000,
        max_timestamp=1_002,
        producer_id=9,
        producer_epoch=70_000,
        base_sequence=4,
        topic_id=TOPIC_ID,
        num_records=1,
        records=RECORDS,
    )
    record = draft.cls("Record")(
        batch=batch,
        timestamp_delta=2,
        offset_delta=0,
        expiry_delta=1_500,
        key=b"key",
        value=None,
        headers=[draft.model.Header(key=b"h", value=b"vv")],
    )
    records = draft.cls("RecordSet")(batch=batch, records=[record])
    key = f"recordbatch.record_set{draft.suffix}"
    assert codec.serialize(key, records, parameters=(batch,)) == RECORDS
    entry = draft.model.Entry(base_offset=7, message=batch)
    assert codec.serialize("recordbatch.entry", entry) == ENTRY


def test_default_of_the_new_field(draft: Draft) -> None:
    batch = draft.cls("RecordBatch")
    assert (
        batch(
            base_offset=0,
            last_offset_delta=0,
            base_timestamp=0,
            max_timestamp=0,
            topic_id=TOPIC_ID,
            num_records=0,
            records=b"",
        ).producer_epoch
        == -1
    )
    with pytest.raises(TypeError, match="topic_id"):
        batch(
            base_offset=0,
            last_offset_delta=0,
            base_timestamp=0,
            max_timestamp=0,
            num_records=0,
            records=b"",
        )


def test_layout_and_documentation_follow(draft: Draft) -> None:
    layouts = import_module(f"{draft.package}.layout").LAYOUTS
    layout = layouts[f"recordbatch.record_batch{draft.suffix}"]
    assert layout.minimum_size == len(MESSAGE) - len(RECORDS)
    page = draft.tree.path / "docs" / "recordbatch.md"
    row = "`topic_id` | bytes | `topicId` | UUID of the topic"
    assert any(row in line for line in page.read_text("utf-8").splitlines())


def test_each_cut_of_the_new_format_is_truncated(draft: Draft, codec: Codec) -> None:
    for end in range(len(ENTRY)):
        with pytest.raises(KafkaSpecError) as caught:
            codec.parse("recordbatch.entry", ENTRY[:end])
        assert caught.value.reason is Reason.TRUNCATED


def test_vectors_of_the_draft(draft: Draft, codec: Codec) -> None:
    """The vectors are made from the changed specification too."""
    path = draft.tree.path / "vectors" / "recordbatch.json"
    seen = set()
    for vector in json.loads(path.read_text("utf-8"))["vectors"]:
        parameters = [
            codec.parse(item["type"], bytes.fromhex(item["hex"]), parameters=item["parameters"])[0]
            if isinstance(item, dict)
            else item
            for item in vector["parameters"]
        ]
        data = bytes.fromhex(vector["hex"])
        try:
            codec.parse(vector["type"], data, parameters=parameters)
            found: tuple[str, str, int | None] = ("", "", None)
        except KafkaSpecError as error:
            found = (error.reason.value, error.path, error.position)
        assert found == (vector["reason"], vector["path"], vector["offset"]), vector
        seen.add(vector["name"])
    assert {"topic_id.cut", "producer_epoch.maximum", "expiry_delta.too_long"} <= seen


def test_older_formats_are_read_as_before(draft: Draft, codec: Codec) -> None:
    content = bytes.fromhex("01 00 0000000000000005 ffffffff 00000001 61")  # magic 1, value "a"
    data = struct.pack(">I", crc32(content)) + content
    data = struct.pack(">qi", 1, len(data)) + data
    entry, _ = codec.parse("recordbatch.entry", data)
    assert (entry.message.timestamp, entry.message.key, entry.message.value) == (5, None, b"a")
    assert codec.serialize("recordbatch.entry", entry) == data

    covered = struct.pack(">hiqqqhii", 0, 0, 0, 0, -1, -1, -1, 0)
    message = struct.pack(">ibI", 0, 2, crc32c(covered)) + covered
    data = struct.pack(">qi", 0, len(message)) + message
    if draft.name == "beside":
        entry, _ = codec.parse("recordbatch.entry", data)
        assert entry.message.magic == 2
        assert type(entry.message).__name__ == "RecordBatch"
        assert codec.serialize("recordbatch.entry", entry) == data
    else:
        with pytest.raises(KafkaSpecError) as caught:
            codec.parse("recordbatch.entry", data)
        assert (caught.value.reason, caught.value.path) == (Reason.INVALID_VALUE, "/message/magic")


@pytest.mark.parametrize("draft", ["instead"], indirect=True)
def test_records_as_users_see_them(draft: Draft, codec: Codec) -> None:
    batch = codec.parse("recordbatch.entry", ENTRY)[0].message
    (record,) = codec.decode_records(batch, RECORDS)
    assert record == (7, 1_002, b"key", None, (("h", b"vv"),))


def test_native_columns_of_the_new_fields(draft: Draft) -> None:
    """The new field of the header, the widened one and that of the record are columns."""
    codec = native(draft)
    table = scan(codec.core, ENTRY)
    assert (table.count, table.end) == (1, 0)
    assert table.column("producer_epoch")[0] == 70_000
    position = table.column("topic_id.position")[0]
    assert ENTRY[position : position + table.column("topic_id.size")[0]] == TOPIC_ID
    batches = array("q", [0, 0, len(ENTRY), -1, 0, 0, 1, 1])
    names = ["offset", "timestamp", "expiry_delta", "batch.producer_epoch", "headers"]
    columns = ColumnSet(codec.core, names, 1, Layout.BINARY, len(ENTRY))
    status, _, _ = codec.core.module.decode(
        (ENTRY,), batches, 0, 1, Layout.BINARY, tuple(columns.outputs), columns.capacities,
        columns.state,
    )  # fmt: skip
    assert status == codec.core.module.OK
    found = columns.result()
    numbers = [memoryview(found[name].values).cast("q")[0] for name in names[:4]]  # type: ignore[union-attr]
    assert numbers == [7, 1_002, 1_500, 70_000]
    entry = codec.parse("recordbatch.entry", ENTRY)[0]
    header = entry.message
    header.records = codec.encode_records(header, codec.decode_records(header, RECORDS))
    written = codec.serialize("recordbatch.entry", entry)
    read = codec.decode_records(codec.parse("recordbatch.entry", written)[0].message, RECORDS)
    assert read == codec.decode_records(header, RECORDS)
