"""Emit ``generated/vectors``: bytes with the verdict that the rules of the specification give.

For each type there is one base value, and one vector for each way to change it (minimum, maximum,
one beyond a bound, cut, other encodings). The verdict follows from the rule that was touched; no
codec is asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from tools.specgen.evaluate import evaluate, may_satisfy
from tools.specgen.expression import Binary, Name, literal, names, walk
from tools.specgen.facts.fields import is_nullable, source
from tools.specgen.facts.ranges import allowed_values
from tools.specgen.model import (
    Field,
    IntegerType,
    Model,
    PeekInstance,
    Spec,
    SwitchType,
    Type,
    TypeReference,
)
from tools.specgen.output import Output
from tools.specgen.vectors.changes import Change, Changes, inside, peek_values
from tools.specgen.vectors.encode import number_bytes
from tools.specgen.vectors.goals import reached, refused
from tools.specgen.vectors.tree import Builder, Items, Node, Structure
from tools.specgen.vectors.verdict import OVERRUN, TRUNCATED, Undecided, Verdict, decide

_INTEGER_PARAMETER = 100
_TOO_SHORT = (TRUNCATED, OVERRUN)
_OF_A_MESSAGE, _OF_A_PART = 5, 1
"""Vectors of each version of a message, and of each structure in it, beside that of its base."""
_QUIRK = re.compile(r" \(quirk Q\d+\)")
_ALONE = "value"
"""Id of the field in the structure that wraps a scalar type."""


def emit(model: Model) -> list[Output]:
    """Return one file of vectors for each specification."""
    return [
        Output(f"vectors/{spec.id}.json", (spec.id,), _file(model.part(spec.id), spec))
        for spec in model.specs
    ]


@lru_cache(maxsize=64)  # tests change one file of many, again and again
def _file(model: Model, spec: Spec) -> str:
    head = {
        "about": model.house.first_line,
        "source": f"spec/{spec.file_name}",
    }
    body = ",\n    ".join(json.dumps(vector) for vector in vectors(model, spec))
    body = re.sub(rf'"(type|field|case|value|refusal) {spec.id}\.', r'"\1 .', body)
    start = json.dumps(head, indent=2).removesuffix("\n}")
    return f'{start},\n  "vectors": [\n    {body}\n  ]\n}}\n'


def vectors(model: Model, spec: Spec) -> list[dict[str, Any]]:
    """Return the vectors of a specification, the same bytes only once.

    Of a message there are some of all that its rules give: there are many messages of few kinds of
    fields, and every kind has all its vectors elsewhere. Each vector names what it is the first of
    the file to cover.
    """
    made: dict[tuple[str, str, str], dict[str, Any]] = {}
    covered: set[str] = set()
    for number, type_ in enumerate(spec.types):
        if type_.fields:
            chosen = _Vectors(model, type_)
            few = None if not spec.is_message else _OF_A_MESSAGE if number == 0 else _OF_A_PART
            for vector in chosen.all(few):
                given = (vector["type"], json.dumps(vector["parameters"]), vector["hex"])
                new = [goal for goal in vector["covers"] if goal not in covered]
                covered.update(new)
                first = made.setdefault(given, vector)
                first["covers"] = new if first is vector else [*first["covers"], *new]
    for vector in made.values():
        if not vector["covers"]:
            del vector["covers"]
    return list(made.values())


def vectors_of(
    model: Model, type_: Type, values: Mapping[str, Sequence[int]] | None = None
) -> list[dict[str, Any]]:
    """Return all vectors of one type, also with these numbers in its fields, by their ids."""
    return list(_Vectors(model, type_, values or {}).all()) if type_.fields else []


class _Vectors:
    """Maker of all vectors of one type."""

    def __init__(
        self, model: Model, type_: Type, values: Mapping[str, Sequence[int]] | None = None
    ) -> None:
        self._values = values or {}
        self._model = model
        self._key = type_.key
        self._doc = type_.doc
        self._type = _around(type_) if type_.scalar else type_
        self._builder = Builder(model)

    def all(self, few: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield all vectors, or the first and ``few`` others of each case."""
        cases = list(self._cases())
        for place, (name, parameters, overrides) in enumerate(cases):
            base = self._build(parameters, overrides)
            changes = list(Changes(self._model, self._builder, self._type, base).all())
            changes += inside(base)
            present = {node.field.id for node in base.nodes}
            changes += [
                Change(f"{name}.{value}", f"{name} is {value}.", {name: value}, name)
                for name, numbers in self._values.items()
                for value in numbers
                if name in present
            ]
            if few is not None:
                # Other ones in each type, so that every kind of change is among them somewhere.
                step = max(1, (len(changes) - 1) // few)
                start = 1 + (len(self._key) + place) % step
                changes = [changes[0], *changes[start::step][:few]]
            for change in (*changes, *self._enumerations(base)):
                merged = {**overrides, **change.overrides}
                structure = self._build(parameters, merged)
                yield from self._vector(name + change.name, change, structure, parameters)
            for peek in self._type.peek_instances:
                yield from self._peeked(name, peek, base, parameters)
        yield from self._foreign_counts()

    def _enumerations(self, base: Structure) -> Iterator[Change]:
        """Yield each number of the enumeration of a field."""
        for node in base.nodes:
            for value in self._model.enum(node.field.enum).values if node.field.enum else ():
                name = f"{node.field.id}.{value.id}"
                why = f"{node.field.id} is {value.id}."
                yield Change(name, why, {node.field.id: value.value}, node.field.id)

    def _build(self, parameters: Sequence[Any], overrides: dict[str, Any]) -> Structure:
        scopes = [item.scope if isinstance(item, Structure) else item for item in parameters]
        return self._builder.build(self._type, scopes, overrides)

    def _cases(self) -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
        """Yield the prefix of the name, parameters and overrides for each case of a switch."""
        on = self._switch()
        parameters = self._parameters()
        if on is None:
            version = self._version()
            if version is None:
                yield from self._versions_from_outside(parameters)
            else:
                for number in sorted(allowed_values(version.valid) or {}, reverse=True):
                    yield f"{version.id}_{number}.", parameters, {version.id: number}
            return
        kind, name = on
        given = [parameter.id for parameter in self._type.parameters]
        known = [case for case, _ in kind.cases if case is not None]
        default = [max(known) + 1, -1] if len(known) < len(kind.cases) else []
        for case in [*known, *default]:
            if name in given:
                chosen = [case if n == name else p for n, p in zip(given, parameters, strict=True)]
                yield f"{name}_{case}.", chosen, {}
            else:
                yield f"{name}_{case}.", parameters, {name: case}

    def _versions_from_outside(
        self, parameters: list[Any]
    ) -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
        """Yield each number that a condition compares a parameter with, and the one before it."""
        numbers: dict[int, set[int]] = {}
        for item in self._type.fields:
            for node in walk(item.condition) if item.condition is not None else ():
                for place, parameter in enumerate(self._type.parameters):
                    if isinstance(node, Binary) and node.left == Name(parameter.id):
                        number = literal(node.right) or 0
                        numbers.setdefault(place, set()).update((number - 1, number))
        if not numbers:
            yield "", parameters, {}
        for place, found in numbers.items():
            for number in sorted(found, reverse=True):
                chosen = [number if n == place else p for n, p in enumerate(parameters)]
                yield f"{self._type.parameters[place].id}_{number}.", chosen, {}

    def _version(self) -> Field | None:
        """Return the field that decides which other fields are present."""
        for item in self._type.fields:
            if item.condition is None or is_nullable(self._type, item):
                continue
            tested = names(item.condition)
            for name in sorted(tested & self._type.field_by_id.keys()):
                if allowed_values(self._type.field_by_id[name].valid):
                    return self._type.field_by_id[name]
        return None

    def _switch(self) -> tuple[SwitchType, str] | None:
        """Return the first switch of the type or of a choice directly in it, and its number."""
        return _switch_of(self._type) or next(
            (
                found
                for item in self._type.fields
                if isinstance(item.type, TypeReference) and item.repeat is None
                for inner in [self._model.type(item.type)]
                if inner.peek_instances and (found := _switch_of(inner))
            ),
            None,
        )

    def _parameters(self, count: int | None = None) -> list[Any]:
        result: list[Any] = []
        for parameter in self._type.parameters:
            if isinstance(parameter.type, IntegerType):
                result.append(_INTEGER_PARAMETER)
                continue
            type_ = self._model.type(parameter.type)
            opaque = {
                item.id: 1 if count is None else count
                for item in type_.fields
                if type_.is_opaque_count(item)
            }
            arguments = [_INTEGER_PARAMETER for _ in type_.parameters]
            result.append(self._builder.build(type_, arguments, opaque))
        return result

    def _vector(
        self, name: str, change: Change, structure: Structure, parameters: Sequence[Any]
    ) -> Iterator[dict[str, Any]]:
        data = structure.data + change.extra
        data = data if change.cut is None else data[: change.cut]
        try:
            verdict = decide(structure, len(data), verify=not self._model.house.verifies)
        except Undecided:
            return
        vector = self._head(name, parameters, data, verdict)
        vector["why"] = " ".join([change.why, *self._quirks(change, structure, verdict)])
        if not self._model.house.quirks:
            vector["why"] = _QUIRK.sub("", vector["why"])
        if not verdict.reason:
            vector["canonical"] = change.canonical and not change.extra
            vector["end"] = verdict.offset
            if not self._type.is_transparent:
                vector |= self._expected(change, structure)
        vector["covers"] = (
            [refused(structure, verdict, self._key)]
            if verdict.reason
            else (reached(self._model, structure))
        )
        yield vector

    def _expected(self, change: Change, structure: Structure) -> dict[str, Any]:
        """Return the value of the changed field and what follows from all fields."""
        result: dict[str, Any] = {}
        if change.field:
            value: Any = structure.scope
            for name in change.field.split("."):
                value = value[name]
            if isinstance(value, int | bytes | None):
                result["field"] = "" if self._type.key != self._key else change.field
                result["value"] = value.hex() if isinstance(value, bytes) else value
        instances = {}
        for instance in self._type.value_instances:
            there = instance.condition is None or evaluate(instance.condition, structure.scope)
            value = evaluate(instance.value, structure.scope) if there else None
            instances[instance.id] = None if value is None else _signed64(int(value))
        if instances:
            result["instances"] = instances
        return result

    def _head(
        self, name: str, parameters: Sequence[Any], data: bytes, verdict: Verdict
    ) -> dict[str, Any]:
        refused = bool(verdict.reason)
        path = verdict.path
        if self._type.key != self._key:
            path = path.removeprefix(f"/{_ALONE}")
        return {
            "name": name,
            "type": self._key,
            "parameters": [_parameter(item) for item in parameters],
            "hex": data.hex(),
            "verdict": "reject" if refused else "accept",
            "reason": verdict.reason,
            "path": path,
            "offset": verdict.offset if refused else None,
        }

    def _quirks(self, change: Change, structure: Structure, verdict: Verdict) -> list[str]:
        if change.cut is not None or "quirk" in change.why or verdict.reason in _TOO_SHORT:
            return []
        docs = []
        failing = _failing(structure, verdict.path)
        for item in (self._type.field_by_id.get(change.field), failing):
            if item is not None:
                docs.append(item.doc)
        return list(dict.fromkeys(sentence for doc in docs for sentence in quirks(doc)))

    def _peeked(
        self, name: str, peek: PeekInstance, base: Structure, parameters: Sequence[Any]
    ) -> Iterator[dict[str, Any]]:
        assert isinstance(peek.type, IntegerType)
        start = literal(peek.position) or 0
        for number in peek_values(peek):
            if may_satisfy(peek.valid, number, {}):
                continue
            patch = number_bytes(peek.type, number)
            data = base.data[:start] + patch + base.data[start + peek.type.size :]
            verdict = Verdict("invalid_value", f"/{peek.id}", start)
            vector = self._head(f"{name}{peek.id}.{number}", parameters, data, verdict)
            why = f"{peek.id} is {number}, which has no case."
            vector["why"] = " ".join([why, *quirks(peek.doc)])
            vector["covers"] = [refused(base, verdict, self._key)]
            yield vector

    def _foreign_counts(self) -> Iterator[dict[str, Any]]:
        """Yield arrays whose number of items is a parameter: one more, one fewer, none."""
        for item in self._type.fields:
            count = item.repeat.count if item.repeat else None
            origin = source(self._model, self._type, count) if count is not None else None
            if origin is None or not origin.foreign:
                continue
            for items, claimed in ((2, 2), (2, 3), (2, 1), (1, 0), (0, 0), (0, 1)):
                parameters = self._parameters(claimed)
                structure = self._build(parameters, {item.id: Items(items)})
                why = f"{origin.field.id} is {claimed}, for {items} in the bytes."
                change = Change("", why, field=item.id, canonical=items == claimed)
                name = f"{item.id}.{items}_of_{claimed}"
                yield from self._vector(name, change, structure, parameters)


def _signed64(number: int) -> int:
    """Return the number reduced as in arithmetic of Java's ``long``."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _switch_of(type_: Type) -> tuple[SwitchType, str] | None:
    for item in type_.fields:
        if isinstance(item.type, SwitchType) and isinstance(item.type.on, Name):
            return item.type, item.type.on.id
    return None


def _around(type_: Type) -> Type:
    reference = TypeReference(type_.spec_id, type_.name)
    item = Field(_ALONE, reference, type_.location, doc=type_.doc)
    return Type(f"{type_.name}_alone", type_.spec_id, type_.location, (item,), doc=type_.doc)


def _parameter(value: Any) -> Any:
    if not isinstance(value, Structure):
        return value
    arguments = [value.scope[parameter.id] for parameter in value.type.parameters]
    return {"type": value.type.key, "hex": value.data.hex(), "parameters": arguments}


def _failing(structure: Structure, path: str) -> Field | None:
    """Return the field at the path, or the deepest one that the tree has."""
    found: Node | None = None
    nodes = list(structure.nodes)
    while nodes:
        node = nodes.pop()
        if node.path == path:
            found = node
        nodes += node.items
        nodes += node.inner.nodes if node.inner is not None else []
    return found.field if found is not None else None


def quirks(doc: str) -> list[str]:
    """Return the sentences of a doc that name a quirk."""
    sentences = re.split(r"(?<=\.) (?=[A-Z])", " ".join(doc.split()))
    return [sentence for sentence in sentences if re.search(r"\b[Qq]uirk Q\d", sentence)]
