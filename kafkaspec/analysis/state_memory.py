"""The memory of ``verify`` about segments and partitions, and the lines that keep it.

Segments stay columns, which are checked as such; one becomes an object when it is asked for.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import chain
from typing import Any, Final, TypeVar

from kafkaspec.analysis.changes import BytesCheck, FileStamp
from kafkaspec.analysis.check_order import LogOrder, OrderState
from kafkaspec.analysis.check_producers import ProducerWalk
from kafkaspec.analysis.files import kind_of
from kafkaspec.analysis.findings import Finding, Severity
from kafkaspec.analysis.parts import PartSurvey, Settled
from kafkaspec.analysis.reasons import Area, Consequence, FindingReason
from kafkaspec.analysis.report import FileResult
from kafkaspec.analysis.state_shapes import FieldError, check_shape, parsed, shown, state_line
from kafkaspec.analysis.text_checks import EpochRun
from kafkaspec.analysis.tree import TOP, DigestTree
from kafkaspec.analysis.watch import SegmentWatch
from kafkaspec.broker.actions import BrokerAction
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files import names
from kafkaspec.lazy import uncollected
from kafkaspec.results import OffsetRange, as_json

Word = TypeVar("Word", bound=StrEnum)
_LATEST: Final = 253_402_300_800_000
"""The year 10000, in ms."""


@dataclass(slots=True)
class SegmentMemory:
    """The memory of a segment.

    Attributes:
        name: name of the file.
        files: stamps of the segment and its indexes, by name.
        checks: bytes that have to be the same where it is read on: its last batch, and the entries
            of its indexes, by name.
        watch: what the batches leave.
        done: results and findings; its files are names.
        read: when it was last read, in ms.
        following: base offset of the next segment, None for none.
        missing: findings about offsets that are missing in and after it, in front of that one.
    """

    name: str
    files: dict[str, FileStamp]
    checks: dict[str, BytesCheck]
    watch: SegmentWatch
    done: Settled
    read: int
    following: int | None = None
    missing: list[Finding] = field(default_factory=list)


@dataclass(slots=True)
class ProducersMemory:
    """The memory of the check of producer snapshots.

    Attributes:
        snapshots: stamps of the snapshots, by name.
        stopped_cleanly: as the log directory shows it.
        findings: their files are names.
        walk: where to go on, None if that is not possible.
    """

    snapshots: dict[str, FileStamp]
    stopped_cleanly: bool | None
    findings: list[Finding]
    walk: ProducerWalk | None


class SegmentRows:
    """The memory of the segments of a partition, in columns and in order.

    Attributes:
        columns: by name, a list with the values of all segments, as a line has them.
    """

    def __init__(
        self,
        columns: Mapping[str, list[Any]] | None = None,
        fail: Callable[[FieldError], KafkaSpecError] | None = None,
    ) -> None:
        """Take columns of the same length.

        Args:
            columns: as above; none for no segments.
            fail: makes an error that says where the columns are from.
        """
        self.columns = {name: [] for name in _SEGMENT} if columns is None else dict(columns)
        self._fail = fail

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[SegmentMemory]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, number: int) -> SegmentMemory:
        """Return a segment.

        Raises:
            KafkaSpecError: ``invalid_value``: a column has what no segment has.
        """
        try:
            return _segment_of({name: values[number] for name, values in self.columns.items()})
        except FieldError as error:
            error.path = f"/segments{error.path}"
            raise error if self._fail is None else self._fail(error) from None

    @property
    def names(self) -> list[str]:
        """The names of the files."""
        return self.columns["segment"]

    @property
    def read(self) -> list[int]:
        """When they were last read, in ms."""
        return self.columns["read"]

    @property
    def following(self) -> list[int | None]:
        """Base offsets of the next segments."""
        return self.columns["following"]

    @property
    def sizes(self) -> Iterator[int]:
        """The sizes of the files in bytes, when they were read."""
        return (
            found[name][0] for name, found in zip(self.names, self.columns["files"], strict=True)
        )

    def stamps(self, number: int) -> dict[str, FileStamp]:
        """Return the stamps of a segment and its indexes."""
        return {name: FileStamp(*item) for name, item in self.columns["files"][number].items()}

    def has_findings(self, number: int) -> bool:
        """Return whether something was found in a segment or its indexes."""
        return bool(self.columns["findings"][number])

    def findings(self, number: int) -> list[Finding]:
        """Return the findings about a segment and its indexes."""
        return list(map(_finding_of, self.columns["findings"][number]))

    def missing(self, number: int) -> list[Finding]:
        """Return the findings about offsets that are missing in and after a segment."""
        return list(map(_finding_of, self.columns["missing"][number]))

    def note_missing(self, number: int, following: int | None, found: Iterable[Finding]) -> bool:
        """Note what is missing in and after a segment; return whether that is something else."""
        told = [_finding(item) for item in found]
        other = (self.following[number], self.columns["missing"][number]) != (following, told)
        self.following[number], self.columns["missing"][number] = following, told
        return other

    def done(self, number: int, directory: str) -> Settled:
        """Return results and findings with the paths that files have in a directory."""
        row = {name: self.columns[name][number] for name in _DONE}
        return _settled_of(row, directory)

    def part(self, start: int, stop: int) -> SegmentRows:
        """Return some of the segments."""
        columns = {name: values[start:stop] for name, values in self.columns.items()}
        return SegmentRows(columns, self._fail)

    def append(self, segment: SegmentMemory) -> None:
        """Add a segment."""
        for name, value in _segment(segment).items():
            self.columns[name].append(value)


@dataclass(slots=True)
class LogMemory:
    """The memory of a partition.

    Attributes:
        path: absolute path of its directory.
        segments: those that were read, in order.
        before: the state before the last of them.
        after: the state after it.
        producers: see there, None if the last segment of the log was not reached.
    """

    path: str
    segments: SegmentRows = field(default_factory=lambda: SegmentRows())
    before: OrderState = field(default_factory=OrderState)
    after: OrderState = field(default_factory=OrderState)
    producers: ProducersMemory | None = None


@dataclass(slots=True)
class StoredLog:
    """The memory of a partition as the line that it has in a state, to be read when it is needed.

    Attributes:
        path: absolute path of its directory.
        line: the line.
        file: the state that has it, for errors.
        number: of the line, from 1.
        offset: of the line, in bytes.
        since: when that segment was read that was not read for longest, in ms; None without any.
        is_read: whether ``since`` is known.
    """

    path: str
    line: bytes
    file: str = ""
    number: int = 0
    offset: int = 0
    since: int | None = None
    is_read: bool = False

    @classmethod
    def of(cls, log: LogMemory) -> StoredLog:
        """Return the line of a partition."""
        found = cls(log.path, state_line(_log(log)))
        found._note(log)
        return found

    def read(self) -> LogMemory:
        """Return what the line says.

        Raises:
            KafkaSpecError: ``invalid_value``: it is not what is described.
        """
        try:
            with uncollected():
                values = parsed(self.line)
                check_shape(values, _LOG)
                log = _log_of(values, self.error)
        except FieldError as error:
            raise self.error(error) from None
        self._note(log)
        return log

    def error(self, error: FieldError) -> KafkaSpecError:
        """Return an error that says where the line is."""
        return line_error(error, self.file, self.number, self.offset)

    def oldest(self) -> int | None:
        """Return ``since``."""
        if not self.is_read:
            self.read()
        return self.since

    def _note(self, log: LogMemory) -> None:
        self.since, self.is_read = min(log.segments.read, default=None), True


def line_error(error: FieldError, file: str, number: int, offset: int) -> KafkaSpecError:
    text = f"line {number} of the state: {error.detail}"
    return make_error(Reason.INVALID_VALUE, text, file=file, offset=offset, path=error.path)


# -- what lines have ---------------------------------------------------------------------------

_STAMPS: Final = {str: (int, int, int)}
_FINDING: Final = {
    "file": str, "severity": str, "area": str, "reason": str, "message": str,
    "position": int | None, "offset": int | None, "path": str, "codec": str, "entry": int | None,
    "offsets": [int | None], "predicted": [str],
}  # fmt: skip
_RESULT: Final = (
    str, int, int, int, int, int, int, int, {str: int}, {str: int}, int | None, int | None
)  # fmt: skip
_NUMBERS: Final = (
    "size", "entries", "padding", "batches", "control_batches", "records", "unread"
)  # fmt: skip
_SEGMENT: Final = {
    "segment": str,
    "files": _STAMPS,
    "checks": {str: (int, int, int)},
    "read": int,
    "following": int | None,
    "missing": [_FINDING],
    "last": int,
    "end": int,
    "tree": (int, str),
    "survey": (int, int | None, int, int, int, {str: int}),
    "epochs": [(int, int, int)],
    "last_offset": int | None,
    "results": [_RESULT],
    "findings": [_FINDING],
    "counts": {str: {str: int}},
    "alike": [(str, str, int)],
}
_STATE: Final = (int | None, int, [[int]], [[int]])
_WALK: Final = (str, int, int, int, [[int]])
_PRODUCERS: Final = {
    "snapshots": _STAMPS,
    "stopped_cleanly": bool | None,
    "findings": [_FINDING],
    "walk": [_WALK],
}
_LOG: Final = {
    "log": str,
    "before": _STATE,
    "after": _STATE,
    "producers": [_PRODUCERS],
    "segments": {name: [shape] for name, shape in _SEGMENT.items()},
}
_DONE: Final = ("results", "findings", "counts", "alike", "last_offset", "epochs")
"""Columns of results and findings."""


# -- objects as lines ----------------------------------------------------------------------------


def _finding(found: Finding) -> dict[str, Any]:
    plain = {name: as_json(getattr(found, name)) for name in _FINDING}
    plain["offsets"] = list(found.offsets or ())
    plain["predicted"] = [str(value) for value in found.predicted or ()]
    return plain


def _finding_of(values: dict[str, Any]) -> Finding:
    given = dict(values)
    predicted, offsets = given.pop("predicted"), given.pop("offsets")
    if offsets and (len(offsets) != len(OffsetRange._fields) or offsets[0] is None):
        raise FieldError("/findings/offsets", f"{shown(offsets)} is not a range")
    given |= {
        "severity": _word(Severity, values["severity"], "/findings/severity"),
        "area": _word(Area, values["area"], "/findings/area"),
        "reason": _word(FindingReason, values["reason"], "/findings/reason"),
        "offsets": OffsetRange(*offsets) if offsets else None,
    }
    if predicted:
        if len(predicted) != len(Consequence._fields):
            raise FieldError("/findings/predicted", f"it has {len(predicted)} items")
        reader, broker, word = predicted
        action = _word(BrokerAction, word, "/findings/predicted")
        given["predicted"] = Consequence(reader, broker, action)
    return Finding(**given)


def _kind(values: dict[str, Any]) -> tuple[Any, ...]:
    """Return the values of a finding that more is said about than their type."""
    words = (values[name] for name in ("severity", "area", "reason"))
    offsets = values["offsets"]
    return (*words, len(offsets), None in offsets[:1], *values["predicted"])


def _word(kind: type[Word], value: str, path: str) -> Word:
    """Return a member of a closed list."""
    try:
        return kind(value)
    except ValueError:
        raise FieldError(path, f"{shown(value)} is not one of its words") from None


def _result(found: FileResult) -> list[Any]:
    numbers = [getattr(found, name) for name in _NUMBERS]
    counts = [dict(found.magics), dict(found.codecs)]
    return [found.file, *numbers, *counts, found.first_offset, found.last_offset]


def _result_of(values: Sequence[Any], directory: str = "") -> FileResult:
    file, *numbers, magics, codecs, first, last = values
    return FileResult(
        file=os.path.join(directory, file),
        kind=kind_of(file),
        partition=directory,
        magics=Counter(magics),
        codecs=Counter(codecs),
        first_offset=first,
        last_offset=last,
        **dict(zip(_NUMBERS, numbers, strict=True)),
    )


def _state(state: OrderState) -> list[Any]:
    return [state.last_offset, state.leader_epoch, state.producers, state.open]


def _segment(segment: SegmentMemory) -> dict[str, Any]:
    watch, done = segment.watch, segment.done
    survey = watch.survey
    numbers = [survey.batches, survey.last_offset, survey.highest_first, survey.highest_last]
    return {
        "segment": segment.name,
        "files": segment.files,
        "checks": segment.checks,
        "read": segment.read,
        "following": segment.following,
        "missing": [_finding(item) for item in segment.missing],
        "last": watch.last,
        "end": watch.end,
        "tree": (watch.tree.level, watch.tree.to_text()),
        "survey": (*numbers, int(survey.has_untimed), dict(survey.numbers)),
        "epochs": [(run.epoch, run.base_offset, run.last_offset) for run in watch.epochs],
        "last_offset": done.last_offset,
        "results": [_result(item) for item in done.results],
        "findings": [_finding(item) for item in done.findings],
        "counts": {file: dict(found) for file, found in done.counts.items()},
        "alike": [(*key, count) for key, count in done.alike.items()],
    }


def _segment_of(values: Mapping[str, Any]) -> SegmentMemory:
    batches, last_offset, first, last, untimed, numbers = values["survey"]
    survey = PartSurvey(
        LogOrder(), batches, True, first, last, last_offset, Counter(numbers), bool(untimed)
    )
    level, leaves = values["tree"]
    try:
        tree = DigestTree.of_text(level, leaves)
    except ValueError as error:
        raise FieldError("/tree", str(error)) from None
    epochs = [EpochRun(*run) for run in values["epochs"]]
    own = values["segment"]
    parsed = names.parse_segment(own)
    if parsed is None or parsed.kind != names.LOG or parsed.state:
        raise FieldError("/segment", f"{shown(own)} is not the name of a segment")
    return SegmentMemory(
        own,
        {name: FileStamp(*item) for name, item in values["files"].items()},
        {name: BytesCheck(*item) for name, item in values["checks"].items()},
        SegmentWatch(tree, survey, epochs, values["last"], values["end"]),
        _settled_of(values),
        values["read"],
        values["following"],
        [_finding_of(item) for item in values["missing"]],
    )


def _settled_of(values: Mapping[str, Any], directory: str = "") -> Settled:
    """Return results and findings; their files are names, or paths in a directory."""
    place = partial(os.path.join, directory)
    counts, alike = values["counts"].items(), values["alike"]
    findings = map(_finding_of, values["findings"])
    return Settled(
        [replace(item, file=place(item.file)) for item in findings],
        [_result_of(item, directory) for item in values["results"]],
        Counter({(place(file), _word(FindingReason, why, "/alike")): n for file, why, n in alike}),
        {
            place(file): Counter({_word(Severity, each, "/counts"): n for each, n in found.items()})
            for file, found in counts
        },
        values["last_offset"],
        [EpochRun(*run) for run in values["epochs"]],
    )


def _check_rows(columns: Mapping[str, list[Any]]) -> None:
    """Refuse columns of segments that do not agree.

    Raises:
        FieldError: they do not.
    """
    own = columns["segment"]
    for name, values in columns.items():
        if len(values) != len(own):
            raise FieldError(f"/{name}", f"it has {len(values)} values for {len(own)} segments")
    if not own:
        return
    _plain("/segment", own)
    of_results = [[item[0] for item in found] for found in columns["results"]]
    for path, files in (("/files", columns["files"]), ("/results", of_results)):
        for number, found in enumerate(files):
            if own[number] not in found:
                raise FieldError(path, f"{own[number]} is not among its files")
        _plain(path, set().union(*files))
    _plain("/counts", set().union(*columns["counts"]))
    _plain("/alike", (item[0] for found in columns["alike"] for item in found))
    for name in ("findings", "missing"):
        rows = list(chain.from_iterable(columns[name]))
        _plain(f"/{name}", (item["file"] for item in rows))
        # One of each kind: what else it has is plain.
        for item in {_kind(item): item for item in rows}.values():
            _finding_of(item)
    if min(columns["read"]) < 0 or max(columns["read"]) >= _LATEST:
        raise FieldError("/read", "it is not a time")
    for last, end in zip(columns["last"], columns["end"], strict=True):
        if not 0 <= last <= end:
            raise FieldError("/end", f"{end} is before the last batch at {last}")
    for level, _ in columns["tree"]:
        if not 0 <= level <= TOP:
            raise FieldError("/tree", f"level {level} is not one of 0 to {TOP}")
    counts = chain.from_iterable(map(dict.values, columns["counts"]))
    for word in set(chain.from_iterable(counts)):
        _word(Severity, word, "/counts")
    for word in {item[1] for found in columns["alike"] for item in found}:
        _word(FindingReason, word, "/alike")


def _plain(path: str, given: Iterable[str]) -> None:
    """Refuse names of files that lead out of their directory."""
    found = set(given)
    whole = "".join(found)
    if os.path.basename(whole) == whole and found.isdisjoint(_NO_FILES):
        return
    wrong = min(name for name in found if name in _NO_FILES or name != os.path.basename(name))
    raise FieldError(path, f"{shown(wrong)} is not the name of a file")


_NO_FILES: Final = ("", os.curdir, os.pardir)


def _log(log: LogMemory) -> dict[str, Any]:
    producers = []
    if log.producers is not None:
        walk = log.producers.walk
        known = [] if walk is None else [
            (walk.segment, walk.position, walk.end, int(walk.whole), walk.entries)
        ]  # fmt: skip
        producers.append(
            {
                "snapshots": log.producers.snapshots,
                "stopped_cleanly": log.producers.stopped_cleanly,
                "findings": [_finding(item) for item in log.producers.findings],
                "walk": known,
            }
        )
    states = {"before": _state(log.before), "after": _state(log.after)}
    return {"log": log.path, **states, "producers": producers, "segments": log.segments.columns}


def _log_of(values: Mapping[str, Any], fail: Callable[[FieldError], KafkaSpecError]) -> LogMemory:
    try:
        _check_rows(values["segments"])
    except FieldError as error:
        raise FieldError(f"/segments{error.path}", error.detail) from None
    log = LogMemory(values["log"], SegmentRows(values["segments"], fail))
    log.before, log.after = OrderState(*values["before"]), OrderState(*values["after"])
    for name, state in (("before", log.before), ("after", log.after)):
        _widths(state.producers, OrderState.PRODUCER, f"/{name}/2")
        _widths(state.open, OrderState.OPEN, f"/{name}/3")
    for item in values["producers"][:1]:
        _plain("/producers/0/snapshots", item["snapshots"])
        walks = [ProducerWalk(at, byte, end, bool(all_), entries)
                 for at, byte, end, all_, entries in item["walk"]]  # fmt: skip
        for walk in walks:
            _plain("/producers/0/walk/0/0", [walk.segment])
            _widths(walk.entries, len(ProducerWalk.NAMES), "/producers/0/walk/0/4")
        log.producers = ProducersMemory(
            {name: FileStamp(*stamp) for name, stamp in item["snapshots"].items()},
            item["stopped_cleanly"],
            [_finding_of(found) for found in item["findings"]],
            walks[0] if walks else None,
        )
    return log


def _widths(rows: Sequence[Sequence[int]], width: int, path: str) -> None:
    for number, row in enumerate(rows):
        if len(row) != width:
            raise FieldError(f"{path}/{number}", f"it has {len(row)} numbers, not {width}")


def path_of(line: bytes) -> str:
    """Return the partition of a line, with which it begins."""
    end = line.find(b'","before":')
    if not line.startswith(b'{"log":"') or end < 0:
        check_shape(parsed(line), _LOG)
        raise FieldError("/log", "the line does not begin with it, and then before")
    try:
        path = json.loads(line[len(b'{"log":') : end + 1])
    except ValueError as error:
        raise FieldError("/log", f"it is not JSON: {error}") from None
    check_shape(path, str, "/log")
    return str(path)
