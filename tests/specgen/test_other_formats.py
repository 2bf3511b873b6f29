"""The generator on formats that are not Kafka's: what it emits, alone, against codecs by hand."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import io
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kaitaistruct import KaitaiStream  # type: ignore[import-untyped]

from tests.specgen.edits import SPEC
from tests.specgen.formats import by_hand
from tests.specgen.public import few_messages
from tools.specgen import driver
from tools.specgen.house import NONE
from tools.specgen.kaitai.emit import CompilerMissing, compile_specs
from tools.specgen.python import checksum

FORMATS = Path(__file__).parent / "formats"
pytestmark = pytest.mark.slow

NAMES = ("telemetry", "chat", "atlas")
ROOT = SPEC.parent


def _sample(delta: int, remark: bytes | None, codes: list[int]) -> dict[str, Any]:
    return {
        "delta": delta, "celsius": -1.5, "wind": -300, "sensor": b"roof", "remark": remark,
        "codes": codes,
    }  # fmt: skip


_BLOCKS = [
    {"sequence": -7, "start": 1 << 63, "samples": [_sample(-200_000, None, [])]},
    {"sequence": 1 << 20, "start": 5, "samples": []},
    {
        "sequence": 0,
        "start": (1 << 64) - 1,
        "samples": [_sample(i, b"wet" * i, [i, 65535]) for i in range(3)],
    },
]
_FLAGS = {"is_admin": True, "level": 9, "reserved": 0}
_MENTIONS = [{"user": 3, "ranges": [{"first": 1, "last": 2}] * n} for n in (2, 0, 1)]
_MESSAGES = [
    (1, {"version": 1, "user": 1 << 63, "port": None, "flags": _FLAGS}),
    (1, {"version": 2, "user": 8, "port": 9000, "flags": _FLAGS}),
    (2, {"user": 8, "mentions": None, "text": b"hello"}),
    (2, {"user": 9, "mentions": [], "text": b""}),
    (2, {"user": 9, "mentions": _MENTIONS, "text": b"\xff"}),
    (3, {"user": 8, "reason": None}),
    (3, {"user": 9, "reason": {"code": 4, "text": b"bye"}}),
    (77, {"data": b"later"}),
]
_TILES = [
    {
        "x": i, "y": (1 << 32) - 1 - i, "position": i << 40, "size": i, "compression": c,
        "marks": {"is_empty": not i, "checked": 0x1234 + i}, "pad": bytes([i]),
        "height": -1.5 * i,
    }
    for i, c in enumerate((0, 1, 7, 7))
]  # fmt: skip
FILES = {
    "telemetry": [by_hand.telemetry(2, -5, _BLOCKS), by_hand.telemetry(1, 0, [])],
    "chat": [
        by_hand.CHAT.build(
            [{"time": i, "kind": k, "message": m} for i, (k, m) in enumerate(_MESSAGES)]
        ),
        b"",
    ],
    "atlas": [
        by_hand.ATLAS.build({"header": {"zoom": 3, "scale": 0.5}, "tiles": tiles})
        for tiles in (_TILES, [])
    ],
}  # fmt: skip
CASES = [(name, number) for name in NAMES for number in range(2)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with a package for each format, from one command each."""
    made = tmp_path_factory.mktemp("other")
    for name in NAMES:
        command: list[str | Path] = [sys.executable, ROOT / "tools" / "codegen.py"]
        command += ["--spec", FORMATS / name, "--out", made / f"{name}_codec"]
        subprocess.run(command, check=True, cwd=made)
        # Neither Python nor the compiler may warn a stranger.
        environment = {**os.environ, "CFLAGS": "-O0 -Wall -Wextra -Werror"}
        subprocess.run(
            [sys.executable, "-W", "error", "-m", f"{name}_codec.native.build"],
            check=True, cwd=made, env=environment,
        )  # fmt: skip
    sys.path.insert(0, str(made))
    yield made
    sys.path.remove(str(made))
    for name in [name for name in sys.modules if name.partition("_codec")[0] in NAMES]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def package(home: Path) -> Any:
    """Return the package of a format by its name."""
    return lambda name: importlib.import_module(f"{name}_codec")


