"""The file in which ``verify`` keeps what it remembers: JSON lines, described in docs/state.md.

A file is read whole and strictly: what is not as described is an error that names the byte of the
line, the field and the reason.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count, repeat
from pathlib import Path
from types import UnionType
from typing import Any, Final, Protocol, TypeVar, get_args

from kafkaspec._version import __version__
from kafkaspec.analysis.changes import BytesCheck, FileStamp
from kafkaspec.analysis.check_order import LogOrder, OrderState
from kafkaspec.analysis.check_producers import ProducerWalk
from kafkaspec.analysis.files import kind_of
from kafkaspec.analysis.findings import Finding, Severity
from kafkaspec.analysis.parts import PartSurvey, Settled
from kafkaspec.analysis.reasons import Area, Consequence, FindingReason
from kafkaspec.analysis.report import FileResult
from kafkaspec.analysis.text_checks import EpochRun
from kafkaspec.analysis.tree import DigestTree
from kafkaspec.analysis.watch import SegmentWatch
from kafkaspec.broker.actions import BrokerAction
from kafkaspec.errors import Reason, make_error, unreadable
from kafkaspec.files import names
from kafkaspec.lazy import uncollected
from kafkaspec.output.atomic import file_aside, writing
from kafkaspec.results import OffsetRange, as_json

FORMAT: Final = "kafkaspec verify state"
VERSION: Final = 1
Word = TypeVar("Word", bound=StrEnum)
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1
"""Numbers of the format: those of 64 bits, with a sign or without."""
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
    segments: list[SegmentMemory] = field(default_factory=list)
    before: OrderState = field(default_factory=OrderState)
    after: OrderState = field(default_factory=OrderState)
    producers: ProducersMemory | None = None


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
_LOG: Final = {"log": str, "before": _STATE, "after": _STATE, "producers": [_PRODUCERS]}
_HEAD: Final = {"format": str, "version": int, "release": str, "options": {str: str}}
_END: Final = {"lines": int}


class _FieldError(Exception):
    """A value is not what its field has."""

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(detail)
        self.path, self.detail = path, detail


def _fits(value: Any, shape: Any) -> bool:
    """Return whether a value is as described.

    A type stands for its values, a union with null for these and null, a list for any number of its
    one item, a tuple for one value of each of its items, and a mapping for its members, or for any
    members where it has a type.
    """
    kind = type(shape)
    if kind is type:
        return type(value) is shape and (shape is not int or _LEAST <= value <= _MOST)
    if kind is UnionType:
        return value is None or _fits(value, get_args(shape)[0])
    if kind is list:
        return type(value) is list and all(map(_fits, value, repeat(shape[0])))
    if kind is tuple:
        return type(value) is list and len(value) == len(shape) and all(map(_fits, value, shape))
    if type(value) is not dict:
        return False
    if str in shape:
        return all(map(_fits, value.values(), repeat(shape[str])))
    if value.keys() != shape.keys():
        return False
    return all(map(_fits, map(value.__getitem__, shape), shape.values()))


def _check(value: Any, shape: Any, path: str = "") -> None:
    """Refuse a value that is not as described, and name the field.

    Raises:
        _FieldError: it is something else.
    """
    if _fits(value, shape):
        return
    kind = type(shape)
    if kind is UnionType:
        shape, kind = get_args(shape)[0], type
    items: Iterable[tuple[object, Any, Any]] = ()
    if kind is type:
        wide = type(value) is shape
        detail = "it has more than 64 bits" if wide else f"{shape.__name__} is due"
    elif kind is list or kind is tuple:
        detail = "a list is due" if kind is list else f"a list of {len(shape)} is due"
        if type(value) is list and (kind is list or len(value) == len(shape)):
            items = zip(count(), value, repeat(shape[0]) if kind is list else shape)
    else:
        detail = "an object is due"
        if type(value) is dict:
            members = dict.fromkeys(value, shape[str]) if str in shape else shape
            for name in (*members, *value):
                if name not in value or name not in members:
                    text = "it is missing" if name in members else "unknown field"
                    raise _FieldError(f"{path}/{name}", text)
            items = ((name, value[name], each) for name, each in members.items())
    for at, item, each in items:
        _check(item, each, f"{path}/{at}")
    raise _FieldError(path, f"{detail}, not {_shown(value)}")


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


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
        raise _FieldError("/findings/offsets", f"{_shown(offsets)} is not a range")
    given |= {
        "severity": _word(Severity, values["severity"], "/findings/severity"),
        "area": _word(Area, values["area"], "/findings/area"),
        "reason": _word(FindingReason, values["reason"], "/findings/reason"),
        "offsets": OffsetRange(*offsets) if offsets else None,
    }
    if predicted:
        if len(predicted) != len(Consequence._fields):
            raise _FieldError("/findings/predicted", f"it has {len(predicted)} items")
        reader, broker, word = predicted
        action = _word(BrokerAction, word, "/findings/predicted")
        given["predicted"] = Consequence(reader, broker, action)
    return Finding(**given)


def _word(kind: type[Word], value: str, path: str) -> Word:
    """Return a member of a closed list."""
    try:
        return kind(value)
    except ValueError:
        raise _FieldError(path, f"{_shown(value)} is not one of its words") from None


def _result(found: FileResult) -> list[Any]:
    numbers = [getattr(found, name) for name in _NUMBERS]
    counts = [dict(found.magics), dict(found.codecs)]
    return [found.file, *numbers, *counts, found.first_offset, found.last_offset]


def _result_of(values: Sequence[Any]) -> FileResult:
    file, *numbers, magics, codecs, first, last = values
    return FileResult(
        file=file,
        kind=kind_of(file),
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
        raise _FieldError("/tree", str(error)) from None
    epochs = [EpochRun(*run) for run in values["epochs"]]
    counts, alike = values["counts"].items(), values["alike"]
    done = Settled(
        [_finding_of(item) for item in values["findings"]],
        [_result_of(item) for item in values["results"]],
        Counter({(file, _word(FindingReason, why, "/alike")): n for file, why, n in alike}),
        {
            file: Counter({_word(Severity, each, "/counts"): n for each, n in found.items()})
            for file, found in counts
        },
        values["last_offset"],
        epochs,
    )
    own = values["segment"]
    parsed = names.parse_segment(own)
    if parsed is None or parsed.kind != names.LOG or parsed.state:
        raise _FieldError("/segment", f"{_shown(own)} is not the name of a segment")
    of_results = [item.file for item in done.results]
    for path, found in (("/files", values["files"]), ("/results", of_results)):
        if own not in found:
            raise _FieldError(path, f"{own} is not among its files")
    _plain("/files", values["files"])
    _plain("/results", of_results)
    _plain("/findings", (item.file for item in done.findings))
    _plain("/counts", done.counts)
    _plain("/alike", (file for file, _ in done.alike))
    if not 0 <= values["read"] < _LATEST:
        raise _FieldError("/read", f"{values['read']} is not a time")
    if not 0 <= values["last"] <= values["end"]:
        raise _FieldError("/end", f"{values['end']} is before the last batch at {values['last']}")
    return SegmentMemory(
        own,
        {name: FileStamp(*item) for name, item in values["files"].items()},
        {name: BytesCheck(*item) for name, item in values["checks"].items()},
        SegmentWatch(tree, survey, list(epochs), values["last"], values["end"]),
        done,
        values["read"],
        values["following"],
        [_finding_of(item) for item in values["missing"]],
    )


def _plain(path: str, given: Iterable[str]) -> None:
    """Refuse names of files that lead out of their directory."""
    for name in given:
        if name != os.path.basename(name) or name in ("", os.curdir, os.pardir):
            raise _FieldError(path, f"{_shown(name)} is not the name of a file")


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
    return {"log": log.path, **states, "producers": producers}


def _log_of(values: Mapping[str, Any]) -> LogMemory:
    log = LogMemory(values["log"])
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
            raise _FieldError(f"{path}/{number}", f"it has {len(row)} numbers, not {width}")


# -- the file ------------------------------------------------------------------------------------


def state_lines(options: Mapping[str, str], logs: Iterable[LogMemory]) -> Iterator[bytes]:
    """Yield the lines of a state."""
    yield _line({"format": FORMAT, "version": VERSION, "release": __version__, "options": options})
    written = 2
    for log in logs:
        yield _line(_log(log))
        yield from map(_line, map(_segment, log.segments))
        written += 1 + len(log.segments)
    yield _line({"lines": written})


class StateFile:
    """A state in a local file.

    Args:
        path: of the file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.place = os.fspath(path)

    def read(self) -> bytes | None:
        """Return the lines; None without a file.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        try:
            return Path(self.place).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unreadable(self.place, error) from None

    def write(self, lines: Iterable[bytes]) -> None:
        """Write a file, which is replaced when the new one is whole.

        Raises:
            KafkaSpecError: ``unreadable``: it cannot be written.
        """
        path = Path(self.place)
        with writing(path), file_aside(path, replace=True) as out:
            for line in lines:
                out.write(line)


class StateStore(Protocol):
    """A place of a state: a file, or a table; see ``StateFile``."""

    place: str

    def read(self) -> bytes | None:
        """Return the lines; None without a state."""

    def write(self, lines: Iterable[bytes]) -> None:
        """Write lines in the place of those that are there, in one step."""


def _line(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode("ascii") + b"\n"


def is_state(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins as a state does."""
    head = json.dumps({"format": FORMAT}, separators=(",", ":")).encode()[:-1]
    try:
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return file.read(len(head)) == head
    except OSError:
        return False


