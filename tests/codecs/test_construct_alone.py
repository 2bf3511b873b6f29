"""Construct decides by itself what it accepts: the Python codec only words its refusals."""

from __future__ import annotations

import json
from copy import copy
from pathlib import Path
from typing import Any

import pytest
from construct import ConstructError, Int64sb  # type: ignore[import-untyped]

from kafkaspec._generated.construct import recordbatch
from kafkaspec.analysis import FindingReason, verify
from kafkaspec.codecs import Codec, Origin
from kafkaspec.codecs.references.construct import ConstructCodec
from kafkaspec.codecs.references.construct.runtime import Valid, value_
from kafkaspec.errors import KafkaSpecError, Reason
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
        with pytest.raises(KafkaSpecError, match="Construct refuses") as caught:
            codec.serialize("recordbatch.entry", entry)
        assert caught.value.reason is Reason.UNENCODABLE


def test_a_disagreement_is_an_error() -> None:
    with pytest.raises(KafkaSpecError, match=r"Construct refuses .* -> message") as caught:
        alone().parse("recordbatch.entry", b"xyz" + ONE[:-1], 3, origin=Origin("a.log", 100))
    error = caught.value
    assert (error.reason, error.offset, error.file) == (Reason.INVALID_VALUE, 103, "a.log")
    with pytest.raises(KafkaSpecError, match=r"Construct refuses .* -> records -> body"):
        alone().parse("recordbatch.record_set", b"\x02", parameters=(a_batch(),))


def test_verify_reports_a_disagreement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One rule more in the Construct definition: it refuses what the other codecs read."""
    definition = copy(recordbatch.entry)
    strict = "base_offset" / Valid(Int64sb, value_ > 0)
    definition.subcons = [strict, *definition.subcons[1:]]
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(ONE)
    assert not disagreements(path)
    monkeypatch.setattr(recordbatch, "entry", definition)
    assert "and construct disagree" in " ".join(disagreements(path))


def disagreements(path: Path) -> list[str]:
    return [
        finding.message
        for finding in verify(path, codec="all").findings
        if finding.reason is FindingReason.CODECS_DISAGREE
    ]
