"""Run a testee as a child process, ask it one line at a time, and limit every wait."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final

from kafkaspec.conformance import memory
from kafkaspec.conformance.protocol import (
    HELLO,
    PROTOCOL,
    CaseFailure,
    Hello,
    ProtocolError,
    RequestKind,
    check_answer,
    line,
    parse_hello,
    parse_line,
)

DEFAULT_TIMEOUT: Final = 10.0
"""Seconds that a testee may take for one answer."""

START_TIMEOUT: Final = 60.0
"""Seconds that it may take for its first answer, which includes the start of its runtime."""

MAX_ANSWER: Final = 64 << 20
"""Largest answer in bytes; the largest golden segment needs a fraction of that."""

_LOOK: Final = 0.02
"""Seconds between two looks at the memory of a testee."""

_LAST_WORDS = 400  # bytes of standard error that a message shows, from the begin of a word


class BreakdownError(Exception):
    """The testee gave no usable answer.

    Attributes:
        failure: how it failed.
    """

    def __init__(self, failure: CaseFailure, detail: str) -> None:
        super().__init__(detail)
        self.failure = failure


class StartError(Exception):
    """The testee does not start, or does not answer the first request."""


class Testee:
    """A command that speaks the protocol. It starts when it is first asked, and again after each
    breakdown. Leaving the context ends it."""

    __test__ = False  # or pytest would treat it as a test

    def __init__(
        self,
        command: Sequence[str],
        *,
        timeout: float = DEFAULT_TIMEOUT,
        max_answer: int = MAX_ANSWER,
    ) -> None:
        """
        Args:
            command: program and arguments; no shell is involved.
            timeout: seconds for one answer.
            max_answer: the largest answer in bytes.
        """
        self._command = list(command)
        self._timeout = timeout
        self._max_answer = max_answer
        self._conversation: _Conversation | None = None
        self._hello: Hello | None = None

    @property
    def hello(self) -> Hello:
        """The description of itself that it gave at its first start.

        Raises:
            StartError: it does not start, or its answer is not usable.
        """
        if self._hello is None:
            self._start()
        assert self._hello is not None
        return self._hello

    @property
    def measures_memory(self) -> bool:
        """Whether the system says how much memory a testee takes: Linux does."""
        return memory.is_known()

    def ask(self, request: dict[str, Any], most_memory: int | None = None) -> dict[str, Any]:
        """Return the answer to a request.

        Args:
            request: the request.
            most_memory: bytes of memory that it may take beyond what it has now; None for any. It
                is ended as soon as it takes more.

        Raises:
            BreakdownError: there is no usable answer. The testee has been ended.
            StartError: it does not start.
        """
        if self._conversation is None:
            self._start()
        try:
            answer = self._exchange(request, self._timeout, most_memory)
            check = RequestKind(request["kind"])
            try:
                check_answer(answer, check)
            except ProtocolError as error:
                raise BreakdownError(CaseFailure.GARBAGE, str(error)) from None
        except BreakdownError:
            self.close()
            raise
        return answer

    def _start(self) -> None:
        try:
            self._conversation = _Conversation(self._command, self._max_answer)
        except OSError as error:
            raise StartError(f"cannot start {self._command[0]}: {error.strerror}") from None
        request = {"id": HELLO, "kind": HELLO, "protocol": PROTOCOL}
        try:
            self._hello = parse_hello(self._exchange(request, max(START_TIMEOUT, self._timeout)))
        except (BreakdownError, ProtocolError) as error:
            self.close()
            raise StartError(f"the testee does not say hello: {error}") from None

    def _exchange(
        self, request: dict[str, Any], timeout: float, most_memory: int | None = None
    ) -> dict[str, Any]:
        assert self._conversation is not None
        data = self._conversation.exchange(line(request), timeout, most_memory)
        try:
            answer = parse_line(data)
        except ProtocolError as error:
            raise BreakdownError(CaseFailure.GARBAGE, str(error)) from None
        if answer.get("id") != request["id"]:
            detail = f"id is {answer.get('id')!r:.80}, not {request['id']!r}"
            raise BreakdownError(CaseFailure.GARBAGE, detail)
        return answer

    def close(self) -> None:
        """End the process if there is one."""
        if self._conversation is not None:
            self._conversation.end()
            self._conversation = None

    def __enter__(self) -> Testee:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Conversation:
    """One run of the process.

    A thread writes and reads, since a testee that does neither would block its caller. When the
    process ends, both return with an error or the end of the file.
    """

    def __init__(self, command: list[str], max_answer: int) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=os.name == "posix",  # its own children end with it
        )
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        self._pipes = stdin, stdout, stderr
        self._max_answer = max_answer
        self._requests: SimpleQueue[bytes | None] = SimpleQueue()
        self._answers: SimpleQueue[bytes] = SimpleQueue()
        self._stderr = bytearray()
        self._threads = [
            Thread(target=self._pump, daemon=True),
            Thread(target=self._drain, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def exchange(self, request: bytes, timeout: float, most_memory: int | None = None) -> bytes:
        """Return the line that answers a line."""
        before = 0 if most_memory is None else memory.begin(self._process.pid)
        self._requests.put(request)
        answer = self._waited(timeout, most_memory, before)
        if len(answer) > self._max_answer:
            raise BreakdownError(CaseFailure.OVERSIZED, f"more than {self._max_answer} bytes")
        if not answer.endswith(b"\n"):
            raise BreakdownError(CaseFailure.CRASHED, self._obituary())
        return answer

    def _waited(self, timeout: float, most_memory: int | None, before: int) -> bytes:
        """Return the answer when it comes, while the memory is watched."""
        end = time.monotonic() + timeout
        while True:
            left = end - time.monotonic()
            answer = None
            with suppress(Empty):
                answer = self._answers.get(
                    timeout=max(min(left, _LOOK), 0) if most_memory else left
                )
            if most_memory is not None:
                taken = memory.largest(self._process.pid) - before
                if taken > most_memory:
                    detail = f"{taken >> 20} MiB, where {most_memory >> 20} MiB are allowed"
                    raise BreakdownError(CaseFailure.MEMORY, detail)
            if answer is not None:
                return answer
            if time.monotonic() >= end:
                detail = f"no answer in {timeout:g} seconds"
                raise BreakdownError(CaseFailure.TIMED_OUT, detail)

    def end(self) -> None:
        """Kill the process and its children, and wait for it."""
        self._kill()
        self._process.wait()
        self._requests.put(None)
        for thread in self._threads:
            thread.join(timeout=1)
        # A thread may still read a pipe whose other end a grandchild holds: it stays open.
        if not any(thread.is_alive() for thread in self._threads):
            for pipe in self._pipes:
                with suppress(OSError):  # bytes that were not sent
                    pipe.close()

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            if sys.platform != "win32":
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def _pump(self) -> None:
        stdin, stdout, _ = self._pipes
        while (request := self._requests.get()) is not None:
            try:
                stdin.write(request)
                stdin.flush()
                answer = stdout.readline(self._max_answer + 1)
            except (OSError, ValueError):  # it has ended
                answer = b""
            self._answers.put(answer)

    def _drain(self) -> None:
        """Keep the end of standard error, so that no testee waits for a reader."""
        stderr = self._pipes[2]
        while data := os.read(stderr.fileno(), 1 << 16):
            self._stderr = (self._stderr + data)[-_LAST_WORDS - 1 :]

    def _obituary(self) -> str:
        try:
            code = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "it closed its output"
        self._threads[1].join(timeout=1)
        words = _last_words(bytes(self._stderr))
        return f"exit code {code}" + (f": {words}" if words else "")


def _last_words(data: bytes) -> str:
    """Return the end of an output, without the word that it begins in the middle of."""
    words = data.decode("utf-8", "replace").split()
    if len(data) > _LAST_WORDS and not data[:1].isspace():
        words = ["...", *words[1:]] if len(words) > 1 else words
    return " ".join(words)
