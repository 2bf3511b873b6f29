"""Commands in remedies."""

from __future__ import annotations

import shlex
from pathlib import Path


def quoted(path: Path) -> str:
    """Return a path as a word of a shell."""
    return shlex.quote(str(path))


def move_away(path: Path) -> str:
    """Return the command that moves something out of the log directory that it is in."""
    root = path.parent if path.is_dir() else path.parent.parent
    return f"mv {quoted(path)} {quoted(above(root) / path.name)}"


def above(root: Path) -> Path:
    """Return the directory that a log directory is in, also of one that is named by ``.``."""
    return root.absolute().parent
