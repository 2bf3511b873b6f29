"""Producer snapshots with a right checksum and wrong values, after a clean stop."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import kafkaspec as ks
from kafkaspec.codecs import get_codec
from kafkaspec.files import names
from kafkaspec.files.snapshots import new_producer_entry, serialize_snapshot

RECORDED: Final = Path(__file__).with_name("producer_answers.json")
RECORDED_WITH: Final = ("3.9.2", "4.3.1")

PRODUCER: Final = 7001
GHOST: Final = 7002
EPOCH: Final = 2
END: Final = 15
_EACH: Final = 5


class Answered(NamedTuple):
    """What a broker answers to a producer, and to a consumer.

    Attributes:
        again: error code and offset for the producer's last batch, sent again.
        committed: number of records that a consumer with ``read_committed`` gets.
        following: error code for its next batch.
        stored: number of records in the log after that.
    """

    again: tuple[int, int]
    committed: int
    following: int
    stored: int


_CHANGES: Final[dict[str, dict[str, int]]] = {
    "right": {},
    "a later sequence": {"last_sequence": 17},
    "the sequence of the next batch": {"last_sequence": 19},
    "an earlier sequence": {"last_sequence": 9},
    "a later epoch": {"producer_epoch": EPOCH + 1},
    "an earlier epoch": {"producer_epoch": EPOCH - 1},
    "a shorter batch": {"offset_delta": _EACH - 3},
    "another offset": {"last_offset": END - 2},
    "an open transaction": {"current_txn_first_offset": _EACH},
    "a coordinator": {"coordinator_epoch": 3},
}
"""Values of the producer's entry that are wrong."""
_GHOSTS: Final = {"another producer": -1, "an open transaction of another producer": _EACH}
"""Open transactions of a producer that has written nothing."""


def topic(case: str) -> str:
    """Return a topic's name for a case."""
    return case.replace(" ", "-")


def batch(number: int, now: int, *, sent: bool = False) -> bytes:
    """Return a batch of the producer, by its number; as it is ``sent``, it begins with offset 0."""
    first = number * _EACH
    begin = 0 if sent else first
    records = [ks.Record(begin + item, now, b"key", b"value") for item in range(_EACH)]
    return ks.encode(
        records, partition_leader_epoch=0, producer_id=PRODUCER, producer_epoch=EPOCH,
        base_sequence=first,
    )  # fmt: skip


def cases(place: Path, now: int | None = None) -> dict[str, Path]:
    """Write a partition for each case, with the time of now; return their paths."""
    now = int(time.time() * 1000) if now is None else now
    right = new_producer_entry(
        producer_id=PRODUCER, producer_epoch=EPOCH, last_sequence=END - 1, last_offset=END - 1,
        offset_delta=_EACH - 1, timestamp=now, coordinator_epoch=-1, current_txn_first_offset=-1,
    )  # fmt: skip
    ghosts = {
        case: [right, replace(right, producer_id=GHOST, current_txn_first_offset=first)]
        for case, first in _GHOSTS.items()
    }
    changed: dict[str, list[Any]] = {
        case: [replace(right, **change)] for case, change in _CHANGES.items()
    }
    found = {}
    name = names.SegmentName(0, names.LOG)
    for case, entries in {**changed, **ghosts}.items():
        found[case] = path = place / f"{topic(case)}-0"
        path.mkdir(parents=True)
        data = b"".join(batch(number, now) for number in range(END // _EACH))
        (path / name.sibling(names.LOG)).write_bytes(data)
        for kind in (names.OFFSET_INDEX, names.TIME_INDEX):
            (path / name.sibling(kind)).write_bytes(b"")
        snapshot = names.SegmentName(END, names.LOG).sibling(names.PRODUCER_SNAPSHOT)
        (path / snapshot).write_bytes(serialize_snapshot(entries, get_codec()))
    return found


def recorded() -> dict[str, dict[str, Answered]]:
    """Return the answers of brokers, by release and case."""
    answers = json.loads(RECORDED.read_text(encoding="utf-8"))
    return {
        version: {
            case: Answered((again[0], again[1]), *rest) for case, (again, *rest) in rows.items()
        }
        for version, rows in answers.items()
    }


def record(version: str, answered: dict[str, Answered]) -> None:
    """Record the answers of a release."""
    known = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    known[version] = answered
    parts = []
    for release, rows in sorted(known.items()):
        lines = ",\n".join(f"{json.dumps(case)}: {json.dumps(row)}" for case, row in rows.items())
        parts.append(f"{json.dumps(release)}: {{\n{lines}}}")
    RECORDED.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")
