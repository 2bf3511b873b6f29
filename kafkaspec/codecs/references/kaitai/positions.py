"""Positions of the fields of a value, as ``kafkaspec explain`` shows them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from kafkaspec.codecs.base import Origin
from kafkaspec.codecs.references.kaitai.reader import ModelReader, is_scalar
from kafkaspec.codecs.references.kaitai.tables import FieldTable, Tables, TypeTable
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import Kind
from kafkaspec.model import Buffer


@dataclass(frozen=True, slots=True)
class FieldPosition:
    """One field, structure or array, and the bytes that it takes.

    Attributes:
        path: path in the data, as in errors: ``/message/content/crc``.
        start: absolute byte offset of its first byte; inside of decompressed data, the offset in
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


class PositionReader:
    """Walks a tree, whole or broken off, in the order of its bytes."""

    def __init__(self, tables: Tables, buffer: Buffer, shift: int) -> None:
        """``shift`` is added to each position in the buffer."""
        self._tables = tables
        self._reader = ModelReader(tables, buffer)
        self._shift = shift

    def walk(
        self, table: TypeTable, tree: Any, base: int, path: str = "", depth: int = 0
    ) -> Iterator[FieldPosition]:
        """Yield positions of all fields of a tree, each structure before what is in it."""
        for field in table.fields:
            place = tree._debug.get(field.layout.id, {})
            if "start" not in place or field.layout.kind is Kind.GUARD:
                continue
            own = f"{path}/{field.layout.id}"
            if field.layout.repeated:
                inner = list(self._array(table, field, tree, base, own, depth + 1))
                yield self._structure(field, "", own, depth, place, base, inner)
                yield from inner
            else:
                found = getattr(tree, field.layout.id, None)
                yield from self._one(table, field, tree, found, place, base, own, depth)

    def scalar(self, table: TypeTable, tree: Any, base: int, path: str) -> FieldPosition:
        """Return the position of a tree that is one value as a whole."""
        layout = table.layout
        return FieldPosition(
            path,
            base + self._shift,
            base + tree._io.pos() + self._shift,
            self._reader.convert(table, tree, base),
            layout.location,
            layout.key,
            "",
            layout.doc,
            0,
        )

    def _array(
        self, table: TypeTable, field: FieldTable, tree: Any, base: int, path: str, depth: int
    ) -> Iterator[FieldPosition]:
        items = getattr(tree, field.layout.id, [])
        for index, place in enumerate(tree._debug[field.layout.id]["arr"]):
            found = items[index] if index < len(items) else None
            own = f"{path}/{index}"
            yield from self._one(table, field, tree, found, place, base, own, depth)

    def _one(
        self,
        owner: TypeTable,
        field: FieldTable,
        tree: Any,
        found: Any,
        place: dict[str, int],
        base: int,
        path: str,
        depth: int,
    ) -> Iterator[FieldPosition]:
        """Yield a field or an item of an array, with everything inside."""
        if field.layout.kind not in (Kind.SCALAR, Kind.TYPE, Kind.CHOICE):
            if "end" in place:
                yield self._leaf(owner, field, found, place, base, path, depth)
            return
        if found is None:
            return
        table = self._tables.type_of_field(field, found)
        if is_scalar(table):
            if "end" in place:
                value = self._reader.convert(table, found, base)
                yield self._leaf(owner, field, value, place, base, path, depth)
            return
        below = base if found._io is tree._io else base + place["start"]
        inner = list(self.walk(table, found, below, path, depth + 1))
        yield self._structure(field, table.layout.key, path, depth, place, base, inner)
        yield from inner

    def _leaf(
        self,
        owner: TypeTable,
        field: FieldTable,
        value: Any,
        place: dict[str, int],
        base: int,
        path: str,
        depth: int,
    ) -> FieldPosition:
        layout = field.layout
        start, end, bits = base + place["start"], base + place["end"], None
        if layout.kind is Kind.BITS:
            # Kaitai's positions are after the bytes that a run has taken so far: the bit that
            # ends this field is the end of the field, rounded up to a byte.
            last = field.first_bit + layout.width
            start = end - (last + 7) // 8 + field.first_bit // 8
            first = field.first_bit % 8
            bits = (first, first + layout.width)
            value = bool(value) if layout.boolean else int(value)
        elif layout.kind is Kind.INTEGER:
            value = int(value)
        return FieldPosition(
            path,
            start + self._shift,
            end + self._shift,
            value,
            layout.location,
            layout.type,
            layout.original_id,
            layout.doc,
            depth,
            bits,
            layout.enum,
        )

    def _structure(
        self,
        field: FieldTable,
        type_key: str,
        path: str,
        depth: int,
        place: dict[str, int],
        base: int,
        inner: list[FieldPosition],
    ) -> FieldPosition:
        start = base + place["start"] + self._shift
        known = max([start, *(position.end for position in inner)])
        layout = field.layout
        return FieldPosition(
            path,
            start,
            base + place["end"] + self._shift if "end" in place else known,
            None,
            layout.location,
            type_key,
            layout.original_id,
            layout.doc,
            depth,
        )


def with_error(
    positions: list[FieldPosition], error: KafkaSpecError, origin: Origin
) -> list[FieldPosition]:
    """Return the positions with the error at its field, which is added if it is not there.

    ``error`` counts from the start of the buffer; what is in the list counts from ``origin``.
    """
    error = origin.locate(error)
    offset = (error.inner_offset if origin.decompressed else error.offset) or 0
    before: list[FieldPosition] = []
    for position in positions:
        if position.path == error.path:
            return [*before, replace(position, error=error)]
        around = error.path.startswith(f"{position.path}/")
        # After a switch without a case Kaitai reads on, but the result has no meaning.
        if around or position.end <= offset:
            before.append(position)
    depth = max(error.path.count("/") - 1, 0)
    failing = FieldPosition(
        error.path, offset, offset, None, error.spec, "", "", "", depth, error=error
    )
    return [*before, failing]
