"""Sequence numbers of producers, as brokers wrote them, and in logs that were put together.

The judges: golden partitions, in which no broker broke a rule, their 1,269 producer snapshots, and
the arithmetic of sequence numbers. Brokers that forget producers are in ``tests/kafka``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from kafkaspec.forensics.producers import (
    Break,
    Producers,
    ProducerVerdict,
    by_producer,
    read_producers,
)
from kafkaspec.log.encoding import encode
from kafkaspec.log.partition import Partition
from kafkaspec.model import Record
from kafkaspec.results import member_types
from tests.cli.helpers import run
from tests.goldens import GOLDEN, VERSIONS, partitions
from tests.log import forge

LOGS = GOLDEN / "4.3.1" / "logs"
DAY_MS = 24 * 60 * 60 * 1000
LARGEST = 2**31 - 1


def _batch(offset: int, sequence: int, values: Sequence[bytes], **more: object) -> bytes:
    epoch = more.pop("epoch", 0)
    producer = (7, epoch, sequence)
    records = [forge.record(number, value) for number, value in enumerate(values)]
    return forge.batch(offset, records, producer=producer, **more)  # type: ignore[arg-type]


def _read(place: Path, *batches: bytes) -> Producers:
    place.mkdir(exist_ok=True)
    (place / f"{0:020}.log").write_bytes(b"".join(batches))
    return read_producers(Partition(place))


def _verdicts(found: Producers) -> list[tuple[str, int, bool | None]]:
    return [(str(item.verdict), item.count, item.legal) for item in found.breaks]


@pytest.mark.parametrize("version", VERSIONS)
def test_brokers_break_no_rule(version: str) -> None:
    """What compaction removes leaves as many offsets out; each snapshot agrees with its log."""
    for path in partitions(version):
        log = Partition(path)
        if not log.segment_paths:
            continue
        found = read_producers(log)
        assert found.unread == []
        assert found.snapshots == len(log.snapshot_paths), path
        for item in found.breaks:
            assert (item.verdict, item.legal) == (ProducerVerdict.REMOVED, True), (path, item)
        data = [batch for batch in log.batches() if batch.producer_id >= 0 and not batch.is_control]
        assert sum(row["batches"] for row in by_producer(found)) == len(data)
        last = {batch.producer_id: batch for batch in data}
        for row in by_producer(found):
            batch = last[row["producer_id"]]
            assert (row["last_epoch"], row["last_sequence"], row["last_offset"]) == (
                batch.producer_epoch, batch.last_sequence, batch.last_offset,
            )  # fmt: skip


def test_numbers_begin_again_inside_of_a_batch(tmp_path: Path) -> None:
    found = _read(
        tmp_path / "t-0",
        _batch(0, LARGEST - 1, [b"a", b"b", b"c"]),
        _batch(3, 1, [b"d"]),
        _batch(4, 2, [b"e"]),
    )
    assert found.breaks == []
    assert [(row["first_sequence"], row["last_sequence"]) for row in found.runs.to_pylist()] == [
        (LARGEST - 1, 2)
    ]


def test_a_duplicate_is_proved_by_its_records(tmp_path: Path) -> None:
    one, two, three = (_batch(0, 0, [b"a", b"b"]), _batch(2, 2, [b"c"]), _batch(5, 3, [b"d"]))
    again = _batch(3, 0, [b"a", b"b"])
    found = _read(tmp_path / "same-0", one, two, again, three)
    assert _verdicts(found) == [("duplicate", 2, False)]
    assert found.breaks[0].strength == "proof"
    assert [row["follows"] for row in found.runs.to_pylist()] == ["start", "repeat", "resumes"]
    other = _batch(3, 0, [b"a", b"x"])
    found = _read(tmp_path / "other-0", one, two, other)
    assert _verdicts(found) == [("reused", 2, True)]
    late = _batch(3, 0, [b"a", b"b"], base_timestamp=1000 + DAY_MS, max_timestamp=1000 + DAY_MS)
    found = _read(tmp_path / "late-0", one, two, late)
    assert _verdicts(found) == [("duplicate", 2, True)]
    gone = _batch(3, 1, [b"b", b"c"])  # other batches, so that none begins with this number
    found = _read(tmp_path / "gone-0", one, two, gone)
    assert _verdicts(found) == [("not_compared", 2, False)]
    assert found.breaks[0].strength == "unknown"


def test_gaps_with_and_without_their_offsets(tmp_path: Path) -> None:
    one = _batch(0, 0, [b"a"])
    cases = (
        (_batch(1, 5, [b"b"]), [("never_here", 4, False)]),
        (_batch(5, 5, [b"b"]), [("removed", 4, None)]),
        (_batch(3, 5, [b"b"]), [("never_here", 4, False)]),
        (_batch(9, 5, [b"b"]), [("removed", 4, None)]),
        (
            _batch(1, 5, [b"b"], base_timestamp=1000 + DAY_MS, max_timestamp=1000 + DAY_MS),
            [("never_here", 4, True)],
        ),
        # The cleaner has put a delete horizon in the place of the time of the first record.
        (
            _batch(1, 5, [b"b"], attributes=1 << 6, base_timestamp=1000 + 9 * DAY_MS),
            [("never_here", 4, None)],
        ),
        (_batch(1, 5, [b"b"], base_timestamp=-1), [("never_here", 4, None)]),
    )
    for number, (batch, expected) in enumerate(cases):
        assert _verdicts(_read(tmp_path / f"t-{number}", one, batch)) == expected, number


def test_epochs(tmp_path: Path) -> None:
    one = _batch(0, 0, [b"a"], epoch=3)
    assert _read(tmp_path / "t-0", one, _batch(1, 0, [b"b"], epoch=4)).breaks == []
    found = _read(tmp_path / "t-1", one, _batch(1, 9, [b"b"], epoch=4))
    assert _verdicts(found) == [("unknown_producer", 0, None)]
    found = _read(tmp_path / "t-2", one, _batch(1, 0, [b"b"], epoch=2))
    assert _verdicts(found) == [("two_writers", 0, False)]


def test_a_snapshot_proves_what_the_log_lost(tmp_path: Path) -> None:
    """The last batch of a producer is cut out of a broker's log; its snapshot names it still."""
    place = Path(shutil.copytree(LOGS / "idempotent-0", tmp_path / "idempotent-0"))
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n0\n")
    log = Partition(place)
    batches = list(log.batches())
    path = Path(str(batches[0].file))
    data = path.read_bytes()
    last = [batch for batch in batches if batch.producer_id == 0][-1]
    path.write_bytes(data[: last.position] + data[last.end :])
    proved = [
        item for item in read_producers(log).breaks if item.verdict is ProducerVerdict.SNAPSHOT
    ]
    (item,) = [item for item in proved if item.producer_id == 0]
    lost = last.last_offset - last.base_offset + 1
    assert (item.strength, item.legal) == ("proof", False)
    assert f"{lost} records are lost" in item.message
    (tmp_path / "cleaner-offset-checkpoint").unlink()
    (item,) = [item for item in read_producers(log).breaks if item.producer_id == 0]
    assert item.strength == "likely"  # nothing says that the log was not compacted


