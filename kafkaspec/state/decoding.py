"""Decode the messages of a record type whatever release wrote them, into one type of array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from kafkaspec.arrow.message_tables import message_table
from kafkaspec.arrow.messages import decode_with
from kafkaspec.codecs import get_codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import MessageLayout
from kafkaspec.layout.messages import written_by
from kafkaspec.layout.names import UNUSED


def decode(
    layouts: Sequence[MessageLayout],
    data: pa.Array,
    release: str | None,
    on_error: Callable[[int, KafkaSpecError], None],
) -> pa.StructArray:
    """Return messages in the type of the newest layout; null where they cannot be decoded.

    Without a release, the newest layout that takes every byte counts. Fields that the newest layout
    does not have are left out, those that an older one lacks are null.

    Args:
        layouts: of the messages, the newest first.
        data: their bytes, null for none.
        release: that wrote them; None if it is not known.
        on_error: called with the number of a row and the error of the first layout tried.
    """
    first, *others = (layout.id for layout in written_by(layouts, release) or layouts)
    newest = message_table(layouts[0].id).type
    refused: dict[int, KafkaSpecError] = {}
    made = decode_with(get_codec(), message_table(first), data, refused.__setitem__)
    doubtful = set(refused)
    # Kafka ignores bytes after a message; another layout may take them.
    if others and (place := made.type.get_field_index(UNUSED)) >= 0:
        surplus = made.flatten()[place].to_pylist()
        doubtful |= {row for row, left in enumerate(surplus) if left}
    if made.type == newest and not (doubtful and others):
        for row, error in refused.items():
            on_error(row, error)
        return made
    values = made.to_pylist()
    for row in sorted(doubtful):
        found = next(filter(None, (_whole(name, data[row]) for name in others)), None)
        if found is not None:
            values[row] = found
        elif row in refused:
            on_error(row, refused[row])
    names = [field.name for field in newest]
    return pa.array(
        [value and {name: value.get(name) for name in names} for value in values], newest
    )


def _whole(name: str, data: pa.BinaryScalar) -> dict[str, Any] | None:
    """Return a message if a layout takes every byte of it."""
    one = pa.array([data.as_py()], pa.binary())
    (value,) = decode_with(get_codec(), message_table(name), one, lambda *_: None).to_pylist()
    return None if value is None or value.get(UNUSED) else value
