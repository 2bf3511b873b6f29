"""Assembly to bytes: each field by its layout, and what follows from others computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kafkaspec import compression
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.assembly.agreement import disagreement
from kafkaspec.assembly.grammar import REST, Node, Word, refuse
from kafkaspec.assembly.values import (
    encoded,
    encoded_node,
    given,
    holds_bytes,
    integer,
    is_null,
    is_plain,
    takes,
)
from kafkaspec.checksum import CHECKSUMS
from kafkaspec.codecs import Codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import EntryKind, FieldLayout, Kind, TypeLayout, names
from kafkaspec.layout.framing import field_of
from kafkaspec.layout.kinds import KINDS
from kafkaspec.options import did_you_mean

STORED: Final = "stored"
"""Name of the compressed payload, which stays while what is in it is not edited."""

TEXT: Final = "text"
"""Name of a text file, whose items are its lines."""

MOST_OUTPUT: Final = 64 << 20
"""Maximum number of bytes after decompression of a stored payload that is compared."""

_PAYLOADS: Final = {(kind.key, kind.payload or names.VALUE) for kind in KINDS.values()}


class Recomputed(NamedTuple):
    """A value that another one took the place of, as it follows from the other fields.

    Attributes:
        node: its line.
        written: what the text has.
        value: what was written.
    """

    node: Node
    written: str
    value: int | str


class Assembler:
    """Writes nodes as bytes.

    Args:
        codec: writes scalars.
        file: name of the text, for errors.
        force: mark derived values that do not follow as forced, and keep them; this is for
            listing bytes that exist.

    Attributes:
        : values that were not written as they stand in the text.
    """

    def __init__(self, codec: Codec, file: str = "", *, force: bool = False) -> None:
        self._codec = codec
        self._file = file
        self._force = force
        self.follows: list[Recomputed] = []
        self.cuts = 0
        self.unread = 0
        self.wrong = 0

    def write(self, nodes: Iterable[Node]) -> bytes:
        """Return the bytes of nodes of the outermost level.

        Raises:
            KafkaSpecError: ``unencodable``, with line and column.
        """
        pieces = []
        for node in nodes:
            if node.name == REST:
                pieces.append(self._rest(node))
                continue
            if node.name == TEXT:
                pieces += [self._line(part) for part in node.parts or ()]
                continue
            if node.name not in LAYOUTS:
                hint = did_you_mean(node.name, [*LAYOUTS, TEXT, REST]) or ""
                raise refuse(self._file, node, f"there is no type {node.name!r}{hint}")
            pieces.append(self._structure(LAYOUTS[node.name], node))
        return b"".join(pieces)

    def _line(self, node: Node) -> bytes:
        if isinstance(node.value, bytes):
            return node.value
        if node.name or node.value is None or isinstance(node.value, Word):
            raise refuse(self._file, node, 'an item of text takes a "text" or hex')
        return node.value.encode("utf-8", "surrogatepass")

    def _rest(self, node: Node) -> bytes:
        if isinstance(node.value, bytes):
            self.cuts += 1
            self.unread += len(node.value)
            return node.value
        raise refuse(self._file, node, f"{REST} takes raw and the bytes")

    def _structure(self, layout: TypeLayout, node: Node) -> bytes:
        fields = {field.id: field for field in layout.fields if field.kind is not Kind.GUARD}
        found = self._parts(layout, node, fields)
        cut = any(part.name == REST for part in node.parts or ())
        self._follow_records(layout, node)
        pieces: dict[str, bytes] = {}
        bits: list[tuple[FieldLayout, int]] = []
        for field in fields.values():
            part = found.get(field.id)
            if part is None and not cut and not field.optional:
                part = found[field.id] = self._implied(layout, node, field)
                (node.parts or []).append(part)
            if part is None:
                continue
            if field.kind is Kind.BITS:
                bits.append((field, self._bits(field, part)))
                if sum(each.width for each, _ in bits) % 8 == 0:
                    pieces[field.id] = _packed(bits)
                    bits = []
                continue
            pieces[field.id] = self._field(layout, field, part, found)
        for field in fields.values():
            part = found.get(field.id)
            if field.derive and field.derive not in CHECKSUMS and part is not None:
                source = fields[field.derive_from]
                if cut and source.id not in found:
                    part.forced = True  # the bytes that it is of are not there
                number = self._derived(layout, field, source, found.get(source.id), pieces)
                if number is not None:
                    pieces[field.id] = self._settled(field, part, number)
        data = self._joined(node, fields, pieces)
        check = layout.checksum
        if check is not None and (part := found.get(check.field)) is not None:
            number = CHECKSUMS[check.algorithm](data[check.start :])
            stored = self._settled(fields[check.field], part, number)
            data = data[: check.position] + stored + data[check.position + len(stored) :]
        return data

    def _parts(
        self, layout: TypeLayout, node: Node, fields: Mapping[str, FieldLayout]
    ) -> dict[str, Node]:
        """Return the nodes of a structure by the id of their field."""
        if node.parts is None:
            listed = ", ".join(fields)
            raise refuse(self._file, node, f"{node.name or 'the item'} is a structure of {listed}")
        found = {}
        for part in node.parts:
            if part.name in fields:
                found[part.name] = part
            elif part.name not in (REST, STORED):
                hint = did_you_mean(part.name, list(fields))
                listed = hint or f"; it has {', '.join(fields)}"
                detail = f"{layout.key} has no field {part.name or 'without a name'}{listed}"
                raise refuse(self._file, part, detail)
        return found

    def _implied(self, layout: TypeLayout, node: Node, field: FieldLayout) -> Node:
        """Return the node of a field that the text leaves out."""
        if field.repeated:
            return Node(field.id, parts=[])
        if field.derive or field.constant is not None:
            return Node(field.id, Word(field.constant or 0))
        raise refuse(self._file, node, f"{layout.key} needs {field.id}, which takes {takes(field)}")

    def _bits(self, field: FieldLayout, node: Node) -> int:
        number = given(field, node, self._file)
        if not 0 <= number < 1 << field.width:
            raise refuse(self._file, node, f"{number} does not fit in {field.width} bits")
        return int(number)

    def _field(
        self, layout: TypeLayout, field: FieldLayout, node: Node, siblings: Mapping[str, Node]
    ) -> bytes:
        if (layout.key, field.id) in _PAYLOADS and node.parts is not None and not node.type:
            return self._payload(layout, field, node, siblings)
        if not field.repeated:
            return self._item(field, node)
        if is_null(node):
            return b""
        if node.stored and isinstance(node.value, bytes):
            return node.value
        if node.parts is None:
            raise refuse(self._file, node, f"{field.id} is an array: items begin with `-`")
        pieces = []
        for part in node.parts:
            if part.name == REST:
                pieces.append(self._rest(part))
            elif part.name:
                raise refuse(self._file, part, f"{field.id} is an array: items begin with `-`")
            else:
                pieces.append(self._item(field, part))
        return b"".join(pieces)

    def _item(self, field: FieldLayout, node: Node) -> bytes:
        if node.type and holds_bytes(field):
            return encoded(self._codec, field, self.message(node))
        if is_plain(field) or (node.stored and node.parts is None):
            return encoded_node(self._codec, field, node, self._file)
        key = field.type
        if field.kind is Kind.CHOICE:
            keys = [case for _, case in field.cases]
            if node.type not in keys:
                detail = f"{field.id} takes one of {', '.join(keys)}, not {node.type or 'nothing'}"
                raise refuse(self._file, node, detail)
            key = node.type
        return self._structure(LAYOUTS[key], node)

    def message(self, node: Node) -> bytes:
        """Return the bytes of the fields of a type, which stand in the place of bytes.

        Raises:
            KafkaSpecError: ``unencodable``, with line and column.
        """
        if node.type not in LAYOUTS:
            hint = did_you_mean(node.type, list(LAYOUTS)) or ""
            raise refuse(self._file, node, f"there is no type {node.type!r}{hint}")
        data = self._structure(LAYOUTS[node.type], node)
        wrong = None if self._force else disagreement(node, data)
        if wrong is not None:
            place, detail = wrong
            detail = f"read as {node.type}, {detail}; its version says its fields, and ! keeps it"
            raise refuse(self._file, place if place.line else node, detail)
        return data

    def _payload(
        self, layout: TypeLayout, field: FieldLayout, node: Node, siblings: Mapping[str, Node]
    ) -> bytes:
        """Return the bytes of what may be compressed, from the records or entries in it."""
        magic = siblings.get(names.MAGIC)
        number = (
            None if magic is None else given(field_of(layout.key, names.MAGIC), magic, self._file)
        )
        kind = None if number is None else KINDS.get(number)
        if kind is None or kind.key != layout.key:
            raise refuse(self._file, magic or node, f"{layout.key} is not of magic {number}")
        key = kind.record_set or names.ENTRY
        stored = node.part(STORED)
        if kind.record_set:
            content = self._structure(LAYOUTS[key], node)
        else:
            inner = [part for part in node.parts or () if part.name != STORED]
            content = self.write(inner)
        codec = self._compression(kind, node, siblings)
        data = None if stored is None else stored.value
        if not isinstance(data, bytes) or not self._is_same(codec, kind, data, content):
            try:
                made = compression.compress(codec, content, magic=kind.magic)
            except KafkaSpecError as error:
                raise refuse(self._file, node, f"{field.id}: {error.detail}") from None
            if stored is not None:
                self.follows.append(
                    Recomputed(stored, f"{len(data or b'')} bytes", f"{len(made)} bytes")
                )
            data = made
        return encoded(self._codec, field, data)

    def _compression(self, kind: EntryKind, payload: Node, siblings: Mapping[str, Node]) -> int:
        """Return the id of the codec, which the attributes before the payload have."""
        key, node = kind.key, Node("", parts=list(siblings.values()))
        *outer, last = names.COMPRESSION.split(".")
        for name in outer:
            key = field_of(key, name).type
            node = node.part(name) or Node("")
        found = node.part(last)
        if found is None:
            detail = f"{payload.name} needs {names.COMPRESSION}, or raw and its bytes"
            raise refuse(self._file, payload, detail)
        return self._bits(field_of(key, last), found)

    @staticmethod
    def _is_same(codec: int, kind: EntryKind, stored: bytes, content: bytes) -> bool:
        try:
            found = compression.decompress(
                codec, stored, magic=kind.magic, max_output=max(len(content), 1)
            )
        except KafkaSpecError:
            return False
        return bytes(found) == content

    def _derived(
        self,
        layout: TypeLayout,
        field: FieldLayout,
        source: FieldLayout,
        node: Node | None,
        pieces: Mapping[str, bytes],
    ) -> int | None:
        """Return the number that follows from a field, None for one that the text cannot say."""
        if node is None or is_null(node):
            return field.derive_plus - 1
        if field.derive == "present":
            return 1
        if field.derive == "len":
            return len(pieces[source.id]) + field.derive_plus
        if (layout.key, source.id) in _PAYLOADS:
            items = node.part(names.RECORDS)
            node = items if items is not None else node
        if node.parts is None or any(part.name == REST for part in node.parts):
            return None
        return len(node.parts) + field.derive_plus

    def _settled(self, field: FieldLayout, node: Node, number: int) -> bytes:
        """Return the bytes of a derived field, and note where it is not what the text has."""
        stored = encoded_node(self._codec, field, node, self._file)
        try:
            derived = encoded(self._codec, field, number)
        except (ValueError, OverflowError, KafkaSpecError):
            if node.forced or self._force:
                self.wrong += 1
                node.forced = True
                return stored
            detail = f"{field.id} would be {number}, for which it has no place; force it with !"
            raise refuse(self._file, node, detail) from None
        if stored == derived or node.forced:
            return stored
        if self._force or node.stored:
            self.wrong += 1
            node.forced = not node.stored
            return stored
        if node.line:
            self.follows.append(Recomputed(node, str(node.value), number))
        return derived

    def _follow_records(self, layout: TypeLayout, node: Node) -> None:
        """Number the records of a batch, and take its last offset from the last one."""
        kind = next((kind for kind in KINDS.values() if kind.key == layout.key), None)
        if kind is None or not kind.record_set:
            return
        payload = node.part(kind.payload)
        records = None if payload is None else payload.part(names.RECORDS)
        if records is None or records.parts is None:
            return
        last = -1
        for record in records.parts:
            part = _field_below(record, names.OFFSET_DELTA)
            if part is None or not isinstance(part.value, Word):
                return
            last = self._followed(part, last + 1)
        total = node.part(names.LAST_OFFSET_DELTA)
        if total is not None and records.parts and isinstance(total.value, Word):
            self._followed(total, last)

    def _followed(self, node: Node, number: int) -> int:
        """Set a number that follows from others; return what the node then has."""
        written = integer(str(node.value))
        if written is None:
            return number
        if written == number or node.forced:
            return written
        if self._force:
            node.forced = True
            return written
        self.follows.append(Recomputed(node, str(node.value), number))
        node.value = Word(number)
        return number

    def _joined(
        self, node: Node, fields: Mapping[str, FieldLayout], pieces: dict[str, bytes]
    ) -> bytes:
        """Return all bytes: fields in their order, and those of no field after the one before."""
        after: dict[str, bytes] = {}
        before = ""
        for part in node.parts or ():
            if part.name == REST:
                after[before] = after.get(before, b"") + self._rest(part)
            elif part.name != STORED:
                before = part.name
        joined = [after.pop("", b"")]
        for name in fields:
            joined += [pieces.get(name, b""), after.pop(name, b"")]
        return b"".join(joined)


def _packed(bits: Iterable[tuple[FieldLayout, int]]) -> bytes:
    total = number = 0
    for field, value in bits:
        number = number << field.width | value
        total += field.width
    return number.to_bytes(total // 8, "big")


def _field_below(node: Node, name: str) -> Node | None:
    """Return the field of a record, which may be in a frame."""
    found = node.part(name)
    frames = [part for part in node.parts or () if part.name and part.parts]
    return found if found is not None or not frames else _field_below(frames[0], name)
