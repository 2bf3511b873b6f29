"""Tables that notebooks show of logs, batches and reports: as many rows as fit a screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import singledispatch
from itertools import islice
from typing import Any, Final

from kafkaspec.analysis.report import Report
from kafkaspec.columns.value_text import bytes_text, headers_text
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.batch import NO_TIMESTAMP, Batch
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.reports.page import Listing, bytes_of, counted, rendered, time_of

MOST_SHOWN: Final = 20
"""Rows of a table."""

_OF_BATCH: Final = (
    ">position", ">size", ">base_offset", ">last_offset", ">record_count", ">magic", "compression",
    "timestamp_type", "max_timestamp", ">producer_id", ">producer_epoch", ">base_sequence",
    "transactional", "control",
)  # fmt: skip
"""Columns of batches, with the names that ``dump --batches`` has; ">" aligns to the right."""
_OF_RECORD: Final = (">offset", "timestamp", "key", "value", "headers")
_OF_SEGMENT: Final = ("file", ">size")
_OF_PARTITION: Final = ("topic", ">partition", ">segments", "directory")
_OF_FINDING: Final = ("severity", "~file", ">position", "reason", "message")


@singledispatch
def html_of(shown: Any) -> str:
    """Return what a notebook shows of a log, a batch or a report; text in it is escaped."""
    raise TypeError(f"a notebook shows {shown!r} as text")


@html_of.register
def _(shown: Segment) -> str:
    return _html(shown, "Batches", _OF_BATCH, map(_batch_row, shown.batches()))


@html_of.register
def _(shown: Batch) -> str:
    columns = [name.lstrip(">") for name in _OF_BATCH]
    about = ", ".join(
        f"{name} {value}" for name, value in zip(columns, _batch_row(shown), strict=True)
    )
    return _html(shown, "Records", _OF_RECORD, _record_rows(shown), about)


@html_of.register
def _(shown: Partition) -> str:
    rows = ((path.name, bytes_of(path.stat().st_size)) for path in shown.segment_paths)
    return _html(shown, "Segments", _OF_SEGMENT, rows, left=len(shown.segment_paths))


@html_of.register
def _(shown: LogDirectory) -> str:
    found = shown.partitions
    rows = ((item.topic, item.partition, len(item.segment_paths), item.path.name) for item in found)
    return _html(shown, "Partitions", _OF_PARTITION, rows, left=len(found))


@html_of.register
def _(shown: Report) -> str:
    totals = shown.totals
    about = ", ".join(
        (
            "clean" if shown.clean else "not clean",
            counted(totals.checked, "file"),
            f"{totals.batches:,} batches",
            counted(totals.records, "record"),
            bytes_of(totals.size),
            f"read by {', '.join(shown.codecs)}",
        )
    )
    rows = (
        (str(each.severity), each.file, each.position, str(each.reason), each.message)
        for each in shown.findings
    )
    return _html(None, "Findings", _OF_FINDING, rows, about, left=len(shown.findings))


def _html(
    shown: Any,
    name: str,
    columns: tuple[str, ...],
    rows: Iterable[tuple[Any, ...]],
    about: str = "",
    left: int | None = None,
) -> str:
    """Return a table with its first rows, and the error that ends them, if one does.

    Args:
        shown: what the text of ``repr`` stands above the table of, None for none.
        name: name of the table.
        columns: names of its columns, as of ``Listing``.
        rows: its rows, of which no more than needed are made.
        about: what stands above it besides.
        left: number of all rows, None if that is not known.
    """
    made: list[tuple[Any, ...]] = []
    problem, pending = "", iter(rows)
    try:
        made += islice(pending, MOST_SHOWN)
        more = len(made) == MOST_SHOWN and next(pending, None) is not None
    except (KafkaSpecError, OSError, ValueError) as error:
        problem, more = str(error), False
    return rendered(
        "notebook",
        {
            "shown": "" if shown is None else repr(shown),
            "about": about,
            "table": Listing(name, columns, made, 0 if left is None else left - len(made)),
            "more": more and left is None,
            "problem": problem,
        },
    ).decode()


def _batch_row(batch: Batch) -> tuple[Any, ...]:
    known = not batch.is_wrapper  # of which only the last offset is in the header
    return (
        batch.position,
        batch.size,
        batch.base_offset if known else None,
        batch.last_offset,
        batch.num_records if known else None,
        batch.magic,
        batch.compression_name,
        batch.timestamp_type,
        _time(batch.max_timestamp),
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.is_transactional,
        batch.is_control,
    )


def _record_rows(batch: Batch) -> Iterator[tuple[Any, ...]]:
    for record in batch.records():
        yield (
            record.offset,
            _time(record.timestamp),
            bytes_text(record.key),
            bytes_text(record.value),
            headers_text(record.headers).strip() if record.headers else "",
        )


def _time(milliseconds: int) -> str:
    return time_of(None if milliseconds == NO_TIMESTAMP else milliseconds)
