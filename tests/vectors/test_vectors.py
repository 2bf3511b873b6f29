"""Every codec against the vectors that the specification's own bounds give.

The vectors come from ``generated/vectors``. Their verdicts follow from the rules, not from a codec,
and say why bytes are refused and where, so that codecs agree on reasons and not only on results.
"""

from __future__ import annotations

import json
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from kafkaspec.codecs import Codec, codec_names, get_codec
from kafkaspec.errors import KafkaSpecError
from tests.loops import each

FOLDER = Path(__file__).parents[2] / "generated" / "vectors"
VECTORS: list[dict[str, Any]] = [
    vector
    for path in sorted(FOLDER.glob("*.json"))
    for vector in json.loads(path.read_text(encoding="utf-8"))["vectors"]
]
ACCEPTED = [vector for vector in VECTORS if vector["verdict"] == "accept"]
REJECTED = [vector for vector in VECTORS if vector["verdict"] == "reject"]
CANONICAL = [vector for vector in ACCEPTED if vector["canonical"]]


def name(vector: dict[str, Any]) -> str:
    return f"{vector['type']}:{vector['name']}"


@pytest.fixture(params=codec_names(), scope="module")
def codec(request: pytest.FixtureRequest) -> Codec:
    return get_codec(request.param)


def parameters(codec: Codec, vector: dict[str, Any]) -> list[Any]:
    """Numbers as they are; structures parsed by the codec under test."""
    return [
        codec.parse(item["type"], bytes.fromhex(item["hex"]), parameters=item["parameters"])[0]
        if isinstance(item, dict)
        else item
        for item in vector["parameters"]
    ]


def parse(codec: Codec, vector: dict[str, Any], **options: Any) -> tuple[Any, int]:
    data = bytes.fromhex(vector["hex"])
    return codec.parse(vector["type"], data, parameters=parameters(codec, vector), **options)


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    return value if value is None else int(value)


def test_there_are_vectors_of_every_kind() -> None:
    reasons = {vector["reason"] for vector in REJECTED}
    assert reasons == {
        "truncated", "overrun", "trailing_bytes", "invalid_value", "varint_too_long",
    }  # fmt: skip
    names = [name(vector) for vector in VECTORS]
    assert len(names) == len(set(names)) > 500


@pytest.mark.slow
@each("vector", ACCEPTED, name)
def test_accepted(codec: Codec, vector: dict[str, Any]) -> None:
    value, end = parse(codec, vector)
    assert end == vector["end"]
    if "field" in vector:
        found = attrgetter(vector["field"])(value) if vector["field"] else value
        assert plain(found) == vector["value"]
    for instance, expected in vector.get("instances", {}).items():
        assert plain(getattr(value, instance)) == expected, instance


@each("vector", REJECTED, name)
def test_rejected(codec: Codec, vector: dict[str, Any]) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        parse(codec, vector)
    error = caught.value
    found = (error.reason.value, error.path, error.position)
    assert found == (vector["reason"], vector["path"], vector["offset"]), vector["why"]


@each("vector", REJECTED, name)
def test_rejected_inside_of_a_larger_buffer(codec: Codec, vector: dict[str, Any]) -> None:
    """The bytes around the given part are not looked at, and offsets count from the buffer."""
    data = b"\x55" * 5 + bytes.fromhex(vector["hex"]) + b"\x01" * 40
    arguments = parameters(codec, vector)
    with pytest.raises(KafkaSpecError) as caught:
        codec.parse(vector["type"], data, 5, len(data) - 40, parameters=arguments, complete=True)
    error = caught.value
    reason = vector["reason"].replace("truncated", "overrun")
    found = (error.reason.value, error.path, error.position)
    assert found == (reason, vector["path"], vector["offset"] + 5), vector["why"]


@pytest.mark.slow
@each("vector", CANONICAL, name)
def test_canonical_bytes_are_written_again(codec: Codec, vector: dict[str, Any]) -> None:
    value, end = parse(codec, vector)
    written = codec.serialize(vector["type"], value, parameters=parameters(codec, vector))
    assert written.hex() == bytes.fromhex(vector["hex"])[:end].hex()
