"""Emit ``generated/python/records.py``: one loop from a batch's payload to records for users.

The loop needs no bounds checks, since bytes raise ``IndexError`` by themselves, and no objects of
the typed model. It is safe because positions only grow: if a record ends exactly where its size
says, everything read for it was inside it. At any irregularity it returns None, and the caller uses
the checked parser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kafkaspec.model import Record
from tools.specgen import expression as ex
from tools.specgen.facts.ranges import LONG, VARINTS, Interval
from tools.specgen.facts.segments import segments
from tools.specgen.model import (
    BytesType,
    DeriveFunction,
    Field,
    IntegerType,
    Model,
    Scalar,
    Type,
    TypeReference,
    ValueInstance,
)
from tools.specgen.output import Output
from tools.specgen.python.expressions import Stream, Translator
from tools.specgen.python.runs import Names
from tools.specgen.python.statements import taken_names
from tools.specgen.writer import CodeWriter

_HEADER = ("key", "value")
"""Fields of a header that users see, the first as text."""

_HEAD = '''"""Records of a batch in one loop, without checks where none is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkaspec.model import Record

from .model import {models}
from .runtime import signed64

_ZIGZAG = tuple((code >> 1) ^ -(code & 1) for code in range(0x80))


def _longer(data: bytes, pos: int, size: int, limit: int) -> tuple[int, int]:
    """Return a varint of up to ``size`` bytes as it is coded, and the position after it.

    Raises:
        IndexError: it is not below ``limit`` or not valid; the checked parser decodes it.
    """
    number = 0
    for shift in range(0, 7 * size, 7):
        byte = data[pos]
        pos += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            if number >= limit:
                break
            return number, pos
    raise IndexError


