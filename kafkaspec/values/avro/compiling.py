"""Makes the functions that read payloads of one schema as values of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkaspec.values.avro import reading
from kafkaspec.values.avro.reading import Read, ReadingState
from kafkaspec.values.avro.resolution import Resolution
from kafkaspec.values.avro.schema import AvroField, AvroKind, AvroNode
from kafkaspec.values.avro.targets import AvroTarget, DefaultError, default_of, dumps
from kafkaspec.values.definition import SchemaError

_PAIRS = 100_000
"""Types of one schema with types of the other that are looked at."""
_DEFAULTS = 64 << 20
"""Bytes of output of all defaults of a schema, each as often as it is there."""

_RAW: dict[AvroKind, Read] = {
    AvroKind.NULL: reading.read_null,
    AvroKind.BOOLEAN: reading.read_boolean,
    AvroKind.INT: reading.read_int,
    AvroKind.LONG: reading.read_long,
    AvroKind.FLOAT: reading.read_float,
    AvroKind.DOUBLE: reading.read_double,
    AvroKind.BYTES: reading.read_bytes,
    AvroKind.STRING: reading.read_string,
}
_LEAST = dict.fromkeys(AvroKind, 1) | {AvroKind.NULL: 0, AvroKind.FLOAT: 4, AvroKind.DOUBLE: 8}


class Sizes:
    """How many bytes values take."""

    def __init__(self) -> None:
        self._records: dict[int, int] = {}

    def least(self, node: AvroNode) -> int:
        if node.kind == AvroKind.FIXED:
            return node.size
        if node.kind != AvroKind.RECORD:
            return _LEAST[node.kind]
        if id(node) not in self._records:
            self._records[id(node)] = 0  # within itself
            least = sum(self.least(item.node) for item in node.fields)
            self._records[id(node)] = min(least, 1 << 31)
        return self._records[id(node)]


class Compiler:
    """Makes functions, each once: schemas may be recursive."""

    def __init__(self, reader: AvroNode) -> None:
        self._resolution = Resolution(reader)
        self._made: dict[tuple[int, ...], Read | None] = {}
        self._kept: list[AvroTarget] = []
        self._sizes = Sizes()
        self._defaults = 0

    def reader(self, writer: AvroNode, target: AvroTarget | None) -> Read:
        """Return what reads values of a type; without a target they are left out."""
        key: tuple[int, ...] = (id(writer),)
        if target is not None:
            key = id(writer), id(target.node), id(target.column)
            self._kept.append(target)
        if key in self._made:
            made = self._made[key]
            return made if made is not None else self._later(key)
        if len(self._made) > _PAIRS:
            raise SchemaError("the schemas are too large to be read one as the other")
        self._made[key] = None
        read = self._read(writer, target)
        self._made[key] = read
        return read

    def _later(self, key: tuple[int, ...]) -> Read:
        """Return what calls a function that is still being made."""

        def read(data: bytes, at: int, state: ReadingState) -> tuple[Any, int]:
            found = self._made[key]
            assert found is not None
            return found(data, at, state)

        return read

    def _read(self, writer: AvroNode, target: AvroTarget | None) -> Read:
        if target is not None and target.text:
            text = self.reader(writer, AvroTarget(target.node, None))
            return reading.costly(reading.converted(text, dumps), len)
        if writer.kind == AvroKind.UNION:
            return reading.read_branch([self.reader(child, target) for child in writer.children])
        if target is not None:
            problem = self._resolution.problem(writer, target.node)
            if problem:
                return reading.refuse(problem)
            if target.node.kind == AvroKind.UNION:
                return self._into_union(writer, target)
        match writer.kind:
            case AvroKind.RECORD:
                return self._record(writer, target)
            case AvroKind.ARRAY | AvroKind.MAP:
                return self._items(writer, target)
            case AvroKind.ENUM:
                return _enumeration(writer, target)
        return _leaf(writer, target)

    def _into_union(self, writer: AvroNode, target: AvroTarget) -> Read:
        number = self._resolution.branch(writer, target.node)
        assert number is not None
        read = self.reader(writer, target.child(number))
        wrap = target.branch(number)
        if wrap is None:
            return read
        read = reading.converted(read, wrap)
        if target.column is not None:
            return read
        cost = reading.fields_of([target.node.children[number].full_name])
        return reading.costly(read, lambda _: cost)

    def _record(self, writer: AvroNode, target: AvroTarget | None) -> Read:
        if target is None:
            skipped = [(item.name, self.reader(item.node, None)) for item in writer.fields]
            return reading.skip_record(skipped)
        sources = self._resolution.sources(writer, target.node)
        targets = {number: name for name, number in sources.items()}
        numbers = {item.name: number for number, item in enumerate(target.node.fields)}
        fields: list[tuple[str, str | None, Read]] = []
        for number, item in enumerate(writer.fields):
            name = targets.get(number)
            child = None if name is None else target.child(numbers[name])
            fields.append((item.name, name, self.reader(item.node, child)))
        defaults: dict[str, Any] = {}
        cost = target.record_cost
        for number, item in enumerate(target.node.fields):
            if item.name not in sources:
                try:
                    defaults[item.name], taken = known_default(item, target.child(number))
                except DefaultError as error:
                    return reading.refuse(f"the field {item.name} is missing, and {error}")
                cost += taken
                self._defaults += taken
                if self._defaults > _DEFAULTS:
                    raise SchemaError(f"defaults take more than {_DEFAULTS} bytes")
        return reading.read_record(fields, defaults, cost)

    def _items(self, writer: AvroNode, target: AvroTarget | None) -> Read:
        (item,) = writer.children
        read = self.reader(item, None if target is None else target.child(0))
        cost = 0 if target is None else target.item_cost
        least = self._sizes.least(item)
        if writer.kind == AvroKind.ARRAY:
            return reading.read_array(read, least, cost)
        return reading.read_map(read, least, cost, dict if target is None else target.map)


def known_default(field: AvroField, target: AvroTarget) -> tuple[Any, int]:
    """Return the default of a field and its bytes of output; see ``default_of``."""
    try:
        return default_of(field, target)
    except RecursionError:
        raise DefaultError("a default is nested too deeply") from None


def symbols_of(writer: AvroNode, target: AvroTarget) -> list[Any]:
    """Return what each symbol of a writer becomes: a value, or a LookupError if nothing."""
    values = dict(zip(target.node.symbols, target.symbols, strict=True))
    default = target.node.default
    symbols: list[Any] = []
    for symbol in writer.symbols:
        known = symbol if symbol in values else default
        lacking = LookupError(f"the symbol {symbol} is none of {target.node.name}")
        symbols.append(lacking if known is None else values[known])
    return symbols


def _enumeration(writer: AvroNode, target: AvroTarget | None) -> Read:
    if target is None:
        return reading.read_symbol(list(writer.symbols))
    read = reading.read_symbol(symbols_of(writer, target))
    return read if target.column is not None else reading.costly(read, len)


def _leaf(writer: AvroNode, target: AvroTarget | None) -> Read:
    if target is None and writer.kind == AvroKind.STRING:
        return reading.read_bytes
    read = reading.read_fixed(writer.size) if writer.kind == AvroKind.FIXED else _RAW[writer.kind]
    if target is None:
        return read
    promote = _promotion(writer.kind, target.node.kind)
    if {writer.kind, target.node.kind} == {AvroKind.STRING, AvroKind.BYTES}:
        read = _RAW[target.node.kind]
    elif promote is not None:
        read = reading.converted(read, promote)
    convert = target.leaf()
    return reading.converted(read, convert) if convert else read


def _promotion(written: AvroKind, wanted: AvroKind) -> Callable[[Any], Any] | None:
    if wanted == AvroKind.FLOAT and written in {AvroKind.INT, AvroKind.LONG}:
        return reading.float_bits
    if wanted == AvroKind.DOUBLE and written in {AvroKind.INT, AvroKind.LONG}:
        return lambda number: reading.double_bits(float(number))
    if wanted == AvroKind.DOUBLE and written == AvroKind.FLOAT:
        return lambda bits: reading.double_bits(reading.float_of(bits))
    return None
