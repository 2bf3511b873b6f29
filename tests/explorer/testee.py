"""The engine of the explorer in a process of Node.js, built once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.goldens import VERSIONS
from tools.brokers.versions import by_name

HERE = Path(__file__).parent
WANTED = os.environ.get("EXPLORER_VERSIONS", "")
"""``all``, or versions divided by blanks: make explorer-check."""

ALL = VERSIONS if WANTED == "all" else WANTED.split()
SAMPLE = ALL or list({by_name(name).native_magic: name for name in VERSIONS}.values())
"""The versions whose segments are compared: those that are wanted, or the last of each magic."""

_TOOLS = ("node", "npm", "java", "mvn")


def missing() -> str:
    """What the machine lacks to build the explorer, "" if nothing."""
    return ", ".join(tool for tool in _TOOLS if shutil.which(tool) is None)


needs_build = pytest.mark.skipif(bool(missing()), reason=f"there is no {missing()}")


@cache
def built() -> Path:
    """The folder with the built explorer."""
    from tools.explorer.build import build

    return build()


def wanted(
    text: str,
    how: str = "contains",
    where: tuple[str, ...] = ("key",),
    since: int | None = None,
    until: int | None = None,
    raw: bool = False,
) -> dict[str, Any]:
    """What a search is for, as the engine takes it."""
    bounds = [None if time is None else f"big:{time}" for time in (since, until)]
    return {
        "text": text,
        "how": how,
        "where": where,
        "from": bounds[0],
        "to": bounds[1],
        "bytes": raw,
    }


class Engine:
    """A process that answers one request after the other."""

    def __init__(self) -> None:
        node = shutil.which("node")
        assert node is not None
        self._process = subprocess.Popen(
            [node, str(HERE / "engine.mjs"), str(built())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def ask(self, command: str, **request: Any) -> Any:
        """Return the answer. Anything but an error of the engine's own fails the test."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"command": command, **request}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "failed" not in answer, answer["failed"]
        return answer

    def call(self, files: list[Path], *calls: list[Any]) -> list[Any]:
        """Open files, which get the ids 1, 2 and so on, and call methods one after the other."""
        answer = self.ask("call", files=[str(file) for file in files], calls=list(calls))
        return [answer["infos"], *answer["results"]]

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