def read_state(store: StateStore) -> tuple[dict[str, str], list[LogMemory]] | None:
    """Return the options of a state, and the partitions that it remembers; None without one.

    Raises:
        KafkaSpecError: ``unreadable``; ``invalid_value``, ``truncated``, ``unsupported_version``:
            it is not what is described.
    """
    data, file = store.read(), store.place
    if data is None:
        return None
    lines = data.split(b"\n")
    if len(lines) < 3 or lines[-1]:
        detail = "it does not end with a whole line: it is cut off, or not a state of verify"
        raise make_error(Reason.TRUNCATED, detail, file=file, offset=len(data))
    with uncollected():
        return _decoded(lines, file)


def _decoded(lines: Sequence[bytes], file: str) -> tuple[dict[str, str], list[LogMemory]]:
    """Return what the lines of a file say; the last one is empty."""
    options: dict[str, str] = {}
    logs: list[LogMemory] = []
    at = 0
    for number, line in enumerate(lines[:-1]):
        try:
            values = _parsed(line)
            if number == 0:
                options = _options_of(values)
            elif number == len(lines) - 2:
                _check(values, _END)
                if values["lines"] != len(lines) - 1:
                    text = f"the file has {len(lines) - 1} lines, not {values['lines']}"
                    raise _FieldError("/lines", text)
            elif "segment" in values and logs:
                _check(values, _SEGMENT)
                logs[-1].segments.append(_segment_of(values))
            else:
                _check(values, _LOG)
                logs.append(_log_of(values))
        except _FieldError as error:
            raise make_error(
                Reason.INVALID_VALUE,
                f"line {number + 1} of the state: {error.detail}",
                file=file,
                offset=at,
                path=error.path,
            ) from None
        at += len(line) + 1
    return options, logs


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _FieldError("", f"it is not JSON: {error}") from None
    if not isinstance(values, dict):
        raise _FieldError("", f"an object is due, not {_shown(values)}")
    return values


def _options_of(values: dict[str, Any]) -> dict[str, str]:
    if values.get("format") != FORMAT:
        raise _FieldError("/format", f"it is not {FORMAT!r}, so this is not a state of verify")
    if values.get("version") != VERSION:
        given = _shown(values.get("version"))
        raise _FieldError("/version", f"{given} is not {VERSION}, the one that this release reads")
    _check(values, _HEAD)
    found: dict[str, str] = values["options"]
    return found
