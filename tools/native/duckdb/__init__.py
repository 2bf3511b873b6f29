"""The extension ``kafkaspec`` of DuckDB: its table function ``read_kafka``, over the reader in C.

It needs a C compiler and the headers of DuckDB's C API. They are in a crate, which ``cargo``
fetches as ``Cargo.lock`` pins it. The API is that of DuckDB 1.2, which later versions keep.
"""

from __future__ import annotations

import json
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa

from kafkaspec import __version__
from kafkaspec.arrow.record_arrays import SOURCES
from kafkaspec.arrow.schema import TIMESTAMP_TYPES, request_of
from kafkaspec.codecs.native.names import UNTIMED
from kafkaspec.columns.wanted import IS_CONTROL
from kafkaspec.extension import GLUE
from kafkaspec.files.names import COPIES, LOG, OFFSET_DIGITS
from kafkaspec.layout import names
from kafkaspec.log.batch import NO_TIMESTAMP, NO_TIMESTAMP_TYPE
from kafkaspec.tables.scans import SCAN_COLUMNS
from tools.brokers.maven import ToolError, find_tool, run
from tools.native.single import HEADER, SOURCE, files

HERE: Final = Path(__file__).parent
EXTENSION: Final = "kafkaspec.duckdb_extension"
_NAME: Final = "kafkaspec"
_API: Final = (1, 2, 0)
"""The oldest version of DuckDB whose C API has all that is called."""
_HEADERS: Final = ("duckdb.h", "duckdb_extension.h")
_CRATE: Final = "libduckdb-sys"
_TYPES: Final[dict[pa.DataType, str]] = {
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.binary(): "BLOB",
    pa.timestamp("ms", tz="UTC"): "TIMESTAMP_TZ",
}
_FIELD, _SIGNATURE = 32, 256
_SECTION: Final = b"\0\x93\4\x10duckdb_signature\x80\4"
"""A section of WebAssembly, as which DuckDB has the end of an extension, whatever the platform."""


def build(into: Path, headers: Path, options: Sequence[str] = ()) -> Path:
    """Compile the extension, and return its path.

    Args:
        into: folder for it.
        headers: folder with ``duckdb_extension.h`` and ``duckdb.h``.
        options: further arguments of the compiler.
    """
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        single = files()
        for name, text in (
            (HEADER, single[HEADER]),
            (SOURCE, single[SOURCE]),
            ("facts.h", _facts()),
        ):
            (place / name).write_text(text, encoding="utf-8")
        version = zip(("MAJOR", "MINOR", "PATCH"), _API, strict=True)
        run(
            find_tool("cc", "a C compiler"), "-std=c99", "-O2", "-Wall", "-Wextra",
            "-Werror=implicit", "-shared", "-fPIC", "-fvisibility=hidden",
            f"-DDUCKDB_EXTENSION_NAME={_NAME}",
            *(f"-DDUCKDB_EXTENSION_API_VERSION_{part}={number}" for part, number in version),
            *(f"-I{each}" for each in (place, GLUE)), f"-isystem{headers}", *options,
            str(HERE / "extension.c"), str(place / SOURCE), "-ldl", "-o", str(place / EXTENSION),
        )  # fmt: skip
        library = (place / EXTENSION).read_bytes()
    (into / EXTENSION).write_bytes(library + _footer())
    return into / EXTENSION


def fetch_headers(into: Path) -> Path:
    """Fetch the headers into a folder, and return it.

    Raises:
        ToolError: there is no ``cargo``, or it failed.
    """
    command = [
        find_tool("cargo", "Rust, or name a folder with duckdb_extension.h"), "metadata",
        "--format-version", "1", "--locked", "--manifest-path", str(HERE / "Cargo.toml"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise ToolError(f"cargo ended with {done.returncode}:\n{done.stderr.strip()}")
    (manifest,) = (
        Path(each["manifest_path"])
        for each in json.loads(done.stdout)["packages"]
        if each["name"] == _CRATE
    )
    into.mkdir(parents=True, exist_ok=True)
    with tarfile.open(manifest.with_name("duckdb.tar.gz")) as sources:
        for name in _HEADERS:
            content = sources.extractfile(f"duckdb/src/include/{name}")
            assert content is not None
            (into / name).write_bytes(content.read())
    return into


def _facts() -> str:
    """Return what ``extension.c`` knows of columns and of the specification."""
    schema = request_of((), SCAN_COLUMNS, layout="binary").schema
    rows = []
    for field in schema:
        sources = "".join(f'"{name}", ' for name in _sources(field.name))
        rows.append(
            f'    {{"{field.name}", DUCKDB_TYPE_{_type(field.type)}, {{{sources}NULL}}}},\n'
        )
    types = ", ".join(f'"{name}"' for name in TIMESTAMP_TYPES)
    states = ", ".join(f'"{name}"' for name in COPIES)
    most = max(len(_sources(name)) for name in SCAN_COLUMNS)
    total = 1 + sum(len(_sources(name)) for name in SCAN_COLUMNS)
    constants = ", ".join(f"COLUMN_{name.upper()}" for name in SCAN_COLUMNS)
    return "".join(
        (
            f"enum {{ {constants}, COLUMNS }};\n",
            f"enum {{ SOURCES = {total}, NO_TIMESTAMP = {NO_TIMESTAMP} }};\n",
            f"enum {{ DIGITS = {OFFSET_DIGITS} }};\n",
            f"enum {{ NO_TIMESTAMP_TYPE = {TIMESTAMP_TYPES.index(NO_TIMESTAMP_TYPE)} }};\n",
            f"#define UNTIMED UINT64_C({UNTIMED})\n",
            f'#define LOG "{LOG}"\n#define IS_CONTROL "{IS_CONTROL}"\n',
            f"static const char *const timestamp_types[] = {{{types}}};\n",
            f"static const char *const states[] = {{{states}}};\n",
            "static const struct { const char *name; duckdb_type type; "
            f"const char *sources[{most + 1}]; }} columns[] = {{\n",
            *rows,
            "};\n",
        )
    )


def _sources(name: str) -> list[str]:
    """Return the columns of the specification that a column needs, those of a list by its items."""
    items = {names.HEADERS: (names.HEADER_KEY, names.HEADER_VALUE)}
    return [each for source in SOURCES[name] for each in items.get(source, (source,))]


def _type(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return "VARCHAR"
    return "LIST" if pa.types.is_list(kind) else _TYPES[kind]


def _footer() -> bytes:
    """Return what DuckDB reads at the end of an extension before it loads it.

    Fields of 32 bytes, the last one first, and room for a signature. DuckDB:
    ``ParsedExtensionMetaData``.
    """
    with duckdb.connect() as connection:
        ((platform,),) = connection.execute("PRAGMA platform").fetchall()
    fields = ("", "", "", "C_STRUCT", __version__, "v" + ".".join(map(str, _API)), platform, "4")
    padded = (field.encode().ljust(_FIELD, b"\0") for field in fields)
    return _SECTION + b"".join(padded) + bytes(_SIGNATURE)
