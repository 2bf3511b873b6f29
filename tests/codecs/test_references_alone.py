"""Construct and Kaitai decide by themselves: the Python codec only words their refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from construct import Int64sb  # type: ignore[import-untyped]

from kafkaspec._generated.construct import recordbatch
from kafkaspec.analysis import FindingReason, verify
from kafkaspec.codecs import Codec, Origin
from kafkaspec.codecs.references.codec import ReferenceCodec
from kafkaspec.codecs.references.construct.codec import ConstructCodec
from kafkaspec.codecs.references.construct.runtime import Valid, value_
from kafkaspec.codecs.references.kaitai.codec import KaitaiCodec
from kafkaspec.errors import KafkaSpecError, Reason
from tests.codecs.construct_cases import ENTRIES, ONE, UNENCODABLE, Mute, a_batch

FOLDER = Path(__file__).parents[2] / "generated" / "vectors"
MAKERS: list[Callable[[], ReferenceCodec]] = [ConstructCodec, KaitaiCodec]


@pytest.fixture(params=MAKERS, ids=["construct", "kaitai"])
def alone(request: pytest.FixtureRequest) -> ReferenceCodec:
    """This codec decides by itself what to refuse."""
    codec: ReferenceCodec = request.param()
    codec.reference = Mute()
    return codec


@pytest.mark.core
def test_every_vector_has_its_verdict(alone: ReferenceCodec) -> None:
    verdicts = {"accept": 0, "reject": 0}
    for path in sorted(FOLDER.glob("*.json")):
        for vector in json.loads(path.read_text(encoding="utf-8"))["vectors"]:
            parameters = [
                _value(alone, item) if isinstance(item, dict) else item
                for item in vector["parameters"]
            ]
            data = bytes.fromhex(vector["hex"])
            try:
                value, end = alone.read(vector["type"], data, 0, len(data), parameters)
            except alone.refusals:
                end = None
            assert end == vector.get("end"), vector
            verdicts[vector["verdict"]] += 1
            if vector.get("canonical"):
                assert alone.serialize(vector["type"], value, parameters=parameters) == data[:end]
    assert min(verdicts.values()) > 300


def _value(codec: Codec, item: dict[str, Any]) -> Any:
    return codec.parse(item["type"], bytes.fromhex(item["hex"]), parameters=item["parameters"])[0]


def test_truncated_entries(alone: ReferenceCodec) -> None:
    for data in ENTRIES.values():
        for size in range(len(data)):
            with pytest.raises(alone.refusals):
                alone.read("recordbatch.entry", data, 0, size)


def test_values_that_cannot_be_written(alone: ReferenceCodec) -> None:
    for name, bad, _, _ in UNENCODABLE.values():
        entry, _ = alone.parse("recordbatch.entry", ONE)
        setattr(entry.message, name, bad)
        with pytest.raises(KafkaSpecError, match=f"{alone.engine} refuses") as caught:
            alone.serialize("recordbatch.entry", entry)
        assert caught.value.reason is Reason.UNENCODABLE


def test_a_disagreement_is_an_error(alone: ReferenceCodec) -> None:
    words = "-> message" if alone.name == "construct" else "only 57 bytes available"
    with pytest.raises(KafkaSpecError, match=f"{alone.engine} refuses .*{words}") as caught:
        alone.parse("recordbatch.entry", b"xyz" + ONE[:-1], 3, origin=Origin("a.log", 100))
    error = caught.value
    assert (error.reason, error.position, error.file) == (Reason.INVALID_VALUE, 103, "a.log")
    with pytest.raises(KafkaSpecError, match=f"{alone.engine} refuses"):
        alone.parse("recordbatch.record_set", b"\x02", parameters=(a_batch(),))


def test_verify_reports_a_disagreement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One rule more in the definition of each: it refuses what the other codecs read."""
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(ONE)
    assert not disagreements(path)
    definition = copy(recordbatch.entry)
    strict = "base_offset" / Valid(Int64sb, value_ > 0)
    definition.subcons = [strict, *definition.subcons[1:]]
    with monkeypatch.context() as patch:
        patch.setattr(recordbatch, "entry", definition)
        assert "and construct disagree" in disagreements(path)
    kaitai = import_module("kafkaspec._generated.kaitai.recordbatch").Recordbatch
    read = kaitai.RecordBatch._read

    def strict_read(tree: Any) -> None:
        read(tree)
        tree._io.read_bytes(1 << 20)

    monkeypatch.setattr(kaitai.RecordBatch, "_read", strict_read)
    assert "and kaitai disagree" in disagreements(path)


def disagreements(path: Path) -> str:
    return " ".join(
        finding.message
        for finding in verify(path, codec="all").findings
        if finding.reason is FindingReason.CODECS_DISAGREE
    )
