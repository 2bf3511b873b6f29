"""``kafkaspec find``: locate an offset, a timestamp or a key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from kafkaspec.cli.command import command, defined, option
from kafkaspec.cli.console import LONG, captured, count_text, iso, print_again, print_object, say
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.inputs import Inputs, check_topic
from kafkaspec.cli.options import (
    Codec,
    Jobs,
    LogStartOption,
    PathsOrUrls,
    TopicName,
    WhereText,
    condition_of,
    format_option,
)
from kafkaspec.cli.typed import search_options, taken, tell
from kafkaspec.columns.value_text import bytes_text, headers_text
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.checkpoints.log_directory import Checkpoints
from kafkaspec.io.local import are_mapped, unmapped
from kafkaspec.jobs import in_processes
from kafkaspec.log.batch import magic_name
from kafkaspec.log.damage import ALWAYS_RAISED
from kafkaspec.log.lookup import Found
from kafkaspec.log.options import FindOptions, LogStart
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.messages.topics import topic_of
from kafkaspec.shown import printable

if TYPE_CHECKING:
    from kafkaspec.cli.commands.dump_messages import MessageLines

_FEW = 16
"""Fewer partitions are searched before another process has begun."""
_GROUPS = 4
"""Groups of partitions for each process, so that none ends long after the others."""

_EPILOG = """
Output of --format json, one object for each segment or partition:
  path               what was searched
  how                offset, broker, plain, max_timestamp, key or where
  target             the offset, or milliseconds since the Unix epoch (-1 for
                     a log without timestamps), or the key or condition as given
  found              whether there is an answer
  file               segment that decided, null if none was tried
  position           byte offset of the batch in it
  base_offset, last_offset
                     of the batch
  record             the record as dump writes it, null if compaction removed it
  index, time_index  entries that led there: {offset, position} and
                     {timestamp, offset}, null for none
  index_rejected     an index gave an entry that cannot be right
  scanned_batches    batch headers that were read
  largest_timestamp  by timestamp: value, and source (time index, batches, file
                     time), of the segment that decided; null otherwise
  last_stable_offset with --isolation read_committed, null otherwise
  hidden_offset      of the answer that read_committed hides, null for none

What is missing in the log up to the answer is named on stderr: "find" looks at
the ends of segments, as "dump --help" says. By key or condition, batches that
cannot be decoded are named and passed over.

