"""Bytes to assembly: the positions of the fields as nodes, so that no byte is left out."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.assembly.bytes import MOST_OUTPUT, STORED
from kafkaspec.assembly.grammar import REST, Node
from kafkaspec.assembly.messages import Messages
from kafkaspec.assembly.values import encoded, is_plain, shown
from kafkaspec.codecs import Origin, get_codec
from kafkaspec.codecs.references.kaitai.codec import KaitaiCodec
from kafkaspec.codecs.references.kaitai.positions import FieldPosition
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import FieldLayout, Form, Kind, TypeLayout
from kafkaspec.layout.framing import Framing
from kafkaspec.log.batch import Batch, payload_path
from kafkaspec.log.default import DefaultBatch
from kafkaspec.log.segment import Segment
from kafkaspec.messages.topics import topic_of
from kafkaspec.model import Buffer


class Lister:
    """Lists bytes as nodes that ``Assembler`` turns into the same bytes.

    Attributes:
        errors: why payloads stay bytes, which do not decompress, and keys and values, which are
            not messages.
    """

    def __init__(self) -> None:
        self.errors: list[KafkaSpecError] = []
        self._kaitai = KaitaiCodec()
        self._codec = get_codec("python")
        self._messages = Messages(self._whole, self._codec, self.errors)

    def value(
        self,
        key: str,
        data: Buffer,
        start: int = 0,
        end: int | None = None,
        parameters: Sequence[Any] = (),
    ) -> list[Node]:
        """Return the nodes of a value of a type, and of the bytes after it.

        Args:
            key: key of the type.
            data: the bytes.
            start: position of the first one.
            end: position after the last one; the end of ``data`` by default.
            parameters: arguments of the type.
        """
        end = len(data) if end is None else end
        parts, at = self._read(key, data, start, end, parameters)
        numbers = tuple(number for number in parameters if isinstance(number, int))
        found = [Node(key, parts=parts, parameters=numbers)] if parts else []
        return [*found, *_rest(data, at, end)]

    def _read(
        self, key: str, data: Buffer, start: int, end: int, parameters: Sequence[Any]
    ) -> tuple[list[Node], int]:
        found = self._kaitai.positions(key, data, start, end, parameters)
        walk = _Walk(self._codec, data, found)
        parts = walk.structure(LAYOUTS[key], "", start, None)
        at = max((field.end for field in found if not _is_place(field)), default=start)
        return parts, min(at, end)

    def _whole(
        self, key: str, data: bytes, parameters: Sequence[Any] = ()
    ) -> tuple[list[Node], int]:
        return self._read(key, data, 0, len(data), parameters)

    def segment(
        self, segment: Segment, data: bytes, position: int | None = None, *, decode: bool = True
    ) -> Iterator[Node]:
        """Yield the nodes of the entries of a segment, and of the bytes that are not entries.

        Args:
            segment: the segment.
            data: all its bytes.
            position: byte offset of the only entry to list, None for all.
            decode: list the messages in control records and in those of Kafka's own topics.
        """
        topic = topic_of(segment.name) if decode and segment.name else None
        framing = segment.format.framing
        if position is not None:
            data = data[: _entry_end(framing, data, position)]
        for start, nodes in self._entries(framing, data, position or 0):
            if nodes[0].name != REST:
                nodes[0].comment = f"byte {start}"
                self._open(segment, start, nodes[0], topic, decode=decode)
            yield from nodes

    def _entries(
        self, framing: Framing, data: bytes, position: int
    ) -> Iterator[tuple[int, list[Node]]]:
        """Yield where each entry begins, and its nodes; at last those of the bytes after them."""
        while (end := _entry_end(framing, data, position)) is not None:
            yield position, self.value(framing.entry, data, position, end)
            position = end
        if position < len(data):
            yield position, _rest(data, position, len(data))

    def _open(
        self, segment: Segment, position: int, node: Node, topic: str | None, *, decode: bool
    ) -> None:
        """Put what is in an entry in the place of its bytes: records, and messages in them."""
        try:
            batch = segment.batch_at(position)
            is_open = self._open_payload(batch, node)
        except KafkaSpecError as error:
            self.errors.append(error)
            return  # it stays bytes
        if is_open and decode and (batch.is_control or topic is not None):
            origin = Origin(batch.file, position)
            self._messages.open([node], None if batch.is_control else topic, origin)

    def _open_payload(self, batch: Batch, node: Node) -> bool:
        """Put the records or entries of an entry in the place of its payload; say if it has them.

        Raises:
            KafkaSpecError: the payload cannot be decompressed.
        """
        payload = batch.payload
        if not (isinstance(batch, DefaultBatch) or batch.is_compressed):
            return True  # it is a record
        if payload is None:
            return False
        parts = self._content(batch, bytes(batch.decompressed(MOST_OUTPUT)))
        place = _payload_node(node, batch)
        if place is None or place.stored or not parts:
            return False
        if batch.is_compressed:
            parts.insert(0, Node(STORED, bytes(payload), stored=True))
        place.value, place.parts = None, parts
        return True

    def _content(self, batch: Batch, content: bytes) -> list[Node]:
        if isinstance(batch, DefaultBatch):
            parts, at = self._read(
                batch.kind.record_set, content, 0, len(content), (batch.message,)
            )
            return [*parts, *_rest(content, at, len(content))] if parts else []
        entries = self._entries(batch.framing, content, 0)
        return [node for _, nodes in entries for node in nodes]


def _payload_node(node: Node, batch: Batch) -> Node | None:
    """Return the node of the payload, which is below an entry."""
    pending = [node]
    while pending:
        each = pending.pop()
        if each.type == batch.kind.key:
            return each.part(payload_path(batch).rpartition("/")[2])
        pending += each.parts or []
    return None


def _entry_end(framing: Framing, data: bytes, position: int) -> int | None:
    """Return where an entry ends, None where no size can be read or it has no end in the data."""
    if len(data) - position < framing.size:
        return None
    end = position + framing.size + framing.message_size(data, position)
    return end if position + framing.size < end <= len(data) else None


def _rest(data: Buffer, start: int, end: int) -> list[Node]:
    return [Node(REST, bytes(data[start:end]), stored=True)] if start < end else []


class _Walk:
    """The positions of one value, from the first to the last."""

    def __init__(self, codec: Any, data: Buffer, found: Sequence[FieldPosition]) -> None:
        self._codec = codec
        self._data = data
        self._found = found
        self._next = 0

    def _below(self, path: str) -> FieldPosition | None:
        """Return the next position, if it is below a path."""
        if self._next == len(self._found):
            return None
        field = self._found[self._next]
        return field if field.path.startswith(f"{path}/") else None

    def structure(self, layout: TypeLayout, path: str, start: int, end: int | None) -> list[Node]:
        """Return the nodes of a structure; ``end`` is None where it is not known."""
        fields = {field.id: field for field in layout.fields}
        nodes: list[Node] = []
        at = start
        bits: list[tuple[Node, FieldPosition]] = []
        while (position := self._below(path)) is not None:
            field = fields.get(position.path.removeprefix(f"{path}/").partition("/")[0])
            if field is None or _is_place(position):
                self._skip(position.path)
                continue
            if field.kind is not Kind.BITS:
                nodes += _rest(self._data, at, position.start)
            node = self._node(field, position)
            nodes.append(node)
            at = max(at, position.end)
            bits = [*bits, (node, position)] if field.kind is Kind.BITS else []
            if bits and sum(fields[each.name].width for each, _ in bits) % 8 == 0:
                bits = []
        if bits:  # they end inside a byte
            nodes = nodes[: -len(bits)]
            at = bits[0][1].start
        nodes += _rest(self._data, at, at if end is None else end)
        there = {node.name for node in nodes}
        if REST not in there and any(
            _is_always(field) and field.id not in there for field in layout.fields
        ):
            nodes.append(Node(REST, b"", stored=True))  # it is cut here
        return nodes

    def _skip(self, path: str) -> None:
        self._next += 1
        while self._below(path) is not None:
            self._next += 1

    def _node(self, field: FieldLayout, position: FieldPosition) -> Node:
        self._next += 1
        if not field.repeated or position.path.rpartition("/")[2] != field.id:
            return self._one(field.id, field, position)
        nodes: list[Node] = []
        at = position.start
        while (item := self._below(position.path)) is not None:
            self._next += 1
            if _is_place(item):
                continue
            nodes += _rest(self._data, at, item.start)
            nodes.append(self._one("", field, item))
            at = max(at, item.end)
        return Node(field.id, parts=[*nodes, *_rest(self._data, at, position.end)])

    def _one(self, name: str, field: FieldLayout, position: FieldPosition) -> Node:
        key = position.type or field.type
        if field.kind in (Kind.TYPE, Kind.CHOICE) and LAYOUTS[key].form is not Form.SCALAR:
            parts = self.structure(LAYOUTS[key], position.path, position.start, position.end)
            return Node(name, parts=parts, type=key if field.kind is Kind.CHOICE else "")
        stored = bytes(self._data[position.start : position.end])
        self._skip_below(position.path)
        if field.kind is Kind.BITS:
            return Node(name, shown(field, position.value))
        if is_plain(field):
            try:
                if encoded(self._codec, field, position.value) == stored:
                    return Node(name, shown(field, position.value))
            except (ValueError, TypeError, OverflowError, struct.error, KafkaSpecError):
                pass
        return Node(name, stored, stored=True)

    def _skip_below(self, path: str) -> None:
        while self._below(path) is not None:
            self._next += 1


def _is_always(field: FieldLayout) -> bool:
    return not field.optional and field.kind is not Kind.GUARD


def _is_place(position: FieldPosition) -> bool:
    """Return whether a position only says where reading stopped."""
    return position.error is not None and position.end == position.start
