"""Emit the C that reads the fields of a structure one after the other and checks each read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tools.specgen.expression import Expression, Name, names
from tools.specgen.facts.columns import c_name
from tools.specgen.facts.fields import is_bytes, is_integer, scalar_of
from tools.specgen.facts.sizes import fixed_size
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
from tools.specgen.native.expressions import CTranslator, Unsupported, bare, checks
from tools.specgen.writer import CodeWriter


@dataclass(frozen=True)
class Scope:
    """The places of the values of a structure in C.

    Attributes:
        type: the structure.
        prefix: prefix of the dotted ids of its fields, for example ``headers.``.
        names: source text by dotted id; grows while fields are read.
        end: the pointer where the stream of the structure ends.
    """

    type: Type
    prefix: str = ""
    names: dict[str, str] = field(default_factory=dict)
    end: str = "end"


@dataclass(frozen=True)
class _Leaf:
    """A number in a run of fixed-size fields, ``bit`` bits after its start."""

    path: str
    owner: Type
    field: Field
    bit: int
    width: int


class Walk:
    """Reader of structures, field by field; subclasses place values and handle arrays."""

    fail = "return NULL;"

    def __init__(self, model: Model, out: CodeWriter) -> None:
        self.model = model
        self.out = out
        self._pending: list[tuple[Scope, _Leaf]] = []

    def place(self, scope: Scope, path: str) -> str:
        """Declare or name the variable that takes a number."""
        raise NotImplementedError

    def on_bytes(self, scope: Scope, field: Field, start: str, size: str) -> None:
        """Write code for a byte string that was read; its size is negative for null."""
        raise NotImplementedError

    def on_read(self, scope: Scope, ids: tuple[str, ...]) -> None:
        """Write code after fields with these ids have been read."""

    def on_array(self, scope: Scope, field: Field) -> None:
        """Write code for an array of structures."""
        raise Unsupported(f"{field.location}: an array has no place here")

    def read_scalar(self, scope: Scope, scalar: Scalar, target: str) -> None:
        """Write the call that reads a scalar of variable size."""
        self.out.line(f"p = ks_read_{scalar}(p, {scope.end}, &{target});")
        self.out.when("KS_UNLIKELY(!p)", self.fail)

    def need(self, scope: Scope, size: int) -> None:
        """Write the check that so many bytes are left."""
        if size:
            self.out.when(f"{scope.end} - p < {size}", self.fail)

    def enter(self, scope: Scope, size: str) -> None:
        """Write the check that a structure with a separate size is inside this one."""
        self.out.when(f"KS_UNLIKELY({size} < 0 || {size} > {scope.end} - p)", self.fail)

    def leave(self, end: str) -> None:
        """Write what follows after such a structure has been read."""

    def resolved(self, text: str) -> str:
        """Return the source text of a name in an expression; a subclass may note it."""
        return text

    def translator(self, scope: Scope, value: str = "_") -> CTranslator:
        """Return the translator of expressions of the structure."""

        def resolve(path: str) -> str:
            if path not in scope.names:
                raise Unsupported(f"{scope.type.location}: {path} is not known here")
            return self.resolved(scope.names[path])

        return CTranslator(self.model, scope.type, resolve, value, "p", scope.end)

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

    def _run(self, fields: list[Field]) -> list[Field]:
        run = []
        for item in fields:
            if item.condition is not None or item.repeat is not None or item.is_guard:
                break
            if not self._is_numbers(item) or fixed_size(self.model, item) is None:
                break
            if isinstance(item.type, TypeReference) and item.type.size is not None:
                break
            run.append(item)
            expression = item.valid.expression if item.valid else None
            if expression is not None and "_io" in names(expression):
                break
        return run

    def _is_numbers(self, item: Field) -> bool:
        if isinstance(item.type, TypeReference):
            return all(self._is_numbers(child) for child in self.model.inner(item).fields)
        return isinstance(item.type, IntegerType | BitsType)

    def _leaves(self, owner: Type, item: Field, prefix: str, bit: int) -> Iterator[_Leaf]:
        path = prefix + item.id
        match item.type:
            case IntegerType(size=size):
                yield _Leaf(path, owner, item, bit, 8 * size)
            case BitsType(width=width):
                yield _Leaf(path, owner, item, bit, width)
            case TypeReference():
                inner = self.model.type(item.type)
                for child in inner.fields:
                    for leaf in self._leaves(inner, child, f"{path}.", bit):
                        yield leaf
                        bit = leaf.bit + leaf.width

    def _read_run(self, scope: Scope, run: list[Field]) -> None:
        leaves: list[_Leaf] = []
        for item in run:
            bit = leaves[-1].bit + leaves[-1].width if leaves else 0
            leaves += self._leaves(scope.type, item, "", bit)
        size = (leaves[-1].bit + leaves[-1].width) // 8
        self.need(scope, size)
        for leaf in leaves:
            target = self.place(scope, leaf.path)
            self.out.line(f"{target} = {_load(leaf)};")
        self.out.line(f"p += {size};")
        for leaf in leaves:
            self._check(scope, leaf.owner, leaf.field, leaf.path)

    def _read_conditional(self, scope: Scope, item: Field) -> None:
        assert item.condition is not None
        if item.repeat is not None:
            raise Unsupported(f"{item.location}: C reads no array that may be null")
        condition = self.translator(scope).text(item.condition)
        plain = replace(item, condition=None)
        if is_integer(self.model, item):
            target = self.place(scope, item.id)
            default = item.default.value if item.default else None
            self.out.line(f"{target} = {-1 if not isinstance(default, int) else default};")
            known = scope.names[item.id]
            with self.out.block(f"if ({bare(condition)}) {{", "}"):
                self._read_number(scope, plain, known)
        elif isinstance(item.type, BytesType):
            self._read_bytes(scope, plain, condition)
        else:
            raise Unsupported(f"{item.location}: cannot read an optional structure")

    def _read_number(self, scope: Scope, item: Field, target: str) -> None:
        scalar = scalar_of(self.model, item)
        if scalar is not None:
            self.read_scalar(scope, scalar, target)
        else:
            assert isinstance(item.type, IntegerType)
            self.need(scope, item.type.size)
            self.out.line(f"{target} = {_integer(item.type, 'p')};")
            self.out.line(f"p += {item.type.size};")
        self._check(scope, scope.type, item, item.id)

    def _read_field(self, scope: Scope, item: Field) -> None:
        if item.is_guard:
            assert item.valid is not None
            assert item.valid.expression is not None
            condition = self.translator(scope).text(item.valid.expression)
            self.out.when(f"KS_UNLIKELY(!{condition})", self.fail)
        elif item.repeat is not None:
            self.on_array(scope, item)
        elif is_integer(self.model, item):
            self._read_number(scope, item, self.place(scope, item.id))
        elif is_bytes(self.model, item):
            self._read_bytes(scope, item, None)
        elif isinstance(item.type, TypeReference):
            self._read_structure(scope, item, item.type)
        else:
            raise Unsupported(f"{item.location}: C cannot read it")

    def _read_bytes(self, scope: Scope, item: Field, condition: str | None) -> None:
        """Write a byte string: after its size, of known size, or up to the end."""
        name = c_name(scope.prefix + item.id)
        size, expression = f"n_{name}", None
        self.out.line(f"int64_t {size} = {'-1' if condition else '0'};")
        stop = scope
        if isinstance(item.type, TypeReference):
            inner = self.model.type(item.type)
            length, value = inner.fields
            stop = Scope(inner, f"{scope.prefix}{item.id}.", end=scope.end)
            local = f"l_{name}"
            self.out.line(f"int64_t {local};")
            stop.names[length.id] = local
            self._read_number(stop, length, local)
            if value.condition is not None:
                condition = self.translator(stop).text(value.condition)
                self.out.line(f"{size} = -1;")
            assert isinstance(value.type, BytesType)
            expression = value.type.size
        else:
            assert isinstance(item.type, BytesType)
            expression = item.type.size
        start = f"b_{name}"
        self.out.line(f"const uint8_t *const {start} = p;")
        head = f"if ({bare(condition)}) {{" if condition else "{"
        with self.out.block(head, "}"):
            text = (
                self.translator(stop).text(expression)
                if expression is not None
                else f"(int64_t)({scope.end} - p)"
            )
            self.out.line(f"{size} = {text};")
            if expression is not None:
                test = f"{size} < 0 || {size} > {scope.end} - p"
                self.out.when(f"KS_UNLIKELY({test})", self.fail)
            else:
                self.need(scope, 0)
            self.out.line(f"p += {size};")
        self.on_bytes(scope, item, start, size)

    def _read_structure(
        self, scope: Scope, item: Field, reference: TypeReference, prefix: str | None = None
    ) -> None:
        inner = self.model.type(reference)
        outer = self.translator(scope)
        end = scope.end
        if reference.size is not None:
            end = f"end_{c_name(scope.prefix + item.id)}"
            size = outer.text(reference.size)
            self.enter(scope, size)
            self.out.line(f"const uint8_t *{end} = p + {size};")
        if prefix is None:
            prefix = scope.prefix if scope.type.is_frame else f"{scope.prefix}{item.id}."
        below = Scope(inner, prefix, self.arguments(scope, inner, reference), end)
        self.read(below)
        if reference.size is not None:
            self.leave(end)
            self.out.line(f"KS_HIDE({end});")
            self.out.line(f"p = {end};")
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
            return {parameter.id: self.translator(scope).text(argument)}
        if not isinstance(argument, Name):
            raise Unsupported(f"{scope.type.location}: an argument must be a plain name")
        start = f"{argument.id}."
        return {
            f"{parameter.id}.{path.removeprefix(start)}": text
            for path, text in scope.names.items()
            if path.startswith(start)
        }

    def _check(self, scope: Scope, owner: Type, item: Field, path: str) -> None:
        value = scope.names[path]
        inner = scope
        if owner is not scope.type:
            start = path.removesuffix(item.id)
            known = scope.names.items()
            below = {k.removeprefix(start): v for k, v in known if k.startswith(start)}
            inner = Scope(owner, names=below, end=scope.end)
        for condition in checks(self.translator(inner, value), item):
            self.out.when(f"KS_UNLIKELY(!({condition}))", self.fail)


def _integer(kind: IntegerType, at: str) -> str:
    return f"ks_{'s' if kind.signed else 'u'}{kind.size}{'le' if kind.little else ''}({at})"


def _load(leaf: _Leaf) -> str:
    kind = leaf.field.type
    if isinstance(kind, IntegerType):
        return _integer(kind, f"p + {leaf.bit // 8}" if leaf.bit else "p")
    first, last = leaf.bit // 8, (leaf.bit + leaf.width - 1) // 8
    count = last - first + 1
    at = f"p + {first}" if first else "p"
    whole = (
        f"ks_u{count}({at})"
        if count in (1, 2, 4)
        else " | ".join(f"ks_u1(p + {i}) << {8 * (last - i)}" for i in range(first, last + 1))
    )
    shift = 8 * (last + 1) - (leaf.bit + leaf.width)
    text = f"({whole}) >> {shift}" if shift else f"({whole})"
    return f"{text} & {hex((1 << leaf.width) - 1)}"
