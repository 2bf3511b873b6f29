"""The duties of every parser for bytes that nobody wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kafkaspec.errors import KafkaSpecError

T = TypeVar("T")


def parsed(parse: Callable[[bytes], T], data: bytes) -> T | None:
    """The result of ``parse``; None for one of our errors whose place is in the data."""
    try:
        return parse(data)
    except KafkaSpecError as raised:
        error = raised
    assert error.position is not None
    assert 0 <= error.position <= len(data)
    assert len(str(error)) < 500
    return None
