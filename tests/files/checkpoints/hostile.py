"""What every parser owes to bytes that nobody wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kafkaspec.errors import KafkaSpecError

T = TypeVar("T")


def parsed(parse: Callable[[bytes], T], data: bytes) -> T | None:
    """What ``parse`` makes of it; None for an error of ours that lies in the data."""
    try:
        return parse(data)
    except KafkaSpecError as raised:
        error = raised
    assert error.offset is not None
    assert 0 <= error.offset <= len(data)
    assert len(str(error)) < 500
    return None
