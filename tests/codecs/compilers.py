"""A C compiler that does not optimise, for tests of what is compiled and not of how fast it is."""

from __future__ import annotations

from pathlib import Path


def unoptimised(directory: Path) -> str:
    """Write a command that is ``cc`` with ``-O0`` after all options, and return its path."""
    path = directory / "unoptimised-cc"
    path.write_text('#!/bin/sh\nexec cc "$@" -O0\n', encoding="utf-8")
    path.chmod(0o755)
    return str(path)
