"""Run our Java, compiled against the jars of a release: see ``java/Commands.java``."""

from __future__ import annotations

import base64
import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tools.brokers.maven import ToolError, class_path, compile_java
from tools.brokers.processes import class_data, java_command
from tools.brokers.versions import Version

_ANSWER_SECONDS = 120
_SHOWN = 4000
_NULL = "-"


class Program:
    """A running program, as a context manager that ends it.

    Args:
        version: whose jars it runs with.
        work: the directory to run in; what the program prints to standard error is kept there.
        classes: the subclasses of ``Commands`` that are asked.
        arguments: of the program.
        flags: of the JVM.

    Raises:
        ToolError: there is no Maven or no JDK, or the classes do not compile.
    """

    def __init__(
        self,
        version: Version,
        work: Path,
        *classes: str,
        arguments: Sequence[str] = (),
        flags: Sequence[str] = (),
    ) -> None:
        path = [*class_path(version), str(compile_java(version, *classes))]
        java, *options = java_command(work, path, (*version.jvm_flags, *flags))
        self._name = f"{classes[0]} {version.name}"
        self._errors = work / f"{classes[0]}.out"
        self._expired = False
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [java, *class_data(version).read(), *options, "Commands", *arguments],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                encoding="utf-8", cwd=work, env={**os.environ, "LC_ALL": "C.UTF-8"},
            )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._process.stdin:
                self._process.stdin.close()
            self._process.wait(_ANSWER_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()

    def ask(self, *fields: str | int | bytes | None) -> list[list[str]]:
        """Send a command; return the fields of the lines that answer it.

        Raises:
            ToolError: the answer is an error, or none comes.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        texts = [_text(field) for field in fields]
        what = f"{self._name} at {' '.join(texts)[:80]}"
        timer = threading.Timer(_ANSWER_SECONDS, self._expire)
        timer.start()
        answers: list[list[str]] = []
        try:
            self._process.stdin.write("\t".join(texts) + "\n")
            self._process.stdin.flush()
            for line in self._process.stdout:
                answer = line.rstrip("\n").split("\t")
                if answer[0] == "ok":
                    return answers
                if answer[0] == "error":
                    raise self._failure(f"{what}: {answer[1]}")
                answers.append(answer)
        except OSError as error:
            raise self._failure(f"{what}: it has ended") from error
        finally:
            timer.cancel()
        why = f"no answer within {_ANSWER_SECONDS} s" if self._expired else "it has ended"
        raise self._failure(f"{what}: {why}")

    def _expire(self) -> None:
        self._expired = True
        self._process.kill()

    def _failure(self, message: str) -> ToolError:
        output = self._errors.read_text(errors="replace")[-_SHOWN:]
        return ToolError(f"{message}\n{output}")


def _text(field: str | int | bytes | None) -> str:
    if isinstance(field, bytes):
        return base64.b64encode(field).decode("ascii")
    return _NULL if field is None else str(field)


def decoded(field: str) -> bytes | None:
    """Return the bytes of a field of an answer."""
    return None if field == _NULL else base64.b64decode(field)
