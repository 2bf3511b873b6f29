"""Emit the Go that reads the fields of a structure into ``int64``, without an object.

What it refuses is read again by the parser of the structure, which says why: so a failure is only
``return false`` here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tools.specgen.expression import Expression, Name, parse
from tools.specgen.facts.fields import is_bytes, is_integer, scalar_of
from tools.specgen.facts.ranges import VARINTS
from tools.specgen.facts.sizes import fixed_size
from tools.specgen.go.expressions import GoTranslator, UnsupportedError, negation
from tools.specgen.go.loads import bits_run, load, load_bits, shifts
from tools.specgen.go.names import exported
from tools.specgen.model import (
    BitsType,
    BytesType,
    Field,
    IntegerType,
    Model,
    Parameter,
    Scalar,
    Type,
    TypeReference,
)
from tools.specgen.writer import GoWriter


@dataclass(frozen=True)
class Scope:
    """The places of the values of a structure in Go.

    Attributes:
        type: the structure.
        prefix: prefix of the dotted ids of its fields, for example ``headers.``.
        names: source text by dotted id, of ``int64``; grows while fields are read.
        bits: dotted ids that are a single bit.
        end: the variable that says where the stream of the structure ends.
    """

    type: Type
    prefix: str = ""
    names: dict[str, str] = field(default_factory=dict)
    end: str = "end"


class GoWalk:
    """Reader of structures, field by field; subclasses place values and handle arrays."""

    fail = "return false"

    def __init__(self, model: Model, out: GoWriter) -> None:
        self.model = model
        self.out = out

    def place(self, scope: Scope, path: str) -> tuple[str, str]:
        """Name the variable that takes a number, and the sign that assigns or declares."""
        raise NotImplementedError

    def on_bytes(self, scope: Scope, field: Field, start: str, size: str) -> None:
        """Write code for a byte string that was read; its size is negative for null."""
        raise NotImplementedError

    def on_read(self, scope: Scope, ids: tuple[str, ...]) -> None:
        """Write code after fields with these ids have been read."""

    def on_array(self, scope: Scope, field: Field) -> None:
        """Write code for an array of structures."""
        raise UnsupportedError(f"{field.location}: an array has no place here")

    def translator(self, scope: Scope, value: str = "value") -> GoTranslator:
        """Return the translator of expressions of the structure."""

        def resolve(path: str) -> str:
            if path not in scope.names:
                raise UnsupportedError(f"{scope.type.location}: {path} is not known here")
            found = go.member_of(parse(path))
            if found is not None and isinstance(found[1], Field) and found[1].is_bool:
                return f"{scope.names[path]} != 0"
            return scope.names[path]

        go = GoTranslator(self.model, scope.type, resolve, value, "pos", scope.end)
        return go

    def read(self, scope: Scope) -> None:
        """Write all fields of the structure."""
        fields = list(scope.type.fields)
        while fields:
            run = self._run(fields)
            if run:
                self._read_run(scope, run)
                self.on_read(scope, tuple(item.id for item in run))
                del fields[: len(run)]
                continue
            item = fields.pop(0)
            if item.condition is None:
                self._read_field(scope, item)
            else:
                self._read_conditional(scope, item)
            self.on_read(scope, (item.id,))

    def _run(self, fields: Sequence[Field]) -> list[Field]:
        run: list[Field] = []
        for item in fields:
            if item.condition is not None or item.repeat is not None or item.is_guard:
                break
            if not self._is_numbers(item) or fixed_size(self.model, item) is None:
                break
            if isinstance(item.type, TypeReference) and item.type.size is not None:
                break
            run.append(item)
            if item.valid is not None and item.valid.expression is not None:
                break
        return run

    def _is_numbers(self, item: Field) -> bool:
        if isinstance(item.type, TypeReference):
            return all(self._is_numbers(child) for child in self.model.inner(item).fields)
        return isinstance(item.type, IntegerType | BitsType)

    def _read_run(self, scope: Scope, run: list[Field]) -> None:
        size = sum(fixed_size(self.model, item) or 0 for item in run if not _is_bits(item))
        size += sum(item.type.width for item in run if isinstance(item.type, BitsType)) // 8
        self.out.when(f"{scope.end}-pos < {size}", self.fail)
        checks: list[tuple[Type, Field, str]] = []
        self._load(scope, scope.type, run, "", 0, checks)
        self.out.line(f"pos += {size}")
        for owner, item, path in checks:
            self._check(scope, owner, item, path)

    def _load(
        self, scope: Scope, owner: Type, fields: Sequence[Field], prefix: str, at: int,
        checks: list[tuple[Type, Field, str]],
    ) -> int:  # fmt: skip
        """Write the loads of numbers that begin ``at`` bytes after ``pos``; return their end."""
        fields = list(fields)
        while fields:
            run = bits_run(fields)
            if run:
                size = sum(item.type.width for item in run if isinstance(item.type, BitsType)) // 8
                bits = f"bits{exported(scope.prefix + prefix + run[0].id)}"
                self.out.line(f"{bits} := {load_bits(size, _at(at))}")
                for item, shift, mask in shifts(run):
                    target, assign = self.place(scope, prefix + item.id)
                    text = f"{bits} >> {shift}" if shift else bits
                    if mask.bit_length() + shift < 8 * size:
                        text += f" & {hex(mask) if mask > 9 else mask}"
                    self.out.line(f"{target} {assign} int64({text})")
                    checks.append((owner, item, prefix + item.id))
                at += size
                del fields[: len(run)]
                continue
            item = fields.pop(0)
            if isinstance(item.type, TypeReference):
                inner = self.model.type(item.type)
                at = self._load(scope, inner, inner.fields, f"{prefix}{item.id}.", at, checks)
                continue
            assert isinstance(item.type, IntegerType)
            target, assign = self.place(scope, prefix + item.id)
            self.out.line(f"{target} {assign} {_int64(item.type, _at(at))}")
            checks.append((owner, item, prefix + item.id))
            at += item.type.size
        return at

    def _read_conditional(self, scope: Scope, item: Field) -> None:
        assert item.condition is not None
        if item.repeat is not None:
            raise UnsupportedError(f"{item.location}: an array that may be null")
        condition = self.translator(scope).text(item.condition)
        plain = replace(item, condition=None)
        if is_integer(self.model, item):
            target, assign = self.place(scope, item.id)
            default = item.default.value if item.default else None
            first = default if isinstance(default, int) else -1
            self.out.line(f"{target} {assign} {f'int64({first})' if assign == ':=' else first}")
            with self.out.block(f"if {condition} {{", "}"):
                self._read_number(scope, plain, target, "=")
        elif isinstance(item.type, BytesType):
            self._read_bytes(scope, plain, condition)
        else:
            raise UnsupportedError(f"{item.location}: a structure that may be absent")

    def _read_number(self, scope: Scope, item: Field, target: str, assign: str) -> None:
        scalar = scalar_of(self.model, item)
        if scalar is not None:
            self._read_varint(scope, scalar, target, assign)
        else:
            assert isinstance(item.type, IntegerType)
            self.out.when(f"{scope.end}-pos < {item.type.size}", self.fail)
            self.out.line(f"{target} {assign} {_int64(item.type, 'pos')}")
            self.out.line(f"pos += {item.type.size}")
        scope.names[item.id] = target
        self._check(scope, scope.type, item, item.id)

    def _read_varint(self, scope: Scope, scalar: Scalar, target: str, assign: str) -> None:
        """Write a varint: one or two bytes here, a longer one by a call."""
        out, varint = self.out, VARINTS[scalar]
        raw = f"u{exported(target)}"
        out.when(f"pos >= {scope.end}", self.fail)
        out.line(f"{raw} := uint64(data[pos])")
        out.line("pos++")
        with out.block(f"if {raw} >= 0x80 {{", "}"):
            with out.block(f"if pos < {scope.end} && data[pos] < 0x80 {{"):
                out.line(f"{raw} = {raw}&0x7f | uint64(data[pos])<<7")
                out.line("pos++")
            with out.block("} else {", "}"):
                call = f"longVarint(data, pos-1, {scope.end}, {varint.size}, {varint.bits})"
                with out.block(f"if {raw}, pos = {call}; pos < 0 {{", "}"):
                    out.line(self.fail)
        text = f"int64({raw}>>1) ^ -int64({raw}&1)" if varint.zigzag else f"int64({raw})"
        out.line(f"{target} {assign} {text}")

    def _read_field(self, scope: Scope, item: Field) -> None:
        if item.is_guard:
            assert item.valid is not None
            assert item.valid.expression is not None
            test = self.translator(scope).text(negation(item.valid.expression))
            self.out.when(test, self.fail)
        elif item.repeat is not None:
            self.on_array(scope, item)
        elif is_integer(self.model, item):
            self._read_number(scope, item, *self.place(scope, item.id))
        elif is_bytes(self.model, item):
            self._read_bytes(scope, item, None)
        elif isinstance(item.type, TypeReference):
            self._read_structure(scope, item, item.type)
        else:
            raise UnsupportedError(f"{item.location}: there is no column for it")

    def _read_bytes(self, scope: Scope, item: Field, condition: str | None) -> None:
        """Write a byte string: after its size, of known size, or up to the end."""
        name = exported(scope.prefix + item.id)
        size, start = f"n{name}", f"b{name}"
        stop, expression = scope, None
        if isinstance(item.type, TypeReference):
            inner = self.model.type(item.type)
            length, value = inner.fields
            stop = Scope(inner, f"{scope.prefix}{item.id}.", end=scope.end)
            self._read_number(stop, length, f"l{name}", ":=")
            if value.condition is not None:
                condition = self.translator(stop).text(value.condition)
            assert isinstance(value.type, BytesType)
            expression = value.type.size
        else:
            assert isinstance(item.type, BytesType)
            expression = item.type.size
        go = self.translator(stop)
        self.out.line(f"{start} := pos")
        if expression is None:
            rest = f"int64({scope.end} - pos)"
        else:
            rest = go.text(expression)
            rest = f"int64({rest})" if rest.isdigit() else rest

        def take() -> None:
            if expression is not None:
                test = f"{size} < 0 || {size} > int64({scope.end}-pos)"
                self.out.when(test, self.fail)
            self.out.line(f"pos += int({size})")

        if condition is None:
            self.out.line(f"{size} := {rest}")
            take()
        else:
            self.out.line(f"{size} := int64(-1)")
            with self.out.block(f"if {condition} {{", "}"):
                self.out.line(f"{size} = {rest}")
                take()
        self.on_bytes(scope, item, start, size)

    def _read_structure(self, scope: Scope, item: Field, reference: TypeReference) -> None:
        inner = self.model.type(reference)
        end = scope.end
        if reference.size is not None:
            end = f"end{exported(scope.prefix + item.id)}"
            size = f"s{exported(scope.prefix + item.id)}"
            self.out.line(f"{size} := {self.translator(scope).text(reference.size)}")
            self.out.when(f"{size} < 0 || {size} > int64({scope.end}-pos)", self.fail)
            self.out.line(f"{end} := pos + int({size})")
        prefix = scope.prefix if scope.type.is_frame else f"{scope.prefix}{item.id}."
        below = Scope(inner, prefix, self.arguments(scope, inner, reference), end)
        self.read(below)
        if reference.size is not None:
            self.out.line(f"pos = {end}")
        for path, text in below.names.items():
            scope.names.setdefault(f"{item.id}.{path}", text)

    def arguments(self, scope: Scope, inner: Type, reference: TypeReference) -> dict[str, str]:
        """Return the source text of the parameters of ``inner``, by name."""
        found: dict[str, str] = {}
        for parameter, argument in zip(inner.parameters, reference.arguments, strict=True):
            found |= self._argument(scope, parameter, argument)
        return found

    def _argument(self, scope: Scope, parameter: Parameter, argument: Expression) -> dict[str, str]:
        if isinstance(parameter.type, IntegerType):
            text = self.translator(scope).text(argument)
            return {parameter.id: text if text.isidentifier() else f"({text})"}
        if not isinstance(argument, Name):
            raise UnsupportedError(f"{scope.type.location}: an argument must be a plain name")
        start = f"{argument.id}."
        return {
            f"{parameter.id}.{path.removeprefix(start)}": text
            for path, text in scope.names.items()
            if path.startswith(start)
        }

    def _check(self, scope: Scope, owner: Type, item: Field, path: str) -> None:
        inner = scope
        if owner is not scope.type:
            start = path.removesuffix(item.id)
            known = scope.names.items()
            below = {k.removeprefix(start): v for k, v in known if k.startswith(start)}
            inner = Scope(owner, names=below, end=scope.end)
        for test in self.translator(inner, scope.names[path]).violated(item):
            self.out.when(test, self.fail)


def _is_bits(item: Field) -> bool:
    return isinstance(item.type, BitsType)


def _at(offset: int) -> str:
    return f"pos+{offset}" if offset else "pos"


def _int64(kind: IntegerType, at: str) -> str:
    text = load(kind, at)
    return text if text.startswith("int64(") else f"int64({text})"
