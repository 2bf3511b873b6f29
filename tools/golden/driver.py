"""Talk to the Java scenario driver: commands out, acknowledgements in."""

from __future__ import annotations

import base64
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from tools.golden.broker import Running
from tools.golden.maven import ToolError
from tools.golden.payloads import Record
from tools.golden.processes import java_command

_NULL = "-"
_ANSWER_SECONDS = 90


@dataclass(frozen=True)
class Acknowledged:
    """Where the broker says it put a record; ``timestamp`` in ms, ``None`` before 0.10."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None


def _encode(data: bytes | None) -> str:
    return _NULL if data is None else base64.b64encode(data).decode("ascii")


class Driver:
    """The driver process, as a context manager; methods raise :class:`ToolError` on failure."""

    def __init__(self, broker: Running, jars: Path, classes: Path, work: Path) -> None:
        self._work = work
        self._expired = False
        flags = broker.version.jvm_flags
        arguments = [broker.topics_class, broker.topics_connect, broker.bootstrap]
        with (work / "driver.out").open("wb") as errors:
            self._process = subprocess.Popen(
                [*java_command(work, [classes, f"{jars}/*"], flags), "Driver", *arguments],
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

    def create(self, topic: str, partitions: int, settings: Mapping[str, str]) -> None:
        """Create a topic and wait for its leaders."""
        self._call("create", topic, str(partitions), *_pairs(settings))

    def alter(self, topic: str, settings: Mapping[str, str]) -> None:
        """Give a topic these settings; all of them, since ZooKeeper mode replaces what was set."""
        self._call("alter", topic, *_pairs(settings))

    def open(self, producer: str, settings: Mapping[str, str]) -> None:
        """Open a producer; with a ``transactional.id`` its transactions are initialised."""
        self._call("producer", producer, *_pairs(settings))

    def close(self, producer: str) -> None:
        """Close a producer."""
        self._call("close", producer)

    def transaction(self, producer: str, action: str) -> None:
        """``begin``, ``commit`` or ``abort``."""
        self._call(action, producer)

    def command(self, name: str, *fields: str) -> None:
        """Do a command of its own class, or one without an answer."""
        self._call(name, *fields)

    def send(
        self, producer: str, topic: str, partition: int, records: tuple[Record, ...], times: bool
    ) -> list[Acknowledged]:
        """Send records, flush, and return the acknowledgements in the order of the records."""
        for record in records:
            headers = (
                text
                for name, value in record.headers
                for text in (_encode(name.encode()), _encode(value))
            )
            time = str(record.timestamp) if times else _NULL
            self._write(
                "send", producer, topic, str(partition), time,
                _encode(record.key), _encode(record.value), *headers,
            )  # fmt: skip
        answers = self._call("flush", producer)
        if len(answers) != len(records):
            raise ToolError(f"{len(records)} records sent, {len(answers)} acknowledged")
        return [_acknowledged(fields) for fields in answers]

    def _write(self, *fields: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("\t".join(fields) + "\n")
        except OSError as error:
            raise self._failure(f"driver ended before {fields[0]}") from error

    def _call(self, *fields: str) -> list[list[str]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._write(*fields)
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
                    raise self._failure(answer[1])
                answers.append(answer[1:])
        except OSError as error:
            raise self._failure(f"driver ended before {fields[0]}") from error
        finally:
            timer.cancel()
        why = f"no answer within {_ANSWER_SECONDS} s" if self._expired else "driver ended"
        raise self._failure(f"{why} at {fields[0]}")

    def _expire(self) -> None:
        self._expired = True
        self._process.kill()

    def _failure(self, message: str) -> ToolError:
        output = (self._work / "driver.out").read_text(errors="replace")[-4000:]
        return ToolError(f"{message}\n{output}")


def _pairs(settings: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in settings.items()]


def _acknowledged(fields: list[str]) -> Acknowledged:
    topic, partition, offset, timestamp = fields
    time = None if timestamp == _NULL else int(timestamp)
    return Acknowledged(topic, int(partition), int(offset), time)
