"""Text that people see: places without credentials, and nothing that controls a terminal."""

from __future__ import annotations

import re

_QUERY = re.compile(r"(://[^\s?#'\"<>]*[?#])[^\s'\"<>]+")
_USER = re.compile(r"(://)[^\s/?#'\"<>]*@")


def without_credentials(text: str) -> str:
    """Return a path or message with ``***`` for the user, password and query of each URL in it."""
    if "://" not in text:
        return text
    return _USER.sub(r"\1***@", _QUERY.sub(r"\1***", text))