@pytest.mark.slow
def test_the_command_counts_what_is_not_legal(tmp_path: Path) -> None:
    sound = run("producers", LOGS / "compacted-idempotent-0")
    assert sound.exit_code == 0, sound.output
    assert "[removed, legal, strong]" in sound.output
    _read(tmp_path / "t-0", _batch(0, 0, [b"a"]), _batch(1, 0, [b"a"]))
    result = run("producers", "--format", "json", tmp_path / "t-0")
    assert result.exit_code == 1, result.output
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["type"] for row in rows] == [
        "run", "run", "break", "producer", "partition", "summary",
    ]  # fmt: skip
    assert rows[2]["verdict"] == "duplicate"
    assert set(rows[2]) - {"type", "topic", "partition"} == set(member_types(Break))
    assert rows[2]["offsets"] == [rows[2]["first_offset"], rows[2]["last_offset"] + 1]
    text = run("producers", tmp_path / "t-0")
    assert "[duplicate, not legal, proof]" in text.output


def test_producer_ids_below_none_are_named(tmp_path: Path) -> None:
    """Brokers take them for none; an early version of KIP-1279 wrote them."""
    record = Record(0, 1_700_000_000_000, None, b"a")
    data = encode([record], producer_id=-7, producer_epoch=3, base_sequence=0)
    path = tmp_path / "t-0" / f"{0:020d}.log"
    path.parent.mkdir()
    path.write_bytes(data)
    result = run("producers", "--format", "json", path.parent)
    assert result.exit_code == 1, result.output
    partition = json.loads(result.stdout.splitlines()[0])
    assert (partition["foreign"], partition["producers"]) == ({"-7": 1}, 0)
    assert "t-0: 1 batch of producer -7" in result.stderr


def test_group_offsets_of_old_brokers_begin_at_0_again(tmp_path: Path) -> None:
    """Quirk Q34: brokers up to 3.9 write each batch of offsets in a transaction with sequence 0."""
    batches = [_batch(number, 0, [b"offset"]) for number in range(4)]
    assert _read(tmp_path / "__consumer_offsets-0", *batches).breaks == []