'''
_LOCALS = ("data", "records", "append", "build", "zigzag", "number", "longer")
_HALF: Interval = (LONG[0] // 2, LONG[1] // 2)
"""Bounds of numbers of which any two have a sum that fits 64 bits."""


class UnsupportedError(Exception):
    """The specification has a shape that the loop does not support."""


class Meanings:
    """The fields of ``kafkaspec.model.Record`` over the fields of the specification's record.

    Values that are the same for every record of a batch are computed once, before the loop. 64-bit
    numbers that are added are limited to half of the range, so that no sum has to be reduced.
    """

    def __init__(self, model: Model, type_: Type, local: Callable[[str], str]) -> None:
        self.model = model
        self.type = type_
        self.local = local
        self.hoisted: dict[ex.Expression, str] = {}
        self.bounds: dict[ex.Expression, Interval] = {}
        self.wanted = self._wanted()
        self._texts = [self._text(value) for value in self.wanted.values()]

    def texts(self) -> list[str]:
        """Return the source texts in the order of the tuple."""
        return self._texts

    def used(self) -> set[str]:
        """Return the names of the fields that are needed."""
        return {name for value in self.wanted.values() for name in ex.names(value)}

    def assignments(self) -> Iterator[str]:
        """Yield the statements before the loop."""
        for expression, name in self.hoisted.items():
            yield f"{name} = {Translator(self.model, self.type, str).text(expression)}"

    def limits(self) -> Iterator[tuple[str, Interval]]:
        """Yield the variables from before the loop and their bounds."""
        for expression, interval in self.bounds.items():
            yield self.hoisted[expression], interval

    def _wanted(self) -> dict[str, ex.Expression]:
        known = self.type.members
        found: dict[str, ex.Expression] = {}
        for name in Record._fields:
            member = known.get(name)
            if member is None:
                raise UnsupportedError(f"a record has no {name}")
            if isinstance(member, ValueInstance):
                if member.condition is not None:
                    raise UnsupportedError(f"{name} is optional")
                found[name] = member.value
            else:
                found[name] = ex.Name(name)
        return found

    def _text(self, expression: ex.Expression) -> str:
        self._hoist(expression, arithmetic=False)
        narrow = {
            field.id: _HALF
            for field in self.type.fields
            if isinstance(field.type, TypeReference)
            and self.model.type(field.type).scalar is Scalar.VARINT64
        }
        return Translator(
            self.model,
            self.type,
            self.local,
            wrap=True,
            intervals=narrow,
            overrides=self.hoisted,
            bounds=self.bounds,
        ).text(expression)

    def _hoist(self, node: ex.Expression, *, arithmetic: bool) -> None:
        parameters = {parameter.id for parameter in self.type.parameters}
        mentioned = ex.names(node)
        if mentioned and mentioned <= parameters:
            if node not in self.hoisted:
                last = node.name if isinstance(node, ex.Attribute) else f"fixed_{len(self.hoisted)}"
                self.hoisted[node] = self.local(last)
            low, high = Translator(self.model, self.type, str).interval(node)
            if arithmetic and (low < _HALF[0] or high > _HALF[1]):
                self.bounds[node] = _HALF
            return
        match node:
            case ex.Binary(operator, left, right):
                inside = operator in ("+", "-", "*")
                self._hoist(left, arithmetic=inside)
                self._hoist(right, arithmetic=inside)
            case ex.Unary(_, operand):
                self._hoist(operand, arithmetic=True)
            case ex.Ternary(condition, then, otherwise):
                for part in (condition, then, otherwise):
                    self._hoist(part, arithmetic=arithmetic)
            case ex.Name() | ex.Attribute() | ex.Int() | ex.EnumMember():
                return
            case _:
                raise UnsupportedError("an instance looks into an array")


def emit(model: Model) -> list[Output]:
    """Return the module; none if the specification has no record sets."""
    sets = [batch.record_set for segment in segments(model) for batch in segment.batches]
    if not sets:
        return []
    sources = tuple(dict.fromkeys(record_set.spec_id for record_set in sets))
    return [Output("python/records.py", sources, _module(model, sets))]


def _module(model: Model, sets: list[Type]) -> str:
    batches = {record_set.key: batch_of(model, record_set) for record_set in sets}
    out = CodeWriter()
    for record_set in sets:
        out.lines(*_loop(model, record_set).split("\n"), "", "")
    with out.block("DECODERS: dict[str, Callable[[Any, bytes], list[Record] | None]] = {", "}"):
        for record_set in sets:
            out.line(f"{batches[record_set.key].key!r}: decode_{record_set.name},")
    out.line('"""The functions by key of the type of the batch."""')
    models = ", ".join(sorted({batch.spec_id for batch in batches.values()}))
    return _HEAD.format(models=models) + out.text()


def batch_of(model: Model, record_set: Type) -> Type:
    """Return the type of the batch that a record set has for its parameter."""
    return model.inner(record_set.parameters[0])


def _loop(model: Model, record_set: Type) -> str:
    try:
        return RecordLoop(model, record_set).text().rstrip("\n")
    except UnsupportedError as reason:
        out = CodeWriter()
        with out.block(f"def decode_{record_set.name}(batch: Any, data: bytes) -> None:"):
            out.line(f'"""Return None: there is no loop, since {reason}."""')
        return out.text().rstrip("\n")


class RecordLoop:
    """Writer of ``decode_<record set>``."""

    def __init__(self, model: Model, record_set: Type) -> None:
        self.model = model
        self.record_set = record_set
        if len(record_set.parameters) != 1:
            raise UnsupportedError("a record set has a parameter other than its batch")
        self.batch = record_set.parameters[0].id
        self.array, self.frame, self.record = self._shapes()
        self.names = Names(taken_names(model.specs) | frozenset(_LOCALS))
        self.meanings = Meanings(model, self.record, self.local)

    def _shapes(self) -> tuple[Field, Type, Type]:
        arrays = [field for field in self.record_set.fields if field.repeat]
        if len(arrays) != 1 or not isinstance(arrays[0].type, TypeReference):
            raise UnsupportedError("a record set is not one array")
        frame = self.model.type(arrays[0].type)
        body = frame.fields[-1].type if frame.is_frame else None
        if not isinstance(body, TypeReference):
            raise UnsupportedError("records do not come after their sizes")
        batch = (ex.Name(self.batch),)
        if arrays[0].type.arguments != batch or body.arguments != batch:
            raise UnsupportedError("records have a parameter other than their batch")
        return arrays[0], frame, self.model.type(body)

    def text(self) -> str:
        """Return the lines of the function."""
        inner = CodeWriter()
        self._loop(inner)
        out = CodeWriter()
        batch = batch_of(self.model, self.record_set)
        with out.block(
            f"def decode_{self.record_set.name}("
            f"{self.batch}: {batch.spec_id}.{batch.class_name}, data: bytes)"
            " -> list[Record] | None:"
        ):
            out.lines(
                '"""Return all records of ``data``, the payload of ``batch`` after decompression.',
                "",
                "Return None if anything is unusual, valid or not: the checked parser decodes it.",
                '"""',
            )
            out.lines(*self.meanings.assignments())
            for name, (low, high) in self.meanings.limits():
                with out.block(f"if not {low} <= {name} <= {high}:"):
                    out.line("return None  # Sums might leave 64 bits.")
            out.lines(
                "records: list[Record] = []",
                "append = records.append",
                "build = tuple.__new__",
                "zigzag = _ZIGZAG",
                "pos = 0",
            )
            out.lines(*inner.text().rstrip("\n").split("\n"))
        return out.text()

    def _translator(self, type_: Type, value: str = "_", end: str = "stop") -> Translator:
        return Translator(self.model, type_, self.local, value=value, stream=Stream("pos", end))

    def local(self, name: str) -> str:
        """Return the variable of a field; the batch is the argument of the function."""
        return name if name == self.batch else self.names.local(name)

    def _loop(self, out: CodeWriter) -> None:
        assert self.array.repeat
        if self.array.repeat.count is None:
            raise UnsupportedError("records are not counted")
        count = self._translator(self.record_set).text(self.array.repeat.count)
        with out.block("try:"), out.block(f"for _ in range({count}):"):
            self._record(out)
        # A key that is not UTF-8 is legal, and rare enough to leave to the checked parser.
        with out.block("except (IndexError, UnicodeDecodeError):"):
            out.line("return None")
        out.when("pos > len(data)", "return None")
        for field in self.record_set.fields:
            if field.is_guard:
                assert field.valid
                assert field.valid.expression
                translator = self._translator(self.record_set, end="len(data)")
                out.when(translator.negated(field.valid.expression), "return None")
            elif field is not self.array:
                raise UnsupportedError("a record set is not one array")
        out.line("return records")

    def _record(self, out: CodeWriter) -> None:
        size = self.frame.fields[0]
        assert isinstance(size.type, TypeReference)
        if self.model.type(size.type).scalar is not Scalar.VARINT32 or size.derive is None:
            raise UnsupportedError("the size of a record is not a varint32")
        if size.derive.plus or not self._only_not_negative(self.frame, size):
            raise UnsupportedError("the size of a record is not its size alone")
        out.line(f"# {self.frame.name}: {size.id}")
        self._code(out, Scalar.VARINT32)
        out.when("number & 1", "return None")
        out.line("stop = pos + (number >> 1)")
        meanings = self.meanings.texts()
        used = self.meanings.used()
        for field in self.record.fields:
            self._field(out, self.record, field, used)
        out.when("pos != stop", "return None")
        out.line(f"append(build(Record, ({', '.join(meanings)})))")

    def _only_not_negative(self, type_: Type, field: Field) -> bool:
        """Check that ``valid`` demands only that the number is not negative."""
        value = ex.Attribute(ex.Name(field.id), "value")
        return (
            field.valid is not None
            and self._translator(type_).never_negative(field, value)
            and field.valid.expression
            == ex.Binary(">=", ex.Attribute(ex.Name("_"), "value"), ex.Int(0))
        )

    def _field(self, out: CodeWriter, type_: Type, field: Field, used: set[str]) -> None:
        if field.is_guard:
            return  # The position is compared with the end of the record.
        if field.condition is not None:
            raise UnsupportedError(f"{field.id} is optional")
        out.line(f"# {type_.name}: {field.id}")
        target = self.local(field.id)
        if field.repeat:
            self._array(out, type_, field, target)
            return
        scalar = None
        match field.type:
            case IntegerType(size, signed, little):
                if field.id in used or field.valid or field.derive:
                    part = f"data[pos : pos + {size}]"
                    order = "little" if little else "big"
                    out.line(f'{target} = int.from_bytes({part}, "{order}", signed={signed})')
                out.line(f"pos += {size}")
            case BytesType(size) if size is not None:
                self._bytes(out, type_, field, size, target)
                return
            case TypeReference():
                scalar = self.model.type(field.type)
                if scalar.scalar is None:
                    raise UnsupportedError(f"{field.id} is a structure")
                if scalar.scalar is Scalar.NULLABLE_BYTES:
                    self._nullable(out, scalar, target, wanted=field.id in used)
                elif self._counts(type_, field):
                    self._count(out, type_, field, target)
                    return
                elif scalar.scalar in VARINTS:
                    self._integer(out, scalar.scalar, target)
                else:
                    raise UnsupportedError(f"{field.id} is a {scalar.name}")
            case _:
                raise UnsupportedError(f"{field.id} is of another kind")
        self._check(out, type_, field, target)

    def _check(self, out: CodeWriter, type_: Type, field: Field, target: str) -> None:
        for test in self._translator(type_, target).violated(field):
            out.when(test, "return None")

    def _code(self, out: CodeWriter, scalar: Scalar) -> None:
        """Write the next varint as it is coded, one or two bytes without a call."""
        out.lines("number = data[pos]", "pos += 1")
        with out.block("if number >= 0x80:"):
            self._more(out, scalar)

    def _more(self, out: CodeWriter, scalar: Scalar) -> None:
        size, bits, _ = VARINTS[scalar]
        # One of 64 bits stays free, so that sums of two such numbers cannot overflow.
        limit = 1 << min(bits, 63)
        out.lines("number += (data[pos] << 7) - 0x80", "pos += 1")
        out.when("number >= 0x4000", f"number, pos = _longer(data, pos - 2, {size}, 0x{limit:X})")

    def _integer(self, out: CodeWriter, scalar: Scalar, target: str) -> None:
        zigzag = VARINTS[scalar][2]
        out.lines("number = data[pos]", "pos += 1")
        out.when("number < 0x80", f"{target} = {'zigzag[number]' if zigzag else 'number'}")
        with out.block("else:"):
            self._more(out, scalar)
            out.line(f"{target} = {'(number >> 1) ^ -(number & 1)' if zigzag else 'number'}")

    def _nullable(self, out: CodeWriter, scalar: Type, target: str, *, wanted: bool) -> None:
        size, value = scalar.fields
        kind = size.type
        plain = (
            isinstance(kind, TypeReference)
            and self.model.type(kind).scalar is Scalar.VARINT32
            and isinstance(value.type, BytesType)
            and value.type.size == ex.Attribute(ex.Name(size.id), "value")
            and value.condition
            == ex.Binary(">=", ex.Attribute(ex.Name(size.id), "value"), ex.Int(0))
            and size.valid is None
        )
        if not plain:
            raise UnsupportedError(f"{scalar.name} is coded otherwise")
        self._code(out, Scalar.VARINT32)
        # An odd code is a negative size, which is null.
        out.when("number & 1", f"{target} = None" if wanted else "number = 0")
        with out.block("else:"):
            out.line("end = pos + (number >> 1)")
            if wanted:
                out.line(f"{target} = data[pos:end]")
            out.line("pos = end")

    def _bytes(
        self, out: CodeWriter, type_: Type, field: Field, size: ex.Expression, target: str
    ) -> None:
        translator = self._translator(type_)
        if not translator.never_negative(field, size):
            raise UnsupportedError(f"the size of {field.id} may be negative")
        out.line(f"end = pos + {translator.operand(size)}")
        out.line(f"{target} = data[pos:end]")
        out.line("pos = end")

    def _counts(self, type_: Type, field: Field) -> bool:
        """Return whether zero is always a valid count, so that the array can be left out."""
        derive = field.derive
        if derive is None or derive.function is not DeriveFunction.COUNT or derive.plus:
            return False
        assert isinstance(field.type, TypeReference)
        return self.model.type(field.type).scalar is Scalar.VARINT32 and (
            field.valid is None
            or (field.valid.expression is not None and _zero_passes(field.valid.expression))
        )

    def _count(self, out: CodeWriter, type_: Type, field: Field, target: str) -> None:
        out.line(f"{target} = data[pos]")
        out.line("pos += 1")
        with out.block(f"if {target}:"):
            out.line("pos -= 1")
            self._integer(out, Scalar.VARINT32, target)
            self._check(out, type_, field, target)

    def _array(self, out: CodeWriter, type_: Type, field: Field, target: str) -> None:
        if field.id != "headers" or not isinstance(field.type, TypeReference):
            raise UnsupportedError(f"{field.id} is an array")
        item = self.model.type(field.type)
        known = {inner.id for inner in item.fields}
        if not set(_HEADER) <= known or item.parameters or item.peek_instances:
            raise UnsupportedError("a header is not a key and a value")
        assert field.repeat
        if field.repeat.count is None:
            raise UnsupportedError(f"{field.id} are not counted")
        count = self._translator(type_).text(field.repeat.count)
        key, value = (f"header_{name}" for name in _HEADER)
        with out.block(f"if {count}:"):
            out.line("pairs = []")
            with out.block(f"for _ in range({count}):"):
                inner = RecordLoop.__new__(RecordLoop)
                inner.__dict__.update(self.__dict__)
                inner.names = Names(self.names.taken | {f.id for f in self.record.fields})
                for part in item.fields:
                    inner._field(out, item, part, set(_HEADER))
                key, value = (inner.names.local(name) for name in _HEADER)
                out.line(f"pairs.append(({key}.decode(), {value}))")
            out.line(f"{target} = tuple(pairs)")
        with out.block("else:"):
            out.line(f"{target} = ()")


def _zero_passes(expression: ex.Expression) -> bool:
    value = ex.Attribute(ex.Name("_"), "value")
    match expression:
        case ex.Binary("and", left, right):
            return _zero_passes(left) and _zero_passes(right)
        case ex.Binary(">=", left, ex.Int(0)):
            return left == value
        case ex.Binary("<=", left, right):
            return left == value and right == ex.LEFT
    return False
