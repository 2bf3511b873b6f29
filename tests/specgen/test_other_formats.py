"""The generator on formats that are not Kafka's: what it emits, alone, against codecs by hand."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.specgen.edits import HOUSE, SPEC
from tests.specgen.formats import by_hand
from tools.specgen.document import SpecError
from tools.specgen.lint.rules import lint
from tools.specgen.loader import load

FORMATS = Path(__file__).parent / "formats"
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
        if name == "atlas":
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


@pytest.mark.parametrize("name", NAMES)
def test_no_word_of_the_house(home: Path, name: str) -> None:
    """Nothing of Kafka or of this library is in any file, and no import leads to it."""
    files = [path for path in (home / f"{name}_codec").rglob("*") if path.is_file()]
    assert len(files) > 15
    for path in files:
        assert b"kafka" not in path.read_bytes().lower(), path
        assert b"(quirk" not in path.read_bytes(), path
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom):
                    root = (node.module or "").partition(".")[0]
                    assert node.level or root in {*sys.stdlib_module_names, "construct"}, path
                elif isinstance(node, ast.Import):
                    roots = {alias.name.partition(".")[0] for alias in node.names}
                    assert roots <= {*sys.stdlib_module_names, "construct"}, path


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


EDITS = [
    ("telemetry", "  endian: le\n", "",
     "#/meta: meta: endian is missing; write endian: be or endian: le"),
    ("telemetry", "endian: le", "endian: mixed",
     "#/meta/endian: 'mixed' is not an order of bytes; write be or le"),
    ("telemetry", "        -derive: count(samples)\n", "",
     "#/types/block/seq/3: derive: it is the number of samples; write -derive: count(samples)"),
    ("telemetry", "valid: {expr: _.value <= 255}", "valid: {expr: _.value <= gone}",
     "#/types/text/seq/0: name: valid: gone is neither an earlier field nor a parameter of text"),
    ("chat", "            _: unknown\n", "",
     "#/types/message/seq/0: S6: content has no case for every value of its switch; "
     "write a case _ or let valid: of the switch allow the cases only"),
    ("chat", "        type: message(kind)", "        type: message",
     "#/types/envelope/seq/3: message takes 1 parameters, not 0; write one argument for each"),
    ("atlas", "  bit-endian: be\n", "",
     "#/meta: meta: there are bit fields; write bit-endian: be"),
    ("atlas", "type: b15", "type: b14",
     "#/types/tile/seq/7: bits: 15 bits stand before pad; "
     "fill them up to whole bytes with a reserved field"),
    ("atlas", "    repeat: eos\n", "    repeat: eos\n    sise: 3\n",
     "#/seq/1: S10: unknown key sise; write size"),
]  # fmt: skip


def test_there_are_no_rules_of_a_house() -> None:
    for name in NAMES:
        assert lint(load(FORMATS / name)) == []
        assert lint(load(FORMATS / name, HOUSE))


@pytest.mark.parametrize(("name", "old", "new", "expected"), EDITS)
def test_the_linter_says_what_to_write(
    tmp_path: Path, name: str, old: str, new: str, expected: str
) -> None:
    text = (FORMATS / name / f"{name}.ksy").read_text(encoding="utf-8")
    assert text.count(old) >= 1
    (tmp_path / f"{name}.ksy").write_text(text.replace(old, new, 1), encoding="utf-8")
    try:
        found = [f"{p.location}: {p.rule}: {p.message}" for p in lint(load(tmp_path))]
    except SpecError as error:
        found = [str(error)]
    assert f"{name}.ksy{expected}" in found
