"""Objects of the typed model to a tree of Kaitai objects that is ready to be written.

The compiled classes compute nothing: lengths, counts, checksums, the bytes of varints and what
each object must know of its parents are filled in here, children first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from kafkaspec import checksum
from kafkaspec.codecs.references.kaitai.locate import refusal
from kafkaspec.codecs.references.kaitai.tables import FieldTable, Tables, TypeTable
from kafkaspec.codecs.references.kaitai.writer import written
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.layout import FieldLayout, Form, Kind

_CHECKSUMS: dict[str, Callable[[bytes], int]] = {
    "crc32": checksum.crc32,
    "crc32c": checksum.crc32c,
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands: its path in the data and its place in the specification."""

    path: str
    location: str

    def field(self, table: TypeTable, layout: FieldLayout) -> Place:
        """Return the place of a field; fields inside a scalar have the place of the scalar."""
        if table.layout.form is Form.SCALAR:
            return self
        return Place(f"{self.path}/{layout.id}", layout.location)

    def item(self, index: int) -> Place:
        """Return the place of an item of an array."""
        return Place(f"{self.path}/{index}", self.location)

    def error(self, detail: str) -> KafkaSpecError:
        """Return the error that this value cannot be written."""
        return make_error(Reason.UNENCODABLE, detail, path=self.path, spec=self.location)


class TreeBuilder:
    """Builds trees; ``raw`` keeps stored derived values and checks nothing but what fits."""

    def __init__(self, tables: Tables, *, raw: bool) -> None:
        self._tables = tables
        self._raw = raw

    def build(
        self, table: TypeTable, value: Any, arguments: Sequence[Any], parent: Any, place: Place
    ) -> Any:
        """Return the tree of a value, with everything below.

        Raises:
            KafkaSpecError: reason ``unencodable``, with the path of the field.
        """
        if table.model_class is not None and not isinstance(value, table.model_class):
            raise place.error(f"{type(value).__name__} is not {table.model_class.__name__}")
        # Types of other files are on their own: the compiled classes give them no parent.
        if parent is not None and _spec_id(parent._place[0]) != _spec_id(table):
            parent = None
        root = None if parent is None else parent._root
        tree = table.tree_class(*arguments, None, parent, root)
        tree._place = (table, place)
        if table.varint is not None:
            self._varint(table, tree, value, place)
        else:
            self._fields(table, tree, value, place)
        self._settle(table, tree, place)
        self._refuse_unwanted(table, tree, place)
        self._checksum(table, tree, value, place)
        return tree

    def _fields(self, table: TypeTable, tree: Any, value: Any, place: Place) -> None:
        for field in table.fields:
            layout = field.layout
            if layout.kind is Kind.GUARD:
                setattr(tree, layout.id, b"")
            elif not field.derived:
                source = self._source(table, field, value)
                if source is None and layout.optional:
                    continue
                own = place.field(table, layout)
                setattr(tree, layout.id, self._field(table, field, tree, source, own))
        for field in table.fields:
            if field.derived:
                self._derived(table, field, tree, value, place.field(table, field.layout))

    def _source(self, table: TypeTable, field: FieldTable, value: Any) -> Any:
        if field is table.shown:
            return value
        constant = field.layout.constant
        return getattr(value, field.layout.id) if constant is None or self._raw else constant

    def _field(
        self, owner: TypeTable, field: FieldTable, tree: Any, value: Any, place: Place
    ) -> Any:
        if not field.layout.repeated:
            return self._item(owner, field, tree, value, place)
        if not isinstance(value, list | tuple):
            raise place.error(f"{type(value).__name__} is not a list")
        return [
            self._item(owner, field, tree, item, place.item(index))
            for index, item in enumerate(value)
        ]

    def _item(
        self, owner: TypeTable, field: FieldTable, tree: Any, value: Any, place: Place
    ) -> Any:
        layout = field.layout
        match layout.kind:
            case Kind.INTEGER:
                bits = 8 * layout.size
                low = -(1 << (bits - 1)) if layout.signed else 0
                return _checked(value, low, low + (1 << bits) - 1, place)
            case Kind.BITS:
                number = _checked(value, 0, (1 << layout.width) - 1, place)
                return bool(number) if layout.boolean else number
            case Kind.BYTES:
                if not isinstance(value, bytes | bytearray | memoryview):
                    raise place.error(f"{type(value).__name__} is not bytes")
                return bytes(value)
            case Kind.CHOICE:
                table = self._chosen(owner, field, tree, value, place)
            case _:
                table = self._tables.type(layout.type)
        arguments = self._tables.arguments(owner, field, table.layout.key, tree)
        return self.build(table, value, arguments, tree, place)

    def _chosen(
        self, owner: TypeTable, field: FieldTable, tree: Any, value: Any, place: Place
    ) -> TypeTable:
        """Return the type of a choice: that of the value, and what chooses must agree with it.

        A parameter or another field chooses, or a peek: then the value's own field of that name
        says what the reader will see.
        """
        peeked = field.switch in {peek.id for peek in owner.layout.peeks}
        # Lists: what is compared with them need not be an integer, nor hashable.
        numbers = [case for case, _ in field.layout.cases if case is not None]
        fitting = [
            (case, table)
            for case, key in field.layout.cases
            if isinstance(value, (table := self._tables.type(key)).model_class)
        ]
        if not fitting:
            raise place.error(f"{type(value).__name__} is none of the specification's cases")
        first, table = fitting[0]
        if peeked:
            own = owner_field(table, field.switch)
            place = place.field(table, own.layout)
            chosen = self._source(table, own, value)
        else:
            chosen = attrgetter(field.switch)(tree)
        cases = [case for case, _ in fitting]
        if chosen not in cases and not (None in cases and chosen not in numbers):
            free = peeked or field.switch in dict(owner.layout.parameters)
            if not (self._raw and free):
                raise place.error(f"{field.switch} {chosen!r} is not for {type(value).__name__}")
            # The number is written with the value, or not at all; Kaitai only chooses by it.
            chosen = max(numbers) + 1 if first is None else first
            setattr(tree, field.switch, chosen)
        elif peeked:
            setattr(tree, field.switch, chosen)
        return table

    def _derived(
        self, owner: TypeTable, field: FieldTable, tree: Any, value: Any, place: Place
    ) -> None:
        layout = field.layout
        number = 0 if layout.derive in _CHECKSUMS else self._measure(owner, layout, tree)
        stored = self._stored(owner, layout, value)
        if stored is not None:
            sized = owner_field(owner, layout.derive_from).layout.kind in (Kind.TYPE, Kind.CHOICE)
            if layout.derive == "len" and sized and stored != number:
                raise place.error(
                    f"the kaitai codec cannot write {stored!r} as the length of a structure of "
                    f"{number - layout.derive_plus} bytes"
                )
            number = stored
        setattr(tree, layout.id, self._item(owner, field, tree, number, place))

    def _stored(self, owner: TypeTable, layout: FieldLayout, value: Any) -> Any:
        """Return the derived value that was parsed, None unless it is to be kept."""
        if not self._raw or owner.layout.form is not Form.STRUCTURE:
            return None
        return getattr(value, layout.id)

    def _measure(self, owner: TypeTable, layout: FieldLayout, tree: Any) -> int:
        target = getattr(tree, layout.derive_from, None)
        if target is None:
            return layout.derive_plus - 1
        sized = owner_field(owner, layout.derive_from).layout
        if layout.derive == "count" or sized.kind is Kind.BYTES:
            return len(target) + layout.derive_plus
        return len(written(target)) + layout.derive_plus

    def _varint(self, table: TypeTable, tree: Any, value: Any, place: Place) -> None:
        low, high = table.varint or (0, 0)
        number = _checked(value, low, high, place)
        if low < 0:
            number = number << 1 if number >= 0 else ~(number << 1)
        groups = []
        while number > 0x7F:
            groups.append(number & 0x7F | 0x80)
            number >>= 7
        setattr(tree, table.fields[0].layout.id, [*groups, number])

    def _settle(self, table: TypeTable, tree: Any, place: Place) -> None:
        """Let Kaitai check the object, which it demands before it writes."""
        if self._raw:
            tree._dirty = False
            return
        try:
            tree._check()
        except Exception as error:
            raise unwritable(error, table, place) from error

    def _refuse_unwanted(self, table: TypeTable, tree: Any, place: Place) -> None:
        """Refuse optional fields that have a value where the specification has no such field."""
        if self._raw or table.layout.form is Form.SCALAR:
            return
        for field in table.fields:
            layout = field.layout
            if layout.optional and layout.id in vars(tree) and not _wanted(tree, layout.id):
                raise place.field(table, layout).error("there is no such field in this value")

    def _checksum(self, table: TypeTable, tree: Any, value: Any, place: Place) -> None:
        check = table.layout.checksum
        if check is None:
            return
        layout = owner_field(table, check.field).layout
        if self._stored(table, layout, value) is None:
            covered = written(tree)[check.start :]
            setattr(tree, check.field, _CHECKSUMS[check.algorithm](covered))
            self._settle(table, tree, place)


