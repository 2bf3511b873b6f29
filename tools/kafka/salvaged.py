"""The page about salvage: what it delivers after accidents, and what Kafka's recovery leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from kafkaspec.broker.actions import Recovery
from kafkaspec.files.names import LOG, segment_name
from kafkaspec.forensics.salvage.plan import plan_segment
from kafkaspec.forensics.salvage.report import Fate
from kafkaspec.log.segment import Segment
from kafkaspec.writing.rebuild import rebuild_indexes
from tools.golden.accidents import ACCIDENTS, happen
from tools.golden.corpus import Log, corpus

_NAME: Final = segment_name(0, LOG)
_LOSES_ALL: Final = (Recovery.EMPTIES, Recovery.REFUSES, Recovery.SPLITS)
_HEAD: Final = """\
<!-- Made by `make compatibility` from tools/golden/accidents.py. DO NOT EDIT. -->

# Salvage and Kafka's recovery

What is there after an accident, of {logs} segments with {entries} entries: magic 0, 1 and 2, all
codecs, transactions, compacted, idempotent, and values that hold other segments. Each of
{accidents} accidents happens to each of them by itself.

| column | entries |
|---|---|
| intact | that are in the damaged file as they were |
| Kafka keeps | of these, when a broker recovers the segment; all later segments are lost too |
| salvage | of these, in the output of [`salvage`](guide/salvage.md) |
| ambiguous | of these, left out since they may be inside a value |
| repaired | that were not intact, and are right again with `--repair bits,headers` |

Nothing in any output was foreign: each entry is one of the log, but for fields that no checksum
covers ({unseen} entries, in accidents that change only these).

| accident | intact | Kafka keeps | salvage | ambiguous | repaired |
|---|---:|---:|---:|---:|---:|
"""


def page() -> str:
    """Return the page."""
    rows, total = [], Counter[str]()
    with TemporaryDirectory() as folder:
        path = Path(folder) / _NAME
        for name in ACCIDENTS:
            found = Counter[str]()
            for log in corpus():
                found += _counts(log, name, path)
            total += found
            rows.append(_row(name, found))
    head = _HEAD.format(
        logs=len(corpus()),
        entries=sum(len(log.entries) for log in corpus()),
        accidents=len(ACCIDENTS),
        unseen=total["unseen"],
    )
    return head + "\n".join((*rows, _row("**all**", total))) + "\n"


def _row(name: str, found: Counter[str]) -> str:
    numbers = (found[key] for key in ("intact", "kafka", "salvage", "ambiguous", "repaired"))
    return " | ".join((f"| {name}", *(f"{number:,}" for number in numbers))) + " |"


def _counts(log: Log, accident: str, path: Path) -> Counter[str]:
    """Count what is left of a log after an accident."""
    data = happen(accident, log.data, log.places)
    path.write_bytes(data)
    intact = {entry for entry in log.entries if entry in data}
    recovered = _recovered(path, data)
    kept, unclear = _salvaged(path, data)
    fixed, _ = _salvaged(path, data, repair=True)
    known = {entry[17:] for entry in log.entries}
    strange = [entry for entry in (*kept, *fixed) if entry[17:] not in known]
    if strange:
        raise AssertionError(f"{log}, {accident}: entries that the log never had")
    return Counter(
        intact=len(intact),
        kafka=sum(entry in recovered for entry in intact),
        salvage=len(intact & kept),
        ambiguous=sum(entry in unclear for entry in intact - kept),
        repaired=len((fixed - kept) & set(log.entries)),
        unseen=len(kept - set(log.entries)),
    )


def _salvaged(path: Path, data: bytes, *, repair: bool = False) -> tuple[set[bytes], bytes]:
    with Segment(path) as segment:
        plan = plan_segment(segment, None, frozenset({"bits", "headers"} if repair else ()))
    found: Collection[bytes] = set()
    for piece in plan.pieces:
        part = data[piece.start : piece.end] if piece.data is None else piece.data
        found = {*found, *(bytes(batch.data) for batch in Segment(part).batches())}
    unclear = [
        data[item.position : item.end] for item in plan.stretches if item.fate is Fate.AMBIGUOUS
    ]
    return set(found), b"".join(unclear)


def _recovered(path: Path, data: bytes) -> bytes:
    """Return the bytes that a broker keeps when it recovers the segment."""
    (segment,) = rebuild_indexes(path).segments
    return b"" if segment.recovery in _LOSES_ALL else data[: segment.valid_bytes]
