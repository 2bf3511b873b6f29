"""Start a broker on a log directory that somebody has damaged, and see what it makes of it."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kafkaspec.files import names
from tools.brokers.broker import Broker
from tools.brokers.maven import ToolError
from tools.brokers.versions import Version

_SETTLE_SECONDS = 1.5
"""For what happens right after the start: segments below the log start are deleted."""
_UNIQUE = re.compile(r"\.[0-9a-f]{32}-")

Tree = dict[str, dict[str, int]]
"""Sizes of the segments by name, by name of the partition's directory."""


class Started(NamedTuple):
    """The state of log directories after a start.

    Attributes:
        starts: whether the broker started, and stayed.
        trees: the partitions of each log directory; in names that a broker gave, ``*`` stands for
            the unique id.
        why: end of its log.
    """

    starts: bool
    trees: tuple[Tree, ...]
    why: str


class Starter(Broker):
    """A broker whose log directories are given for each start.

    Args:
        version: its release.
        work: an empty directory.
    """

    def __init__(self, version: Version, work: Path) -> None:
        super().__init__(version, work)
        self.second_logs = work / "logs2"
        self._config = work / "kafka.properties"
        self._text = self._config.read_text()

    def start_on(self, sources: Sequence[Path]) -> Started:
        """Start on copies of one or two log directories, and kill the broker when it is up.

        Args:
            sources: they stay as they are.
        """
        places = (self.logs, self.second_logs)[: len(sources)]
        for place in (self.logs, self.second_logs):
            shutil.rmtree(place, ignore_errors=True)
        for source, place in zip(sources, places, strict=True):
            shutil.copytree(source, place, symlinks=True)
        dirs = f"log.dirs={','.join(map(str, places))}"
        lines = [dirs if line.startswith("log.dirs=") else line for line in self._text.splitlines()]
        self._config.write_text("\n".join(lines) + "\n")
        shutil.rmtree(self.work / "zookeeper", ignore_errors=True)
        starts = True
        try:
            for server in self._servers:
                server.start()
            time.sleep(_SETTLE_SECONDS)
            starts = self._kafka.runs()
        except ToolError:
            starts = False
        finally:
            for server in reversed(self._servers):
                server.kill()
        return Started(starts, tuple(tree_of(place) for place in places), self.log()[-4000:])


def tree_of(place: Path) -> Tree:
    """Return the partitions in a log directory and their segments."""
    found: Tree = {}
    for path in sorted(place.iterdir()):
        if path.is_dir():
            name = _UNIQUE.sub(".*-", path.name)
            found[name] = {
                item.name: item.stat().st_size
                for item in sorted(path.iterdir())
                if item.is_file() and item.name.endswith(names.LOG)
            }
    return found
