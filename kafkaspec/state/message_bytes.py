"""Write messages from their fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from kafkaspec.arrow.messages.arrays import array_type, encode_array, message_table
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout.names import SCHEMA_VERSION, TAGGED_FIELDS
from kafkaspec.messages.lookup import by_name
from kafkaspec.messages.tables import ColumnLayout
from kafkaspec.tables.json_values import array_of


def message_bytes(name: str, items: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """Return the bytes of messages of one type.

    Each is of the lowest version that has all its fields, which every release reads that knows the
    fields.

    Args:
        name: Kafka's name of the message, ``TopicRecord``.
        items: fields of each, as ``json_values`` gives them. One that is not there, or None, is
            absent in the bytes.

    Raises:
        KafkaSpecError: ``unencodable``: fields do not fit the message, or no version has them all.
    """
    layout = by_name(name)[0]
    kind = array_type(name)
    low, high = layout.versions
    root = message_table(layout.id).layout.root
    says_version = any(column.name == SCHEMA_VERSION for column in root.children)
    items = list(map(partial(_without_defaults, root), items))
    groups: dict[tuple[str, ...], list[int]] = {}
    for row, item in enumerate(items):
        present = tuple(sorted(each for each, value in item.items() if value is not None))
        groups.setdefault(present, []).append(row)
    made = [b""] * len(items)
    for rows in groups.values():
        for version in range(low, high + 1):
            own = {SCHEMA_VERSION: version} if says_version else {}
            values = [{**items[row], **own} for row in rows]
            try:
                data = encode_array(name, array_of(values, kind))
            except KafkaSpecError:
                if version == high:
                    raise
                continue
            for row, value in zip(rows, data.to_pylist(), strict=True):
                made[row] = value
            break
    return made


def _without_defaults(root: ColumnLayout, item: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields without those that a tagged field has anyhow, as Kafka's classes write them."""
    dropped = {
        column.name
        for column in root.children
        if column.paths[0][0] == TAGGED_FIELDS and item.get(column.name) == column.default
    }
    return {name: value for name, value in item.items() if name not in dropped}
