"""Check Kafka's messages: each is found by its topic, number and version, and shows all it has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from kafkaspec.layout import MessageLayout, Role
from kafkaspec.layout.names import (
    API_KEY,
    BODY,
    FRAME_VERSION,
    MESSAGE_FRAME,
    RECORD_TYPE,
    SCHEMA_VERSION,
    TAGGED_FIELDS,
    json_name,
)
from tools.specgen.facts.fields import is_integer, references
from tools.specgen.facts.messages import NUMBERS, head, messages, number, role, stem
from tools.specgen.facts.ranges import MOST_VERSIONS, allowed_values, exists
from tools.specgen.lint.problem import Messages, Problem, found
from tools.specgen.model import MESSAGES, BitsType, Field, Model, Spec, Type

_OPEN = (1 << 31, 0)
"""A release after all others."""


def check(model: Model) -> Iterator[Problem]:
    """Yield problems with the rules ``message`` and ``clash``, of names in JSON."""
    problems = [
        problem
        for spec in model.specs
        for problem in found("message", spec.root, _message(model, spec))
    ]
    yield from problems
    specs = [spec for spec in model.specs if spec.is_message]
    if not problems:  # otherwise no table can be made of them
        for spec in specs:
            yield from found("message", spec.root, _versions(spec))
        yield from _topics(specs)
        yield from _layouts(model)
    for spec in specs:
        for type_ in spec.types:
            yield from found("clash", type_, _shown_twice(model, type_))


def _message(model: Model, spec: Spec) -> Messages:
    """Yield what keeps a message from being found: its topic, its begin, its layout."""
    inside = spec.file_name.startswith(f"{MESSAGES}/")
    if not inside:
        if spec.releases is not None:
            yield "-releases is for messages; leave it out"
        if spec.since is not None:
            yield "-since is for messages; leave it out"
        if spec.identity is not None:
            yield "-identity is for messages; leave it out"
        return
    if spec.folder is None:
        yield f"a message is in {MESSAGES}, in the folder of its topic; move the file there"
    if spec.releases is not None:
        wanted = "_" + spec.releases[1].replace(".", "_")
        if not spec.id.endswith(wanted):
            yield f"an old layout is named after its last release; call the file ...{wanted}"
    kind, fields = role(spec), spec.root.field_by_id
    if spec.since is not None and (spec.releases is not None or kind is Role.VALUE):
        yield "-since is for the layout of the newest release that says a type; leave it out"
    for name in spec.identity or ():
        if kind is Role.RECORD and name not in fields:
            yield f"-identity names {name}, which is not a field; name fields of the message"
    if spec.identity is not None and kind is not Role.RECORD:
        yield "-identity is for records without a key; leave it out"
    if kind is None:
        begins = f"{RECORD_TYPE}, {SCHEMA_VERSION} or {FRAME_VERSION}"
        yield f"a message begins with {begins}; write one first"
        return
    wanted_fields = (API_KEY, SCHEMA_VERSION) if kind is Role.RECORD else ()
    if missing := [name for name in wanted_fields if name not in fields]:
        yield f"after {FRAME_VERSION} comes {' and '.join(missing)}; write it"
        return
    for field in {field.id: field for field in (*head(spec), *_version_of(spec))}.values():
        if field.condition or isinstance(field.type, BitsType) or not is_integer(model, field):
            yield field, f"{field.id} says what a message is; make it an integer in all of them"
            return
    if kind in NUMBERS and number(fields[NUMBERS[kind]]) is None:
        field = fields[NUMBERS[kind]]
        yield field, f"{field.id} is one number for each message; write valid: with that"


def _version_of(spec: Spec) -> tuple[Field, ...]:
    field = spec.root.field_by_id.get(SCHEMA_VERSION)
    return () if field is None else (field,)


def _versions(spec: Spec) -> Messages:
    for field in _version_of(spec):
        allowed = allowed_values(field.valid)
        if not allowed:
            continue
        lost = sorted(set(range(min(allowed), max(allowed))) - allowed)
        if lost:
            yield (
                field,
                f"version {lost[0]} is missing between others, which readers take for a range; "
                f"write min: {min(allowed)} and max: {max(allowed)}, or a file for each range",
            )


def _topics(specs: list[Spec]) -> Iterator[Problem]:
    """Yield keys of one topic that are not told apart in one way, and values without one."""
    topics: dict[str | None, list[Spec]] = defaultdict(list)
    for spec in specs:
        topics[spec.folder].append(spec)
    for inside in topics.values():
        first = next((spec for spec in inside if role(spec) is not Role.VALUE), None)
        if first is None:
            continue  # messages inside of others
        begins = [(field.id, field.type) for field in head(first)]
        keys: dict[str, Spec] = {}
        for spec in inside:
            kind, root = role(spec), spec.root
            if kind is not Role.VALUE and [(f.id, f.type) for f in head(spec)] != begins:
                message = f"it begins otherwise than {first.id}, of the same topic"
                yield Problem(root.location, "message", f"{message}; write the same fields first")
            if kind is Role.KEY:
                other = keys.setdefault(stem(spec), spec)
                field = root.field_by_id[RECORD_TYPE]
                if number(field) != number(other.root.field_by_id[RECORD_TYPE]):
                    message = f"{other.id} is a key of the same name with another {RECORD_TYPE}"
                    yield Problem(field.location, "message", f"{message}; write the same number")
        for spec in inside:
            if role(spec) is Role.VALUE and role(first) is Role.KEY and stem(spec) not in keys:
                message = f"the value has no key: write {stem(spec)}_key.ksy, with its number"
                yield Problem(spec.root.location, "message", message)


def _layouts(model: Model) -> Iterator[Problem]:
    """Yield messages that readers cannot tell apart, and names of more than one message."""
    groups: dict[object, list[MessageLayout]] = defaultdict(list)
    named: dict[str, MessageLayout] = {}
    for layout in messages(model):
        spec = model.spec(layout.id)
        root, kind = spec.root, layout.role
        own = layout.number if kind in NUMBERS else stem(spec)
        groups[layout.topic, kind, own].append(layout)
        other = named.setdefault(layout.name, layout)
        if (other.topic, other.role, other.number) != (layout.topic, kind, layout.number):
            message = f"{other.id} has the name {layout.name} too; write another -orig-id"
            yield Problem(root.location, "clash", message)
    for layouts in groups.values():
        for one, other in combinations(layouts, 2):
            if _overlap(one.versions, other.versions) and _overlap(_span(one), _span(other)):
                spec, low = model.spec(other.id), max(one.versions[0], other.versions[0])
                place = spec.root.field_by_id.get(NUMBERS.get(other.role, ""), spec.root)
                what = f"{place.id} {other.number}" if isinstance(place, Field) else "the same name"
                message = (
                    f"{one.id} has {what} too, and version {low}; write another number, "
                    "other versions, or -releases that do not overlap"
                )
                yield Problem(place.location, "message", message)


def _span(layout: MessageLayout) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the releases that wrote a layout; the newest one is of those after all others."""
    if layout.releases is None:
        return _OPEN, _OPEN
    first, last = (tuple(map(int, release.split("."))) for release in layout.releases)
    return (first[0], first[1]), (last[0], last[1])


