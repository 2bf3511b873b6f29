"""Files that are arrays of entries of a fixed size: columns to their bytes, by the layout tables.

A codec that makes an object of each entry would take seconds for an index of a large segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import starmap
from struct import Struct, error
from typing import Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.errors import Reason, make_error
from kafkaspec.layout import Kind

_INTEGERS: Final = {1: "b", 2: "h", 4: "i", 8: "q"}


@cache
def entry_struct(type_key: str) -> Struct:
    """What packs and unpacks an entry; all fields of its type are integers.

    Raises:
        TypeError: they are not.
    """
    fields = LAYOUTS[type_key].fields
    if not all(field.kind is Kind.INTEGER and not field.repeated for field in fields):
        raise TypeError(f"{type_key} does not consist of integers")
    letters = (
        _INTEGERS[field.size] if field.signed else _INTEGERS[field.size].upper() for field in fields
    )
    return Struct(">" + "".join(letters))


def serialize_array(type_key: str, columns: Mapping[str, Iterable[int]]) -> bytes:
    """The bytes of an array of entries.

    Args:
        type_key: of an entry.
        columns: the values of each field, by its id.

    Raises:
        KafkaSpecError: ``unencodable``: a value does not fit its field.
        TypeError: not all fields of the type are integers.
    """
    layout = entry_struct(type_key)
    ordered = [columns[field.id] for field in LAYOUTS[type_key].fields]
    try:
        return b"".join(starmap(layout.pack, zip(*ordered, strict=True)))
    except error as problem:
        raise make_error(
            Reason.UNENCODABLE, str(problem), spec=LAYOUTS[type_key].location
        ) from None
