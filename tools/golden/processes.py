"""Start and stop Java processes that we own, with bounded waits."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.golden.maven import ToolError, java_tool

LOOPBACK = "127.0.0.1"
_STOP_SECONDS = 60

_LOG4J = """\
log4j.rootLogger=WARN, E
log4j.appender.E=org.apache.log4j.ConsoleAppender
log4j.appender.E.target=System.err
log4j.appender.E.layout=org.apache.log4j.PatternLayout
log4j.appender.E.layout.ConversionPattern=%d %p %c %m%n
"""
_LOG4J2 = """\
rootLogger.level=WARN
rootLogger.appenderRef.e.ref=E
appender.e.type=Console
appender.e.name=E
appender.e.target=SYSTEM_ERR
appender.e.layout.type=PatternLayout
appender.e.layout.pattern=%d %p %c %m%n
"""


def free_ports(count: int) -> list[int]:
    """Return loopback ports that were free a moment ago."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind((LOOPBACK, 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()


def java_command(work: Path, class_path: Sequence[Path | str], flags: Sequence[str]) -> list[str]:
    """Return ``java`` with its options, up to but without the main class.

    Text is UTF-8 and times are UTC whatever the machine is set to; the small compiler and heap keep
    start-up short.  Logging configuration for both generations of log4j is written to ``work``.
    """
    log4j, log4j2 = work / "log4j.properties", work / "log4j2.properties"
    log4j.write_text(_LOG4J)
    log4j2.write_text(_LOG4J2)
    return [
        java_tool("java"), "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
        "-Dfile.encoding=UTF-8", "-Dsun.stdout.encoding=UTF-8", "-Dstdout.encoding=UTF-8",
        "-Duser.timezone=UTC", "-Duser.language=en", "-Djava.net.preferIPv4Stack=true",
        f"-Dlog4j.configuration={log4j.as_uri()}", f"-Dlog4j2.configurationFile={log4j2.as_uri()}",
        *flags, "-cp", os.pathsep.join(map(str, class_path)),
    ]  # fmt: skip


class Server:
    """One Java process in the background, its output kept in a file for the error message."""

    def __init__(self, name: str, command: Sequence[str], work: Path) -> None:
        self.name = name
        self._command = command
        self._work = work
        self._output = work / f"{name}.out"
        self.start()

    def start(self) -> None:
        """Start the process; again, when it was stopped."""
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                cwd=self._work,
            )  # fmt: skip

    def wait_for(self, ready: Callable[[], bool], seconds: float) -> None:
        """Wait until ``ready()``; raises :class:`ToolError` when the process ends or time is up."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self._process.poll() is not None:
                raise ToolError(f"{self.name} ended at start:\n{self.tail()}")
            if time.monotonic() > deadline:
                raise ToolError(f"{self.name} not ready after {seconds:g} s:\n{self.tail()}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Send SIGTERM and wait; a process that does not end is killed and reported.

        Kafka writes its clean-shutdown marker and trims its indexes on SIGTERM, so a kill would
        leave files that we must not keep.
        """
        if self._process.poll() is not None:
            raise ToolError(f"{self.name} ended before it was stopped:\n{self.tail()}")
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ToolError(f"{self.name} did not stop within {_STOP_SECONDS} s") from None

    def kill(self) -> None:
        """End the process at once, if it still runs."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def tail(self) -> str:
        """Return the last lines of the process's output."""
        return self._output.read_text(errors="replace")[-4000:]


def listens(port: int) -> bool:
    """Return whether something accepts connections on this loopback port."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex((LOOPBACK, port)) == 0
