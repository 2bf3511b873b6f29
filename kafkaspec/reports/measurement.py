"""The page about a measurement."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, Final

from kafkaspec.reports.page import (
    NONE,
    Listing,
    ReportSource,
    bytes_of,
    listing,
    number,
    rendered,
    time_of,
)
from kafkaspec.shown import clocks_text, duration_text
from kafkaspec.stats.charts import charts_of, rate_unit
from kafkaspec.stats.distinct import MOST
from kafkaspec.stats.figures import TOTAL, Figures, StatsRow, key_text, name_of

_NOTES: Final = (
    "Records are those of batches that can be read, without control records.",
    "Times are by the largest timestamp of a batch, in UTC, as producers or brokers wrote them.",
    "Sizes of a record: its key, its value and its headers, before compression.",
    "Ratio: bytes of records after decompression for each byte before it.",
    "Longest transaction: from the timestamp of its first record, of the producer's clock unless "
    "the topic has LogAppendTime, to that of its marker, of the broker's clock.",
    "Out of order: records with a timestamp below that of the record before them.",
    f"Different keys: counted exactly up to {MOST:,}; above that the bounds hold in 95 of 100 "
    "cases.",
    "Heaviest keys: there are at least as many records as the first number says, and at most as "
    "many as the second.",
)


def stats_page(
    figures: Figures,
    *,
    source: ReportSource = (),
    show_keys: bool = False,
    made: float | None = None,
) -> bytes:
    """Return the page about a measurement, with or without the heaviest keys themselves.

    Args:
        source: where it comes from, see ``ReportSource``.
    """
    total = figures.total
    first, last = total["first_timestamp"], total["last_timestamp"]
    about = "Timestamps of records: none." if first is None else (
        f"Timestamps of batches: {time_of(first)} to {time_of(last)}."
    )  # fmt: skip
    return rendered(
        "stats",
        {
            "title": "What the logs hold",
            "about": about,
            "source": source,
            "made": int((time.time() if made is None else made) * 1000),
            "tiles": list(_tiles(total)),
            "errors": total["errors"],
            "charts": charts_of(figures),
            "tables": [item for item in _tables(figures, show_keys=show_keys) if item.rows],
            "notes": _NOTES,
        },
    )


def _tiles(total: StatsRow) -> Iterable[tuple[str, str, str]]:
    yield "Records", number(total["records"]), f"in {number(total['batches'])} batches"
    yield (
        "Segments", bytes_of(total["file_bytes"]),
        f"{number(total['segments'])} in {number(total['partitions'])} partitions",
    )  # fmt: skip
    rate = total["records_per_second"]
    if rate is not None:
        width, each = rate_unit(rate / 1000)
        size = bytes_of(total["bytes_per_second"] * width / 1000)
        yield f"Records {each}", number(rate * width / 1000), f"{size} {each}"
    if total["ratio"] is not None:
        yield "Compression", f"{number(total['ratio'])} : 1", " ".join(total["codecs"])
    if total["distinct_keys"] is not None:
        low, high = total["distinct_low"], total["distinct_high"]
        bounds = "exactly" if low == high else f"{number(low)} to {number(high)}"
        yield "Different keys", number(total["distinct_keys"]), bounds
        dead = f"{number(total['null_keys'])} records without a key"
        yield "Tombstones", number(total["tombstones"]), dead
        step = total["largest_step_back"]
        yield (
            "Out of order", number(total["steps_back"]),
            f"by at most {duration_text(step)}" if step else "every timestamp follows",
        )  # fmt: skip
    yield (
        "Producers", number(total["producers"]), f"{number(total['transactions'])} transactions"
    )  # fmt: skip
    yield "Not read", number(total["errors"]), "listed below" if total["errors"] else "all was read"


def _tables(figures: Figures, *, show_keys: bool) -> Iterable[Listing]:
    ranked = sorted(figures.partitions, key=lambda row: not row["errors"])
    yield _table("Partitions", _PARTITIONS, ranked)
    yield _table("Formats", _CODECS, figures.codecs(TOTAL))
    largest = sorted(figures.rows("producers", TOTAL), key=lambda row: -row["bytes"])
    yield _table("Producers, the largest first", _PRODUCERS, largest)
    yield _table("Transactions", _TRANSACTIONS, figures.rows("transactions", TOTAL))
    gaps = figures.rows("gaps", TOTAL)
    yield _table("Offsets without a record that consumers get", _GAPS, gaps)
    keys = [
        row | {"shown": key_text(row) if show_keys else f"key {place}, not shown"}
        for place, row in enumerate(figures.heaviest(TOTAL), 1)
    ]
    yield _table("Heaviest keys", _KEYS, keys)
    yield _table("What could not be read", _ERRORS, figures.rows("errors"))


def _table(name: str, columns: Sequence[_Column], rows: Iterable[StatsRow]) -> Listing:
    cells = ([show(row) for _, show in columns] for row in rows)
    return listing(name, [heading for heading, _ in columns], cells)


def _of(name: str, show: Callable[[Any], Any] = number) -> Callable[[StatsRow], Any]:
    return lambda row: show(row[name])


def _words(name: str) -> Callable[[StatsRow], str]:
    return lambda row: " ".join(map(str, row[name])) or NONE


def _offsets(row: StatsRow) -> str:
    return NONE if row["first_offset"] is None else f"{row['first_offset']}..{row['last_offset']}"


_Column = tuple[str, Callable[[StatsRow], Any]]
_TIMES: Final[Sequence[_Column]] = (
    ("first time", _of("first_timestamp", time_of)),
    ("last time", _of("last_timestamp", time_of)),
)
_PARTITIONS: Final[Sequence[_Column]] = (
    ("~partition", name_of),
    ("magic", _words("magics")),
    ("codecs", _words("codecs")),
    (">segments", _of("segments")),
    (">size", _of("file_bytes", bytes_of)),
    (">indexes", _of("index_bytes", bytes_of)),
    (">batches", _of("batches")),
    (">records", _of("records")),
    (">offsets", _offsets),
    *_TIMES,
    (">records/s", _of("records_per_second")),
    (">ratio", _of("ratio")),
    (">keys", _of("distinct_keys")),
    (">not read", _of("errors")),
)
_COUNTED: Final[Sequence[_Column]] = (
    (">batches", _of("batches")),
    (">records", _of("records")),
    (">bytes", _of("bytes", bytes_of)),
)
_CODECS: Final[Sequence[_Column]] = (
    ("magic", itemgetter("magic")),
    ("compression", itemgetter("compression")),
    ("timestamps", itemgetter("timestamp_type")),
    *_COUNTED,
    (">ratio", _of("ratio")),
)
_PRODUCERS: Final[Sequence[_Column]] = (
    (">producer", itemgetter("producer_id")),
    (">epoch", itemgetter("producer_epoch")),
    *_COUNTED,
    (">markers", _of("markers")),
    *_TIMES,
)
_TRANSACTIONS: Final[Sequence[_Column]] = (
    ("outcome", itemgetter("outcome")),
    (">transactions", _of("transactions")),
    *_COUNTED[:2],
    (">longest", lambda row: NONE if row["longest_ms"] is None else clocks_text(row["longest_ms"])),
)
_GAPS: Final[Sequence[_Column]] = (
    ("where", itemgetter("kind")),
    ("why", itemgetter("why")),
    (">ranges", _of("ranges")),
    (">offsets", _of("missing")),
    (">largest", _of("largest")),
)
_KEYS: Final[Sequence[_Column]] = (
    ("~key", itemgetter("shown")),
    (">records", _of("count")),
    (">at most", _of("at_most")),
    (">bytes of the key", _of("size")),
)
_ERRORS: Final[Sequence[_Column]] = (
    ("~file", itemgetter("file")),
    (">byte", itemgetter("position")),
    ("reason", itemgetter("reason")),
    ("~message", itemgetter("message")),
)
