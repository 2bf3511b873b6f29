"""Write the logs of a lake again: directories of partitions that a broker loads.

An entry whose bytes the lake has is copied; all others are written from their rows. What the table
calls exact has to come out with the stored checksum, and whatever does not is an error.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import IO, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkaspec.broker.index_rules import INDEX_INTERVAL_BYTES
from kafkaspec.broker.profiles import DEFAULT_PROFILE, Profile, get_profile
from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.files import names as files
from kafkaspec.files.checkpoints import kafka_uuid, partition_metadata
from kafkaspec.lake.base import Lake, LakeCondition, LakeScan
from kafkaspec.lake.entries import HeaderRows, encoded_entries
from kafkaspec.lake.epochs import newest
from kafkaspec.lake.increments import LakePlace, LakeState, states_of
from kafkaspec.lake.restored import LakeLog, LakeRestore, LakeSegment
from kafkaspec.lake.rows import BatchRows, wrappers
from kafkaspec.lake.schema import BATCHES, BATCHES_SCHEMA, DEAD, PROGRESS, RAW, RAW_SCHEMA
from kafkaspec.layout import names
from kafkaspec.log.batch import NONE
from kafkaspec.log.header_table import HeaderTable
from kafkaspec.log.headers import read_headers
from kafkaspec.log.segment import Segment
from kafkaspec.model import Buffer
from kafkaspec.options import checked
from kafkaspec.output.atomic import DirectoryAside, require_new
from kafkaspec.output.places import check_output
from kafkaspec.writing.rebuild import rebuild_into

__all__ = ["restore_logs"]

CHUNK_BYTES: Final = 32 << 20
"""Bytes of entries whose rows are in memory at a time; one entry may be larger."""
_HEADERS: Final = [
    field.name
    for field in BATCHES_SCHEMA
    if field.name not in ("topic", "topic_id", "partition", "generation", "epoch", "payload")
]
_ROWS: Final = [
    "offset", "timestamp", "own_timestamp", "key", "value", "headers", "batch_base_offset"
]  # fmt: skip
_COMPARED: Final = (
    "length", "last_offset", "magic", "leader_epoch", "attributes", "base_timestamp",
    "max_timestamp", "producer_id", "producer_epoch", "base_sequence", "crc",
)  # fmt: skip
"""Columns of ``batches`` that headers say; compressing again changes ``length`` and ``crc``."""


@checked
def restore_logs(
    lake: Lake,
    output: str | PathLike[str],
    *,
    topics: Collection[str] = (),
    profile: str | Profile = DEFAULT_PROFILE,
    index_interval_bytes: int = INDEX_INTERVAL_BYTES,
    sync: bool = True,
) -> LakeRestore:
    """Write the newest log of each partition again, and what a broker keeps beside it.

    The newest generation has what came after a log was cut back, and older ones what is before it.
    Of a topic that was created again, older ones are left out. The output is complete,
    or not there. Memory is bounded by ``CHUNK_BYTES`` of entries.

    Args:
        lake: the tables.
        output: a new or empty directory, which becomes a log directory.
        topics: the topics to write; all by default.
        profile: version of Kafka whose files to write beside the segments.
        index_interval_bytes: ``index.interval.bytes``.
        sync: whether to force files to disk.

    Raises:
        KafkaSpecError: ``unreadable``: the output is in use or cannot be written, an increment is
            not in all tables, or the tables do not have all that an increment has read.
        ValueError: the lake has no such topic.
    """
    mark, left = newest(lake)
    if left is not None:
        what = "its newest increment is not in all tables yet: run the job again, which finishes it"
        raise unreadable(lake.place, what)
    rules = get_profile(profile) if isinstance(profile, str) else profile
    scans = {name: lake.table(name).scanner() for name in (PROGRESS, BATCHES, DEAD, RAW)}
    # All tables have these; an increment that is committed now is not in all yet.
    known = ("epoch", "<=", 0 if mark is None else mark.epoch)
    progress = scans[PROGRESS](None, [known]).read_all()
    states = states_of(progress.to_batches())
    unknown = sorted(set(topics) - {topic for topic, _ in states})
    if unknown:
        there = ", ".join(sorted({topic for topic, _ in states})) or "none"
        raise ValueError(f"the lake has no topic {unknown[0]}; there are {there}")
    check_output(output, lake.place)
    target = Path(output)
    require_new(target)
    logs = []
    with DirectoryAside(target, sync=sync) as aside:
        for place, state in sorted(states.items()):
            if topics and place[0] not in topics:
                continue
            writer = _LogWriter(lake.place, scans, aside, place, state, known)
            segments, notes = writer.segments(progress)
            prefix = f"{place[0]}-{place[1]}/"
            identity = kafka_uuid.from_text(state.topic_id) if state.topic_id else None
            if identity is not None and rules.partition_metadata:
                aside.write(
                    f"{prefix}{files.PARTITION_METADATA}", partition_metadata.serialize(identity)
                )
            if segments and all(segment.file.endswith(files.LOG) for segment in segments):
                made = rebuild_into(
                    aside, prefix, profile=rules, index_interval_bytes=index_interval_bytes
                )
                notes += [f"{Path(one.path).name}: {one.note}" for one in made if one.note]
            known_id = state.topic_id if identity is not None else None
            logs.append(LakeLog(*place, state.generation, known_id, tuple(segments), tuple(notes)))
    return LakeRestore(lake.place, str(target), tuple(logs))


@dataclass(frozen=True, slots=True)
class _Range:
    """Damaged bytes: their file, position and number, and the generation that has them."""

    file: str
    position: int
    size: int
    generation: int


@dataclass(frozen=True, slots=True)
class _Begin:
    """The first entry of a generation that is written, and the number of the generation."""

    generation: int
    offset: int
    epoch: int
    place: tuple[str, int]


class _LogWriter:
    """Writes the segments of one partition."""

    def __init__(
        self,
        lake: str,
        scans: Mapping[str, LakeScan],
        aside: DirectoryAside,
        place: LakePlace,
        state: LakeState,
        known: LakeCondition,
    ) -> None:
        self._lake = lake
        self._scans = scans
        self._aside = aside
        self._place = place
        self._state = state
        self._where: list[LakeCondition] = [
            ("topic", "=", place[0]),
            ("partition", "=", place[1]),
            known,
        ]
        self._begins: list[_Begin] = []  # newest first

    def segments(self, progress: pa.Table) -> tuple[list[LakeSegment], list[str]]:
        """Write all segments, and return them and what was assumed.

        Their contents are compared with what increments have read.
        """
        self._find_begins(progress)
        notes = [
            f"offsets below {newer.offset} are of generation {older.generation}"
            for newer, older in pairwise(self._begins)
        ]
        progress = self._own(progress, self._state.generation)
        damaged, bounds = self._damaged(), self._files()
        # Of a segment without an entry, progress alone knows; its name may say where the log ends.
        named = {name for name in progress["file"].to_pylist() if name is not None}
        made = [
            self._segment(file, bounds.get(file), [each for each in damaged if each.file == file])
            for file in sorted(named.union(bounds, (each.file for each in damaged)))
        ]
        return made, notes

    def _find_begins(self, progress: pa.Table) -> None:
        """Find the generations that have parts of the newest log, and check what they have.

        Leader epochs never go down in a log, and its topic keeps its id.
        """
        columns = [
            "file", "position", "base_offset", "leader_epoch", "magic", "attributes", "records"
        ]  # fmt: skip
        topic_id = self._state.topic_id
        for generation in range(self._state.generation, -1, -1):
            own = self._own(progress, generation)
            ids = {topic_id, *own["topic_id"].to_pylist()} - {None}
            if len(ids) > 1:
                return
            topic_id = next(iter(ids), None)
            newer = self._begins[-1] if self._begins else None
            begin: _Begin | None = None
            last = (NONE, NONE)
            batches = rows = 0
            where = [*self._where, ("generation", "=", generation)]
            for batch in self._scans[BATCHES](columns, where):
                table = HeaderRows(batch)
                batches, rows = batches + len(table), rows + int(table.rows.sum())
                offsets, epochs = table.column("base_offset"), table.column("leader_epoch")
                below = np.arange(len(offsets))
                if newer is not None:
                    below = np.flatnonzero(offsets < newer.offset)
                if not len(below):
                    continue
                top = below[offsets[below].argmax()]
                last = max(last, (int(offsets[top]), int(epochs[top])))
                low = below[offsets[below].argmin()]
                if begin is None or offsets[low] < begin.offset:
                    position = int(table.column("position")[low])
                    place = (batch.column("file")[int(low)].as_py(), position)
                    begin = _Begin(generation, int(offsets[low]), int(epochs[low]), place)
            if newer is not None and newer.epoch != NONE and last[1] > newer.epoch:
                return
            self._check_counts(own, batches, rows)
            if begin is not None:
                self._begins.append(begin)
            elif newer is None:
                return

    def _own(self, progress: pa.Table, generation: int) -> pa.Table:
        """Return the rows of progress of a generation of this log."""
        mask = pc.equal(progress["topic"], self._place[0])
        mask = pc.and_(mask, pc.equal(progress["partition"], self._place[1]))
        return progress.filter(pc.and_(mask, pc.equal(progress["generation"], generation)))

    def _check_counts(self, progress: pa.Table, batches: int, rows: int) -> None:
        for column, what, number in (("batches", "entries", batches), ("rows", "rows", rows)):
            expected = pc.sum(progress[column]).as_py() or 0
            if number < expected:
                raise self._error(f"{expected:,} {what} were written, and {number:,} are there")

    def _files(self) -> dict[str, tuple[int, int]]:
        """Return the smallest and largest base offset of the entries of each file."""
        found: dict[str, tuple[int, int]] = {}
        for batch in self._scan(BATCHES, ["file", "base_offset"], []):
            table = pa.Table.from_batches([batch]).group_by("file")
            for row in table.aggregate([("base_offset", "min_max")]).to_pylist():
                low, high = row["base_offset_min_max"].values()
                known = found.get(row["file"], (low, high))
                found[row["file"]] = min(known[0], low), max(known[1], high)
        return found

    def _scan(
        self,
        table: str,
        columns: Sequence[str],
        where: Sequence[LakeCondition],
        offset: str = "base_offset",
    ) -> pa.RecordBatchReader:
        """Read rows, each offset of the newest generation that has it."""
        begins = self._begins
        if len(begins) < 2:
            where = [*self._where, ("generation", "=", self._state.generation), *where]
            return self._scans[table](columns, where)
        numbers = [begin.generation for begin in begins]
        where = [*self._where, ("generation", "in", numbers), *where]
        found = self._scans[table](list(dict.fromkeys([*columns, "generation", offset])), where)
        oldest, firsts = np.array(numbers[::-1]), [begin.offset for begin in begins[-2::-1]]

        def chosen() -> Iterator[pa.RecordBatch]:
            for batch in found:
                wanted = oldest[
                    np.searchsorted(firsts, np.asarray(batch.column(offset)), side="right")
                ]
                mask = wanted == np.asarray(batch.column("generation"))
                yield batch.filter(pa.array(mask)).select(columns)

        schema = pa.schema([found.schema.field(name) for name in columns])
        return pa.RecordBatchReader.from_batches(schema, chosen())

    def _damaged(self) -> list[_Range]:
        columns = ["file", "position", "payload"]
        found: list[_Range] = []
        end: tuple[str, int] | None = None
        for generation in [each.generation for each in self._begins] or [self._state.generation]:
            where = [*self._where, ("generation", "=", generation), ("position", ">=", 0)]
            own: list[_Range] = []
            for batch in self._scans[DEAD](columns, where):
                sizes = pc.binary_length(batch.column("payload")).to_pylist()
                places = (batch.column(name).to_pylist() for name in columns[:2])
                own += map(_Range, *places, sizes, [generation] * len(sizes))
            found += [each for each in own if end is None or (each.file, each.position) < end]
            starts = [(each.file, each.position) for each in found]
            starts += [each.place for each in self._begins if each.generation == generation]
            end = min(starts, default=end)
        return sorted(found, key=lambda item: (item.file, item.position))

    def _path(self, name: str) -> str:
        return f"{self._place[0]}-{self._place[1]}/{name}"

    def _error(self, what: str) -> KafkaSpecError:
        return unreadable(self._lake, f"{self._place[0]}-{self._place[1]}: {what}")

    # -- one segment ------------------------------------------------------------------------

    def _segment(
        self, file: str, bounds: tuple[int, int] | None, damaged: Sequence[_Range]
    ) -> LakeSegment:
        if files.parse_segment(file) is None:
            raise self._error(f"{file} is not the name of a segment")
        headers = BATCHES_SCHEMA.empty_table()
        if bounds is not None:
            headers = self.entries(_HEADERS, file, *bounds).read_all()
        headers = headers.sort_by([("base_offset", "ascending"), ("position", "ascending")])
        parts = _Parts(headers, damaged)
        work = _SegmentWriter(self, file)
        with self._aside.opened(self._path(file)) as log:
            for first, last in parts.chunks():
                work.write(log, headers, parts, first, last)
            size = log.tell()
        return LakeSegment(
            file,
            parts.start,
            size,
            len(headers),
            work.records,
            work.payloads,
            work.changed,
            tuple(sorted(work.fields)),
            len(parts.damaged),
            parts.gaps,
        )

    def entries(
        self, columns: Sequence[str], file: str, low: int, high: int
    ) -> pa.RecordBatchReader:
        """Return columns of ``batches`` of the entries whose base offsets are in a range."""
        where: list[LakeCondition] = [("base_offset", ">=", low), ("base_offset", "<=", high)]
        return self._scan(BATCHES, columns, [*where, ("file", "=", file)])

    def payloads(self, file: str, low: int, high: int) -> dict[tuple[int, int], bytes]:
        """Return the bytes of such entries that the lake has, by offset and position."""
        columns = ["base_offset", "position", "payload"]
        return {
            (row["base_offset"], row["position"]): row["payload"]
            for batch in self.entries(columns, file, low, high)
            for row in batch.filter(batch.column("payload").is_valid()).to_pylist()
        }

    def damage(self, item: _Range) -> bytes:
        """Return damaged bytes."""
        where = [
            *self._where,
            ("generation", "=", item.generation),
            ("file", "=", item.file),
            ("position", "=", item.position),
        ]
        rows = self._scans[DEAD](["payload"], where).read_all().to_pylist()
        data: bytes = next(row["payload"] for row in rows if len(row["payload"]) == item.size)
        return data

    def rows(self, headers: HeaderRows, file: str) -> pa.RecordBatch:
        """Return the rows of entries, in their order."""
        low, high = headers.column("base_offset").min(), headers.column("last_offset").max()
        where: list[LakeCondition] = [("offset", ">=", int(low)), ("offset", "<=", int(high))]
        table = self._scan(RAW, _ROWS, where, "batch_base_offset").read_all()
        if not _in_order(table):
            table = table.sort_by([("batch_base_offset", "ascending"), ("offset", "ascending")])
        expected = np.repeat(headers.column("base_offset"), headers.rows)
        found = np.asarray(table["batch_base_offset"])
        if len(expected) != len(found) or (expected != found).any():
            firsts, counts = headers.column("base_offset"), headers.rows
            for first, count in zip(firsts.tolist(), counts.tolist(), strict=True):
                there = int((found == first).sum())
                if there != count:
                    what = f"the batch of {file} at offset {first} has {count:,} rows, and"
                    raise self._error(f"{what} {there:,} are there")
            raise self._error(f"rows of {file} belong to no batch")
        schema = pa.schema([RAW_SCHEMA.field(name) for name in _ROWS])
        return _joined(table.cast(schema))

    def wrong(self, file: str, position: int, what: str) -> KafkaSpecError:
        """Return the error for an entry that does not come out as its row says."""
        return self._error(f"the entry of {file} at byte {position}: {what}")


class _Parts:
    """The entries and the damaged ranges of a segment, in the order in which they are written.

    Attributes:
        start: position of the first of them.
        gaps: how often one does not begin where the one before it ends.
        damaged: the ranges that are written.
        order: for each part the row of ``batches``, or -1 - the number of a range.
        sizes: their sizes.
    """

    def __init__(self, headers: pa.Table, damaged: Sequence[_Range]) -> None:
        places = np.asarray(headers["position"], np.int64)
        sizes = np.asarray(headers["length"], np.int64)
        ordered = bool((places[1:] > places[:-1]).all())
        self.damaged = damaged if ordered else ()
        places = np.append(places, [item.position for item in self.damaged]).astype(np.int64)
        sizes = np.append(sizes, [item.size for item in self.damaged]).astype(np.int64)
        order = np.append(np.arange(len(headers)), -1 - np.arange(len(self.damaged)))
        if ordered:
            by_place = np.argsort(places, kind="stable")
            places, sizes, order = places[by_place], sizes[by_place], order[by_place]
        self.start = int(places[0]) if len(places) else 0
        self.gaps = int((places[1:] != (places + sizes)[:-1]).sum())
        self.order = order.astype(np.int64)
        self.sizes = sizes

    def chunks(self) -> Iterator[tuple[int, int]]:
        """Yield the parts that are written together: a damaged range is by itself."""
        first, total = 0, 0
        for number, (row, size) in enumerate(
            zip(self.order.tolist(), self.sizes.tolist(), strict=True)
        ):
            apart = row < 0 or (number and self.order[number - 1] < 0)
            if number > first and (apart or total + size > CHUNK_BYTES):
                yield first, number
                first, total = number, 0
            total += size
        if first < len(self.order):
            yield first, len(self.order)


class _SegmentWriter:
    """Writes parts of one segment, and counts what came of them."""

    def __init__(self, log: _LogWriter, file: str) -> None:
        self._log = log
        self._file = file
        self.records = self.payloads = self.changed = 0
        self.fields: set[str] = set()

    def write(
        self, log: IO[bytes], headers: pa.Table, parts: _Parts, first: int, last: int
    ) -> None:
        """Write some parts: entries, or one damaged range."""
        row = int(parts.order[first])
        if row < 0:
            log.write(self._log.damage(parts.damaged[-1 - row]))
            return
        some = HeaderRows(_joined(headers.slice(row, last - first)))
        entries = self._entries(some)
        data = b"".join(entries)
        self._compare(some, data)
        log.write(data)

    def _entries(self, headers: HeaderRows) -> list[Buffer]:
        places = list(
            zip(*(headers.column(n).tolist() for n in ("base_offset", "position")), strict=True)
        )
        exact = headers.flags("exact")
        kept: dict[tuple[int, int], bytes] = {}
        if not exact.all():
            offsets = headers.column("base_offset")
            kept = self._log.payloads(self._file, int(offsets.min()), int(offsets.max()))
        needs = np.fromiter((place not in kept for place in places), np.bool_, len(places))
        self.payloads += len(places) - int(needs.sum())
        self.records += int(headers.rows.sum())
        made: Iterator[Buffer | None] = iter(())
        if needs.any():
            rows = self._log.rows(headers, self._file).filter(
                pa.array(np.repeat(needs, headers.rows))
            )
            made = iter(encoded_entries(headers.filter(needs), rows))
        found: list[Buffer] = []
        for place, need in zip(places, needs.tolist(), strict=True):
            entry = next(made) if need else kept[place]
            if entry is None:
                raise self._log.wrong(self._file, place[1], "its rows and header cannot be written")
            found.append(entry)
        return found

    def _compare(self, headers: HeaderRows, data: bytes) -> None:
        """Compare the headers of what is written with the rows, and their checksums."""
        done = 0
        places = headers.column("position")
        for table in read_headers(Segment(data, crc="ignore")):
            count = len(table)
            bad = table.wrong_checksum()
            if bad is not None:
                raise self._log.wrong(self._file, int(places[done + bad]), "its checksum is wrong")
            self._compare_table(headers.slice(done, done + count), table)
            done += count
        if done < len(headers):
            raise self._log.wrong(self._file, int(places[done]), "it cannot be read again")

    def _compare_table(self, headers: HeaderRows, table: HeaderTable) -> None:
        written = BatchRows(table)
        differs: dict[str, NDArray[np.bool_]] = {
            name: headers.column(name) != written.column(name) for name in _COMPARED
        }
        plain = ~wrappers(table)  # only their contents say these
        for column, name in (("base_offset", names.BASE_OFFSET), ("records", names.NUM_RECORDS)):
            differs[column] = plain & (headers.column(column) != table.numpy(name))
        changed = np.logical_or.reduce(list(differs.values()))
        if not changed.any():
            return
        strict = changed & headers.flags("exact")
        if strict.any():
            number = int(np.flatnonzero(strict)[0])
            columns = ", ".join(name for name, mask in differs.items() if mask[number])
            place = int(headers.column("position")[number])
            what = f"the table says that it is exact, and it differs in {columns}"
            raise self._log.wrong(self._file, place, what)
        self.changed += int(changed.sum())
        self.fields |= {name for name, mask in differs.items() if mask.any()}


def _in_order(table: pa.Table) -> bool:
    """Return whether rows are in the order of their offsets, as those of one file are."""
    firsts, offsets = np.asarray(table["batch_base_offset"]), np.asarray(table["offset"])
    return bool((firsts[1:] >= firsts[:-1]).all() and (offsets[1:] > offsets[:-1]).all())


def _joined(table: pa.Table) -> pa.RecordBatch:
    """Return the rows of a table in one batch."""
    batches = table.combine_chunks().to_batches()
    if batches:
        return batches[0]
    return pa.RecordBatch.from_arrays(
        [pa.array([], field.type) for field in table.schema], schema=table.schema
    )
