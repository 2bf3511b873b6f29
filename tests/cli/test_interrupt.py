"""Ctrl-C, while several threads or processes work: the end is at hand, and nothing is left over."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkaspec.codecs import codec_names
from kafkaspec.compression import CompressionType, compress
from tests.cli.helpers import COMMAND, ROOT
from tests.log import forge

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="/proc says when threads are at work"),
    pytest.mark.skipif("native" not in codec_names(), reason="threads work in the extension"),
]

PROC = Path("/proc")
PARTITIONS = 20
WAIT = 120
"""Seconds until a test fails; the commands would take minutes."""
LARGEST = 2 << 30
"""Bytes of a file that they may write: tests write to memory, and an interrupt may come late."""


def log(count: int) -> bytes:
    """Small batches that are large to read: the latest time of each is that of none of its records.

    So a look-up by time has to read all of them.
    """
    payload = compress(CompressionType.ZSTD, forge.record(0, b"v" * (1 << 18)), magic=2)
    made = forge.batch(
        0, payload, count=1, attributes=CompressionType.ZSTD, base_timestamp=5, max_timestamp=1000
    )
    return b"".join(forge.framed(offset, made[12:]) for offset in range(count))


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with the same segment in each partition."""
    directory = tmp_path_factory.mktemp("logs")
    data = log(100_000)
    first = directory / "t-0" / f"{0:020}.log"
    for number in range(PARTITIONS):
        path = directory / f"t-{number}" / first.name
        path.parent.mkdir()
        if number:
            os.link(first, path)
        else:
            path.write_bytes(data)
    return directory


def threads(process: int) -> int:
    return len(os.listdir(PROC / str(process) / "task"))


def members(group: int) -> int:
    """The number of processes of a group."""
    found = 0
    for path in PROC.glob("[0-9]*/stat"):
        try:
            found += int(path.read_text().rpartition(")")[2].split()[2]) == group
        except OSError:  # it has ended
            continue
    return found


def _heeds_interrupts() -> None:
    """Undo what a shell does to commands in the background, these tests among them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["kill", "terminal"])
@pytest.mark.parametrize(
    ("arguments", "workers"),
    [
        (("verify", "logs/t-0"), threads),
        (("dump", "--format", "json", "logs/t-0", "-o", "out/lines"), threads),
        (("convert", "logs/t-0", "-o", "out/t-0", "--compression", "lz4"), threads),
        (("convert", "logs/t-0", "-o", "out/t-0", "--batch-bytes", "4000000"), threads),
        (("find", "logs", "--timestamp", "99"), members),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_interrupted(
    tmp_path: Path,
    logs: Path,
    arguments: tuple[str, ...],
    workers: Callable[[int], int],
    send: Callable[[int, int], None],
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "logs").symlink_to(logs)
    with subprocess.Popen(
        [*COMMAND, *arguments, "--jobs", "2"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=_heeds_interrupts,
    ) as command:
        resource.prlimit(command.pid, resource.RLIMIT_FSIZE, (LARGEST, LARGEST))
        until = time.monotonic() + WAIT
        while workers(command.pid) < 2 and command.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.2)  # in the midst of the work
        send(command.pid, signal.SIGINT)
        try:
            printed, errors = command.communicate(timeout=WAIT)
        except subprocess.TimeoutExpired:
            os.killpg(command.pid, signal.SIGKILL)
            raise
    assert (command.returncode, errors) == (130, b"kafkaspec: interrupted\n")
    assert printed == b""
    assert list(out.iterdir()) == []
    assert members(command.pid) == 0
