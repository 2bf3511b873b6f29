"""The file in which ``verify`` keeps what it remembers: JSON lines, described in docs/state.md.

A file is read whole and strictly: what is not as described is an error that names the byte of the
line, the field and the reason.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final, Protocol
from zlib import crc32

from kafkaspec._version import __version__
from kafkaspec.analysis.state_memory import StoredLog, line_error, path_of
from kafkaspec.analysis.state_shapes import FieldError, check_shape, parsed, shown, state_line
from kafkaspec.errors import Reason, make_error, unreadable
from kafkaspec.output.atomic import file_aside, writing

FORMAT: Final = "kafkaspec verify state"
VERSION: Final = 2
_HEAD: Final = {"format": str, "version": int, "release": str, "options": {str: str}}
_END: Final = {"lines": int, "crc": int}


def state_lines(options: Mapping[str, str], logs: Iterable[StoredLog]) -> Iterator[bytes]:
    """Yield the lines of a state."""
    head = {"format": FORMAT, "version": VERSION, "release": __version__, "options": options}
    written, crc = 1, 0
    for line in chain((state_line(head),), (log.line for log in logs)):
        written, crc = written + 1, crc32(line, crc)
        yield line
    yield state_line({"lines": written, "crc": crc})


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


def read_state(store: StateStore) -> tuple[dict[str, str], list[StoredLog]] | None:
    """Return the options of a state, and the partitions that it remembers; None without one.

    Raises:
        KafkaSpecError: ``unreadable``; ``invalid_value``, ``truncated``, ``unsupported_version``:
            it is not what is described.
    """
    data, file = store.read(), store.place
    if data is None:
        return None
    lines = data.splitlines(keepends=True)
    if len(lines) < 2 or not data.endswith(b"\n"):
        detail = "it does not end with a whole line: it is cut off, or not a state of verify"
        raise make_error(Reason.TRUNCATED, detail, file=file, offset=len(data))
    number, at = 1, 0
    try:
        options = _options_of(parsed(lines[0]))
        logs, at = [], len(lines[0])
        for number, line in enumerate(lines[1:-1], 2):
            logs.append(StoredLog(path_of(line), line, file, number, at))
            at += len(line)
        number = len(lines)
        end = parsed(lines[-1])
        check_shape(end, _END)
        if end["lines"] != len(lines):
            text = f"the file has {len(lines)} lines, not {end['lines']}"
            raise FieldError("/lines", text)
        if end["crc"] != crc32(memoryview(data)[:at]):
            for log in logs:
                log.read()  # which names what is wrong, if it is not right by chance
            raise FieldError("/crc", "the lines before are not those that were written")
    except FieldError as error:
        raise line_error(error, file, number, at) from None
    return options, logs


def _options_of(values: dict[str, Any]) -> dict[str, str]:
    if values.get("format") != FORMAT:
        raise FieldError("/format", f"it is not {FORMAT!r}, so this is not a state of verify")
    if values.get("version") != VERSION:
        given = shown(values.get("version"))
        text = (
            f"{given} is not {VERSION}, the one that this release reads: --start-over makes it new"
        )
        raise FieldError("/version", text)
    check_shape(values, _HEAD)
    found: dict[str, str] = values["options"]
    return found
