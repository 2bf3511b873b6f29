"""Cases in a folder: their bytes in files, and a list of JSON lines that says what each is.

The list is ``cases.jsonl``. A line has the ``id``, ``kind`` and request of a case, where its bytes
are (``file``, ``position``, ``size``), what it covers, and the verdict: ``accept`` with the records
or the value that are expected, or ``reject`` with reasons, path and position.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from kafkaspec.conformance.cases import Case, CaseValue, Expectation, Items, Refusal
from kafkaspec.conformance.own import KINDS
from kafkaspec.conformance.protocol import RequestKind
from kafkaspec.errors import Reason
from kafkaspec.files import names

LIST: Final = "cases.jsonl"
"""Name of the list."""

_TOGETHER: Final = frozenset({RequestKind.TYPE})
"""Kinds whose cases of one type share a file, one after the other: most have a few bytes."""

_SUFFIXES: Final = {kind: suffix for suffix, kind in KINDS.items()} | {RequestKind.TEXT: ".txt"}
_MOST: Final = 64 << 20
"""Bytes of a list, and of a file, that are read."""


class StoredError(Exception):
    """A folder does not hold what its list says; the text says why."""


def write_cases(cases: Iterable[Case], write: Callable[[str, bytes], None]) -> int:
    """Write cases, equal bytes of one kind once; return the number of files.

    Args:
        cases: the cases.
        write: writes a file, given its name in the folder and its bytes.
    """
    together: dict[str, bytearray] = defaultdict(bytearray)
    alone: dict[tuple[str, bytes], str] = {}
    lines = []
    for case in cases:
        position = 0
        if case.kind in _TOGETHER:
            name = f"{case.category}/{case.extra['type']}.bin"
            position = len(together[name])
            together[name] += case.data
        else:
            suffix = _SUFFIXES.get(case.kind, names.LOG)
            name = alone.setdefault((suffix, case.data), f"{case.id.replace('=', '-')}{suffix}")
        place = {"file": name, "position": position, "size": len(case.data)}
        lines.append(json.dumps(_line(case, place), separators=(",", ":")))
    for (_, data), name in alone.items():
        write(name, data)
    for name, content in together.items():
        write(name, bytes(content))
    write(LIST, "".join(f"{line}\n" for line in lines).encode("ascii"))
    return len(alone) + len(together) + 1


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
    files: dict[str, bytes] = {}
    lines = _bytes(folder / LIST).splitlines()
    if not lines:
        raise StoredError(f"{folder / LIST} lists no case")
    for number, text in enumerate(lines, 1):
        where = f"{folder / LIST}, line {number}"
        try:
            line = json.loads(text)
            name, position, size = line["file"], line["position"], line["size"]
            if name not in files:
                files[name] = _bytes(_inside(folder, name))
            data = files[name][position : position + size]
            if position < 0 or len(data) != size:
                raise StoredError(f"{name} has no {size} bytes at {position}")
            case = _case(line, data)
        except StoredError as error:
            raise StoredError(f"{where}: {error}") from None
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise StoredError(f"{where}, is not valid: {error!r}") from None
        yield case


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
        raise StoredError(f"{', '.join(unknown)}: there is no such member; those are {known}")
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
