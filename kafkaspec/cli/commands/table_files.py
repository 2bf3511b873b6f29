"""Indexes, transaction indexes and producer snapshots in ``dump``: a line for each entry."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Any, Final

from kafkaspec.cli.console import iso
from kafkaspec.cli.inputs import Inputs
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files import names
from kafkaspec.files.indexes import OffsetIndex, TimeIndex
from kafkaspec.files.snapshots import ProducerSnapshot, TransactionIndex
from kafkaspec.shown import printable

_Entry = dict[str, Any]
_Found = Callable[[KafkaSpecError], None]

_TIMES: Final = ("timestamp",)
_KINDS: Final = (
    names.OFFSET_INDEX,
    names.TIME_INDEX,
    names.TRANSACTION_INDEX,
    names.PRODUCER_SNAPSHOT,
)


def is_table(path: Path) -> bool:
    """Return whether a file of this name is an index, a transaction index or a snapshot."""
    name = names.parse_segment(path.name)
    return name is not None and name.kind in _KINDS


def dump_lines(
    paths: Iterable[Path], output_format: str, codec: str, inputs: Inputs
) -> Iterator[str]:
    """Yield a line for each entry, as text after a line with the path of the file.

    Args:
        paths: paths for which ``is_table`` is true.
        output_format: ``json`` or ``text``.
        codec: reads the files.
        inputs: counts and reports what cannot be read.
    """
    for path in paths:
        try:
            entries = _entries(path, codec, inputs.cannot_decode)
        except KafkaSpecError as error:
            inputs.failed += error.reason is Reason.UNREADABLE
            inputs.cannot_read(error)
            continue
        if output_format == "text":
            yield f"{printable(str(path))}\n"
        for number, entry in enumerate(entries):
            if output_format == "json":
                yield json.dumps({"file": str(path), "entry": number} | entry) + "\n"
            else:
                yield (
                    "".join(f"  {name} {_word(name, item)}" for name, item in entry.items()) + "\n"
                )


def _word(name: str, value: Any) -> str:
    return iso(value) if name in _TIMES else str(value)


def _entries(path: Path, codec: str, found: _Found) -> Iterable[_Entry]:
    """Return the entries of a file; report what is wrong with it.

    Raises:
        KafkaSpecError: the file cannot be read.
    """
    name = names.parse_segment(path.name)
    assert name is not None
    if name.kind == names.OFFSET_INDEX:
        return _index(OffsetIndex(path, codec=codec), ("offset", "position"), found)
    if name.kind == names.TIME_INDEX:
        return _index(TimeIndex(path, codec=codec), ("offset", "timestamp"), found)
    if name.kind == names.TRANSACTION_INDEX:
        index = TransactionIndex(path, codec=codec)
        if index.trailing_bytes:
            found(_trailing(path, len(index) * index.entry_size, index.trailing_bytes))
        return [_plain(entry) for entry in index.entries]
    snapshot = ProducerSnapshot(path, codec=codec)
    entries = [_plain(entry) for entry in snapshot.entries]
    if not snapshot.crc_valid:
        found(snapshot.crc_error())
    return entries


def _index(
    index: OffsetIndex | TimeIndex, columns: tuple[str, str], found: _Found
) -> Iterator[_Entry]:
    for problem in index.sanity_check():
        found(problem)
    if not index.padding_is_zero:
        detail = "an entry with relative offset 0 ends the index, and others follow"
        at = len(index) * index.entry_size
        found(make_error(Reason.TRAILING_BYTES, detail, file=str(index.path), offset=at))
    rows = zip(*index.slot_columns(), strict=True)
    return (dict(zip(columns, row, strict=True)) for row in islice(rows, len(index)))


def _plain(entry: Any) -> _Entry:
    return {field.name: getattr(entry, field.name) for field in fields(entry) if field.init}


def _trailing(path: Path, at: int, size: int) -> KafkaSpecError:
    detail = f"the last {size} bytes are not a whole entry"
    return make_error(Reason.TRAILING_BYTES, detail, file=str(path), offset=at)
