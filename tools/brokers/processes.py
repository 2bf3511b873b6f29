"""Start and stop Java processes of our own, with bounded waits."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from tools.brokers.maven import ToolError, cache_root, class_path, java_tool, jvm
from tools.brokers.versions import Version
from tools.class_data import ClassData

LOOPBACK = "127.0.0.1"
_START_SECONDS = 120
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
    sockets = [socket.create_server((LOOPBACK, 0)) for _ in range(count)]
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports


def java_command(work: Path, class_path: Sequence[str], flags: Sequence[str]) -> list[str]:
    """Return ``java`` with its options, up to but without the main class.

    Text is UTF-8 and times are UTC whatever the machine is set to; the small compiler and heap keep
    start-up short. Logging configuration for both generations of log4j is written to ``work``.
    """
    log4j, log4j2 = work / "log4j.properties", work / "log4j2.properties"
    log4j.write_text(_LOG4J)
    log4j2.write_text(_LOG4J2)
    return [
        *jvm(), "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
        "-Dfile.encoding=UTF-8", "-Dsun.stdout.encoding=UTF-8", "-Dstdout.encoding=UTF-8",
        "-Duser.timezone=UTC", "-Duser.language=en", "-Djava.net.preferIPv4Stack=true",
        f"-Dlog4j.configuration={log4j.as_uri()}", f"-Dlog4j2.configurationFile={log4j2.as_uri()}",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        *flags, "-cp", os.pathsep.join(class_path),
    ]  # fmt: skip


def class_data(version: Version) -> ClassData:
    """Return the archive of the classes that a broker of a release loads."""
    return ClassData(cache_root(), java_tool("java"), class_path(version))


class Server:
    """One Java process in the background that listens on a loopback port.

    Args:
        name: of the process; its output is kept in a file of that name, for error messages.
        command: starts it.
        work: the directory to run in.
        port: where it listens when it is ready.
        data: the archive that it takes its classes from.
        leaves: whether it leaves that archive when it is stopped.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        work: Path,
        port: int,
        data: ClassData,
        *,
        leaves: bool,
    ) -> None:
        self.name = name
        self._command = command
        self._port = port
        self._data, self._leaves = data, leaves
        self.output = work / f"{name}.out"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process and wait until it listens.

        Raises:
            ToolError: it ends, or time is up.
        """
        java, *rest = self._command
        options = self._data.made() if self._leaves else self._data.read()
        with self.output.open("wb") as output:
            self._process = subprocess.Popen(
                [java, *options, *rest], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                cwd=self.output.parent,
            )  # fmt: skip
        deadline = time.monotonic() + _START_SECONDS
        while not self._listens():
            if self._process.poll() is not None:
                raise self._failure("ended at start")
            if time.monotonic() > deadline:
                raise self._failure(f"not ready after {_START_SECONDS} s")
            time.sleep(0.05)

    def stop(self) -> None:
        """Send SIGTERM and wait.

        Kafka writes its clean-shutdown marker and trims its indexes on SIGTERM, so a kill would
        leave files that we must not keep.

        Raises:
            ToolError: it has ended before, or does not end and was killed.
        """
        if self._process is None or self._process.poll() is not None:
            raise self._failure("ended before it was stopped")
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise self._failure(f"did not stop within {_STOP_SECONDS} s") from None
        if self._leaves:
            self._data.keep()

    def kill(self) -> None:
        """End the process at once, if it still runs."""
        if self._process is not None and self.runs():
            self._process.kill()
            self._process.wait()
        self._data.drop()

    def runs(self) -> bool:
        """Return whether the process has been started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def _listens(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(0.5)
            return probe.connect_ex((LOOPBACK, self._port)) == 0

    def _failure(self, what: str) -> ToolError:
        shown = self.output.read_text(errors="replace")[-4000:]
        return ToolError(f"{self.name} {what}:\n{shown}")
