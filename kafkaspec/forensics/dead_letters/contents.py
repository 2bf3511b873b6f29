"""Typed keys and values of dead letters, and of the records that they are about.

What a letter has is what its source topic had, so the schemas are those of that topic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Unpack

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkaspec.arrow.schema import headers_type
from kafkaspec.forensics.dead_letters.joined import DeadLetters, places_of
from kafkaspec.forensics.dead_letters.letters import CONTENT, read_letters
from kafkaspec.forensics.dead_letters.originals import (
    ORIGINALS,
    OriginalFormat,
    check_target,
    copies_of,
    joined_originals,
    passed_over,
)
from kafkaspec.forensics.dead_letters.sources import SourceLog, SourcePlace
from kafkaspec.forensics.headers import NAMED
from kafkaspec.log.options import TypedOptions
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.options import checked, explained
from kafkaspec.output.atomic import DirectoryAside, file_aside, writing
from kafkaspec.tables import FolderOptions
from kafkaspec.tables.typed_exports import TOPIC, Folders, check_splits, columns_of
from kafkaspec.tables.writers import writer_of
from kafkaspec.values.reading.batches import SideReader, segment_file
from kafkaspec.values.reading.request import Planned, planned
from kafkaspec.values.registry.log import SchemaLog, registry_of

LetterLogs = Sequence[Partition | Segment]

ROW: Final = "row"
"""Column with the number of the letter."""
CONTENTS: Final = pa.schema([
    (ROW, pa.int64()), ("offset", pa.int64()), ("key", pa.binary()), ("value", pa.binary()),
    ("headers", headers_type("binary", "binary")),
])  # fmt: skip
"""Columns of contents before they are decoded."""
_RECORDS: Final = ORIGINALS.set(0, pa.field(ORIGINALS.names[0], NAMED))
"""Columns of records before they are decoded."""
LETTER: Final = "letter_record"
SOURCE: Final = "source_record"
"""Whose content it is: that of the letter, or of the record that it is about."""


class TypedTopics:
    """Decides once for each topic how keys and values are read.

    Attributes:
        schemas: those of the registry, None for none.
    """

    def __init__(
        self,
        sources: Mapping[SourcePlace, SourceLog],
        copies: Mapping[SourcePlace, pa.Table],
        logs: LetterLogs,
        options: TypedOptions,
    ) -> None:
        """Take what is looked at.

        Args:
            sources: the logs of topics.
            copies: records that these do not have.
            logs: those with the letters.
            options: of ``Columnar.to_typed``.

        Raises:
            KafkaSpecError: ``schemas`` cannot be read.
        """
        self._sources, self._copies, self._logs = sources, copies, logs
        self._options: dict[str, Any] = {**options}
        self._report = self._options.pop("report", None)
        every = [*(source.log for source in sources.values()), *logs]
        self.schemas = self._options["schemas"] = _schemas(every, self._options.get("schemas"))
        self._planned: dict[str, Planned] = {}

    def planned(self, topic: str) -> Planned:
        """Return how keys and values of a topic are read.

        All of its log is looked at, as the records that failed may be those that do not decode.

        Raises:
            ValueError: an option cannot be followed.
            KafkaSpecError: something cannot be read.
        """
        if topic not in self._planned:
            rows: list[Any] = [
                each.log for place, each in self._sources.items() if place[0] == topic
            ]
            first = rows[0] if rows else self._logs[0]
            for place, table in self._copies.items():
                rows += table.combine_chunks().to_batches() if place[0] == topic else []
            rows = rows or list(self._logs)
            self._planned[topic] = planned(first, **self._options | {"topic": topic, "rows": rows})
        return self._planned[topic]

    def reader(self, topic: str, fields: pa.Schema, also: Sequence[str] = ()) -> SideReader:
        """Return what decodes record batches with some columns; see ``planned``."""
        return SideReader(self.planned(topic), given=fields, also=also, report=self._report)

    def file_of(self, place: SourcePlace) -> Callable[[int], str | None]:
        """Return a function that finds the segment with an offset, if there is one."""
        source = self._sources.get(place)
        return _nowhere if source is None else partial(segment_file, source.log)


def _nowhere(_: int) -> None:
    """No segment has it."""


def _schemas(logs: LetterLogs, given: Any) -> SchemaLog | None:
    """Return the schemas that were given, or the first ones beside the logs."""
    known = set()
    for log in logs:
        home = None if log.path is None else log.path.parent
        if home in known:
            continue
        known.add(home)
        found = registry_of(log, given)
        if found is not None:
            return found
    return None


def read_contents(
    dead: DeadLetters, logs: LetterLogs, **options: Unpack[TypedOptions]
) -> Iterator[tuple[pa.Table, list[tuple[str, pa.RecordBatch]]]]:
    """Yield some letters at a time, with what they and their records have.

    Args:
        dead: the letters.
        logs: those in which they were found, in the same order.
        options: of ``Columnar.to_typed``.

    Returns:
        Rows of ``dead.letters``; and for each ``LETTER`` and ``SOURCE`` record batches with the
        column ``ROW``, the number of the letter among these, and typed keys and values.

    Raises:
        ValueError: an option cannot be followed.
        KafkaSpecError: something cannot be read.
    """
    typed = TypedTopics(dead.sources, copies_of(dead, logs), logs, options)
    readers: dict[str, SideReader] = {}
    done = 0
    for log in logs:
        for letters, records in read_letters(log, passed_over):
            found: list[tuple[str, pa.RecordBatch]] = []
            for place, rows in places_of(letters).items():
                if place[0] not in readers:
                    readers[place[0]] = typed.reader(place[0], CONTENTS)
                source = dead.sources.get(place)
                offsets = letters["source_offset"].to_numpy(zero_copy_only=False)[rows]
                own = [(LETTER, log, _content(records.take(pa.array(rows)), rows))]
                if source is not None:
                    own += [(SOURCE, source.log, each) for each in there(source, offsets, rows)]
                for whose, of, batch in own:
                    made = readers[place[0]].decoded(batch, partial(segment_file, of))
                    found += [(whose, each) for each in made]
            yield dead.letters.slice(done, letters.num_rows), found
            done += letters.num_rows


def there(
    source: SourceLog, offsets: NDArray[np.int64], rows: NDArray[np.int64]
) -> Iterator[pa.RecordBatch]:
    """Yield the records that letters are about as ``CONTENTS``, as far as they are there.

    Args:
        source: their log.
        offsets: of the records.
        rows: numbers of the letters.
    """
    for table in source.records(np.unique(offsets)):
        found = table["offset"].to_numpy()
        if not len(found):
            continue
        at = np.minimum(np.searchsorted(found, offsets), len(found) - 1)
        hit = found[at] == offsets
        for batch in table.take(pa.array(at[hit])).combine_chunks().to_batches():
            yield _content(batch, rows[hit])


def _content(records: pa.RecordBatch, rows: NDArray[np.int64]) -> pa.RecordBatch:
    columns = [pa.array(rows), *(records[name] for name in ("offset", *CONTENT))]
    arrays = [array.cast(field.type) for array, field in zip(columns, CONTENTS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=CONTENTS)


@explained(FolderOptions)
@checked
def export_typed_originals(
    dead: DeadLetters,
    logs: LetterLogs,
    output: str | Path,
    to: OriginalFormat,
    *,
    split_by: Sequence[str] = (),
    flatten: str | None = None,
    **options: Unpack[TypedOptions],
) -> int:
    """Write what ``export_originals`` writes, with typed keys and values.

    Args:
        dead, logs, to: as ``export_originals`` takes them.
        output: a file or, with ``split_by``, a directory. It must not exist.
        ...
        options: of ``Columnar.to_typed``.

    Returns:
        The number of records that were written.

    Raises:
        KafkaSpecError: as ``export_originals``.
        ValueError: an option cannot be followed, or a format has no room for a column or for
            several topics.
    """
    if to == "segments":
        raise ValueError("segments have keys and values as they are")
    check_splits(split_by, options.get("evolve"))
    output = Path(output)
    inputs = (*logs, *(source.log for source in dead.sources.values()))
    check_target(output, "segments" if split_by else to, *inputs)
    topics = {topic for topic, _ in places_of(dead.letters)}
    if len(topics) > 1 and TOPIC not in split_by and to != "jsonl":
        raise ValueError(
            f"the records are of {len(topics)} topics, of which each has a separate table: split by"
            " topic, or write JSON lines"
        )
    copies = copies_of(dead, logs)
    typed = TypedTopics(dead.sources, copies, logs, options)
    also = columns_of(split_by)
    count = 0
    with ExitStack() as stack:
        aside = stack.enter_context(DirectoryAside(output)) if split_by else None
        if aside is None:
            stack.enter_context(writing(output))
            file = stack.enter_context(file_aside(output, replace=False))
        for topic, tables in groupby(joined_originals(dead, copies), lambda each: each[0][0]):
            reader = typed.reader(topic, _RECORDS, also)
            reader.check()
            if aside is not None:
                folders = Folders(aside, to, split_by, flatten, reader.also)
                write, close = folders.write, folders.close
            else:
                writer = writer_of(to, file, reader.schema, fitted=True, flatten=flatten)
                write, close = writer.write_batch, writer.close
            for place, table in tables:
                for batch in table.cast(_RECORDS).combine_chunks().to_batches():
                    for made in reader.decoded(batch, typed.file_of(place)):
                        write(made)
                        count += made.num_rows
            close()
        if aside is None and not file.tell():  # there are no records
            writer_of(to, file, ORIGINALS).close()
    return count
