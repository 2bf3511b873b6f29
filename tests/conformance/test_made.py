"""Cases that are made here: all codecs pass them, and Kafka writes the same bytes."""

from __future__ import annotations

import sys

import pytest

import kafkaspec as ks
from kafkaspec.codecs import codec_names
from kafkaspec.conformance.made import made_cases
from kafkaspec.conformance.process import Testee
from kafkaspec.conformance.protocol import RequestKind, record_of
from kafkaspec.conformance.runner import CaseOutcome, Run
from kafkaspec.conformance.written import WrittenRecords
from kafkaspec.layout.kinds import MAGICS
from tests.goldens import GOLDEN

CASES = list(made_cases())


@pytest.mark.slow
@pytest.mark.parametrize("codec", codec_names())
def test_our_codecs_pass(codec: str) -> None:
    with Testee([sys.executable, "-m", "kafkaspec.conformance.testee", codec]) as testee:
        results = list(Run(testee).all(CASES))
    assert [result for result in results if result.outcome is not CaseOutcome.PASSED] == []


def test_each_magic_is_written_and_each_compression_is_read() -> None:
    assert len({case.id for case in CASES}) == len(CASES)
    written = [case.expected for case in CASES if isinstance(case.expected, WrittenRecords)]
    assert {each.magic for each in written} == set(MAGICS)
    pairs = {(each.magic, each.compression) for each in written}
    read = {tuple(case.id.split("/")[-1].split(".")[:2]) for case in CASES if case.codecs}
    assert {(int(magic), name) for magic, name in read if magic.isdigit()} <= pairs
    assert sum(each.canonical is not None for each in written) > 10


@pytest.mark.parametrize("directory", ["plain-0", "headers-0", "idempotent-0", "transactions-0"])
def test_canonical_bytes_are_those_that_a_producer_of_kafka_wrote(directory: str) -> None:
    """The records of real batches, asked for as a case does, must give the bytes of the broker."""
    path = GOLDEN / "4.3.1" / "logs" / directory / f"{0:020}.log"
    data = path.read_bytes()
    seen = 0
    for batch in ks.open(path).batches():
        if batch.is_control or batch.is_compressed:
            continue
        header = batch.message
        items = [record_of(item) for item in batch.records()]
        asked = {
            "magic": batch.magic,
            "compression": "none",
            "producer_id": header.producer_id,
            "producer_epoch": header.producer_epoch,
            "base_sequence": header.base_sequence,
            "partition_leader_epoch": header.partition_leader_epoch,
            "transactional": header.attributes.is_transactional,
        }
        made = ks.encode(list(batch.records()), **asked)
        real = data[batch.position : batch.position + batch.size]
        judge = WrittenRecords(items, batch.magic, "none", made)
        answer = {"bytes": ks.conformance.protocol.encode_bytes(real)}
        assert judge.failure(answer, RequestKind.ENCODE) is None
        seen += 1
    assert seen
