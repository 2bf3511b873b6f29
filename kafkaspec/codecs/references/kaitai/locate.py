"""Which field a failed ``_read`` stopped in, from the positions that the tree noted.

Kaitai's exceptions know the spec path of the check that failed, or nothing, and positions that
count from the begin of a substream. The tree knows the rest: each object notes where each field
began, and where it ended once it was read.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from kafkaspec.codecs.references.kaitai.reader import is_scalar
from kafkaspec.codecs.references.kaitai.tables import FieldTable, Tables, TypeTable
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.layout import Kind, PeekLayout


@dataclass(frozen=True, slots=True)
class _Stop:
    """Where reading stopped inside of one object.

    Attributes:
        id: field or peek, with the index of an array.
        location: its place in the specification.
        start: where it begins in the object's stream.
        complete: it was read whole: it is its value that is refused.
        field: the field, None for a peek.
        below: the object that was being read there, None if none was.
    """

    id: str
    location: str
    start: int
    complete: bool
    field: FieldTable | None = None
    below: Any = None


def locate(
    tables: Tables, key: str, tree: Any, cause: Exception, start: int, complete: bool
) -> KafkaSpecError:
    """Return the error for an exception that ended ``tree._read()``.

    Args:
        tables: all types.
        key: type of the tree.
        tree: what was read until then.
        cause: exception of Kaitai's runtime, or MissingChoice.
        start: where the tree's stream begins in the buffer.
        complete: whether the buffer is known to be whole.
    """
    root = tree._io
    table = tables.type(key)
    missing = _missing_choice(tables, table, tree, start, "")
    if missing is not None:
        return missing
    path, base, location, offset = "", start, table.layout.location, start
    truncated = not complete
    atomic = is_scalar(table)
    while True:
        stop = _stop(table, tree, cause)
        if not atomic:
            path += f"/{stop.id}"
            location = stop.location
            offset = base + stop.start
            truncated = tree._io is root and not complete
        if stop.below is None or stop.field is None:
            break
        if stop.below._io is not tree._io:
            base += stop.start
        table, tree = tables.type_of_field(stop.field, stop.below), stop.below
        atomic = atomic or is_scalar(table)
    reason, detail = _explain(cause, table, stop, truncated)
    return make_error(reason, detail, offset=offset, path=path, spec=location)


def _missing_choice(
    tables: Tables, table: TypeTable, tree: Any, base: int, path: str
) -> KafkaSpecError | None:
    """Return the error for the first switch without a case, which Kaitai skips."""
    if not tables.may_miss_a_choice(table.layout.key):
        return None
    for field in table.fields:
        layout, place = field.layout, tree._debug.get(field.layout.id, {})
        if layout.kind not in (Kind.TYPE, Kind.CHOICE) or "start" not in place:
            continue
        found = getattr(tree, layout.id, None)
        if found is None:
            if layout.kind is Kind.CHOICE and "end" in place:
                return make_error(
                    Reason.INVALID_VALUE,
                    f"the specification has no case for {attrgetter(field.switch)(tree)!r}",
                    offset=base + place["start"],
                    path=f"{path}/{layout.id}",
                    spec=layout.location,
                )
            continue
        items = [(f"{path}/{layout.id}", found, place)]
        if layout.repeated:
            items = [
                (f"{path}/{layout.id}/{index}", item, item_place)
                for index, (item, item_place) in enumerate(zip(found, place["arr"], strict=False))
            ]
        for own, item, item_place in items:
            below = base if item._io is tree._io else base + item_place["start"]
            error = _missing_choice(tables, tables.type_of_field(field, item), item, below, own)
            if error is not None:
                return error
    return None


def _stop(table: TypeTable, tree: Any, cause: Exception) -> _Stop:
    debug = tree._debug
    field = [field for field in table.fields if "start" in debug.get(field.layout.id, ())][-1]
    peek = _failed_peek(table, tree, field, cause)
    if peek is not None:
        place = debug[f"_m_{peek.id}"]
        return _Stop(peek.id, peek.location, place["start"], complete="end" in place)
    place = debug[field.layout.id]
    if field.layout.repeated and place["arr"]:
        return _stop_in_array(field, place["arr"], getattr(tree, field.layout.id))
    start = place["start"]
    if field.layout.kind is Kind.BITS:
        # One read brings the whole run of bit fields, so the run fails at its first field.
        field = table.fields[_first_of_run(table, field)]
        start = debug[field.layout.id]["start"]
    done = "end" in place
    below = None
    if not done and field.layout.kind in _STRUCTURES:
        below = getattr(tree, field.layout.id, None)
    return _Stop(field.layout.id, field.layout.location, start, done, field, below)


def _stop_in_array(field: FieldTable, arr: list[dict[str, int]], items: list[Any]) -> _Stop:
    index = len(arr) - 1
    done = "end" in arr[index]
    item = items[index] if not done and index < len(items) else None
    below = item if field.layout.kind in _STRUCTURES else None
    return _Stop(
        f"{field.layout.id}/{index}",
        field.layout.location,
        arr[index]["start"],
        done,
        field,
        below,
    )


_STRUCTURES = (Kind.SCALAR, Kind.TYPE, Kind.CHOICE)


def _first_of_run(table: TypeTable, field: FieldTable) -> int:
    index = table.fields.index(field)
    while table.fields[index].first_bit:
        index -= 1
    return index


def _failed_peek(
    table: TypeTable, tree: Any, field: FieldTable, cause: Exception
) -> PeekLayout | None:
    """Return the peek that failed right before ``field``, None if it was not a peek."""
    if hasattr(tree, field.layout.id):
        return None
    for peek in table.layout.peeks:
        place = tree._debug.get(f"_m_{peek.id}")
        if place is None:
            continue
        refused = getattr(cause, "src_path", None) == peek.location.split("#")[1]
        if "end" not in place or refused:
            return peek
    return None


def _explain(
    cause: Exception, table: TypeTable, stop: _Stop, truncated: bool
) -> tuple[Reason, str]:
    """Reason and text; ``table`` is the type of the innermost object."""
    if isinstance(cause, EOFError):
        needed, left = vars(cause)["bytes_needed"], vars(cause)["bytes_available"]
        text = f"{needed} bytes are needed and {left} are left"
        return (Reason.TRUNCATED if truncated else Reason.OVERRUN), text
    if not hasattr(cause, "actual"):
        return Reason.INVALID_VALUE, "the size is negative"
    if table.varint is not None:
        return Reason.VARINT_TOO_LONG, "the varint goes on after its last possible byte"
    if stop.field is not None and stop.field.layout.kind is Kind.GUARD:
        return Reason.TRAILING_BYTES, "bytes are left after the last field"
    return Reason.INVALID_VALUE, refusal(cause)


def refusal(cause: Exception) -> str:
    """Return the text of a failed validation of Kaitai's runtime, without its positions."""
    details = vars(cause)
    actual = details.get("actual")
    shown = getattr(actual, "value", actual)
    for name, text in (("expected", "not"), ("min", "less than"), ("max", "greater than")):
        if name in details:
            return f"{shown!r} is {text} {details[name]!r}"
    return f"the specification does not allow {shown!r}"
