"""Values to trees of Kaitai objects that are ready to be written, and these to bytes.

The compiled classes compute nothing: lengths, counts, checksums, the bytes of varints and what
each object must know of its parents are filled in here, children first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from importlib import import_module
from io import BytesIO
from operator import attrgetter
from typing import Any

from kafkaspec.checksum import CHECKSUMS
from kafkaspec.codecs.references.kaitai.trees import KaitaiTrees
from kafkaspec.codecs.references.trees import settled
from kafkaspec.layout import FieldLayout, Form, Kind, TypeLayout, varints


class TreeBuilder:
    """Builds trees; ``raw`` keeps stored derived values and checks nothing but what fits.

    What cannot be written is an exception of any type.
    """

    def __init__(self, trees: KaitaiTrees, *, raw: bool) -> None:
        self._trees = trees
        self._raw = raw

    def build(self, key: str, value: Any, arguments: Sequence[Any], parent: Any = None) -> Any:
        """Return the tree of a container of ``Trees``, with everything below."""
        layout = self._trees.layouts[key]
        tree_class = self._trees.tree_class(key)
        # Types of other files are on their own: the compiled classes give them no parent.
        if parent is not None and type(parent).__module__ != tree_class.__module__:
            parent = None
        tree = tree_class(*arguments, None, parent, None if parent is None else parent._root)
        if layout.scalar in varints.BITS:
            setattr(tree, layout.fields[0].id, _groups(layout.scalar, value))
        else:
            last = layout.fields[-1].id
            self._fill(layout, tree, {last: value} if layout.form is Form.SCALAR else value)
        self._check(tree)
        if layout.form is not Form.SCALAR and not self._raw:
            _refuse_unwanted(layout, tree, value)
        check = layout.checksum
        if check is not None and not (self._raw and value[check.field] is not None):
            covered = written(tree)[check.start :]
            setattr(tree, check.field, CHECKSUMS[check.algorithm](covered))
            self._check(tree)
        return tree

    def _fill(self, layout: TypeLayout, tree: Any, value: Any) -> None:
        computed = [field for field in layout.fields if field.constant is None and settled(field)]
        for field in layout.fields:
            given = value.get(field.id)
            if field.kind is Kind.GUARD:
                setattr(tree, field.id, b"")
            elif field not in computed and not (
                given is None and field.optional and not self._holds_null(field)
            ):
                setattr(tree, field.id, self._field(layout, field, tree, given))
        for field in computed:
            number = self._computed(layout, field, tree, value.get(field.id))
            setattr(tree, field.id, self._item(layout, field, tree, number))

    def _holds_null(self, field: FieldLayout) -> bool:
        """Return whether None is a value of the field, if it is there at all."""
        kind = self._trees.layouts[field.type] if field.kind is Kind.SCALAR else None
        return kind is not None and kind.scalar == "nullable_bytes" and not field.repeated

    def _field(self, owner: TypeLayout, field: FieldLayout, tree: Any, value: Any) -> Any:
        if field.repeated:
            return [self._item(owner, field, tree, item) for item in value]
        made = self._item(owner, field, tree, value)
        if (owner.key, field.id) in self._trees.tables.REACH_END:
            reach_end(tree, made)
        return made

    def _item(self, owner: TypeLayout, field: FieldLayout, tree: Any, value: Any) -> Any:
        match field.kind:
            case Kind.INTEGER:
                return _checked(value, field.largest, signed=field.signed)
            case Kind.BITS:
                return _checked(value, (1 << field.width) - 1)
            case Kind.BYTES | Kind.FLOAT:
                return value
            case Kind.CHOICE:
                key = value["_type"]
                self._choose(owner, field, tree, value)
            case _:
                key = field.type
        arguments = self._trees.arguments(owner.key, field.id, key, tree)
        return self.build(key, value, arguments, tree)

    def _choose(self, owner: TypeLayout, field: FieldLayout, tree: Any, value: Any) -> None:
        """Make sure that a reader chooses the type of the value.

        A parameter or another field chooses, or a peek: then the value's own field of that name
        says what the reader will see.
        """
        name = self._trees.tables.SWITCHES[owner.key, field.id]
        peeked = name in {peek.id for peek in owner.peeks}
        chosen = value[name] if peeked else attrgetter(name)(tree)
        keys = dict(field.cases)
        if keys.get(chosen, keys.get(None)) != value["_type"]:
            if not (self._raw and (peeked or name in dict(owner.parameters))):
                raise ValueError(f"{name} {chosen!r} is not for {value['_type']}")
            # The number is written with the value, or not at all; Kaitai only chooses by it.
            cases = [case for case, key in field.cases if key == value["_type"]]
            known = [case for case in keys if case is not None]
            chosen = max(known) + 1 if cases[0] is None else cases[0]
            setattr(tree, name, chosen)
        elif peeked:
            setattr(tree, name, chosen)

    def _computed(self, owner: TypeLayout, field: FieldLayout, tree: Any, stored: Any) -> int:
        number = 0 if field.derive in CHECKSUMS else _measure(field, tree)
        if not self._raw or stored is None:
            return number
        source = next(other for other in owner.fields if other.id == field.derive_from)
        sized = field.derive == "len" and source.kind in (Kind.TYPE, Kind.CHOICE)
        if sized and stored != number:
            raise ValueError(
                f"it cannot write {stored!r} as the length of a structure of "
                f"{number - field.derive_plus} bytes"
            )
        found: int = stored
        return found

    def _check(self, tree: Any) -> None:
        """Let Kaitai check the object, which it demands before it writes."""
        if self._raw:
            tree._dirty = False
        else:
            tree._check()


def _measure(field: FieldLayout, tree: Any) -> int:
    """Return the length or count that a field states."""
    target = getattr(tree, field.derive_from, None)
    if target is None:
        return field.derive_plus - 1
    if field.derive == "present":
        return 1
    items = target if isinstance(target, bytes | list) else written(target)
    return len(items) + field.derive_plus


def _groups(scalar: str, value: Any) -> list[int]:
    """Return the bytes of a varint."""
    signed = not scalar.startswith("unsigned")
    number = _checked(value, (1 << (varints.BITS[scalar] - signed)) - 1, signed=signed)
    if signed:
        number = number << 1 if number >= 0 else ~(number << 1)
    groups = []
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return [*groups, number]


def _refuse_unwanted(layout: TypeLayout, tree: Any, value: Any) -> None:
    """Refuse optional fields that have a value where the specification has no such field."""
    for field in layout.fields:
        if not field.optional or value[field.id] is None:
            continue
        if field.id in vars(tree) and not _wanted(tree, field.id):
            raise ValueError(f"there is no {field.id} in this value")


def _wanted(tree: Any, field_id: str) -> bool:
    """Return whether Kaitai writes a field: then it fails without it."""
    taken = vars(tree).pop(field_id)
    try:
        written(tree)
    except AttributeError as error:
        if error.obj is not tree or error.name != field_id:
            raise
        return True
    finally:
        vars(tree)[field_id] = taken
    return False


def _checked(value: Any, largest: int, *, signed: bool = False) -> int:
    if not isinstance(value, int) or not (~largest if signed else 0) <= value <= largest:
        raise ValueError(f"{value!r} is not an integer of that range")
    return value


@cache
def _runtime() -> Any:
    return import_module("kaitaistruct")


@cache
def _growing_stream() -> Any:
    """Return a stream without an end, to measure a size; Kaitai has only fixed streams."""

    class GrowingStream(_runtime().KaitaiStream):  # type: ignore[misc]
        tail = 0
        """Bytes of the structure that will reach to the end, which asks how many are left."""

        def _ensure_bytes_left_to_write(self, n: int, pos: int) -> None:
            pass

        def is_eof(self) -> bool:
            return False

        def size(self) -> int:
            # Bytes of a substream are passed over now and written at the end.
            size: int = max(super().size(), self._io.tell() + self.tail)
            return size

    return GrowingStream


def reach_end(tree: Any, last: Any) -> None:
    """Let a tree say how many bytes its last structure takes, which reaches to the end."""
    tail, write_all = len(written(last)), tree._write__seq

    def write_tree(stream: Any) -> None:
        stream.tail = tail
        write_all(stream)

    tree._write__seq = write_tree


def written(tree: Any) -> bytes:
    """Return the bytes of a checked tree whose size is not known yet."""
    stream = _growing_stream()(BytesIO())
    for step in (partial(tree._write__seq, stream), stream.write_back_child_streams):
        try:
            step()
        except _runtime().ConsistencyError as error:
            # "The stream must end here, 0 bytes are left": what reaches to the end was written.
            if error.expected != 0 or error.actual != stream.tail:
                raise
    content: bytes = stream.to_byte_array()
    return content


def write(tree: Any) -> bytes:
    """Return the bytes of a checked tree, by a stream of exactly their size."""
    size = len(written(tree))
    stream = _runtime().KaitaiStream(BytesIO(bytearray(size)))
    tree._write__seq(stream)
    end = stream.pos()
    stream.write_back_child_streams()
    if end != size:
        raise ValueError(f"{end} bytes were written where {size} were measured")
    content: bytes = stream.to_byte_array()
    return content
