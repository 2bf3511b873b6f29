"""The page about a measurement."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from kafkaspec.reports.page import NONE, Listing, bytes_of, listing, number, rendered, time_of
from kafkaspec.stats.charts import charts_of
from kafkaspec.stats.distinct import MOST
from kafkaspec.stats.figures import TOTAL, Figures, StatsRow, key_text, name_of

_NOTES: Final = (
    "Records are those of batches that can be read, without control records.",
    "Times are by the largest timestamp of a batch, in UTC, as producers or brokers wrote them.",
    "Sizes of a record: its key, its value and its headers, before compression.",
    "Ratio: bytes of records after decompression for each byte before it.",
    "Out of order: records with a timestamp below that of the record before them.",
    f"Different keys: counted exactly up to {MOST:,}; above that the bounds hold in 95 of 100 "
    "cases.",
    "Heaviest keys: there are at least as many records as the first number says, and at most as "
    "many as the second.",
)


def stats_page(figures: Figures, *, show_keys: bool = False, made: float | None = None) -> bytes:
    """Return the page about a measurement.

    Args:
        show_keys: whether the heaviest keys themselves are shown.
    """
    total = figures.total
    first, last = total["first_timestamp"], total["last_timestamp"]
    about = "Timestamps of records: none." if first is None else (
        f"Timestamps of batches: {time_of(first)} to {time_of(last)}."
    )  # fmt: skip
    tables = [
        _partitions(figures),
        _codecs(figures),
        _producers(figures),
        _transactions(figures),
        _gaps(figures),
        _keys(figures, show_keys=show_keys),
        _errors(figures),
    ]
    return rendered(
        "stats",
        {
            "title": "What the logs hold",
            "about": about,
            "made": int((time.time() if made is None else made) * 1000),
            "tiles": list(_tiles(total)),
            "errors": total["errors"],
            "charts": charts_of(figures),
            "tables": [item for item in tables if item.rows],
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
        yield "Records a second", number(rate), f"{bytes_of(total['bytes_per_second'])}/s"
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
            f"by at most {number(step)} ms" if step else "every timestamp follows",
        )  # fmt: skip
    yield (
        "Producers", number(total["producers"]), f"{number(total['transactions'])} transactions"
    )  # fmt: skip
    yield "Not read", number(total["errors"]), "listed below" if total["errors"] else "all was read"


def _partitions(figures: Figures) -> Listing:
    columns = ("~partition", "magic", "codecs", ">segments", ">size", ">indexes", ">batches",
               ">records", ">offsets", "first time", "last time", ">records/s", ">ratio", ">keys",
               ">not read")  # fmt: skip
    ranked = sorted(figures.partitions, key=lambda row: not row["errors"])
    rows = (
        (
            name_of(row),
            " ".join(map(str, row["magics"])) or NONE,
            " ".join(row["codecs"]) or NONE,
            number(row["segments"]),
            bytes_of(row["file_bytes"]),
            bytes_of(row["index_bytes"]),
            number(row["batches"]),
            number(row["records"]),
            NONE if row["first_offset"] is None else f"{row['first_offset']}..{row['last_offset']}",
            time_of(row["first_timestamp"]),
            time_of(row["last_timestamp"]),
            number(row["records_per_second"]),
            number(row["ratio"]),
            number(row["distinct_keys"]),
            number(row["errors"]),
        )
        for row in ranked
    )
    return listing("Partitions", columns, rows)


def _codecs(figures: Figures) -> Listing:
    columns = ("magic", "compression", "timestamps", ">batches", ">records", ">bytes", ">ratio")
    rows = (
        (
            row["magic"],
            row["compression"],
            row["timestamp_type"],
            number(row["batches"]),
            number(row["records"]),
            bytes_of(row["bytes"]),
            number(row["ratio"]),
        )
        for row in figures.codecs(TOTAL)
    )
    return listing("Formats", columns, rows)


def _producers(figures: Figures) -> Listing:
    columns = (">producer", ">epoch", ">batches", ">records", ">bytes", ">markers", "first time",
               "last time")  # fmt: skip
    ranked = sorted(figures.rows("producers", TOTAL), key=lambda row: -row["bytes"])
    rows = (
        (
            row["producer_id"],
            row["producer_epoch"],
            *(number(row[name]) for name in ("batches", "records")),
            bytes_of(row["bytes"]),
            number(row["markers"]),
            time_of(row["first_timestamp"]),
            time_of(row["last_timestamp"]),
        )
        for row in ranked
    )
    return listing("Producers, the largest first", columns, rows)


def _transactions(figures: Figures) -> Listing:
    columns = ("outcome", ">transactions", ">batches", ">records", ">longest, ms")
    names = ("transactions", "batches", "records", "longest_ms")
    rows = figures.rows("transactions", TOTAL)
    return listing(
        "Transactions",
        columns,
        [(row["outcome"], *(number(row[name]) for name in names)) for row in rows],
    )


def _gaps(figures: Figures) -> Listing:
    columns = ("where", "why", ">ranges", ">offsets", ">largest")
    names = ("ranges", "missing", "largest")
    rows = figures.rows("gaps", TOTAL)
    cells = [(row["kind"], row["why"], *(number(row[name]) for name in names)) for row in rows]
    return listing("Offsets without a record that consumers get", columns, cells)


def _keys(figures: Figures, *, show_keys: bool) -> Listing:
    columns = ("~key", ">records", ">at most", ">bytes of the key")
    rows = (
        (
            key_text(row) if show_keys else f"key {place}, not shown",
            number(row["count"]),
            number(row["at_most"]),
            number(row["size"]),
        )
        for place, row in enumerate(figures.heaviest(TOTAL), 1)
    )
    return listing("Heaviest keys", columns, rows)


def _errors(figures: Figures) -> Listing:
    columns = ("~file", ">byte", "reason", "~message")
    rows = (
        (row["file"], NONE if row["position"] is None else row["position"], row["reason"],
         row["message"])
        for row in figures.rows("errors")
    )  # fmt: skip
    return listing("What could not be read", columns, rows)
