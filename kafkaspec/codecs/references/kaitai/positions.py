"""Positions of the fields of a value, as ``kafkaspec explain`` shows them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from kafkaspec.codecs.references.kaitai.trees import KaitaiTrees
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import FieldLayout, Form, Kind


@dataclass(frozen=True, slots=True)
class FieldPosition:
    """One field, structure or array, and the bytes that it takes.

    Attributes:
        path: path in the data, as in errors: ``/message/content/crc``.
        start: absolute byte offset of its first byte; inside decompressed data, the offset in
            the decompressed bytes.
        end: offset after its last byte; if it could not be read, the last known offset.
        value: host value of a field, None for structures and arrays (and for null).
        location: place in the specification.
        type: key of its type, "" for integers, bits and bytes.
        original_id: Kafka's name, "" where it has none.
        doc: meaning.
        depth: 0 for fields of the outermost structure.
        bits: for bit fields, the first bit and the one after the last, counted from the highest
            bit of the byte at ``start``; None for all others.
        enum: key of the enumeration that names the value, "" for none.
        error: why reading stopped here, None where it did not. Only the last field of a broken
            value has it.
    """

    path: str
    start: int
    end: int
    value: Any
    location: str
    type: str
    original_id: str
    doc: str
    depth: int
    bits: tuple[int, int] | None = None
    enum: str = ""
    error: KafkaSpecError | None = None


def positions(trees: KaitaiTrees, key: str, tree: Any, base: int, path: str) -> list[FieldPosition]:
    """Return the positions of all fields of a tree, each structure before what is in it.

    Args:
        trees: gives values and types.
        key: type of the tree.
        tree: what was read, up to where reading stopped.
        base: absolute offset of the first byte of the tree's stream.
        path: its path in the data.
    """
    layout = trees.layouts[key]
    if layout.form is not Form.SCALAR:
        return list(_fields(trees, key, tree, base, path, path.count("/")))
    if tree._dirty:  # until it is read
        return []
    value, end = trees.model(key, tree), base + tree._io.pos()
    return [FieldPosition(path, base, end, value, layout.location, key, "", layout.doc, 0)]


def _fields(
    trees: KaitaiTrees, key: str, tree: Any, base: int, path: str, depth: int
) -> Iterator[FieldPosition]:
    """Yield the positions of the fields of a structure, in the order of the bytes."""
    bits = 0
    for field in trees.layouts[key].fields:
        first_bit, bits = bits, bits + field.width if field.kind is Kind.BITS else 0
        place = tree._debug.get(field.id, {})
        if "start" not in place or field.kind is Kind.GUARD:
            continue
        found = trees.get(tree, field.id)
        own = f"{path}/{field.id}"
        yield from _one(trees, field, found, place, tree, base, own, depth, first_bit)


def _one(
    trees: KaitaiTrees,
    field: FieldLayout,
    found: Any,
    place: dict[str, Any],
    owner: Any,
    base: int,
    path: str,
    depth: int,
    first_bit: int = 0,
) -> Iterator[FieldPosition]:
    """Yield a field or an item of an array, with everything inside."""
    make = partial(
        FieldPosition, path,
        location=field.location, original_id=field.original_id, doc=field.doc, depth=depth,
        enum=field.enum,
    )  # fmt: skip
    start, end, key = base + place["start"], base + place.get("end", 0), ""
    if "arr" in place:
        inner = [
            position
            for index, (item, at) in enumerate(zip(found, place["arr"], strict=False))
            for position in _one(trees, field, item, at, owner, base, f"{path}/{index}", depth + 1)
        ]
    elif field.kind in (Kind.TYPE, Kind.CHOICE):
        if found is None:
            return
        key = field.type or trees.chosen(field, found)
        below = base if found._io is owner._io else start
        inner = list(_fields(trees, key, found, below, path, depth + 1))
    elif "end" in place:
        bits = None
        if field.kind is Kind.BITS:
            # Kaitai's positions are after the bytes that a run has taken so far: the bit that
            # ends this field is the end of the field, rounded up to a byte.
            start = end - (first_bit + field.width + 7) // 8 + first_bit // 8
            bits = (first_bit % 8, first_bit % 8 + field.width)
        value = trees.item_reader(field)(found)
        yield make(start=start, end=end, value=value, type=field.type, bits=bits)
        return
    else:
        return
    if "end" not in place:  # a broken one ends where its fields do
        end = max([start, *(position.end for position in inner)])
    yield make(start=start, end=end, value=None, type=key)
    yield from inner


def with_error(found: list[FieldPosition], error: KafkaSpecError) -> list[FieldPosition]:
    """Return the positions with the error at its field, which is added if it is not there."""
    offset = error.position if error.inner_position is None else error.inner_position
    at = offset or 0
    before: list[FieldPosition] = []
    for position in found:
        if position.path == error.path:
            return [*before, replace(position, error=error)]
        # After a switch without a case Kaitai reads on, but the result has no meaning.
        if error.path.startswith(f"{position.path}/") or position.end <= at:
            before.append(position)
    depth = max(error.path.count("/") - 1, 0)
    failing = FieldPosition(error.path, at, at, None, error.spec, "", "", "", depth, error=error)
    return [*before, failing]