def plain(value: Any) -> Any:
    """Return a value of the typed model as mappings, without what writers compute."""
    if dataclasses.is_dataclass(value):
        shown = (f.name for f in dataclasses.fields(value) if f.init)
        return {name: plain(getattr(value, name)) for name in shown}
    return [plain(item) for item in value] if isinstance(value, list) else value


def read_by_hand(name: str, data: bytes) -> Any:
    found = by_hand.read(name, data)
    return {"messages": found} if name == "chat" else found


@pytest.mark.parametrize(("name", "number"), CASES)
def test_parse_and_serialize(package: Any, name: str, number: int) -> None:
    data, codec = FILES[name][number], package(name)
    value = codec.parse(name, data)
    assert plain(value) == read_by_hand(name, data)
    assert codec.serialize(name, value) == data
    assert codec.parse(name, memoryview(data)) == value


@pytest.mark.parametrize(("name", "number"), CASES)
def test_definitions_of_construct(home: Path, package: Any, name: str, number: int) -> None:
    data = FILES[name][number]
    definition = getattr(importlib.import_module(f"{name}_codec.construct.{name}"), name)
    found = definition.parse(data)
    value = package(name).parse(name, data)
    for field in dataclasses.fields(value):
        if field.name in ("version", "station"):
            assert found[field.name] == getattr(value, field.name)
    assert definition.build(found) == data


@pytest.mark.parametrize("name", NAMES)
def test_every_cut_is_an_error_with_a_place(package: Any, name: str) -> None:
    codec, data = package(name), FILES[name][0]
    whole = []
    for size in range(len(data)):
        try:
            value = codec.parse(name, data[:size])
        except codec.FormatError as error:
            caught = error
        else:
            # The bytes end after an item of an array that reaches to the end of the file.
            assert codec.serialize(name, value) == data[:size]
            assert plain(value) == read_by_hand(name, data[:size])
            whole.append(size)
            continue
        assert caught.reason in ("truncated", "overrun")
        assert isinstance(caught, codec.TruncatedError) is (caught.reason == "truncated")
        assert 0 <= caught.position <= size
        assert caught.path.startswith("/")
        assert caught.spec.startswith(f"{name}.ksy#/")
        assert f"byte {caught.position} {caught.path}: " in str(caught)
    assert len(whole) == {"telemetry": 3, "chat": 8, "atlas": 4}[name]


def test_checksum(package: Any) -> None:
    codec, data = package("telemetry"), FILES["telemetry"][0]
    for bit in range(8 * 18, 8 * 22):
        broken = bytearray(data)
        broken[bit // 8] ^= 1 << bit % 8
        with pytest.raises(codec.ChecksumError) as caught:
            codec.parse("telemetry", bytes(broken))
        assert (caught.value.position, caught.value.path) == (18, "/blocks/0/block/crc")
        assert caught.value.reason is codec.Reason.CHECKSUM_MISMATCH


@pytest.mark.parametrize("name", NAMES)
def test_hostile_bytes(package: Any, name: str) -> None:
    """Only errors of the runtime come out, and what is accepted round-trips."""
    codec, chance = package(name), random.Random(name)
    accepted, positions = 0, []
    for _ in range(2000):
        data = bytearray(FILES[name][0])
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(len(data))] = chance.choice(
                (0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256))
            )
        try:
            value = codec.parse(name, bytes(data))
        except codec.FormatError as error:
            positions.append(error.position)
            continue
        accepted += 1
        again = codec.serialize(name, value)
        # As text, since a float may be no number.
        assert repr(plain(codec.parse(name, again))) == repr(plain(value))
        # Processors change the bits of some floats of 32 bits that are no numbers.
        if name == "atlas" and all(tile.height == tile.height for tile in value.tiles):
            assert again == bytes(data)
    assert accepted > 20 or name == "telemetry"
    assert None not in positions