def _overlap(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    return bool(one[0] <= other[1] and other[0] <= one[1])


def _shown_twice(model: Model, type_: Type) -> Messages:
    """Yield fields of which JSON would show one only, since another one has the same name."""
    for shown in _shown(model, type_):
        seen: dict[str, list[Field]] = defaultdict(list)
        for field in shown:
            name = json_name(field.id, field.original_id)
            for other in seen[name]:
                if _meet(field, other):
                    yield (
                        field,
                        f"{other.id} and {field.id} are both {name} in JSON; "
                        "write another -orig-id",
                    )
            seen[name].append(field)


def _shown(model: Model, type_: Type) -> Iterator[list[Field]]:
    """Yield what JSON shows of a structure side by side: once for each body that it may have."""
    own = [
        field
        for field in type_.fields
        if field.id not in MESSAGE_FRAME and not field.derive and not field.is_guard
    ]
    bodies = [field for field in own if field.id == BODY]
    own = [field for field in own if field.id != BODY]
    tagged = type_.field_by_id.get(TAGGED_FIELDS)
    for content in _contents(model, tagged) if tagged is not None else ():
        own += [field for field in content.fields if field.original_id and not field.derive]
    inner = [case for body in bodies for case in _chosen(model, body)]
    if not inner:
        yield own
    for case in inner:
        for more in _shown(model, case):
            yield [*own, *more]


def _chosen(model: Model, field: Field) -> Iterator[Type]:
    """Yield the structures that a field may hold."""
    for reference in references(field.type):
        type_ = model.type(reference)
        if type_.is_choice:
            yield from _chosen(model, type_.fields[0])
        else:
            yield type_


def _contents(model: Model, field: Field) -> Iterator[Type]:
    """Yield the structures that tagged fields may hold."""
    for section in _chosen(model, field):
        for items in (item for item in section.fields if item.repeat is not None):
            for one in _chosen(model, items):
                for content in one.fields:
                    yield from _chosen(model, content)


def _meet(one: Field, other: Field) -> bool:
    """Return whether some version may have both fields."""
    return any(
        exists(one, version) is not False and exists(other, version) is not False
        for version in range(MOST_VERSIONS)
    )