def owner_field(owner: TypeTable, field_id: str) -> FieldTable:
    """Return the field of that id."""
    return next(field for field in owner.fields if field.layout.id == field_id)


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


def unwritable(error: Exception, table: TypeTable, place: Place) -> KafkaSpecError:
    """Return the error for an exception of Kaitai's runtime that was raised for an object."""
    if isinstance(error, AttributeError) and hasattr(error.obj, "_place"):
        # A field that the specification's condition asks for, and the value does not have.
        table, place = error.obj._place
        return _named(table, place, error.name or "").error("the value is missing")
    source = getattr(error, "src_path", None)
    if source is not None:
        for layout in table.layout.fields:
            if layout.location.endswith(f"#{source}"):
                return place.field(table, layout).error(refusal(error))
        for peek in table.layout.peeks:
            if peek.location.endswith(f"#{source}"):
                return Place(f"{place.path}/{peek.id}", peek.location).error(refusal(error))
    details = vars(error)
    if "id" in details:
        # Kaitai's ConsistencyError: what was given does not go with the other fields.
        detail = f"the specification demands {details['expected']!r}, not {details['actual']!r}"
        return _named(table, place, details["id"]).error(detail)
    return place.error(f"Kaitai cannot write it: {error}")


def _named(table: TypeTable, place: Place, name: str) -> Place:
    for layout in table.layout.fields:
        if layout.id == name:
            return place.field(table, layout)
    return place


def _checked(value: Any, low: int, high: int, place: Place) -> int:
    if not isinstance(value, int):
        raise place.error(f"{type(value).__name__} is not an integer")
    if not low <= value <= high:
        raise place.error(f"{value} is outside of {low} to {high}")
    return value


def _spec_id(table: TypeTable) -> str:
    return table.layout.key.split(".")[0]
