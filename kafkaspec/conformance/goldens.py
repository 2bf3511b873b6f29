"""Cases from log directories that real brokers wrote, laid out as ``tests/golden/README.md`` says.

Expected is what the broker acknowledged to the producer, and what the dump tool of that version
prints about the file. No codec of ours is involved.
"""

from __future__ import annotations

import json
import lzma
import re
import tarfile
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.conformance import dump_text
from kafkaspec.conformance.cases import Case, Items, Refusal
from kafkaspec.conformance.payloads import flipped
from kafkaspec.conformance.protocol import ProtocolError, RequestKind, decode_bytes, record
from kafkaspec.errors import Reason
from kafkaspec.files import names
from kafkaspec.log.batch import (
    CREATE_TIME,
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    NO_TIMESTAMP_TYPE,
)

_TIMESTAMPS: Final = (CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE)
"""Names before timestamps in the output of the tool."""

_ENTRY_NAMES: Final = {
    "offset": "offset",
    "position": "position",
    "timestamp": "timestamp",
    "lastTimestamp": "timestamp",
    "version": "version",
    "producerId": "producer_id",
    "producerEpoch": "producer_epoch",
    "coordinatorEpoch": "coordinator_epoch",
    "currentTxnFirstOffset": "current_txn_first_offset",
    "firstOffset": "first_offset",
    "lastOffset": "last_offset",
    "lastStableOffset": "last_stable_offset",
    "lastSequence": "last_sequence",
    "offsetDelta": "offset_delta",
}
"""Names of the dump tool, and those of the specification."""

_ABSENT: Final = frozenset({"None", "OptionalLong.empty"})
"""The text of Scala and Java for a missing number, which is -1 in the file."""


_OPEN: Final = "open"
_DELIVERED: Final = (None, "committed")
"""Producer outcomes of a transaction whose records ``read_committed`` delivers."""

MAX_EVIDENCE: Final = 1 << 28
"""Limit for the decompressed texts of a version in bytes; the largest has a hundredth of that."""

DUMP: Final = "dump.tar.xz"
PRODUCED: Final = "produced.jsonl.xz"


class GoldenError(Exception):
    """A folder is not complete, or not valid; the text says why."""


def read_dumps(folder: Path) -> dict[str, str]:
    """Return the output of the dump tool by path of the file below ``logs``.

    Raises:
        GoldenError: the file cannot be read, or is too large.
    """
    path = folder / DUMP
    found: dict[str, str] = {}
    left = MAX_EVIDENCE
    try:
        with tarfile.open(path, "r:xz") as archive:
            for member in archive:
                left -= member.size
                if left < 0:
                    raise GoldenError(f"{path} holds more than {MAX_EVIDENCE} bytes")
                if (file := archive.extractfile(member)) is not None:
                    name = member.name.removesuffix(".txt")
                    found[name] = file.read().decode("utf-8", "replace")
    except (OSError, EOFError, tarfile.TarError, lzma.LZMAError) as error:
        raise GoldenError(f"{path}: {error}") from None
    return found


