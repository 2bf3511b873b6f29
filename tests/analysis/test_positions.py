"""An error and the finding of ``verify`` about the same fault name the same byte and field."""

from __future__ import annotations

import random
import struct
import warnings
from collections import Counter
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.log.batch import computed_crc
from tests.goldens import GOLDEN

SEGMENTS = [
    f"{version}/logs/{name}"
    for version, names in {
        "0.8.2.2": ("codec-none-0", "codec-gzip-0", "codec-snappy-0"),
        "0.10.2.2": ("codec-none-0", "codec-gzip-0", "codec-lz4-0"),
        "4.4.0": ("codec-none-0", "codec-gzip-0", "codec-zstd-0", "transactions-0"),
    }.items()
    for name in names
]
TRIES = 40


def damaged(data: bytes, seed: int, *, repaired: bool) -> bytes:
    """Change a byte of an entry, and compute its checksum again, so that the fault lies deeper."""
    chance = random.Random(seed)
    made = bytearray(data)
    batch = chance.choice(list(ks.Segment(data)))
    made[chance.randrange(batch.position, batch.end)] ^= 1 << chance.randrange(8)
    wrong = {
        error.position
        for error in errors(ks.Segment(bytes(made)))
        if error.reason is ks.Reason.CHECKSUM_MISMATCH and error.inner_position is None
    }
    for item in ks.Segment(bytes(made)).scan() if repaired and len(wrong) == 1 else ():
        if isinstance(item, ks.Batch) and not item.crc_valid:
            struct.pack_into(">I", made, wrong.pop() or 0, computed_crc(item))
    return bytes(made)


def errors(segment: ks.Segment) -> list[ks.KafkaSpecError]:
    """What is raised by the readers of a segment: of headers, and of records."""
    found = []
    for item in segment.scan():
        try:
            if isinstance(item, ks.KafkaSpecError):
                raise item
            item.records()
        except ks.KafkaSpecError as error:
            found.append(error)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("repaired", [False, True])
def test_an_error_and_a_finding_of_a_fault_have_the_same_position(
    repaired: bool, tmp_path: Path
) -> None:
    seen: Counter[tuple[bool, ks.Reason]] = Counter()
    path = tmp_path / "00000000000000000000.log"
    for number, place in enumerate(SEGMENTS):
        (log,) = (GOLDEN / place).glob("*.log")
        for seed in range(TRIES):
            data = damaged(log.read_bytes(), number * TRIES + seed, repaired=repaired)
            path.write_bytes(data)
            findings = {
                (each.reason, each.position, each.path) for each in ks.verify(path).findings
            }
            for error in errors(ks.Segment(path)):
                expected = (str(error.reason), error.position, error.path)
                assert expected in {(str(reason), *rest) for reason, *rest in findings}, (
                    place,
                    seed,
                )
                seen[error.inner_position is not None, error.reason] += 1
    assert sum(seen.values()) > TRIES
    if repaired:
        assert {inner for inner, _ in seen} == {False, True}
        assert len(seen) > 5


def test_the_former_names_warn() -> None:
    with pytest.raises(ks.TruncatedError) as caught:
        ks.decode(bytes(5))
    with pytest.warns(DeprecationWarning, match="take position"):
        assert caught.value.offset == caught.value.position
    with pytest.warns(DeprecationWarning, match="take inner_position"):
        assert caught.value.inner_offset == caught.value.inner_position
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "byte 0" in str(caught.value)
