"""The attributes of entries as the one integer that is stored, and their parts."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.layout import names
from kafkaspec.layout.kinds import KINDS, header_field
from kafkaspec.log.header_table import HeaderTable

_ATTRIBUTES: Final = names.COMPRESSION.partition(".")[0]


class AttributePart(NamedTuple):
    """Bits of the attributes: the name of their field, and where they are."""

    name: str
    shift: int
    width: int


@cache
def parts_of(magic: int) -> tuple[AttributePart, ...]:
    """Return the parts of the attributes of a kind of entries."""
    fields = LAYOUTS[header_field(KINDS[magic], _ATTRIBUTES).type].fields
    shift, found = sum(field.width for field in fields), []
    for field in fields:
        shift -= field.width
        found.append(AttributePart(f"{_ATTRIBUTES}.{field.id}", shift, field.width))
    return tuple(found)


def part_of(name: str, magic: int, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a part of attributes, 0 for a kind that has no such part."""
    for part in parts_of(magic):
        if part.name == name:
            return values >> part.shift & ((1 << part.width) - 1)
    return values & 0


def stored_attributes(table: HeaderTable) -> NDArray[np.int64]:
    """Return the attributes of entries, each as an integer without a sign."""
    found = np.zeros(len(table), np.int64)
    magics = table.numpy(names.MAGIC)
    for magic in table.magics:
        rows = magics == magic
        found[rows] = _joined(table, parts_of(magic))[rows]
    return found


def _joined(table: HeaderTable, parts: Iterable[AttributePart]) -> NDArray[np.int64]:
    # What stands in for a part without a meaning is negative; its bits count as 0.
    columns = [np.maximum(table.numpy(part.name), 0) << part.shift for part in parts]
    return sum(columns[1:], columns[0])