Exit codes: 0 found, 1 not found, or something on the way is missing or cannot
be read, 2 wrong usage, or nothing in a PATH can be read.
"""


@command(None, _EPILOG)
def find_command(
    ctx: click.Context,
    *,
    paths: PathsOrUrls,
    offset: int | None = defined(),
    timestamp: int | None = defined(),
    max_timestamp: bool = defined(),
    key: str | None = option(
        'Find the newest record with this key: text, or as dump shows it: {"base64": "..."}; in '
        'Kafka\'s own topics {"group": "g", "topic": "t", "partition": 0}, or some of these '
        "fields.",
        metavar="KEY",
    ),
    where: WhereText,
    topic: TopicName,
    every: bool = option(
        "--all", "Find all such records: by key, the newest first; with --where, the oldest first."
    ),
    isolation: str = defined(of=FindOptions, default="read_uncommitted"),
    log_start: LogStartOption,
    plain: bool = defined(),
    jobs: Jobs,
    codec: Codec,
    output_format: Annotated[str, format_option],
    **arguments: Annotated[Any, search_options],
) -> None:
    """Find the file, batch and record of an offset, a timestamp or a key.

    A PATH is a segment, a partition directory, a whole log directory, or the URL of one (s3://...,
    with fsspec). By offset, the answer is the first batch that ends at or after it.

    By timestamp, the answer is that of a broker, which is not simply the first record at or after
    it: the first segment whose largest timestamp reaches it decides, and later ones are never
    tried; a segment without timestamps counts with the modification time of its file; control
    records are valid answers. --plain gives the first data record at or after it instead.

    With --max-timestamp the time index of each segment says what its largest timestamp is, and the
    first segment with the greatest decides; the answer is often a transaction marker. Batches after
    the time index of the last segment count, here and by timestamp, unless the broker was stopped
    cleanly (.kafka_cleanshutdown).

    With --where, the answer is the first record for which the condition is true, control records
    included; with --value or --key-format it can name fields of what is decoded, and control
    records are left out: value.total.amount > 100.

    By key, segments are searched from the last one back. Control records have no keys; records of
    transactions count whether they were committed or not.

    --isolation read_committed hides an answer at or after the last stable offset: the first
    offset of a transaction that is still open. Records below the log start offset in the log
    directory's checkpoint do not count; --log-start ignore finds them as long as they exist.
    """
    given = [each is not None for each in (offset, timestamp, key, where)]
    if sum(given) + max_timestamp != 1:
        raise click.UsageError(
            "give one of --offset, --timestamp, --max-timestamp, --key and --where"
        )
    committed = isolation == "read_committed"
    if every and key is None and where is None:
        raise click.UsageError("--all goes with --key and --where")
    if committed and timestamp is None and not max_timestamp:
        raise click.UsageError("--isolation goes with --timestamp and --max-timestamp")
    if plain and timestamp is None:
        raise click.UsageError("--plain goes with --timestamp")
    target: dict[str, Any] = {
        "offset": offset,
        "timestamp": timestamp,
        "max_timestamp": max_timestamp,
        "plain": plain,
    }
    if committed:
        target["isolation"] = isolation
    typed = taken(arguments)
    if typed is not None and where is None:
        raise click.UsageError("--value and --key-format go with --where")
    condition = condition_of(where, typed=typed is not None)
    text = key if where is None else where
    as_json = output_format == "json"
    search = _Search(
        target, log_start, codec, as_json, are_mapped(), text, every, condition is not None, typed
    )
    code, failed, topics = CLEAN, 0, set[str]()
    for path in paths:
        inputs = Inputs([path], codec, where=condition, topic=topic)
        inputs.is_alone = False
        divided = typed is None and jobs > 1 and isinstance(path, Path) and path.is_dir()
        missed = search.divided(inputs, jobs) if divided else search.run(inputs)
        if search.misses(missed):
            code = max(code, FINDINGS)
            if text is not None and missed and not as_json:
                say(f"{path}: {_wanted(search.nothing, text)}")
                say(f"  not found in {count_text(len(missed), 'log')}")
        code = max(code, inputs.exit_code)
        failed += inputs.failed
        topics |= inputs.topics
    check_topic(topic, topics, failed)
    if typed is not None and tell(typed["report"]):
        code = max(code, FINDINGS)
    ctx.exit(code)


@dataclass(frozen=True, slots=True)
class _Search:
    """A search, and the form of its answers. Other processes get it too."""

    target: dict[str, Any]
    log_start: LogStart
    codec: str
    as_json: bool
    mapped: bool
    text: str | None = None
    every: bool = False
    by_condition: bool = False
    typed: dict[str, Any] | None = None

    @property
    def nothing(self) -> Found:
        """The answer where no record has the key, or suits the condition."""
        return Found("where" if self.by_condition else "key", -1, None)

    def misses(self, missed: Sequence[bool]) -> bool:
        """Return whether what is searched for is missing, by whether each log has no answer.

        An offset or a time has its place in each log, a key in one of them.
        """
        return any(missed) if self.text is None else all(missed)

    def run(self, inputs: Inputs) -> list[bool]:
        """Print the answer of each log; return for each of them whether it has none."""
        return [self.answer(name, log, inputs) for name, log in inputs.logs()]

    def divided(self, inputs: Inputs, jobs: int) -> list[bool]:
        """Do what ``run`` does, with several partitions at the same time in other processes."""
        places = [log.path or Path(name) for name, log in inputs.logs()]
        if len(places) < _FEW:
            missed, counted = self._in_order(places)
            inputs.add(counted)
            return missed
        missed = []
        # Few groups, since each reads the checkpoints of the log directory.
        size = -(-len(places) // (_GROUPS * jobs))
        groups = [places[first : first + size] for first in range(0, len(places), size)]
        for out, err, found, counted in in_processes(self.partitions, groups, jobs):
            print_again(out, err)
            missed += found
            inputs.add(counted)
        return missed

    def partitions(self, places: Sequence[Path]) -> tuple[str, str, list[bool], tuple[int, ...]]:
        """Return what ``run`` prints for some partitions, its result, and what was counted."""
        with captured() as (out, err), nullcontext() if self.mapped else unmapped():
            missed, counted = self._in_order(places)
        return out.getvalue(), err.getvalue(), missed, counted

    def _in_order(self, places: Sequence[Path]) -> tuple[list[bool], tuple[int, ...]]:
        """Print the answers of some partitions; return the result of ``run``, and the counts."""
        inputs = Inputs([], self.codec)
        shared = {folder: Checkpoints(folder) for folder in {place.parent for place in places}}
        missed = []
        for place in places:
            try:
                with Partition(
                    place, codec=self.codec, checkpoints=shared[place.parent]
                ) as partition:
                    missed.append(self.answer(str(place), partition, inputs))
            except KafkaSpecError as error:
                inputs.cannot_read(error)
        return missed, inputs.counts

    def answer(self, name: str, log: Segment | Partition, inputs: Inputs) -> bool:
        """Print the answer of a log; return whether there is none."""
        if self.text is not None:
            return self._by_text(name, log, inputs, self.text)
        try:
            if isinstance(log, Segment):
                if "isolation" in self.target:
                    raise click.UsageError("--isolation needs a partition, not a segment")
                found = log.find(**self.target)
            else:
                found = log.find(log_start=self.log_start, **self.target)
        except KafkaSpecError as error:
            if error.reason in ALWAYS_RAISED:
                inputs.cannot_read(error)
            else:
                inputs.cannot_decode(error)
            return False
        inputs.read += 1
        inputs.report_missing(
            log,
            None if found.batch is None else found.batch.last_offset + 1,
            start_offset=self.target["offset"],
            log_start=self.log_start,
            ends_only=True,
        )
        self._show(name, found, found.target)
        return found.batch is None

    def _by_text(self, name: str, log: Segment | Partition, inputs: Inputs, text: str) -> bool:
        start, missed = self.log_start, True
        found = self._found(log, text, inputs)
        try:
            for item in found if self.every else islice(found, 1):
                missed = False
                self._show(name, item, text)
        except KafkaSpecError as error:
            inputs.cannot_read(error)
            return False
        if missed and self.as_json:
            self._show(name, self.nothing, text)
        inputs.read += 1
        inputs.report_missing(log, log_start=start, ends_only=True)
        return missed

    def _found(self, log: Segment | Partition, text: str, inputs: Inputs) -> Iterator[Found]:
        start, skip = self.log_start, inputs.cannot_decode
        if self.typed is not None:
            from kafkaspec.cli.commands.dump_typed import find_typed

            return find_typed(
                log, text, self.typed, log_start=start, on_error=skip, every=self.every
            )
        if self.by_condition:
            from kafkaspec.arrow.where.searching import find_where

            return find_where(log, text, self.codec, log_start=start, on_error=skip)
        from kafkaspec.cli.commands.find_key import find_key

        return find_key(log, text, self.codec, log_start=start, on_error=skip)

    def _show(self, name: str, found: Found, target: int | str) -> None:
        if self.as_json:
            _print_json(name, found, self.codec, target)
        else:
            for line in _text(name, found, self.codec, target):
                say(line)


def _print_json(name: str, found: Found, codec: str, target: int | str) -> None:
    from kafkaspec.cli.commands.dump_json import WRITERS, decode_controls, record_lines

    batch, record = found.batch, found.record
    record_line: Iterable[str] | None = None
    if batch is not None and record is not None:
        controls = None
        with suppress(KafkaSpecError):
            controls = decode_controls(batch, [record], codec)
        messages = _messages(found, codec)
        texts = None if messages is None or controls else messages.show(batch, [record])
        file = str(found.path)
        (line,) = record_lines(batch, [record], file, WRITERS["text"], controls, shown=texts)
        record_line = [line] if isinstance(line, str) else line
    index, time_index, largest = found.index_answer, found.time_index_answer, found.decided_by
    content = {
        "path": name,
        "how": found.how,
        "target": target,
        "found": batch is not None,
        "file": None if found.path is None else str(found.path),
        "position": found.position,
        "base_offset": found.base_offset,
        "last_offset": None if batch is None else batch.last_offset,
        "record": None if record_line is None else LONG,
        "index": index and {"offset": index.offset, "position": index.position},
        "time_index": time_index
        and {"timestamp": time_index.timestamp, "offset": time_index.offset},
        "index_rejected": found.index_rejected,
        "scanned_batches": found.scanned_batches,
        "largest_timestamp": largest and {"value": largest.value, "source": largest.source},
        "last_stable_offset": found.last_stable_offset,
        "hidden_offset": found.hidden_offset,
    }
    print_object(content, *([] if record_line is None else [map(_without_end, record_line)]))


def _without_end(piece: str) -> str:
    return piece.removesuffix("\n")


def _messages(found: Found, codec: str) -> MessageLines | None:
    """Return what decodes a record of an internal topic, None where it is the user's."""
    topic = None if found.path is None else topic_of(found.path)
    if topic is None:
        return None
    from kafkaspec.cli.commands.dump_messages import MessageLines

    return MessageLines(topic, codec)


