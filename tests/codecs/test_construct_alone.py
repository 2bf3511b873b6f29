"""Construct decides by itself what it accepts: the Python codec only words its refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from construct import ConstructError  # type: ignore[import-untyped]

from kafkaspec.codecs.base import Codec
from kafkaspec.codecs.references.construct import ConstructCodec
from tests.codecs.construct_cases import CODEC, ENTRIES, ONE, UNENCODABLE, a_batch, parse

FOLDER = Path(__file__).parents[2] / "generated" / "vectors"


class Mute(Codec):
    """A codec that accepts all there is."""

    def _parse(self, *_: Any) -> tuple[Any, int]:
        return None, 0

    def serialize(self, *_: Any, **__: Any) -> bytes:
        return b""


def alone() -> ConstructCodec:
    """Nobody tells this codec what to refuse."""
    codec = ConstructCodec()
    codec.reference = Mute()  # type: ignore[assignment]
    return codec


def test_every_vector_has_its_verdict() -> None:
    verdicts = {"accept": 0, "reject": 0}
    for path in sorted(FOLDER.glob("*.json")):
        for vector in json.loads(path.read_text(encoding="utf-8"))["vectors"]:
            parameters = [
                parse(item["type"], bytes.fromhex(item["hex"]), parameters=item["parameters"])
                if isinstance(item, dict)
                else item
                for item in vector["parameters"]
            ]
            data = bytes.fromhex(vector["hex"])
            try:
                _, size = CODEC.read(vector["type"], data, 0, len(data), parameters)
            except ConstructError:
                size = None
            assert size == vector.get("end"), vector
            verdicts[vector["verdict"]] += 1
    assert min(verdicts.values()) > 300


def test_truncated_entries() -> None:
    for data in ENTRIES.values():
        for size in range(len(data)):
            with pytest.raises(ConstructError):
                CODEC.read("recordbatch.entry", data, 0, size)


def test_values_that_cannot_be_written() -> None:
    codec = alone()
    for name, bad, _, _ in UNENCODABLE.values():
        entry = parse("recordbatch.entry", ONE)
        setattr(entry.message, name, bad)
        with pytest.raises(AssertionError, match="refuses what the Python codec writes"):
            codec.serialize("recordbatch.entry", entry)


def test_a_disagreement_is_loud() -> None:
    with pytest.raises(AssertionError, match="refuses what the Python codec reads") as caught:
        alone().parse("recordbatch.entry", ONE[:-1])
    assert isinstance(caught.value.__cause__, ConstructError)
    with pytest.raises(AssertionError, match="refuses what the Python codec reads"):
        alone().parse("recordbatch.record_set", b"\x00", parameters=(a_batch(),))
