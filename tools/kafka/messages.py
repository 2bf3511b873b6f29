"""Ask Kafka's generated classes for random messages, and for what they read from bytes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

from tools.brokers.programs import Program, decoded
from tools.brokers.versions import Version

SINCE = (2, 8)
"""The first release that has such classes for more than clients."""
_JUDGE = "MessageJudge"


class Reading(NamedTuple):
    """A message as a reader decodes it.

    Attributes:
        json: text of its fields; None where it is refused.
        data: the bytes that it is written as; None where it is refused.
        left: number of the bytes after it, which are ignored.
        error: why it is refused.
    """

    json: str | None
    data: bytes | None
    left: int = 0
    error: str = ""


class Messages:
    """The classes of a release, as a context manager; see ``MessageJudge.java``.

    Args:
        version: the release.
        work: directory to run in.

    Raises:
        ToolError: the program cannot be compiled or ends early.
    """

    def __init__(self, version: Version, work: Path) -> None:
        self._program = Program(version, work, _JUDGE)
        self._versions: dict[str, range] = {}

    def __enter__(self) -> Self:
        self._program.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._program.__exit__(*error)

    def versions(self) -> dict[str, range]:
        """Return the versions of each message by its name."""
        if not self._versions:
            for name, low, high in self._program.ask(_JUDGE, "list"):
                self._versions[name] = range(int(low), int(high) + 1)
        return self._versions

    def make(self, name: str, version: int, seed: int, count: int) -> list[Reading]:
        """Return random messages."""
        answers = self._program.ask(_JUDGE, "make", name, version, seed, count)
        return [Reading(_text(text), decoded(data)) for data, text in answers]

    def read(self, name: str, messages: Sequence[bytes]) -> list[Reading]:
        """Return what the class of that name reads from bytes."""
        return [
            Reading(_text(answer[1]), decoded(answer[2]), int(answer[3]))
            if answer[0] == "read"
            else Reading(None, None, error=answer[1])
            for answer in self._program.ask(_JUDGE, "read", name, *messages)
        ]


def _text(field: str) -> str:
    return (decoded(field) or b"").decode("utf-8")