def _text(name: str, found: Found, codec: str, target: int | str) -> list[str]:
    lines = [f"{name}: {_wanted(found, target)}"]
    if found.path is not None:
        lines.append(f"  file    {found.path}")
    lines += _answer(found, codec)
    if found.how in ("key", "where"):
        return lines
    if found.decided_by is not None:
        lines.append(
            f"  decided by the largest timestamp of the segment, {found.decided_by.value} "
            f"({iso(found.decided_by.value)}, from: {found.decided_by.source})"
        )
    if found.last_stable_offset is not None:
        hidden = found.hidden_offset
        lines.append(
            f"  stable  up to offset {found.last_stable_offset}, exclusive"
            + ("" if hidden is None else f": offset {hidden} would answer, and is hidden")
        )
    if found.time_index_answer is not None:
        entry = found.time_index_answer
        lines.append(f"  time index: timestamp {entry.timestamp} at offset {entry.offset}")
    if found.index_answer is not None:
        answer = found.index_answer
        lines.append(
            f"  index:  offset {answer.offset} at byte {answer.position}"
            + (", which cannot be right: not followed" if found.index_rejected else "")
        )
    elif found.path is not None:
        lines.append("  index:  no entry at or below it: read from the start")
    lines.append(f"  read    {count_text(found.scanned_batches, 'batch header')}")
    return lines


