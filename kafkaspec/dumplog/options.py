"""The options of the dump tool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from kafkaspec.messages.json_text import java_text
from kafkaspec.model import Record

Texts = tuple[str | None, str | None]
"""Of a key and of a payload, None where nothing is printed."""


class Parse(Protocol):
    """Makes text of the key and of the payload of records; None for no text."""

    def __call__(self, record: Record, /) -> Texts:
        """Return the texts of a record."""

    def many(
        self, keys: Sequence[bytes | None], values: Sequence[bytes | None], /
    ) -> list[Texts | None]:
        """Return the texts of many records; None for those that are to be asked for alone."""


OnFinding = Callable[[str], None]
"""Function that takes what is wrong with the data, and is not a line of the tool."""


@dataclass(frozen=True, kw_only=True)
class DumpOptions:
    """Options of the tool.

    Attributes:
        deep: ``--deep-iteration``: a line for each record.
        content: ``--print-data-log``: also their keys and payloads.
        skip_metadata: ``--skip-record-metadata``: only keys and payloads.
        max_bytes: ``--max-bytes``: no batches beyond; None for all.
        sanity_only: ``--index-sanity-check``.
        verify_only: ``--verify-index-only``.
        parse: makes text of keys and payloads; None for that of UTF-8.
    """

    deep: bool = False
    content: bool = False
    skip_metadata: bool = False
    max_bytes: int | None = None
    sanity_only: bool = False
    verify_only: bool = False
    parse: Parse | None = None


def utf8(record: Record) -> Texts:
    """Return key and value as text, as ``StringDecoder`` of the tool does."""
    key, value = record.key, record.value
    return None if key is None else java_text(key), None if value is None else java_text(value)
