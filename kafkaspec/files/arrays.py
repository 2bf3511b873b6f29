"""Files that are arrays of entries of a fixed size: serialize columns by the layout tables.

A codec that makes an object for each entry would take seconds for the index of a large segment.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import repeat, starmap
from pathlib import Path
from struct import Struct, error
from typing import TYPE_CHECKING, Any, Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.codecs import Codec, Origin, get_codec
from kafkaspec.errors import Reason, make_error
from kafkaspec.files.names import parse_segment
from kafkaspec.io.local import Source
from kafkaspec.layout import FieldLayout, Kind
from kafkaspec.layout.kinds import default_values

if TYPE_CHECKING:
    from kafkaspec.codecs.native.core import Core

_INTEGERS: Final = {1: "b", 2: "h", 4: "i", 8: "q"}


@cache
def entry_struct(type_key: str) -> Struct:
    """Return the struct of an entry, whose fields are integers and bytes of a fixed size.

    Raises:
        TypeError: the fields are not of that kind.
    """
    return Struct(">" + "".join(_letter(type_key, field) for field in LAYOUTS[type_key].fields))


def _letter(type_key: str, field: FieldLayout) -> str:
    if field.size and not field.repeated and not field.optional:
        if field.kind is Kind.INTEGER:
            return _INTEGERS[field.size] if field.signed else _INTEGERS[field.size].upper()
        if field.kind is Kind.BYTES:
            return f"{field.size}s"
    raise TypeError(
        f"{field.location}: entries of this file are found by their number, which takes integers "
        f"and bytes of a constant size; make {field.id} one of them, in every entry"
    )


def integer_column(type_key: str, name: str, data: memoryview) -> array[int]:
    """Return the integers of a field of whole entries.

    Raises:
        TypeError: an entry does not always have the same size.
    """
    size, (start, item) = entry_struct(type_key).size, _place(type_key, name)
    assert item.size is not None
    return big_endian(_letter(type_key, item), data[start:], item.size, size, len(data) // size)


def big_endian(code: str, data: memoryview, width: int, stride: int, count: int) -> array[int]:
    """Return numbers, as an array of that type code, which may be wider.

    Args:
        code: type code of the array.
        data: begins with the first number.
        width: bytes of a number.
        stride: bytes from one number to the next.
        count: how many numbers.
    """
    column = array(code)
    if width > column.itemsize:
        raise OverflowError(f"numbers of {width} bytes do not fit {column.itemsize}")
    octets, stored = bytearray(count * column.itemsize), bytes(data)
    for place in range(width):  # the last octet of the file is the lowest
        low = width - 1 - place
        low = column.itemsize - 1 - low if sys.byteorder == "big" else low
        octets[low :: column.itemsize] = stored[place::stride]
    column.frombytes(octets)
    return column


def wide_column(core: Core, type_key: str, name: str, data: memoryview, plus: int) -> array[int]:
    """Return the sums of a number and the integers of a field of whole entries, in 64 bits.

    Args:
        core: the extension.
        type_key: type of an entry.
        name: id of the field.
        data: the entries.
        plus: the number.

    Raises:
        OverflowError: a sum does not fit.
        TypeError: an entry does not always have the same size.
    """
    size, (start, item) = entry_struct(type_key).size, _place(type_key, name)
    column = array("q", bytes(len(data) // size * 8))
    if not core.module.widen(data, size, start, item.size, item.signed, plus, column):
        raise OverflowError(f"{name} does not fit")
    return column


@cache
def _place(type_key: str, name: str) -> tuple[int, FieldLayout]:
    """Return the place of a field in an entry, and the field."""
    start = 0
    for item in LAYOUTS[type_key].fields:
        if item.id == name:
            return start, item
        assert item.size is not None
        start += item.size
    raise KeyError(name)


def entry_at(codec: Codec, type_key: str, source: Source, number: int, *parameters: int) -> Any:
    """Return an entry of a file, as an object of the typed model."""
    source.check()
    size = entry_struct(type_key).size
    start, origin = number * size, Origin(source.name)
    entry, _ = codec.parse(
        type_key, source.buffer, start, start + size,
        parameters=parameters, complete=True, origin=origin,
    )  # fmt: skip
    return entry


def read_whole(path: Path, codec: Codec | str | None = None) -> Any:
    """Return the content of a file of a segment, as an object of the typed model.

    Raises:
        KafkaSpecError: it cannot be read, or does not follow the specification.
    """
    name = parse_segment(path.name)
    assert name is not None
    reader = codec if isinstance(codec, Codec) else get_codec(codec)
    with Source.of(path) as source:
        found, _ = reader.parse(
            name.layout.type, bytes(source.buffer), parameters=name.parameters,
            complete=True, origin=Origin(source.name),
        )  # fmt: skip
    return found


def serialize_array(type_key: str, columns: Mapping[str, Iterable[int]]) -> bytes:
    """Return the bytes of an array of entries.

    Args:
        type_key: type of an entry.
        columns: values of each field, by its id; a missing field has the default of the
            specification.

    Raises:
        KafkaSpecError: ``unencodable``: a value does not fit its field, or is missing.
        TypeError: an entry does not always have the same size.
    """
    layout = entry_struct(type_key)
    absent = [field.id for field in LAYOUTS[type_key].fields if field.id not in columns]
    defaults = default_values(type_key)
    if not defaults.keys() >= set(absent):
        wanted = ", ".join(name for name in absent if name not in defaults)
        detail = f"there is no default for {wanted}"
        raise make_error(Reason.UNENCODABLE, detail, spec=LAYOUTS[type_key].location)
    rows = {name: list(values) for name, values in columns.items()}
    count = len(next(iter(rows.values())))
    ordered = [
        rows[field.id] if field.id in rows else repeat(defaults[field.id], count)
        for field in LAYOUTS[type_key].fields
    ]
    try:
        return b"".join(starmap(layout.pack, zip(*ordered, strict=not absent)))
    except error as problem:
        location = LAYOUTS[type_key].location
        raise make_error(Reason.UNENCODABLE, str(problem), spec=location) from None