def read_produced(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the acknowledged records, in order.

    Raises:
        GoldenError: the file cannot be read, is too large or is not JSON.
    """
    path = folder / PRODUCED
    try:
        with lzma.open(path) as file:
            data = file.read(MAX_EVIDENCE + 1)
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise GoldenError(f"{path}: {error}") from None
    if len(data) > MAX_EVIDENCE:
        raise GoldenError(f"{path} holds more than {MAX_EVIDENCE} bytes")
    try:
        yield from map(json.loads, data.splitlines())
    except ValueError as error:
        raise GoldenError(f"{path} is not valid: {error!r}") from None


def is_golden(path: Path) -> bool:
    """Return whether a path is a folder of versions, or of one, with the texts of its files."""
    return any((folder.parent / DUMP).exists() for folder in (path / "logs", *path.glob("*/logs")))


def golden_cases(folder: Path) -> Iterator[Case]:
    """Yield all cases of a folder of versions, or of the folder of one version.

    Raises:
        GoldenError: the folder holds no log directory of a broker with its texts.
    """
    for version in _versions_in(folder):
        yield from _Version(version).cases()


def committed_cases(folder: Path) -> Iterator[Case]:
    """Yield cases of whole partitions with transactions: what ``read_committed`` delivers.

    The producers say what they committed, aborted or left open.

    Raises:
        GoldenError: as for ``golden_cases``.
    """
    for version in _versions_in(folder):
        yield from _Version(version).committed()


def _versions_in(folder: Path) -> list[Path]:
    versions = [folder] if (folder / "logs").is_dir() else _versions(folder)
    if not versions:
        raise GoldenError(f"{folder} holds no VERSION/logs")
    return versions


def _versions(folder: Path) -> list[Path]:
    def key(path: Path) -> tuple[tuple[int, int | str], ...]:
        return tuple((0, int(p)) if p.isdigit() else (1, p) for p in re.split(r"[.-]", path.name))

    return sorted((path.parent for path in folder.glob("*/logs")), key=key)


class _Version:
    """The folder of one version."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._logs = folder / "logs"
        self._makers: dict[str, Callable[[Path], Iterator[Case]]] = {
            ".log": self._log,
            ".checkpoint": self._log,
            ".index": self._index,
            ".timeindex": self._index,
            ".txnindex": self._index,
            ".snapshot": self._snapshot,
        }

    def cases(self) -> Iterator[Case]:
        """Yield the cases of every file, in order."""
        damaged: set[tuple[Path, str]] = set()
        for path in sorted(self._logs.rglob("*")):
            maker = self._makers.get(path.suffix)
            # The dump tools of some releases cannot read the snapshots of KRaft.
            silent = path.suffix == ".checkpoint" and self._below_logs(path) not in self._texts
            if maker is None or not path.is_file() or silent:
                continue
            try:
                made = list(maker(path))
            except (ValueError, KeyError) as error:  # from the text; the file itself is not parsed
                name = self._below_logs(path)
                raise GoldenError(f"{self._folder / DUMP}: {name}.txt: {error!r}") from None
            for case in made:
                yield case
                found = isinstance(case.expected, Items) and bool(case.expected.items)
                if case.kind in _CHECKED and found and self._is_first(path, damaged):
                    yield self._damaged(case, path)

    def committed(self) -> Iterator[Case]:
        """Yield a case for each partition with transactions of which all is known."""
        outcomes: dict[str, dict[int, str | None]] = {}
        for item in read_produced(self._folder):
            directory = f"{item['topic']}-{item['partition']}"
            outcomes.setdefault(directory, {})[item["offset"]] = item["transaction"]
        for directory, outcome in sorted(outcomes.items()):
            paths = sorted((self._logs / directory).glob("*.log"))
            if not any(outcome.values()) or not paths:
                continue
            items = [item for path in paths for item in self._items(path)]
            if any(item["offset"] not in outcome for item in items):
                continue
            unended = [offset for offset, what in outcome.items() if what == _OPEN]
            stable = min(unended, default=None)
            wanted = [
                item
                for item in items
                if outcome[item["offset"]] in _DELIVERED
                and (stable is None or item["offset"] < stable)
            ]
            yield Case(
                f"committed/{self._folder.name}/{directory}",
                RequestKind.COMMITTED_RECORDS,
                b"".join(path.read_bytes() for path in paths),
                Items(wanted),
                "The producers said what they committed.",
            )

    def _items(self, path: Path) -> list[dict[str, Any]]:
        return _records(self._text(path), self._acknowledged.get(path.parent.name, {}))[0]

    def _is_first(self, path: Path, damaged: set[tuple[Path, str]]) -> bool:
        key = (path.parent, path.suffix)
        if path.suffix == ".checkpoint" or key in damaged:
            return False
        damaged.add(key)
        return True

    def _damaged(self, case: Case, path: Path) -> Case:
        data = flipped(case.data)
        refusal = Refusal(frozenset({Reason.CHECKSUM_MISMATCH}))
        why = "The last bit is flipped."
        return Case(f"checksum/{self._name(path)}", case.kind, data, refusal, why, checksum=True)

    def _name(self, path: Path) -> str:
        return f"{self._folder.name}/{self._below_logs(path)}"

    def _text(self, path: Path) -> str:
        name = self._below_logs(path)
        if name not in self._texts:
            raise GoldenError(f"{self._folder / DUMP} has no {name}.txt")
        return self._texts[name]

    def _below_logs(self, path: Path) -> str:
        return path.relative_to(self._logs).as_posix()

    @cached_property
    def _texts(self) -> dict[str, str]:
        return read_dumps(self._folder)

    # -- logs --------------------------------------------------------------------------------

    @cached_property
    def _acknowledged(self) -> dict[str, dict[int, dict[str, Any]]]:
        """Records by partition directory and offset, in the form of an answer."""
        found: dict[str, dict[int, dict[str, Any]]] = {}
        try:
            for item in read_produced(self._folder):
                directory = f"{item['topic']}-{item['partition']}"
                found.setdefault(directory, {})[item["offset"]] = _sent(item)
        except (ValueError, TypeError, KeyError, AttributeError, ProtocolError) as error:
            path = self._folder / PRODUCED
            raise GoldenError(f"{path} is not valid: {error!r}") from None
        return found

    def _log(self, path: Path) -> Iterator[Case]:
        data = path.read_bytes()
        sent = self._acknowledged.get(path.parent.name, {})
        items, controls = _records(self._text(path), sent)
        name = self._name(path)
        yield Case(f"segment/{name}", RequestKind.LOG, data, Items(items))
        if controls:
            yield Case(f"control/{name}", RequestKind.CONTROL_RECORDS, data, Items(controls))

    # -- indexes and snapshots ---------------------------------------------------------------

    def _index(self, path: Path) -> Iterator[Case]:
        data = path.read_bytes()
        # For an empty file the tool prints the entry that it gets from an empty index.
        items = list(map(_entry, dump_text.index_lines(self._text(path)))) if data else []
        segment = names.parse_segment(path.name)
        base = {} if segment is None else {"base_offset": segment.base_offset}
        kind = _INDEXES[path.suffix]
        extra = {} if kind is RequestKind.TRANSACTION_INDEX else base
        yield Case(f"index/{self._name(path)}", kind, data, Items(items), extra=extra)

    def _snapshot(self, path: Path) -> Iterator[Case]:
        items = Items(list(map(_entry, dump_text.snapshot_lines(self._text(path)))))
        name = f"snapshot/{self._name(path)}"
        yield Case(name, RequestKind.PRODUCER_SNAPSHOT, path.read_bytes(), items)


_INDEXES: Final = {
    ".index": RequestKind.OFFSET_INDEX,
    ".timeindex": RequestKind.TIME_INDEX,
    ".txnindex": RequestKind.TRANSACTION_INDEX,
}

_CHECKED: Final = frozenset({RequestKind.LOG, RequestKind.PRODUCER_SNAPSHOT})
"""Files with checksums."""


def _sent(item: dict[str, Any]) -> dict[str, Any]:
    """Return an acknowledged record in the form of an answer."""
    timestamp = item["timestamp"]
    return record(
        item["offset"],
        NO_TIMESTAMP if timestamp is None else timestamp,
        decode_bytes(item["key"]),
        decode_bytes(item["value"]),
        [(key.encode("utf-8"), decode_bytes(value)) for key, value in item["headers"]],
    )


def _records(
    text: str, sent: Mapping[int, dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what is known of records and control records; of acknowledged ones, all of it."""
    items: list[dict[str, Any]] = []
    controls: list[dict[str, Any]] = []
    control = False
    for line in dump_text.batch_lines(text):
        values = line.values
        if line.batch:  # a message of magic 0 or 1 has a line of its own, and no marker
            control = values.get("isControl") == "true"
            continue
        offset, marker = int(values["offset"]), values.get("endTxnMarker")
        item: dict[str, Any] = {"offset": offset}
        if marker is not None:
            kind, epoch = ControlRecordType[marker], int(values["coordinatorEpoch"])
            controls.append(item | {"type": int(kind), "coordinator_epoch": epoch})
            continue
        if control:  # one of KRaft's, whose text differs by version
            controls.append(item)
            continue
        item = dict(sent.get(offset, item))
        name = next((name for name in _TIMESTAMPS if name in values), None)
        if name is None and values.get("magic") == "1":
            # 0.10.0 prints no timestamp, and its client does not report append times.
            item.pop("timestamp", None)
        elif offset not in sent or name == LOG_APPEND_TIME:
            # Clients before 0.10.2 do not report append times.
            item["timestamp"] = NO_TIMESTAMP if name is None else int(values[name])
        items.append(item)
    return items, controls


def _entry(values: Mapping[str, int | str]) -> dict[str, Any]:
    """Return an entry of an index or snapshot, by the names of the specification."""
    return {
        _ENTRY_NAMES[name]: value if isinstance(value, int) else _number(value)
        for name, value in values.items()
        if name in _ENTRY_NAMES
    }


def _number(text: str) -> int:
    if text in _ABSENT:
        return -1
    return int(text.removeprefix("Some(").removeprefix("OptionalLong[").rstrip(")]"))
