"""Find Kafka's messages in the model: which topic has them, as what, and in which versions.

The folder of a file is the topic, and the first field says the rest: a key begins with its record
type, a value with its version, and a record without a key with the version of its frame. A value
belongs to the key whose name differs in the last word only. Nothing else says it a second time.
"""

from __future__ import annotations

from kafkaspec.layout import HeadField, MessageLayout, Role
from kafkaspec.layout.names import API_KEY, FRAME_VERSION, RECORD_TYPE, SCHEMA_VERSION
from tools.specgen.evaluate import may_satisfy
from tools.specgen.facts.ranges import allowed_values, lower_bound, value_range
from tools.specgen.model import Field, IntegerType, Model, Spec, TypeReference

_KEY, _VALUE = "_key", "_value"
NUMBERS = {Role.KEY: RECORD_TYPE, Role.RECORD: API_KEY}
"""The field that says which message it is, by the role of what has one."""
_NEWEST = 1000
"""In the order of layouts, the release of what the newest one writes."""


def role(spec: Spec) -> Role | None:
    """Return what a message is in its topic, None for a file that begins like none of them."""
    first = spec.root.fields[0].id if spec.root.fields else ""
    if first == SCHEMA_VERSION:
        return Role.VALUE
    return {RECORD_TYPE: Role.KEY, FRAME_VERSION: Role.RECORD}.get(first)


def messages(model: Model) -> list[MessageLayout]:
    """Return all messages by topic, number, and role, the newest layout of each first."""
    specs = [spec for spec in model.specs if spec.is_message and role(spec) is not None]
    numbers = {
        (spec.folder, stem(spec)): number(spec.root.field_by_id[RECORD_TYPE])
        for spec in specs
        if role(spec) is Role.KEY
    }
    topics = {spec.folder for spec in specs if role(spec) is not Role.VALUE}
    found = []
    for spec in specs:
        kind, fields = role(spec), spec.root.field_by_id
        assert kind is not None
        kind = kind if spec.folder in topics else Role.EMBEDDED
        if kind is Role.RECORD:
            own = number(fields[API_KEY])
        else:
            own = numbers.get((spec.folder, stem(spec)))
        found.append(
            MessageLayout(
                key=spec.root.key,
                name=spec.root.original_id or spec.id,
                topic="" if kind is Role.EMBEDDED else _topic(spec),
                role=kind,
                number=own,
                versions=versions(model, fields[SCHEMA_VERSION])
                if SCHEMA_VERSION in fields
                else (0, 0),
                releases=spec.releases,
                since=spec.releases[0] if spec.releases is not None else spec.since,
                identity=spec.identity,
            )
        )
    return sorted(found, key=_order)


def heads(model: Model) -> dict[str, tuple[HeadField, ...]]:
    """Return what the key of each record of a topic begins with, up to the number of its type.

    Where records have no key, it is their value.
    """
    found = {}
    for spec in model.specs:
        if spec.is_message and role(spec) in NUMBERS:
            found[_topic(spec)] = tuple(map(_head_field, head(spec)))
    return dict(sorted(found.items()))


def head(spec: Spec) -> tuple[Field, ...]:
    """Return the first fields of a message, up to the number that says which it is."""
    kind = role(spec)
    if kind not in NUMBERS:
        return ()
    ids = [field.id for field in spec.root.fields]
    return spec.root.fields[: ids.index(NUMBERS[kind]) + 1]


def _head_field(field: Field) -> HeadField:
    match field.type:
        case IntegerType(size, signed):
            return HeadField(field.id, "", size, signed)
        case TypeReference(spec_id, name):
            return HeadField(field.id, f"{spec_id}.{name}", 0, signed=False)
    raise AssertionError(f"{field.location} is not an integer")


def _topic(spec: Spec) -> str:
    return f"__{spec.folder}"


def stem(spec: Spec) -> str:
    """Return what the names of a key and its value share; an old layout adds its releases."""
    name = spec.id
    if spec.releases is not None:
        name = name.removesuffix("_" + spec.releases[1].replace(".", "_"))
    return name.removesuffix(_VALUE).removesuffix(_KEY)


def number(field: Field) -> int | None:
    """Return the only number that a field may be."""
    allowed = allowed_values(field.valid)
    return next(iter(allowed)) if allowed is not None and len(allowed) == 1 else None


def versions(model: Model, field: Field) -> tuple[int, int]:
    """Return the first and the last version that a field accepts."""
    allowed = allowed_values(field.valid)
    bounds = value_range(model, field)
    assert bounds is not None
    if allowed is None:
        return lower_bound(model, field) or 0, bounds[1]
    found = [value for value in sorted(allowed) if may_satisfy(field.valid, value, {})]
    return found[0], found[-1]


def _order(message: MessageLayout) -> tuple[str, int, str, str, list[int]]:
    number = -1 if message.number is None else message.number
    newest = [-_NEWEST]
    if message.releases is not None:
        newest = [-int(part) for part in message.releases[1].split(".")]
    return message.topic, number, message.role, message.name, newest
