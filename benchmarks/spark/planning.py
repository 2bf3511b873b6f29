"""Compare planning with listing and counts by headers: ``python -m benchmarks.spark.planning``.

The processor's time of one process, in turns, of many partitions with a few tiny segments each.
Both list the partitions, open each segment and read its headers; planning also says what is
missing, and makes the tasks.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

import kafkaspec as ks
from benchmarks.outcome import number
from benchmarks.timing import Candidate, measure
from kafkaspec.files.names import LOG, segment_name
from kafkaspec.layout import names
from kafkaspec.lazy import uncollected
from kafkaspec.log.headers import header_tables
from kafkaspec.log.segment import Segment
from kafkaspec.spark.options import read_options
from kafkaspec.spark.paths import find_logs
from kafkaspec.spark.planning import plan

GATE = 1.5
_RECORDS = 3


def make(root: Path, partitions: int, segments: int) -> None:
    """Write partitions of segments with one batch each."""
    batches = [
        ks.encode([ks.Record(number + n, 0, None, b"v") for n in range(_RECORDS)])
        for number in range(0, segments * _RECORDS, _RECORDS)
    ]
    for partition in range(partitions):
        directory = root / f"orders-{partition}"
        directory.mkdir()
        for place, batch in enumerate(batches):
            (directory / segment_name(place * _RECORDS, LOG)).write_bytes(batch)


def count(root: Path) -> int:
    """Return the number of records, by headers."""
    found = 0
    with uncollected():
        for log in find_logs(str(root)):
            for item in log.segments:
                with Segment(item.path, mapped=False) as segment:
                    for table in header_tables(segment):
                        found += sum(table.list(names.NUM_RECORDS))
    return found


def planned(root: Path) -> int:
    """Return the number of records, as each piece that is planned has so many."""
    return _RECORDS * sum(len(task.pieces) for task in plan(read_options({"path": str(root)})))


@click.command()
@click.option("--partitions", default=2_000, show_default=True)
@click.option("--segments", default=3, show_default=True, help="Of each partition.")
@click.option("--rounds", default=7, show_default=True)
def main(partitions: int, segments: int, rounds: int) -> None:
    """Print the ratio of planning to listing and counting by headers."""
    with tempfile.TemporaryDirectory(prefix="kafkaspec-bench-") as name:
        root = Path(name)
        make(root, partitions, segments)
        records = partitions * segments * _RECORDS
        times = measure(
            [
                Candidate("headers", lambda: count(root), records),
                Candidate("planning", lambda: planned(root), records),
            ],
            rounds,
        )
    click.echo(
        f"planning of {partitions:,} partitions of {segments} segments ÷ listing and counts by"
        f" headers: {number(times.ratio('planning', 'headers'))} (gate: at most {GATE})"
    )


if __name__ == "__main__":
    main()
