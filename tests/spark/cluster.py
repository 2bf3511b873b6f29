"""A standalone cluster of Spark on the loopback: a master, workers and their executors.

Each process is started by ``spark-class`` of PySpark's own files, and ended by its own id.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

HOME = Path(pyspark.__file__).parent
DEPLOY = "org.apache.spark.deploy"
SECONDS = 300


@dataclass
class Cluster:
    """The running processes.

    Attributes:
        url: of the master.
        workers: their processes.
    """

    url: str
    environment: dict[str, str]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def executors(self) -> list[int]:
        """The ids of the executors' processes."""
        return [child for worker in self.workers for child in children(worker.pid)]

    def driver(
        self,
        *arguments: str,
        python: str | None = None,
        conf: Sequence[str] = (),
        folder: Path | None = None,
    ) -> subprocess.Popen[str]:
        """Start ``kafkaspec spark`` as a driver of this cluster, in a group of its own.

        Args:
            arguments: the job and its arguments.
            python: command of the executors' Python.
            conf: further settings.
            folder: where it is started.
        """
        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.executor.memory": "512m",
            "spark.driver.memory": "512m",
        }
        command = [sys.executable, "-m", "kafkaspec", "spark", "--master", self.url]
        for name, value in settings.items():
            command += ["--conf", f"{name}={value}"]
        for text in conf:
            command += ["--conf", text]
        environment = dict(self.environment)
        if python is not None:
            environment["PYSPARK_PYTHON"] = python
        return subprocess.Popen(
            [*command, *arguments],
            env=environment,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )


def children(pid: int) -> list[int]:
    """The ids of the processes that a process has started and that still run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == pid and fields[0] != "Z":
                    found.append(int(entry.name))
    return found


def until(holds: Callable[[], bool], what: str, seconds: float = SECONDS) -> None:
    """Wait."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.02)


def kill(driver: subprocess.Popen[str]) -> None:
    """Kill a driver with the JVM that it started: both are of its own group."""
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """Run a master, and workers with a core each."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
    }
    made = Cluster(f"spark://127.0.0.1:{port}", environment)
    begun: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [str(HOME / "bin" / "spark-class"), f"{DEPLOY}.{name}", "--host", "127.0.0.1"]
        with (folder / f"{name}-{len(begun)}.log").open("wb") as log:
            begun.append(
                subprocess.Popen(
                    [*command, "--webui-port", "0", *arguments],
                    env=environment,
                    stdout=log,
                    stderr=log,
                )
            )
        return begun[-1]

    try:
        start("master.Master", "--port", str(port))
        until(lambda: _listens(port), "the master starts")
        for number in range(workers):
            own = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work-{number}")]
            made.workers.append(start("worker.Worker", *own, made.url))
        yield made
    finally:
        for process in reversed(begun):
            process.terminate()
        for process in begun:
            process.wait(SECONDS)


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
