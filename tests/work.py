"""Count the work of a function, which no clock and no other process changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls(function: Callable[[], Any]) -> int:
    """Return how many functions a function calls, of Python and of C."""
    count = 0

    def note(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def lines(function: Callable[[], Any], *files: str) -> int:
    """Return how many lines of some files a function runs; a file is named by the end of its path,
    a folder by a part of it."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        path = frame.f_code.co_filename
        if not any(path.endswith(name) or f"/{name}/" in path for name in files):
            return None
        count += 1
        return trace

    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(None)
    return count
