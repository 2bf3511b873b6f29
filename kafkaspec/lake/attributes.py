"""The attributes of entries as the one integer that is stored, and their parts."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.layout import names
from kafkaspec.layout.kinds import KINDS, header_field

_ATTRIBUTES: Final = names.COMPRESSION.partition(".")[0]


class AttributePart(NamedTuple):
    """Bits of the attributes: the name of their field, and where they are."""

    name: str
    shift: int
    width: int

    @property
    def mask(self) -> int:
        """Ones in as many bits."""
        return (1 << self.width) - 1


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
            return values >> part.shift & part.mask
    return values & 0
