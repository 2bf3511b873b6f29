"""Kafka's own Java: its jars from Maven, a reader that stays warm, and its dump tool."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from kafkaspec.model import Record
from tools.brokers.maven import ToolError, java_tool, jvm, resolve, run
from tools.brokers.versions import by_name

KAFKA = by_name("4.3.1")
SOURCE = Path(__file__).with_name("java") / "ReadRecords.java"

# What Kafka's own start script gives its tools: bin/kafka-run-class.sh.
_TOOL_FLAGS = (
    "-Xmx256M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15", "-Djava.awt.headless=true",
)  # fmt: skip


class MissingError(RuntimeError):
    """There is no Java here, or no Maven, or its jars could not be fetched."""


def jars() -> Path:
    """The directory with Kafka's jars, which Maven fetches the first time.

    Raises:
        MissingError: with what is missing.
    """
    try:
        java_tool("java")
        return resolve(KAFKA)
    except ToolError as error:
        raise MissingError(str(error).splitlines()[0]) from None


@cache
def _compiled() -> tempfile.TemporaryDirectory[str]:
    """The class of the reader, compiled once for all JVMs of this process."""
    made = tempfile.TemporaryDirectory(prefix="read-records-")
    run(java_tool("javac"), "-nowarn", "-cp", f"{jars()}/*", "-d", made.name, str(SOURCE))
    return made


def java_version() -> str:
    """Return the first line of ``java -version``; "none" without Java."""
    try:
        done = subprocess.run([java_tool("java"), "-version"], capture_output=True, text=True)
    except ToolError:
        return "none"
    return next(iter(done.stderr.splitlines()), "unknown")


class Program:
    """A program that answers a line with a line, for as long as the block runs."""

    def __init__(self, command: Sequence[str | Path]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ask(self, line: str = "") -> list[str]:
        """Return the words of its answer, none if it has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().split()

    def ended(self) -> tuple[str, int]:
        """Return what it said on its standard error when it ended, and its exit code."""
        assert self._process.stderr is not None
        return self._process.stderr.read(), self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


class Reader(Program):
    """A JVM that reads segments on request, and reports how long that took.

    Args:
        mode: ``file`` for ``FileRecords``, ``memory`` for ``MemoryRecords``.

    Attributes:
        seconds: CPU time of the reading thread in the last pass.
        sum: of what that pass touched.

    Raises:
        MissingError: there is no Java.
    """

    def __init__(self, mode: str) -> None:
        self._mode = mode
        java = jvm_or_missing()
        try:
            path = os.pathsep.join((_compiled().name, f"{jars()}/*"))
        except ToolError as error:
            raise MissingError(str(error).splitlines()[0]) from None
        command = [*java, "-Xmx1g", "-XX:+UseG1GC", "-cp", path, SOURCE.stem]
        super().__init__(command)
        self.seconds = 0.0
        self.sum = 0

    def read(self, path: Path) -> int:
        """One pass over a segment; the number of records."""
        answer = self.ask(f"{self._mode} {path}")
        if not answer:
            raise MissingError(f"the reader in Java ended: {self._complaint()}")
        nanos, records, self.sum = (int(word) for word in answer)
        self.seconds = nanos / 1e9
        return records

    def _complaint(self) -> str:
        """The first line that says what is wrong."""
        text, code = self.ended()
        return next((line for line in text.splitlines() if "rror" in line), f"exit code {code}")


def touched(records: Iterable[Record]) -> int:
    """The sum that the reader in Java gives for these records."""
    total = 0
    for record in records:
        total += record.offset + record.timestamp
        for part in (record.key, record.value):
            if part:
                total += len(part) + int.from_bytes(part[:1], "big", signed=True)
    return total


def jvm_or_missing() -> list[str]:
    """``java``, with the options that every JVM takes.

    Raises:
        MissingError: there is none.
    """
    try:
        return jvm()
    except ToolError as error:
        raise MissingError(str(error)) from None


def dump_command(path: Path) -> list[str]:
    """Kafka's dump tool on a segment, with records, started as Kafka's script does.

    Raises:
        MissingError: there is no Java or no Maven.
    """
    return [
        *jvm_or_missing(), *_TOOL_FLAGS, "-cp", f"{jars()}/*", KAFKA.dump_class,
        "--print-data-log", "--files", str(path),
    ]  # fmt: skip