def _wanted(found: Found, target: int | str) -> str:
    if isinstance(target, str):
        return f"{found.how} {printable(target)}"
    if found.how == "offset":
        return f"offset {found.target}"
    time = f"{found.target} ({iso(found.target)})"
    if found.how == "max_timestamp":
        return f"largest timestamp: {time if found.target >= 0 else 'none'}"
    return f"time {time}, " + ("answer of a broker" if found.how == "broker" else "plain answer")


def _answer(found: Found, codec: str) -> list[str]:
    batch, record = found.batch, found.record
    if batch is None:
        return ["  not found"]
    lines = [
        f"  batch   at byte {batch.position}: offsets {batch.base_offset} to {batch.last_offset}, "
        f"magic {magic_name(batch)}, {batch.compression_name}"
    ]
    if record is None:
        return [*lines, "  record  none at or after it is left in the batch"]
    note = " (a control record)" if batch.is_control else ""
    messages = None if batch.is_control else _messages(found, codec)
    key, value = bytes_text(record.key), bytes_text(record.value)
    if messages is not None:
        (shown,) = messages.show(batch, [record])
        key, value = printable(shown.key or key), printable(shown.value or value)
    lines.append(
        f"  record  offset {record.offset}, time {record.timestamp} ({iso(record.timestamp)}), "
        f"key {key}, value {value}{headers_text(record.headers)}{note}"
    )
    return lines
