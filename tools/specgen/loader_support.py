"""What the loader needs beside the structure of the file: its error, and our own small keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tools.specgen.model import Default, Derive, DeriveFunction

_DERIVE = re.compile(r"([a-z0-9]+)\(([a-z0-9_]+)(\.\.)?([a-z0-9_]+)?\)(?:\s*\+\s*(\d+))?")


class SpecError(Exception):
    """The specification cannot be read: ``file: path: what is wrong and what to write instead``."""

    def __init__(self, location: str, message: str) -> None:
        super().__init__(f"{location}: {message}")
        self.location = location
        self.message = message


def derive_of(node: object, location: str) -> Derive | None:
    """What ``-derive`` says, None where it is not there."""
    if node is None:
        return None
    match = _DERIVE.fullmatch(str(node))
    if match is None or match[1] not in list(DeriveFunction) or (match[4] and not match[3]):
        functions = ", ".join(DeriveFunction)
        raise SpecError(
            location,
            f"cannot read {node!r}; write f(x), f(x..) or f(x..y), + a number if need be, "
            f"with f one of {functions}",
        )
    return Derive(
        function=DeriveFunction(match[1]),
        first=match[2],
        last=match[4],
        open_end=bool(match[3]) and not match[4],
        plus=int(match[5] or 0),
    )


def default_of(node: Mapping[str, Any], location: str) -> Default | None:
    """What ``-default`` says, None where it is not there."""
    if "-default" not in node:
        return None
    text = node["-default"]
    if text == "null":
        return Default(None)
    if text == "[]":
        return Default(())
    try:
        return Default(int(str(text), 0))
    except ValueError:
        raise SpecError(
            location, f"must be a quoted integer, 'null' or '[]', not {text!r}"
        ) from None


def strings(node: object) -> tuple[str, ...]:
    """One string or a list of them."""
    if node is None:
        return ()
    return tuple(str(item) for item in node) if isinstance(node, list) else (str(node),)


def unknown_keys(node: Iterable[str], known: set[str]) -> tuple[str, ...]:
    """Keys that are not known, in the order of the file."""
    return tuple(str(key) for key in node if key not in known)


def key_order(node: Iterable[str]) -> tuple[str, ...]:
    """All keys, in the order of the file."""
    return tuple(str(key) for key in node)
