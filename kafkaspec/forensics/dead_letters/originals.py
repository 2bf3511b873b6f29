"""Write the records that dead letters are about: to a file, or as segments to produce again."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.arrow.schema import TIMESTAMP, headers_type
from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.dead_letters.joined import THERE, DeadLetters, SourceState, places_of
from kafkaspec.forensics.dead_letters.letters import read_letters, without_letter_headers
from kafkaspec.forensics.dead_letters.sources import SourcePlace
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.options import checked
from kafkaspec.output.atomic import DirectoryAside, cannot_write, file_aside, require_new, writing
from kafkaspec.output.places import check_output
from kafkaspec.tables.writers import writer_of
from kafkaspec.writing.segment_writer import SegmentWriter

OriginalFormat = Literal["parquet", "arrow", "jsonl", "segments"]
ORIGINAL_FORMATS: Final[tuple[OriginalFormat, ...]] = get_args(OriginalFormat)

ORIGINALS: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", TIMESTAMP),
        ("timestamp_type", pa.string()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        pa.field("headers", headers_type("binary", "binary"), nullable=False),
        ("copied_from", pa.string()),
    ]
)
"""Columns of records that dead letters are about. ``copied_from`` is ``source`` for one that its
log has, and ``letter`` for one of which only the letter has key, value and headers."""


@checked
def export_originals(
    dead: DeadLetters,
    logs: Iterable[Partition | Segment],
    output: str | Path,
    to: OriginalFormat,
) -> int:
    """Write the records that dead letters are about, each once, in the order of their offsets.

    A record that its log does not have is taken from the letter, without the headers of the
    failure, if the letter has a key or value.

    Args:
        dead: the letters.
        logs: those in which they were found.
        output: a file, or with ``segments`` a directory that gets one for each partition, with the
            offsets that the records had. It must not exist.
        to: the format.

    Returns:
        The number of records that were written.

    Raises:
        KafkaSpecError: ``unreadable``: the output exists or lies in what is read, or a log cannot
            be read.
    """
    output = Path(output)
    given = list(logs)
    check_target(output, to, *given, *(source.log for source in dead.sources.values()))
    if to != "segments":
        with writing(output), file_aside(output, replace=False) as file:
            writer = writer_of(to, file, ORIGINALS)
            count = 0
            for _, table in originals(dead, given):
                for batch in table.to_batches():
                    writer.write_batch(batch)
                    count += batch.num_rows
            writer.close()
        return count
    count = 0
    with DirectoryAside(output) as directory:
        before: SourcePlace | None = None
        target: SegmentWriter | None = None
        for place, table in originals(dead, given):
            if place != before:
                if target is not None:
                    target.close()
                first = table["offset"][0].as_py()
                name = f"{place[0]}-{place[1]}"
                target = SegmentWriter(directory.path / name, first, sync=False)
                before = place
            assert target is not None
            target.append_columns(table.drop_columns(["topic", "partition", "copied_from"]))
            count += table.num_rows
        if target is not None:
            target.close()
    return count


def check_target(output: Path, to: OriginalFormat, *inputs: Any) -> None:
    """Refuse an output that exists, or touches an input.

    Raises:
        KafkaSpecError: ``unreadable``.
    """
    check_output(output, *inputs)
    if to == "segments":
        require_new(output)
    elif os.path.lexists(output):
        raise cannot_write(output, "it exists already")


def originals(
    dead: DeadLetters, logs: Iterable[Partition | Segment]
) -> Iterator[tuple[SourcePlace, pa.Table]]:
    """Yield the records that dead letters are about as ``ORIGINALS``, by partition and offset.

    Those that only letters have are in memory meanwhile.
    """
    yield from joined_originals(dead, copies_of(dead, logs))


def joined_originals(
    dead: DeadLetters, copies: Mapping[SourcePlace, pa.Table]
) -> Iterator[tuple[SourcePlace, pa.Table]]:
    """Yield the same, given what only letters have: see ``copies_of``."""
    places = places_of(dead.letters)
    for place in sorted(places):
        offsets = np.unique(dead.letters["source_offset"].take(pa.array(places[place])).to_numpy())
        found = dead.sources.get(place)
        rest = copies.get(place, pa.Table.from_batches([], ORIGINALS))
        for table in found.records(offsets) if found is not None else ():
            if not table.num_rows:
                continue
            last = table["offset"][-1].as_py()
            before = pc.less(rest["offset"], last)
            made = pa.concat_tables([_shaped(table, place, "source"), rest.filter(before)])
            rest = rest.filter(pc.invert(before))
            yield place, made.sort_by("offset")
        if rest.num_rows:
            yield place, rest


def copies_of(
    dead: DeadLetters, logs: Iterable[Partition | Segment]
) -> dict[SourcePlace, pa.Table]:
    """Return what only letters have, by partition and offset; of several, the newest letter's."""
    states = dead.letters["source"].cast(pa.string())
    without = [*THERE, SourceState.UNNAMED]
    absent = pc.invert(pc.is_in(states, pa.array(sorted(map(str, without)))))
    wanted = dead.letters.filter(pc.and_(absent, dead.letters["has_content"]))
    parts: dict[SourcePlace, list[pa.Table]] = defaultdict(list)
    for log in logs if wanted.num_rows else ():
        for letters, records in read_letters(log, passed_over):
            # With is_in, null matches null: the place of a segment that lies apart.
            here = [pc.is_in(wanted[n].cast(k), letters[n][:1].cast(k)) for n, k in _AT.items()]
            chosen = pc.is_in(letters["offset"], wanted["offset"].filter(pc.and_(*here)))
            taken, records = letters.filter(chosen), records.filter(chosen)
            for place, rows in places_of(taken).items():
                at = pa.array(rows)
                some, of = taken.take(at), records.take(at)
                table = pa.table(
                    {
                        "offset": some["source_offset"],
                        "timestamp": of["timestamp"],
                        "key": of["key"],
                        "value": of["value"],
                        "headers": without_letter_headers(of["headers"]),
                    }
                )
                parts[place].append(_shaped(table, place, "letter"))
    return {place: _newest(pa.concat_tables(tables)) for place, tables in parts.items()}


_AT: Final = {name: ORIGINALS.field(name).type for name in ("topic", "partition")}


def _newest(table: pa.Table) -> pa.Table:
    offsets = table["offset"].to_numpy()
    _, at = np.unique(offsets[::-1], return_index=True)
    return table.take(pa.array(len(offsets) - 1 - at))


def _shaped(table: pa.Table, place: SourcePlace, origin: str) -> pa.Table:
    count = table.num_rows
    constants = {"topic": place[0], "partition": place[1], "copied_from": origin}
    arrays = []
    for item in ORIGINALS:
        if item.name in constants:
            array = pa.repeat(pa.scalar(constants[item.name], item.type), count)
        elif item.name in table.column_names:
            array = table[item.name].cast(item.type)
        else:
            array = pa.repeat(pa.scalar("CreateTime", item.type), count)
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=ORIGINALS)


def passed_over(error: KafkaSpecError) -> None:
    """Go on after an entry that ``read_dead_letters`` has noted."""
