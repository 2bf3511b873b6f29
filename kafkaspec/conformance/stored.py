"""Cases in a folder: their bytes in files, and a list of JSON lines that says what each is.

The list is ``cases.jsonl``. A line has the ``id``, ``kind`` and request of a case, where its bytes
are (``file``, ``position``, ``size``), what it covers, and the verdict: ``accept`` with the records
or the value that are expected, or ``reject`` with reasons, path and position.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from kafkaspec.conformance.cases import Case, CaseValue, Expectation, Items, Refusal
from kafkaspec.conformance.own import KINDS
from kafkaspec.conformance.protocol import RequestKind
from kafkaspec.errors import Reason
from kafkaspec.files import names
from kafkaspec.output.atomic import DirectoryAside

LIST: Final = "cases.jsonl"
"""Name of the list."""

_TOGETHER: Final = frozenset({RequestKind.TYPE})
"""Kinds whose cases of one type share a file, one after the other: most have a few bytes."""

_SUFFIXES: Final = {kind: suffix for suffix, kind in KINDS.items()} | {RequestKind.TEXT: ".txt"}
_MOST: Final = 64 << 20
"""Bytes of a line of a list, and of a file, that are read."""
_PIECE: Final = 1 << 20
"""Bytes of a file of random cases."""
_KEPT: Final = 16
"""Number of files whose bytes are kept while the cases are read."""
RANDOM: Final = "random"
"""Category of random cases."""


class StoredError(Exception):
    """A folder does not hold what its list says; the text says why."""


def write_cases(cases: Iterable[Case], folder: DirectoryAside) -> tuple[int, int]:
    """Write cases as they come; return the number of files and of bytes.

    Equal bytes of one kind are written once, but for random cases, which share files: so no more is
    kept than the smallest cases that cover all, and a piece of a file of each kind.
    """
    alone: dict[tuple[str, bytes], str] = {}
    together = _Together(folder)
    with folder.opened(LIST) as listing:
        for case in cases:
            position = 0
            if case.kind in _TOGETHER or case.category == RANDOM:
                name, position = together.add(case)
            else:
                suffix = _SUFFIXES.get(case.kind, names.LOG)
                name = f"{case.id.replace('=', '-')}{suffix}"
                if (first := alone.setdefault((suffix, case.data), name)) == name:
                    together.write(name, case.data)
                name = first
            place = {"file": name, "position": position, "size": len(case.data)}
            line = json.dumps(_line(case, place), separators=(",", ":")).encode("ascii") + b"\n"
            together.bytes += listing.write(line)
        together.finish()
    return together.files + 1, together.bytes


class _Together:
    """Files of several cases, one after the other, and the sums of what is written.

    Attributes:
        files: number of files.
        bytes: in them.
    """

    def __init__(self, folder: DirectoryAside) -> None:
        self._folder = folder
        self._pieces: dict[str, bytearray] = defaultdict(bytearray)
        self._numbers: Counter[str] = Counter()
        self.files = self.bytes = 0

    def add(self, case: Case) -> tuple[str, int]:
        """Add the bytes of a case; return the name of the file and where in it they are."""
        if case.category != RANDOM:
            name = f"{case.category}/{case.extra['type']}.bin"
        else:
            kind = case.extra.get("file", case.kind)
            name = f"{RANDOM}/{kind}-{self._numbers[kind]:05}.bin"
            if len(self._pieces[name]) + len(case.data) > _PIECE and self._pieces[name]:
                self.write(name, self._pieces.pop(name))
                self._numbers[kind] += 1
                name = f"{RANDOM}/{kind}-{self._numbers[kind]:05}.bin"
        position = len(self._pieces[name])
        self._pieces[name] += case.data
        return name, position

    def write(self, name: str, data: bytes | bytearray) -> None:
        """Write a whole file."""
        self._folder.write(name, bytes(data))
        self.files += 1
        self.bytes += len(data)

    def finish(self) -> None:
        """Write what is left."""
        for name, data in self._pieces.items():
            self.write(name, data)


def _line(case: Case, place: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"id": case.id, "kind": case.kind.value} | place
    if case.extra:
        found["request"] = case.extra
    found |= _verdict(case.expected)
    for name in ("why", "checksum", "needs", "framed", "covers", "quirks"):
        if value := getattr(case, name):
            found[name] = value
    if case.most_memory is not None:
        found["most_memory"] = case.most_memory
    return found


def _verdict(expected: Expectation) -> dict[str, Any]:
    if isinstance(expected, Refusal):
        found: dict[str, Any] = {"verdict": "reject", "reasons": sorted(expected.reasons)}
        if expected.path:
            found["path"] = expected.path
        if expected.position is not None:
            found["failing"] = expected.position
        return found
    if isinstance(expected, Items):
        return {"verdict": "accept", "items": expected.items}
    if not isinstance(expected, CaseValue):
        raise TypeError(f"{type(expected).__name__} says nothing about bytes")
    return {"verdict": "accept", "end": expected.end, "members": expected.members}


def read_cases(folder: Path) -> Iterator[Case]:
    """Yield the cases of a folder.

    Raises:
        StoredError: the list or a file is not there, empty or not valid; the text says why.
    """
    kept = lru_cache(_KEPT)(lambda name: _bytes(_inside(folder, name)))
    number = 0
    for number, text in enumerate(_lines(folder / LIST), 1):
        where = f"{folder / LIST}, line {number}"
        try:
            line = json.loads(text)
            name, position, size = line["file"], line["position"], line["size"]
            data = kept(name)[position : position + size]
            if position < 0 or len(data) != size:
                raise StoredError(f"{name} has no {size} bytes at {position}")
            case = _case(line, data)
        except StoredError as error:
            raise StoredError(f"{where}: {error}") from None
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise StoredError(f"{where}, is not valid: {error!r}") from None
        yield case
    if not number:
        raise StoredError(f"{folder / LIST} lists no case")


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while line := file.readline(_MOST + 1):
                if len(line) > _MOST:
                    raise StoredError(f"{path} has a line of more than {_MOST} bytes")
                yield line
    except OSError as error:
        raise StoredError(f"{path}: {error.strerror or error}") from None


def _inside(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise StoredError(f"{name} is not in the folder")
    return path


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST + 1)
    except OSError as error:
        raise StoredError(f"{path}: {error.strerror or error}") from None
    if len(data) > _MOST:
        raise StoredError(f"{path} has more than {_MOST} bytes")
    return data


_MEMBERS: Final = frozenset({
    "id", "kind", "file", "position", "size", "request", "verdict", "reasons", "path", "failing",
    "items", "end", "members", "why", "checksum", "needs", "framed", "covers", "quirks",
    "most_memory",
})  # fmt: skip
"""Members of a line."""


def _case(line: dict[str, Any], data: bytes) -> Case:
    if unknown := sorted(line.keys() - _MEMBERS):
        known = ", ".join(sorted(_MEMBERS))
        raise StoredError(f"unknown member {', '.join(unknown)}; there are {known}")
    expected: Expectation
    if line["verdict"] == "reject":
        reasons = frozenset(map(Reason, line["reasons"]))
        expected = Refusal(reasons, line.get("path", ""), line.get("failing"))
    elif line["verdict"] != "accept":
        raise ValueError(f"verdict is {line['verdict']!r}, not accept or reject")
    elif "end" in line:
        expected = CaseValue(line["end"], line["members"])
    else:
        if not isinstance(line["items"], list | None):
            raise ValueError(f"items is {line['items']!r:.80}, not a list")
        expected = Items(line["items"])
    return Case(
        line["id"],
        RequestKind(line["kind"]),
        data,
        expected,
        line.get("why", ""),
        line.get("request", {}),
        checksum=line.get("checksum", False),
        most_memory=line.get("most_memory"),
        needs=line.get("needs", ""),
        framed=line.get("framed", False),
        covers=tuple(line.get("covers", ())),
        quirks=tuple(line.get("quirks", ())),
    )
