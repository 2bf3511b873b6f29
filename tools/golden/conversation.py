"""Talk to a Java program: a line of fields in, lines of fields out, the last one ok or error."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tools.golden.maven import ToolError

_ANSWER_SECONDS = 120
_SHOWN = 4000


class Conversation:
    """A program that answers commands, as a context manager.

    Args:
        name: of the program, for errors; what it prints to standard error is kept in a file of it.
        command: that starts it.
        work: directory to run in.
    """

    def __init__(self, name: str, command: Sequence[str], work: Path) -> None:
        self._name = name
        self._errors = work / f"{name}.out"
        self._expired = False
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                encoding="utf-8", cwd=work,
            )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self._process.stdin:
                self._process.stdin.close()
            self._process.wait(_ANSWER_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()

    def tell(self, *fields: str) -> None:
        """Give a command that is not answered.

        Raises:
            ToolError: the program has ended.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("\t".join(fields) + "\n")
        except OSError as error:
            raise self._failure(f"{self._name} ended before {fields[0]}") from error

    def ask(self, *fields: str) -> list[list[str]]:
        """Send a command; return the fields of the lines before ``ok``.

        Raises:
            ToolError: the answer is an error, or none comes.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        what = " ".join(fields[:2])
        self.tell(*fields)
        timer = threading.Timer(_ANSWER_SECONDS, self._expire)
        timer.start()
        answers: list[list[str]] = []
        try:
            self._process.stdin.flush()
            for line in self._process.stdout:
                answer = line.rstrip("\n").split("\t")
                if answer[0] == "ok":
                    return answers
                if answer[0] == "error":
                    raise self._failure(f"{what}: {answer[1]}")
                answers.append(answer)
        except OSError as error:
            raise self._failure(f"{self._name} ended before {what}") from error
        finally:
            timer.cancel()
        why = f"no answer within {_ANSWER_SECONDS} s" if self._expired else f"{self._name} ended"
        raise self._failure(f"{why} at {what}")

    def _expire(self) -> None:
        self._expired = True
        self._process.kill()

    def _failure(self, message: str) -> ToolError:
        output = self._errors.read_text(errors="replace")[-_SHOWN:]
        return ToolError(f"{message}\n{output}")
