"""Emit ``generated/wireshark/kafkaspec.lua``: the specification as a dissector for Wireshark.

The layouts are tables, with a function of Lua for each expression; ``dissector.lua`` reads bytes by
them. Messages are left out, since a dissector sees no topic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kafkaspec.layout import names
from tools.specgen.evaluate import evaluate
from tools.specgen.expression import Expression, Int
from tools.specgen.facts.ranges import VARINTS
from tools.specgen.facts.segments import Batch, Segment, segments
from tools.specgen.facts.sizes import fixed_size
from tools.specgen.facts.terms import Terms
from tools.specgen.model import (
    BitsType,
    BytesType,
    Enum,
    Field,
    FieldType,
    FloatType,
    IntegerType,
    Model,
    PeekInstance,
    Scalar,
    SwitchType,
    Type,
    TypeReference,
    Valid,
    ValueInstance,
)
from tools.specgen.output import Output
from tools.specgen.wireshark.expressions import LuaExpressions
from tools.specgen.writer import CodeWriter

RUNTIME: Final = Path(__file__).with_name("dissector.lua")
"""The part that knows no layout."""
_MARK: Final = "-- @LAYOUTS@\n"


def emit(model: Model) -> list[Output]:
    """Return the dissector."""
    specs = [spec for spec in model.specs if not spec.is_message]
    out = CodeWriter()
    for enum in (enum for spec in specs for enum in spec.enums):
        _enumeration(out, enum)
    for type_ in (type_ for spec in specs for type_ in spec.types):
        _Layout(model, type_, out).write()
    for segment in segments(model):
        _segment(out, segment)
    _control(out, model)
    text = RUNTIME.read_text(encoding="utf-8").replace(_MARK, out.text())
    return [Output("wireshark/kafkaspec.lua", tuple(spec.id for spec in specs), text)]


def quoted(text: str) -> str:
    """Return a string of Lua in one line."""
    shown = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{" ".join(shown.split())}"'


def _enumeration(out: CodeWriter, enum: Enum) -> None:
    with out.block(f"enums[{quoted(enum.key)}] = {{", "}"):
        for item in enum.values:
            out.line(f"[{item.value}] = {quoted(item.id)},")


class _Layout:
    """Writer of the table of one type."""

    def __init__(self, model: Model, type_: Type, out: CodeWriter) -> None:
        self._model, self._type, self._out = model, type_, out
        self._lua = LuaExpressions(model, type_)

    def write(self) -> None:
        type_ = self._type
        with self._out.block(f"layouts[{quoted(type_.key)}] = {{", "}"):
            self._out.line(f"doc = {quoted(type_.doc)},")
            if type_.scalar is not None:
                self._out.line(f"{_scalar(type_.scalar)},")
            given = [
                quoted(each.id) for each in type_.parameters if isinstance(each.type, IntegerType)
            ]
            if given:
                self._out.line(f"parameters = {{{', '.join(given)}}},")
            if type_.representation is not None:
                self._out.line(f"shown = {quoted(_plain(type_.representation))},")
            if type_.scalar is not None and type_.scalar.is_integer:
                return
            bits = list(_bits(type_))
            for part, members in (
                ("peeks", [self._member(peek) for peek in type_.peek_instances]),
                (
                    "fields",
                    [self._member(field, at) for field, at in zip(type_.fields, bits, strict=True)],
                ),
                ("values", [self._instance(each) for each in type_.value_instances]),
            ):
                if members:
                    with self._out.block(f"{part} = {{", "},"):
                        for member in members:
                            self._out.line(f"{{{', '.join(member)}}},")

    def _member(self, node: Field | PeekInstance, bits: str = "") -> list[str]:
        found = [*self._named(node), *([bits] if bits else self._kind(node.type))]
        if isinstance(node, PeekInstance):
            assert isinstance(node.position, Int)
            found.append(f"position = {node.position.value}")
        if isinstance(node, Field) and node.is_bool:
            found.append("bool = true")
        if isinstance(node, Field) and node.is_guard:
            found.append("guard = true")
        if isinstance(node, Field) and node.condition is not None:
            found.append(self._function("when", node.condition))
        if isinstance(node, Field) and node.repeat is not None:
            count = node.repeat.count
            assert node.repeat.until is None, node.location
            found.append("eos = true" if count is None else self._function("count", count))
        return [*found, self.valid_of(node)] if node.valid is not None else found

    def valid_of(self, node: Field | PeekInstance) -> str:
        """Return the function that says whether a value is valid."""
        demands = "true" if node.valid is None else self._valid(node.valid)
        return f"valid = function(s, r, v) return {demands} end"

    def _named(self, node: Field | PeekInstance | ValueInstance) -> list[str]:
        found = [f"id = {quoted(node.id)}"]
        if node.original_id:
            found.append(f"name = {quoted(node.original_id)}")
        if node.enum is not None:
            found.append(f"enum = enums[{quoted(node.enum)}]")
        if node.doc:
            found.append(f"doc = {quoted(node.doc)}")
        return found

    def _kind(self, kind: FieldType) -> list[str]:
        match kind:
            case IntegerType(size, signed, little):
                found = [f"int = {size}", "signed = true" if signed else "", _little(little)]
            case FloatType(size, little):
                found = [f"float = {size}", _little(little)]
            case BytesType(size):
                found = ["bytes = true", self._function("size", size) if size else ""]
            case TypeReference():
                found = [*self._reference(kind), *self._sized(kind)]
            case SwitchType(on, cases):
                made = [
                    f"{'other' if number is None else f'[{number}]'} = "
                    f"{{{', '.join(self._reference(reference))}}}"
                    for number, reference in cases
                ]
                found = [self._function("on", on), f"cases = {{{', '.join(made)}}}"]
                found += self._sized(kind)
            case _:
                raise AssertionError(kind)
        return [item for item in found if item]

    def _reference(self, reference: TypeReference) -> list[str]:
        found = [f"type = {quoted(self._model.type(reference).key)}"]
        if reference.arguments:
            parameters = self._model.type(reference).parameters
            given = ", ".join(
                f"{parameter.id} = {self._lua.text(argument)}"
                for parameter, argument in zip(parameters, reference.arguments, strict=True)
            )
            found.append(f"given = function(s, r) return {{{given}}} end")
        return found

    def _sized(self, kind: TypeReference | SwitchType) -> list[str]:
        if kind.size is not None:
            return [self._function("size", kind.size)]
        return ["rest = true"] if kind.size_eos else []

    def _instance(self, instance: ValueInstance) -> list[str]:
        found = [*self._named(instance), self._function("value", instance.value)]
        if Terms(self._model, self._type).is_boolean(instance.value):
            found.append("bool = true")
        if instance.condition is not None:
            found.append(self._function("when", instance.condition))
        return found

    def _function(self, name: str, expression: Expression) -> str:
        return f"{name} = function(s, r) return {self._lua.text(expression)} end"

    def _valid(self, valid: Valid) -> str:
        lua = self._lua
        demands = [
            f"v {operator} {lua.text(side)}"
            for operator, side in (
                ("==", valid.equal),
                (">=", valid.minimum),
                ("<=", valid.maximum),
            )
            if side is not None
        ]
        if valid.any_of:
            demands.append(f"({' or '.join(f'v == {lua.text(each)}' for each in valid.any_of)})")
        if valid.expression is not None:
            demands.append(f"({lua.text(valid.expression)})")
        return " and ".join(demands)


def _little(little: bool) -> str:
    return "little = true" if little else ""


def _scalar(scalar: Scalar) -> str:
    if scalar not in VARINTS:
        return "scalar = true"
    kind = VARINTS[scalar]
    zigzag = str(kind.zigzag).lower()
    return f"varint = {{size = {kind.size}, bits = {kind.bits}, zigzag = {zigzag}}}"


def _bits(type_: Type) -> Iterator[str]:
    """Yield where each bit field lies in its run, "" for other fields."""
    runs: list[list[Field]] = []
    for before, field in zip((None, *type_.fields), type_.fields, strict=False):
        if isinstance(field.type, BitsType):
            if before is None or not isinstance(before.type, BitsType):
                runs.append([])
            runs[-1].append(field)
    places = {}
    for run in runs:
        total = sum(field.type.width for field in run if isinstance(field.type, BitsType))
        start = 0
        for field in run:
            assert isinstance(field.type, BitsType)
            end = start + field.type.width
            first, last = start // 8, (end + 7) // 8
            places[field.id] = (
                f"bits = {{at = {first}, size = {last - first}, shift = {8 * last - end}, "
                f"width = {field.type.width}, run = {total // 8 if field is run[-1] else 0}}}"
            )
            start = end
    for field in type_.fields:
        yield places.get(field.id, "")


def _plain(representation: str) -> str:
    """Return a representation without the formats of the Web IDE."""
    return re.sub(r"\{([\w.]+)(:\w+)?\}", r"{\1}", representation)


def _segment(out: CodeWriter, segment: Segment) -> None:
    """Write what stands above the layout: where the magic and times are, records in payloads."""
    model = segment.model
    places = _places(model, segment.entry)
    length = _Layout(model, segment.entry, out).valid_of(segment.length)
    assert isinstance(segment.peek.position, Int)
    head = places[segment.body.id]
    times = {
        number: head + place if (place := _time(model, model.type(kind), number)) >= 0 else place
        for number, kind in segment.switch.cases
        if number is not None
    }
    with out.block("logs[#logs + 1] = {", "}"):
        out.line(f"entry = {quoted(segment.entry.key)},")
        out.line(f"head = {head}, magic = {segment.peek.position.value},")
        assert isinstance(segment.length.type, IntegerType)
        at = places[segment.length.id]
        out.line(f"length = {{at = {at}, size = {segment.length.type.size}, {length}}},")
        listed = ", ".join(f"[{number}] = {place}" for number, place in times.items())
        out.line(f"times = {{{listed}}}, most = {max(times.values(), default=head) + 8},")
    for batch in segment.batches:
        if not _has(model, batch.type, names.COMPRESSION):
            continue  # what the payload is cannot be told, so that it stays bytes
        items, record = _path_to_record(model, batch)
        with out.block(f"payloads[{quoted(batch.type.key)}] = {{", "}"):
            out.line(f"field = {quoted(batch.payload.id)}, type = {quoted(batch.record_set.key)},")
            out.line(f"given = function(s) return {{{batch.parameter.id} = s}} end,")
            out.line(f"count = true, items = {quoted(items)}, record = {quoted(record)},")
            out.line(f"{_codecs(model, batch.type)},")
            if _has(model, batch.type, names.IS_CONTROL):
                out.line(f"control = {quoted(names.IS_CONTROL)},")
    for message in segment.messages:
        if names.VALUE in message.field_by_id and _has(model, message, names.COMPRESSION):
            with out.block(f"payloads[{quoted(message.key)}] = {{", "}"):
                out.line(f"field = {quoted(names.VALUE)}, type = {quoted(segment.type.key)},")
                out.line(f"{_codecs(model, message)},")


def _places(model: Model, type_: Type) -> dict[str, int]:
    """Return the positions of the first fields of a structure, as far as they are fixed."""
    found, place = {}, 0
    for field in type_.fields:
        found[field.id] = place
        size = fixed_size(model, field)
        if size is None:
            break
        place += size
    return found


def _time(model: Model, kind: Type, number: int) -> int:
    """Return the position of the time of an entry, -1 where it has none."""
    places = _places(model, kind)
    for name in (names.MAX_TIMESTAMP, names.TIMESTAMP):
        field = kind.field_by_id.get(name)
        if field is not None and name in places:
            condition = field.condition
            there = condition is None or evaluate(condition, {names.MAGIC: number})
            return places[name] if there else -1
    return -1


def _path_to_record(model: Model, batch: Batch) -> tuple[str, str]:
    """Return the array of a record set, and the way from an item of it to the record."""
    type_, path = model.inner(batch.items), []
    while type_.is_frame:
        path.append(type_.fields[1].id)
        type_ = model.inner(type_.fields[1])
    return batch.items.id, ".".join(path)


def _member(model: Model, type_: Type, path: str) -> Field:
    """Return the field with a dotted path.

    Raises:
        KeyError: there is none.
    """
    first, _, rest = path.partition(".")
    field = type_.field_by_id[first]
    if rest and not isinstance(field.type, TypeReference):
        raise KeyError(path)
    return _member(model, model.inner(field), rest) if rest else field


def _has(model: Model, type_: Type, path: str) -> bool:
    try:
        return bool(_member(model, type_, path))
    except KeyError:
        return False


def _codecs(model: Model, type_: Type) -> str:
    enum = _member(model, type_, names.COMPRESSION).enum
    assert enum is not None
    return f"compression = {quoted(names.COMPRESSION)}, codecs = enums[{quoted(enum)}]"


def _control(out: CodeWriter, model: Model) -> None:
    """Write which types the keys and values of control records have."""
    keys = {type_.key: type_ for type_ in model.all_types()}
    if names.CONTROL_KEY not in keys:
        return
    kind = next(field.id for field in keys[names.CONTROL_KEY].fields if field.enum)
    (parameter,) = keys[names.CONTROL_VALUE].parameters
    with out.block("control = {", "}"):
        out.line(f"key = {{field = {quoted(names.KEY)}, type = {quoted(names.CONTROL_KEY)}}},")
        out.line(f"value = {{field = {quoted(names.VALUE)}, type = {quoted(names.CONTROL_VALUE)},")
        out.line(f"  given = function(key) return {{{parameter.id} = key.{kind}}} end}},")
