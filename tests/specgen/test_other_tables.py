"""Tables of formats that are not Kafka's, in C: what Python reads and writes."""

from __future__ import annotations

import importlib
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.specgen.edits import SPEC
from tests.specgen.formats import by_hand
from tests.specgen.formats.samples import CASES, FILES, FORMATS, NAMES, TILES
from tests.specgen.public import few_messages
from tools.specgen import driver
from tools.specgen.house import NONE

pytestmark = pytest.mark.slow


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
    assert list(tiles["position"]) == [tile["position"] for tile in TILES]
    assert tiles["position"].typecode == "q"
    assert tiles["pad"] == [tile["pad"] for tile in TILES]
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
