"""Offset indexes with wrong entries, in which a broker looks for the end of a log."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import kafkaspec as ks
from kafkaspec.files import names

RECORDED: Final = Path(__file__).with_name("index_answers.json")
RECORDED_WITH: Final = ("3.9.2", "4.3.1")

START: Final = 20
"""Base offset of the last segment."""
END: Final = 70
"""Offset after its last record."""
_EACH: Final = 5
_START_MS: Final = 1_700_000_000_000


class Served(NamedTuple):
    """What a broker made of a log after a clean stop, as far as clients see it.

    Attributes:
        end: end of the log.
        appended: offset that it gave to a record.
        consumed: runs of offsets that a consumer got before that.
        then: those that a consumer got after that.
        delivers: whether the record was among them.
        after: those that a consumer got after another clean stop.
        still_delivers: whether the record was among them.
    """

    end: int
    appended: int
    consumed: str
    then: str
    delivers: bool
    after: str
    still_delivers: bool


def runs(offsets: Iterable[int]) -> str:
    """Return offsets as text: ``0-19 20``."""
    found: list[list[int]] = []
    for offset in offsets:
        if found and offset == found[-1][-1] + 1:
            found[-1][1:] = [offset]
        else:
            found.append([offset])
    return " ".join("-".join(map(str, run)) for run in found)


def batch(first: int) -> bytes:
    """Return a batch of five records; all of them are equally long."""
    records = [
        ks.Record(offset, _START_MS + offset, b"key", b"value %05d" % offset)
        for offset in range(first, first + _EACH)
    ]
    return ks.encode(records, partition_leader_epoch=0)


SIZE: Final = len(batch(0))

_INDEXES: Final[dict[str, list[tuple[int, float]]]] = {
    "right": [(29, 1), (49, 5)],
    "none": [],
    "the last offset is above the log": [(29, 1), (75, 5)],
    "the only offset is above the log": [(75, 5)],
    "the last position is in a batch": [(29, 1), (49, 5.5)],
    "the last position is at the end": [(29, 1), (49, 10)],
    "the last position is beyond the end": [(29, 1), (49, 5000)],
    "the last position is in the last batch": [(29, 1), (49, 9.5)],
    "the last position is that of a later batch": [(29, 1), (49, 8)],
    "the last position is that of an earlier batch": [(29, 1), (49, 2)],
    "the last offset is that of the last batch": [(29, 1), (69, 5)],
    "an earlier position is beyond the end": [(29, 5000), (49, 5)],
    "the offsets go down": [(49, 5), (29, 1)],
    "the offsets go up too far, and down": [(75, 5), (29, 1)],
}
"""By what is wrong: last offset of a batch, and the number of the batch that the position leads
to."""


def topic(case: str) -> str:
    """Return a topic's name for a case."""
    return case.replace(" ", "-").replace(",", "")


def cases(place: Path) -> dict[str, Path]:
    """Write a partition for each case; return their paths."""
    found = {}
    for case, entries in _INDEXES.items():
        found[case] = path = place / f"{topic(case)}-0"
        path.mkdir(parents=True)
        for base, end in ((0, START), (START, END)):
            name = names.SegmentName(base, names.LOG)
            data = b"".join(batch(first) for first in range(base, end, _EACH))
            (path / name.sibling(names.LOG)).write_bytes(data)
            listed = entries if base else []
            index = [
                struct.pack(">ii", offset - base, int(number * SIZE)) for offset, number in listed
            ]
            (path / name.sibling(names.OFFSET_INDEX)).write_bytes(b"".join(index))
            (path / name.sibling(names.TIME_INDEX)).write_bytes(b"")
    return found


def recorded() -> dict[str, dict[str, Served]]:
    """Return the answers of brokers, by release and case."""
    answers = json.loads(RECORDED.read_text(encoding="utf-8"))
    return {
        version: {case: Served(*row) for case, row in rows.items()}
        for version, rows in answers.items()
    }


def record(version: str, served: dict[str, Served]) -> None:
    """Record the answers of a release."""
    known = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    known[version] = served
    parts = []
    for release, rows in sorted(known.items()):
        lines = ",\n".join(f"{json.dumps(case)}: {json.dumps(row)}" for case, row in rows.items())
        parts.append(f"{json.dumps(release)}: {{\n{lines}}}")
    RECORDED.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")