@pytest.mark.parametrize("name", NAMES)
def test_vectors(home: Path, package: Any, name: str) -> None:
    codec = package(name)
    vectors = json.loads((home / f"{name}_codec" / "vectors" / f"{name}.json").read_text())[
        "vectors"
    ]
    reasons = set()
    for vector in vectors:
        data = bytes.fromhex(vector["hex"])
        parser = codec._function("parse", "PARSERS", vector["type"])
        reasons.add(vector["reason"])
        try:
            _, end = parser(data, 0, len(data), False, *vector["parameters"])
        except codec.FormatError as error:
            found = ("reject", error.reason, error.path, error.position)
            assert found == ("reject", vector["reason"], vector["path"], vector["offset"]), vector
        else:
            assert (vector["verdict"], vector["end"]) == ("accept", end), vector
    assert {"", "truncated", "invalid_value"} <= reasons
    assert ("checksum_mismatch" in reasons) is (name == "telemetry")


def _kaitai(value: Any) -> Any:
    """Return a value of the official compiler's classes as mappings, frames and choices inside."""
    if isinstance(value, list):
        return [_kaitai(item) for item in value]
    if not hasattr(value, "_io"):
        return value
    names = value.SEQ_FIELDS
    if "value" in names or hasattr(type(value), "value"):
        return getattr(value, "value", None)
    if len(names) == 2 and names[0] == f"len_{names[1]}":
        return _kaitai(getattr(value, names[1]))
    if names == ["content"]:
        return _kaitai(value.content)
    return {name: _kaitai(getattr(value, name, None)) for name in names}


def _same(ours: Any, theirs: Any) -> None:
    """Compare fields by their names; the official classes have those that writers compute too."""
    if isinstance(ours, list):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            _same(a, b)
    elif dataclasses.is_dataclass(ours):
        for field in dataclasses.fields(ours):
            _same(getattr(ours, field.name), theirs[field.name])
    else:
        assert ours == theirs


@pytest.mark.parametrize("name", NAMES)
def test_the_official_compiler_agrees(package: Any, tmp_path: Path, name: str) -> None:
    try:
        compile_specs(FORMATS / name, tmp_path)
    except CompilerMissing as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    source = (tmp_path / f"{name}.py").read_text(encoding="utf-8")
    scope: dict[str, Any] = {"__name__": f"official_{name}"}
    exec(compile(source, f"{name}.py", "exec"), scope)
    cls = scope["".join(part.capitalize() for part in name.split("_"))]
    for data in FILES[name]:
        theirs = cls(KaitaiStream(io.BytesIO(data)))
        theirs._read()
        _same(package(name).parse(name, data), _kaitai(theirs))


# -- tables, in C ---------------------------------------------------------------------------


