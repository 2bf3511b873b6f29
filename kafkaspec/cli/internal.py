"""Shared by the commands about Kafka's own topics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import click

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.cli.command import option
from kafkaspec.cli.console import MORE, TableColumn, count_text, iso, note, say
from kafkaspec.cli.exits import USAGE
from kafkaspec.cli.inputs import Inputs, check_topic, place_of
from kafkaspec.cli.options import ReleaseName, Timestamp, on_error_option
from kafkaspec.cli.report import LinePlace, Reporter, line
from kafkaspec.errors import KafkaSpecError, unreadable
from kafkaspec.files.names import parse_partition
from kafkaspec.layout.names import MESSAGE_FRAME
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.messages.topics import another_topic
from kafkaspec.options import not_there
from kafkaspec.policy import OnError

if TYPE_CHECKING:
    from kafkaspec.state.framed import LeftOut, UnknownPart
    from kafkaspec.state.history import TopicEvent

    _Name = click.ParamType[str]
else:
    _Name = click.ParamType

EVENT: Final = line("kafkaspec.state.history:TopicEvent")
"""The line of ``show_history``."""
UNKNOWN: Final = line(LinePlace, "kafkaspec.state.framed:UnknownPart")
UNKNOWN_EPILOG: Final = """\
"unknown" lines count records of a type, and tagged fields in records, of which it
is not known what they change; tag and field are null for records."""
LEFT_OUT: Final[dict[str, Any]] = {
    "record": line("kafkaspec.state.framed:OtherRecord"),
    "unknown": UNKNOWN,
}
"""The lines of ``Logs.left_out``."""
LEFT_OUT_EPILOG: Final = f"""\
"record" lines are the last records of keys that no other line is about, as the
specification alone describes them.

