"""Formats that are not Kafka's: parsers and serializers for them, against codecs by hand."""

from __future__ import annotations

import dataclasses
import importlib
import io
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from kaitaistruct import KaitaiStream  # type: ignore[import-untyped]

from tests.specgen.formats import by_hand
from tests.specgen.formats.samples import CASES, FILES, FORMATS, NAMES
from tools.specgen.kaitai.emit import CompilerMissing, compile_specs

pytestmark = pytest.mark.slow


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
