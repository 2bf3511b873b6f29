"""Keys and values of records as the messages that they are, in the place of their bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from kafkaspec.assembly.bytes import Assembler
from kafkaspec.assembly.grammar import Node
from kafkaspec.assembly.values import as_bytes
from kafkaspec.codecs import Codec, Origin
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import MessageLayout, names
from kafkaspec.log import control
from kafkaspec.messages.decoding import decode_by, layouts_of
from kafkaspec.messages.lookup import CONSUMER, EMBEDDED, by_name
from kafkaspec.model import Record

ReadNodes = Callable[[str, bytes, Sequence[Any]], tuple[list[Node], int]]
"""Reads all of some bytes as a type with parameters: the nodes, and where they end."""

_KEPT: Final = "bytes, as a writer of {} would write others"


class Messages:
    """Puts messages in the place of the bytes of keys and values.

    Args:
        read: gives the nodes of a type.
        codec: tells which message it is.
        errors: takes why keys and values stay bytes: they are not messages that are described.
    """

    def __init__(self, read: ReadNodes, codec: Codec, errors: list[KafkaSpecError]) -> None:
        self._errors = errors
        self._read = read
        self._codec = codec

    def open(self, nodes: Iterable[Node], topic: str | None, origin: Origin) -> None:
        """Open the records below nodes.

        Args:
            nodes: entries, or what is in them.
            topic: the topic that has them, None for control records.
            origin: where they are, for errors.
        """
        for record in _records(nodes):
            try:
                self._open_record(record, topic, origin)
            except KafkaSpecError as error:
                self._errors.append(error)

    def _open_record(self, node: Node, topic: str | None, origin: Origin) -> None:
        parts = [node.part(names.KEY) or node, node.part(names.VALUE) or node]
        if any(part.stored for part in parts):
            return
        record = Record(0, 0, as_bytes(parts[0]), as_bytes(parts[1]))
        if topic is None:
            found = control.decode_control(record, codec=self._codec, origin=origin)
            self._replace(parts[0], control.KEY)
            if found.body is not None:
                self._replace(parts[1], control.VALUE, (found.key.type,))
            return
        known = layouts_of(topic, record, self._codec, origin)
        for part, layouts in zip(parts, known, strict=True):
            if layouts and as_bytes(part) is not None:
                self._open(part, layouts, origin.under(f"/{part.name}"))

    def _open(self, node: Node, layouts: Sequence[MessageLayout], origin: Origin) -> None:
        """Open a message, and those of consumers that are in it."""
        layout = decode_by(self._codec, layouts, as_bytes(node) or b"", origin=origin).layout
        self._replace(node, layout.key)
        inner = list(_below(node))
        if any(each.name == names.PROTOCOL_TYPE and each.value == CONSUMER for each in inner):
            for each in inner:
                if (name := EMBEDDED.get(each.name)) is not None and as_bytes(each):
                    with suppress(KafkaSpecError):  # Kafka takes any bytes there
                        self._open(each, by_name(name), origin)

    def _replace(self, node: Node, key: str, parameters: Sequence[Any] = ()) -> None:
        """Put the fields of a type in the place of bytes, if they give the same bytes."""
        data = as_bytes(node) or b""
        parts, end = self._read(key, data, parameters)
        found = Node(node.name, parts=parts, type=key)
        trial = Assembler(self._codec, force=True)
        if end == len(data) and trial.message(found) == data and not (trial.wrong or trial.cuts):
            node.value, node.parts, node.type = None, parts, key
        else:
            node.comment = _KEPT.format(key.partition(".")[2])


def _records(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield the records: what has a key and a value, and is not a wrapper."""
    for node in nodes:
        value = node.part(names.VALUE)
        if value is not None and value.parts is None and node.part(names.KEY) is not None:
            yield node
        else:
            yield from _records(node.parts or ())


def _below(node: Node) -> Iterator[Node]:
    for part in node.parts or ():
        yield part
        yield from _below(part)