{UNKNOWN_EPILOG}"""


def complete_option(text: str) -> Any:
    """Declare ``--complete``: all partitions of an internal topic are there."""
    return option("--complete", text, former="--all")


def history_option(owner: str, metavar: str) -> Any:
    """Declare ``--history``, for the owner of records of an internal topic."""
    return option("--history", f"Show the records of this {owner} in order.", metavar=metavar)


At = Annotated[
    int | None,
    click.option(
        "--at",
        type=Timestamp(),
        metavar="TIME",
        help="The state at this time: milliseconds since 1970, or ISO 8601 (UTC if it names no "
        "zone).",
    ),
]
ReleaseText = Annotated[
    str | None,
    click.option(
        "--release",
        type=ReleaseName(),
        metavar="VERSION",
        help="Release of the brokers that wrote it, for layouts that bytes alone do not tell "
        "apart.",
    ),
]
Skip = Annotated[str, on_error_option("skip")]


State = TypeVar("State", bound="LeftOut")


class Logs(Inputs):
    """The logs that the paths of a command lead to, and the exit code of what is found in them.

    Of several replicas of a partition, the one with the largest end counts; the others are named.

    Attributes:
        options: of the functions that read a state: time, release, and what happens with a batch
            that cannot be read.
    """

    def __init__(
        self,
        ctx: click.Context,
        paths: Sequence[Path],
        topic: str,
        on_error: str,
        report: Reporter,
        *,
        beside: Sequence[Path] | None = None,
        **options: Any,
    ) -> None:
        """Open some paths.

        Args:
            ctx: closes them.
            paths: log directories, partitions of an internal topic, or segments of them.
            topic: the one that the command is about.
            on_error: ``raise`` or ``skip``.
            report: shows what is left out.
            beside: more paths that have the topic. Unless this is None, a path may also be a
                partition or segment of another topic, and none needs to have this one.
            options: of the functions that read a state.

        Raises:
            KafkaSpecError: ``unreadable``, if none of them has such a topic.
        """
        super().__init__(paths)
        self._report = report
        self._said = set[str]()
        self._owners = set[str]()
        self._logs: dict[str, list[Segment | Partition]] = defaultdict(list)
        self._chosen: dict[str, list[Segment | Partition]] = {}
        self._beside: list[Segment | Partition] = []
        self._any_topic = beside is not None
        policy: OnError = self.cannot_decode if on_error == "skip" else "raise"
        self.options: dict[str, Any] = {**options, "on_error": policy}
        for path in paths:
            try:
                opened = open_log(path)
                ctx.with_resource(opened)
                self._open(path, opened, topic)
            except KafkaSpecError as error:
                self.cannot_read(error)
                self.failed += 1
        data = list(self._beside)
        for path in beside or ():
            self._any_topic = False
            more = open_log(path)
            ctx.with_resource(more)
            self._open(path, more, topic)
            if not self._logs[topic]:
                raise unreadable(str(path), f"there is no partition of {topic}")
        self._beside = data
        if beside is not None and self._beside:
            return
        if not self._logs[topic]:
            if self.failed:
                ctx.exit(USAGE)
            raise unreadable(", ".join(map(str, paths)), f"there is no partition of {topic}")

    def _open(self, path: Path, opened: Segment | Partition | LogDirectory, topic: str) -> None:
        if isinstance(opened, LogDirectory):
            for error in opened.unreadable.values():
                self.cannot_read(error)
            for partition in opened.current:
                self._logs[partition.topic or ""].append(partition)
            self._beside += opened.current
            return
        path = opened.path or path  # remote storage has other names
        own = another_topic(path, topic, segment=isinstance(opened, Segment))
        home = path.absolute().parent if isinstance(opened, Segment) else path.absolute()
        unnamed = parse_partition(home.name) is None
        if self._any_topic and (own is not None or unnamed):
            if unnamed:
                note(f"{path}: no partition has this name: read as data; --state DIR for {topic}")
            self._beside.append(opened)
            near = _neighbours(path.absolute(), opened)
            self._logs[topic] += [partition for partition in near if partition.topic == topic]
            return
        if own is not None:
            raise unreadable(str(path), f"it is of {own}, not of {topic}")
        self._logs[topic].append(opened)
        self._beside += _neighbours(path.absolute(), opened)

    def check_there(self, what: str, wanted: Iterable[str], known: Collection[str]) -> None:
        """Report each wanted name that nothing here has, with the nearest that there are."""
        for name in wanted:
            if name not in known and name not in self._owners:
                self.found(not_there(what, name, self._owners.union(known)))

    def of(self, topic: str) -> list[Segment | Partition]:
        """Return the logs of a topic, one replica of each partition."""
        if topic not in self._chosen:
            self._chosen[topic] = _longest(self._logs[topic])
        return self._chosen[topic]

    @cached_property
    def data(self) -> list[Partition]:
        """The partitions in the log directories, one replica of each."""
        return [log for log in self.given if isinstance(log, Partition)]

    @cached_property
    def given(self) -> list[Segment | Partition]:
        """The partitions in the log directories, and segments that are paths themselves."""
        unique = {each.path: each for each in self._beside}
        return _longest(unique.values())

    def wanted(self, topic: str | None) -> list[Segment | Partition]:
        """Return what is given of the topic of ``--topic``, all without one.

        Raises:
            UsageError: nothing is of the topic.
        """
        found = [log for log in self.given if topic in (None, place_of(log)["topic"])]
        there = {log.topic for log in self.given if isinstance(log, Partition) and log.topic}
        check_topic(None if found else topic, there, self.failed)
        return found

    @contextmanager
    def reading(self, log: Segment | Partition) -> Iterator[None]:
        """Report what cannot be read of a log, and what is missing in it, after it was read."""
        try:
            yield
            self.read += 1
        except KafkaSpecError as error:
            self.go_on(error)
        self.report_missing(log, ends_only=True)

    def states(
        self,
        topic: str,
        read: Callable[..., State],
        wanted: Collection[str] = (),
    ) -> Iterator[tuple[Segment | Partition, State]]:
        """Yield each log of a topic with its state, and report what is not in that."""
        for log in self.of(topic):
            with self.reading(log):
                found = read(log, **self.options)
                self.left_out(log, found, wanted)
                yield log, found

    def left_out(
        self, log: Segment | Partition, left_out: LeftOut, wanted: Collection[str] = ()
    ) -> None:
        """Report what could not be decoded in a log, and show what is not known.

        Args:
            log: the log.
            left_out: what is not in its state.
            wanted: owners of the records to show, all of them if none is named.
        """
        self.undecoded(left_out.errors)
        for part in sorted(left_out.unknown.values(), key=lambda part: part.first_offset):
            text = f"{log.path}: {_unknown_text(part)}, the first at offset {part.first_offset}"
            if text not in self._said:
                self._said.add(text)
                self._report.line("unknown", place_of(log), part)
                self.found(text)
        self._owners.update(each.owner for each in left_out.records if each.owner is not None)
        chosen = [each for each in left_out.records if not wanted or each.owner in wanted]
        for record in chosen:
            self._report.line("record", record)
        if chosen:
            self._report.table(_RECORDS, chosen, more=MORE)

    def compacted(self, topic: str) -> None:
        """Report which logs of a topic no longer hold all records of a time.

        Compaction removes what later records of the same keys replace, up to the offset in the
        checkpoint of the cleaner: for a time after the first record from there on, nothing is
        missing.
        """
        at = self.options["at"]
        for log in self.of(topic) if at is not None else ():
            if isinstance(log, Segment) or not log.cleaner_offset:
                continue
            try:
                first = log.find(offset=log.cleaner_offset).record
            except KafkaSpecError as error:
                self.go_on(error)
                continue
            if first is None or first.timestamp > at:
                self.found(
                    f"{log.path}: compacted up to offset {log.cleaner_offset}: what later "
                    f"records replaced is missing at {iso(at)}"
                )


def _unknown_text(part: UnknownPart) -> str:
    kind = "without a type" if part.record_type is None else f"of type {part.record_type}"
    if part.tag is not None:
        times = count_text(part.count, "time")
        return f"tagged field {part.tag} in {part.message}{part.field} {kind} is not known: {times}"
    if part.message is not None:
        name = part.message if part.record_type is None else f"{part.message} {kind}"
        return f"{name}: not known what it changes: {count_text(part.count, 'record')}"
    return f"{count_text(part.count, 'record')} {kind}, not known, left out"


_RECORDS: Final[dict[str, TableColumn]] = {
    "record": "record",
    "key": lambda each: _summary(each.key or {}),
    "value": lambda each: _summary(each.value),
    ">offset": lambda each: f"{each.log_offset}{' (pending)' if each.pending else ''}",
}


def _neighbours(path: Path, opened: Segment | Partition) -> Sequence[Partition]:
    """Return the partitions of the log directory that a log is in; none if it is in none."""
    home = path.parent.parent if isinstance(opened, Segment) else path.parent
    try:
        return LogDirectory(home).current
    except KafkaSpecError:
        return ()


def _longest(logs: Iterable[Segment | Partition]) -> list[Segment | Partition]:
    """Return the logs without replicas of a partition that end earlier than another one."""
    replicas: dict[Any, list[Segment | Partition]] = defaultdict(list)
    for log in logs:
        key = (log.topic, log.partition) if isinstance(log, Partition) and log.topic else log.path
        replicas[key].append(log)
    chosen = []
    for same in replicas.values():
        best = max(same, key=_end) if len(same) > 1 else same[0]
        chosen.append(best)
        for log in same:
            if log.path != best.path:
                note(f"{log.path}: left out; {best.path} has the same partition")
    return chosen


def _end(log: Segment | Partition) -> int:
    assert isinstance(log, Partition)
    try:
        return log.log_end_offset
    except KafkaSpecError:
        return -1


def show_history(logs: Logs, topic: Topic, name: str, report: Reporter) -> None:
    """Print the records of a group or transactional id in the logs of a topic, and exit."""
    from kafkaspec.state.history import history
    from kafkaspec.state.latest import Latest

    names = set[str]()
    for log in logs.of(topic):
        left_out = Latest(str(log.path))
        with logs.reading(log):
            for event in history(log, topic, name, left_out, names=names, **logs.options):
                if report.as_json:
                    report.line("event", event)
                else:
                    _say_event(event)
        logs.left_out(log, left_out)
    logs.check_there(_OWNERS[topic], [name], names)
    report.finish(logs)


_OWNERS: Final[dict[str, str]] = {
    Topic.CONSUMER_OFFSETS: "group",
    Topic.TRANSACTION_STATE: "transactional id",
}
"""What the keys of an internal topic name."""


def _say_event(event: TopicEvent) -> None:
    value = "deleted" if event.named is None else _summary(event.named)
    key = " ".join(f"{item}" for name, item in event.key.items() if name not in MESSAGE_FRAME)
    ended = "" if event.transaction is None else f" ({event.transaction})"
    say(f"{event.offset}  {iso(event.timestamp)}  {event.name}{ended}  {key}: {value}")


def _summary(value: Mapping[str, Any]) -> str:
    parts = (
        f"{name}={item}"
        for name, item in value.items()
        if name not in MESSAGE_FRAME and item is not None
    )
    return " ".join(parts)