def rows(tables: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return tables in a form that compares floats that are no numbers too."""
    return [(path, list(t.parent), repr({k: list(v) for k, v in t.columns.items()}))
            for path, t in tables.items()]  # fmt: skip


@pytest.mark.parametrize(("name", "number"), CASES)
def test_tables(package: Any, name: str, number: int) -> None:
    """C reads what the codec by hand wrote, as Python does, and writes it again."""
    data, codec = FILES[name][number], package(name)
    native = codec.import_module(f"{name}_codec.native")
    assert native._extension().read(name, data) is not None
    tables = codec.columns(name, data)
    assert tables == native._from_value(name, data)
    assert codec.from_columns(name, tables) == data


def test_columns_of_the_index(package: Any) -> None:
    tiles = package("atlas").columns("atlas", FILES["atlas"][0])["atlas.tiles"].columns
    assert list(tiles["position"]) == [tile["position"] for tile in _TILES]
    assert tiles["position"].typecode == "q"
    assert tiles["pad"] == [tile["pad"] for tile in _TILES]
    assert list(tiles["checked"]) == [0x1234 + i for i in range(4)]


def test_columns_of_choices(package: Any) -> None:
    tables = package("chat").columns("chat", FILES["chat"][0])
    kinds = ["joined", "joined", "said", "said", "said", "left", "left", "unknown"]
    assert tables["chat.messages"].columns["message"] == kinds
    joined = tables["chat.messages.message.joined"]
    assert list(joined.parent) == [0, 1]
    assert joined.columns["port"] == [None, 9000]
    assert joined.columns["user"].tolist() == [1 << 63, 8]
    said = tables["chat.messages.message.said"]
    assert said.columns["mentions"] == [None, 0, 3]
    ranges = tables["chat.messages.message.said.mentions.ranges"]
    assert list(ranges.parent) == [0, 0, 2]


@pytest.mark.parametrize("name", NAMES)
def test_c_accepts_what_python_accepts(package: Any, name: str) -> None:
    codec, chance = package(name), random.Random(f"c {name}")
    native = codec.import_module(f"{name}_codec.native")
    read, refused = 0, 0
    for _ in range(3000):
        data = bytearray(FILES[name][0])
        for _ in range(chance.randint(0, 2)):
            data[chance.randrange(len(data))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
        content = bytes(data[: chance.choice((len(data), len(data), chance.randrange(len(data))))])
        fast = native._extension().read(name, content)
        try:
            value = codec.parse(name, content)
        except codec.FormatError:
            assert fast is None, content.hex()
            refused += 1
            continue
        assert fast is not None, content.hex()
        read += 1
        tables = codec.columns(name, content)
        assert rows(tables) == rows(native._from_value(name, content))
        assert codec.from_columns(name, tables) == codec.serialize(name, value)
    assert min(read, refused) > 100


def test_columns_say_what_is_wrong_with_bytes(package: Any) -> None:
    codec, data = package("telemetry"), FILES["telemetry"][0]
    with pytest.raises(codec.TruncatedError) as caught:
        codec.columns("telemetry", data[:-1])
    assert caught.value.path == "/blocks/2/block"


MISFITS: list[tuple[str, str, str, int, Any, str]] = [
    ("atlas", "atlas.tiles", "size", 2, 1 << 25, "atlas.tiles/2/size: the value does not fit"),
    ("atlas", "atlas.tiles", "pad", 1, b"xx", "atlas.tiles/1/pad: the value does not fit"),
    ("atlas", "atlas.tiles", "height", 3, 1e39, "atlas.tiles/3/height: the value"),
    ("atlas", "atlas.tiles", "compression", 0, 2, "atlas.tiles/0/compression: the value"),
    ("atlas", "atlas", "tiles", 0, 3, "atlas.tiles/3: the row has no place"),
    ("atlas", "atlas", "tiles", 0, 5, "atlas.tiles/4: the row has no place"),
    ("chat", "chat.messages", "kind", 0, 2, "chat.messages/0/message: the value"),
    ("chat", "chat.messages", "message", 0, "shouted", "chat.messages/0/message: the value"),
    ("chat", "chat.messages.message.joined", "port", 0, 7, "joined/0/port: the value"),
    ("chat", "chat.messages.message.joined", "port", 1, None, "joined/1/port: the value"),
    ("chat", "chat.messages.message.said", "text", 1, None, "said/1/text: the value"),
    ("telemetry", "telemetry.blocks.samples", "sensor", 0, b"x" * 256, "samples/0/sensor: the"),
]


@pytest.mark.parametrize(("name", "table", "column", "row", "value", "said"), MISFITS)
def test_cells_that_do_not_fit(
    package: Any, name: str, table: str, column: str, row: int, value: Any, said: str
) -> None:
    codec = package(name)
    tables = codec.columns(name, FILES[name][0])
    tables[table].columns[column][row] = value
    with pytest.raises(codec.FormatError, match=said) as caught:
        codec.from_columns(name, tables)
    assert caught.value.reason is codec.Reason.UNENCODABLE


def test_columns_of_other_shapes(package: Any) -> None:
    codec = package("atlas")
    tables = codec.columns("atlas", FILES["atlas"][0])
    tables["atlas.tiles"].columns["x"] = [1, 2, 3]
    with pytest.raises(codec.FormatError, match=r"atlas\.tiles/x: it has another number of rows"):
        codec.from_columns("atlas", tables)
    tables["atlas.tiles"].columns["x"] = ["a"] * 4
    with pytest.raises(codec.FormatError, match=r"atlas\.tiles/x: not numbers of 64 bits"):
        codec.from_columns("atlas", tables)
    del tables["atlas.tiles"].columns["x"]
    with pytest.raises(codec.FormatError, match=r"atlas\.tiles/x: there is no such column"):
        codec.from_columns("atlas", tables)


def test_c_without_python(home: Path, tmp_path: Path) -> None:
    """A program of C alone reads the file, changes a number, and writes it."""
    sources = home / "atlas_codec" / "native"
    (tmp_path / "main.c").write_text(
        """
        #include <stdio.h>
        #include <stdlib.h>
        #include "atlas.h"
        int main(void)
        {
            static uint8_t data[4096];
            int64_t size = (int64_t)fread(data, 1, sizeof data, stdin);
            ks_table tables[ATLAS_TABLES];
            ks_bytes out = {0};
            ks_place place;
            ks_open(&ks_formats[0], tables);
            if (atlas_read(data, size, tables) != KS_OK)
                return 1;
            for (int64_t i = 0; i < tables[ATLAS_TILES].rows; i++)
                tables[ATLAS_TILES].cells[i * tables[ATLAS_TILES].width + ATLAS_TILES_X_CELL] += 7;
            if (atlas_write(tables, data, size, &out, &place) != KS_OK)
                return 2;
            fwrite(out.bytes, 1, (size_t)out.used, stdout);
            ks_close(&ks_formats[0], tables);
            free(out.bytes);
            return 0;
        }
        """,
        encoding="utf-8",
    )
    own = [str(path) for path in sorted(sources.glob("*.c")) if path.name != "module.c"]
    command = ["cc", "-std=c99", "-Wall", "-Werror", f"-I{sources}", str(tmp_path / "main.c"), *own]
    subprocess.run([*command, "-o", str(tmp_path / "main")], check=True)
    done = subprocess.run(
        [str(tmp_path / "main")], input=FILES["atlas"][0], capture_output=True, check=True
    )
    found = by_hand.read("atlas", done.stdout)
    assert [tile["x"] for tile in found["tiles"]] == [i + 7 for i in range(4)]


def test_tables_of_many_formats(tmp_path: Path) -> None:
    """Tables serve the formats of this house as well, as if no library were there."""
    spec = Path(shutil.copytree(SPEC, tmp_path / "spec", ignore=few_messages))
    made = tmp_path / "many_codec"
    made.mkdir()
    driver.generate(spec, made, ("python", "native", "vectors"), NONE)
    command = [sys.executable, "-m", "many_codec.native.build"]
    environment = {**os.environ, "CFLAGS": "-O0 -Wall -Wextra -Werror"}
    subprocess.run(command, check=True, cwd=tmp_path, env=environment)
    done = subprocess.run(
        [sys.executable, "-c", _MANY, str(made)],
        capture_output=True, text=True, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.stderr == ""
    read, refused = map(int, done.stdout.split())
    assert min(read, refused) > 100


@pytest.fixture(scope="module")
def nest(home: Path) -> Any:
    """Frames with sizes that are varints, in each other, with two checksums."""
    made = home / "nest_codec"
    driver.generate(FORMATS / "nest", made)
    command = [sys.executable, "-m", "nest_codec.native.build"]
    environment = {**os.environ, "CFLAGS": "-O0 -Wall -Wextra -Werror"}
    subprocess.run(command, check=True, cwd=home, env=environment)
    yield importlib.import_module("nest_codec")
    for name in [name for name in sys.modules if name.startswith("nest_codec")]:
        del sys.modules[name]


def _outer(model: Any, chance: random.Random) -> Any:
    items = []
    for key in sorted(chance.sample(range(65536), chance.randrange(6))):
        part = model.Zero(lead=2, tag=chance.randrange(2), n=chance.randrange(1 << 32))
        if chance.random() < 0.5:
            part = model.Minus(lead=1, rest=chance.randbytes(chance.randrange(200)))
        items.append(
            model.Item(
                key=key,
                part=part,
                fs=[float(i) for i in range(chance.randrange(3))],
                ts=[b"x" * chance.randrange(200) for _ in range(chance.randrange(3))],
                ks=[b"abc"] * chance.randrange(3),
            )
        )
    stamp = chance.choice([3, 1 << 40, (1 << 63) - 1])
    tail = chance.randbytes(chance.randrange(40))
    return model.Outer(stamp=stamp, inner=model.Inner(items=items), tail=tail)


def test_frames_in_frames(nest: Any) -> None:
    """Values round-trip through Python and C, and both refuse the same broken bytes."""
    native, chance = nest.import_module("nest_codec.native"), random.Random(5)
    model = nest.import_module("nest_codec.python.model.nest")
    core, refused = native._extension(), 0
    for _ in range(100):
        value = model.Nest(boxes=[_outer(model, chance) for _ in range(chance.randrange(1, 4))])
        data = nest.serialize("nest", value)
        assert nest.parse("nest", data) == value
        tables = nest.columns("nest", data)
        assert core.read("nest", data) is not None
        assert tables == native._from_value("nest", data)
        assert nest.from_columns("nest", tables) == data
        for _ in range(10):
            broken = bytearray(data)
            broken[chance.randrange(len(data))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
            try:
                nest.parse("nest", bytes(broken))
            except nest.FormatError:
                refused += 1
                assert core.read("nest", bytes(broken)) is None
            else:
                assert core.read("nest", bytes(broken)) is not None
    assert refused > 500


def test_what_c_cannot_compare_goes_through_python(nest: Any) -> None:
    """A number of 64 bits without sign that has bounds: C would take it for a negative one."""
    model = nest.import_module("nest_codec.python.model.nest")
    outer = model.Outer(stamp=1 << 63, inner=model.Inner(items=[]), tail=b"")
    data = nest.serialize("nest", model.Nest(boxes=[outer]))
    assert nest.import_module("nest_codec.native")._extension().read("nest", data) is None
    tables = nest.columns("nest", data)
    assert tables["nest.boxes"].columns["stamp"].tolist() == [1 << 63]
    with pytest.raises(NotImplementedError, match="C does not write this; use serialize"):
        nest.from_columns("nest", tables)


_MANY = """
import json, sys
from pathlib import Path
import many_codec
from many_codec import native
from many_codec.native.layout import LAYOUTS
core, read, refused = native._extension(), 0, 0
for key in LAYOUTS:
    for vector in json.loads(Path(sys.argv[1], "vectors", f"{key}.json").read_text())["vectors"]:
        data = bytes.fromhex(vector["hex"])
        if vector["type"] != f"{key}.{key}":
            continue
        found = core.read(key, data)
        assert (found is not None) is (vector["verdict"] == "accept"), (key, vector)
        if found is None:
            refused += 1
            continue
        read += 1
        value, tables = many_codec.parse(key, data), many_codec.columns(key, data)
        assert repr(tables) == repr(native._from_value(key, data)), (key, vector)
        assert many_codec.from_columns(key, tables) == many_codec.serialize(key, value), vector
print(read, refused)
"""


# -- what comes out -------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_no_word_of_the_house(home: Path, name: str) -> None:
    """Nothing of Kafka or of this library is in any file, and no import leads to it."""
    files = [path for path in (home / f"{name}_codec").rglob("*") if path.is_file()]
    assert len(files) > 25
    for path in files:
        assert b"kafka" not in path.read_bytes().lower(), path
        assert b"(quirk" not in path.read_bytes(), path
        if path.suffix == ".c":
            assert b"left to Python" not in path.read_bytes()
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom):
                    root = (node.module or "").partition(".")[0]
                    assert node.level or root in {*sys.stdlib_module_names, "construct"}, path
                elif isinstance(node, ast.Import):
                    roots = {alias.name.partition(".")[0] for alias in node.names}
                    assert roots <= {*sys.stdlib_module_names, "construct"}, path


def test_checksums(package: Any, home: Path) -> None:
    """The check value of CRC catalogues, in C and in Python."""
    fast = package("telemetry").import_module("telemetry_codec.python.checksum")
    assert checksum.crc32c(b"123456789") == fast.crc32c(b"123456789") == 0xE3069283
    assert fast.crc32c is fast.import_module("telemetry_codec.native._core").crc32c
    assert checksum.crc32c is not fast.crc32c
    assert fast.crc32(b"123456789") == 0xCBF43926


def test_check_names_the_command(home: Path, tmp_path: Path) -> None:
    """--check takes the same folders, and says how to repair them."""
    out = tmp_path / "copy"
    shutil.copytree(home / "atlas_codec", out)  # the extension in it is not stale
    command: list[str | Path] = [sys.executable, ROOT / "tools" / "codegen.py", "--check"]
    command += ["--spec", FORMATS / "atlas", "--out", out]
    assert subprocess.run(command).returncode == 0
    (out / "docs" / "atlas.md").write_text("", encoding="utf-8")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "copy/docs/atlas.md: differs",
        "copy/ does not match atlas/; repair it with: "
        f"python tools/codegen.py --spec {FORMATS / 'atlas'} --out {out}",
    ]


@pytest.mark.parametrize(
    ("target", "module"),
    [("docs", ""), ("native", ".native"), ("construct", ".construct.atlas"), ("python", ".python")],
)
def test_one_target_alone(tmp_path: Path, target: str, module: str) -> None:
    driver.generate(FORMATS / "atlas", tmp_path / "only_codec", (target,))
    folders = {path.name for path in (tmp_path / "only_codec").iterdir() if path.is_dir()}
    assert folders == {target, *(["python"] if target in ("native", "construct") else [])}
    command = [sys.executable, "-c", f"import only_codec{module}"]
    subprocess.run(command, check=True, cwd=tmp_path)


def test_files_of_others_stay(tmp_path: Path) -> None:
    """What is stale goes, so a folder with files of somebody else is refused."""
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "__init__.py").write_text("", encoding="utf-8")
    command: list[str | Path] = [sys.executable, ROOT / "tools" / "codegen.py"]
    command += ["--spec", FORMATS / "atlas", "--out", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    said = f"{tmp_path} has files that the generator did not make; name an empty folder\n"
    assert (done.returncode, done.stderr) == (1, said)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["__init__.py", "notes.txt"]


def test_an_extension_of_other_sources(home: Path, tmp_path: Path) -> None:
    """After a change of the specification, an old extension is refused and not used."""
    out = tmp_path / "atlas_codec"
    shutil.copytree(home / "atlas_codec", out)
    spec = Path(shutil.copytree(FORMATS / "atlas", tmp_path / "spec"))
    text = (spec / "atlas.ksy").read_text(encoding="utf-8")
    (spec / "atlas.ksy").write_text(text.replace("type: f8le", "type: u8le"), encoding="utf-8")
    codegen = [sys.executable, str(ROOT / "tools" / "codegen.py"), "--spec", str(spec)]
    subprocess.run([*codegen, "--out", str(out)], check=True)
    program = [
        sys.executable, "-c",
        "import atlas_codec, sys; print(atlas_codec.columns('atlas', bytes.fromhex(sys.argv[1])))",
        FILES["atlas"][1].hex(),
    ]  # fmt: skip
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True)
    advice = "compiled from other sources; run: python -m atlas_codec.native.build"
    assert advice in done.stderr.splitlines()[-1]
    subprocess.run([sys.executable, "-m", "atlas_codec.native.build"], check=True, cwd=tmp_path)
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "'header.scale': array('Q', [" in done.stdout


def test_runs_without_the_library(home: Path) -> None:
    program = (
        "import sys, telemetry_codec as codec\n"
        "value = codec.parse('telemetry', bytes.fromhex(sys.argv[1]))\n"
        "assert codec.serialize('telemetry', value).hex() == sys.argv[1]\n"
        "print(value.version, any('kafka' in name for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program, FILES["telemetry"][0].hex()],
        capture_output=True, text=True, env={"PYTHONPATH": str(home)}, cwd=home,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("2 False\n", "")


def test_typed(home: Path) -> None:
    """A value says what is wrong with it, by its path."""
    codec = importlib.import_module("atlas_codec")
    value = codec.parse("atlas", FILES["atlas"][0])
    value.tiles[2].size = 1 << 25
    with pytest.raises(codec.FormatError, match=r"/tiles/2/size: 33554432 does not fit"):
        codec.serialize("atlas", value)
    assert value.tiles[1].end == (1 << 40) + 1
    with pytest.raises(KeyError, match=r"no type atlas\.gone"):
        codec.parse("atlas.gone", b"")
