"""Emit ``generated/python/headers.py``: headers of entries by columns, without objects.

One loop goes from entry to entry and checks only what can make an entry irregular. Everything
else is a table of places: ``kafkaspec.codecs.headers`` cuts columns out of the headers, all rows
at once. This works for kinds of entries whose fields have fixed places, except bytes up to the
end; any other kind has no columns here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tools.specgen import expression as ex
from tools.specgen.facts.fields import valid_parts
from tools.specgen.facts.ranges import sole_lower_bound
from tools.specgen.facts.segments import Segment, members, segments
from tools.specgen.model import BytesType, Field, Model, Type, TypeReference
from tools.specgen.output import Output
from tools.specgen.python.expressions import Translator
from tools.specgen.python.runs import Leaf, Names, Run, Structs, is_fixed, run_of
from tools.specgen.python.runs import segments as parts_of
from tools.specgen.writer import CodeWriter

_HEAD = '''"""Headers of entries by columns: the way from one to the next, and places of fields."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import repeat
from struct import Struct, error

from kafkaspec.layout import Column, HeaderBits, HeaderColumns, HeaderInteger

from .runtime import Buffer, signed64, sums
'''


_LOCALS = (
    "buffer", "pos", "limit", "capacity", "positions", "headers", "append", "keep", "cut",
    "unpack", "header", "error", "repeat", "range", "len", "bytes",
)  # fmt: skip
_NAMES = Names(frozenset(_LOCALS))
"""Names that variables of fields may not have."""


@dataclass(frozen=True)
class _Kind:
    """A kind of entry whose header has a fixed size: framing, a run, and bytes up to the end."""

    type: Type
    framing: Run
    run: Run
    rest: Field | None

    @property
    def size(self) -> int:
        return self.framing.size + self.run.size

    def leaves(self) -> Iterator[tuple[int, Leaf]]:
        """Yield the place of each number in the entry, and the number."""
        for leaf in self.framing.leaves:
            yield leaf.offset, leaf
        for leaf in self.run.leaves:
            yield self.framing.size + leaf.offset, leaf


def emit(model: Model) -> list[Output]:
    """Return the module; none without a segment."""
    return [
        Output("python/headers.py", (segment.type.spec_id,), _Module(segment).text())
        for segment in segments(model)[:1]
    ]


class _Module:
    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.model = segment.model
        self.structs = Structs()

    def text(self) -> str:
        body = CodeWriter()
        kinds = [kind for type_ in self.segment.kinds if (kind := self._kind(type_))]
        for kind in kinds:
            self._hop(kind, body)
        tables = [self._tables(kind, body) for kind in kinds]
        with body.block("KINDS: tuple[HeaderColumns, ...] = (", ")"):
            for table in tables:
                body.lines(*table)
        body.line('"""The kinds of entries whose header has a fixed size."""')
        head = CodeWriter()
        head.lines(*_HEAD.split("\n"), *self.structs.lines(), "", "")
        return head.text() + body.text()

    def _kind(self, type_: Type) -> _Kind | None:
        framing, parts = self.segment.framing, parts_of(self.model, type_)
        if not parts or not isinstance(parts[0], Run) or len(parts) > 2:
            return None
        last = parts[1] if len(parts) == 2 else None
        if isinstance(last, Run) or not (last is None or _is_open(last)):
            return None
        if not all(is_fixed(self.model, field) for field in framing):
            return None
        kind = _Kind(type_, run_of(self.model, self.segment.entry, framing), parts[0], last)
        return kind if all(_is_plain(leaf) for _, leaf in kind.leaves()) else None

    # -- from entry to entry ----------------------------------------------------------------

    def _hop(self, kind: _Kind, out: CodeWriter) -> None:
        length = self._length()
        looked, tests = self._tests(kind)
        name = self.structs.name(_format(looked, kind.size))
        header = self.structs.name(f"{kind.size}s")
        with out.block(
            f"def hop_{kind.type.name}(\n"
            "    buffer: Buffer, pos: int, limit: int, capacity: int\n"
            ") -> tuple[list[int], bytes]:"
        ):
            out.line('"""See ``HeaderColumns.hop``."""')
            out.lines("positions = [pos]", "headers: list[bytes] = []")
            out.lines("append, keep = positions.append, headers.append")
            out.line(f"cut, unpack = {header}.unpack_from, {name}.unpack")
            with out.block("try:"), out.block("for _ in repeat(None, capacity):"):
                out.line("(header,) = cut(buffer, pos)")
                variables = ", ".join(_NAMES.local(leaf.fields[0].id) for _, leaf in looked)
                out.line(f"({variables},) = unpack(header)")
                out.when(f"{' or '.join(tests)}", "break")
                out.line("keep(header)")
                out.line(f"pos += {length} + {kind.framing.size}")
                out.line("append(pos)")
            with out.block("except error:"):
                out.line("pass  # fewer bytes are left than a header takes")
            with out.block("if headers and pos > limit:"):
                out.lines("positions.pop()", "headers.pop()")
            out.line('return positions, b"".join(headers)')
        out.lines("", "")

    def _length(self) -> str:
        body = self.segment.body.type
        assert isinstance(body, TypeReference)
        assert body.size is not None
        return Translator(self.model, self.segment.entry, _NAMES.local).text(body.size)

    def _tests(self, kind: _Kind) -> tuple[list[tuple[int, Leaf]], list[str]]:
        """Return the variables of the loop, and the conditions that end it."""
        length = self.segment.length
        peek = self.segment.peek
        assert isinstance(peek.position, ex.Int)
        selector = kind.framing.size + peek.position.value
        short = "!=" if kind.rest is None else "<"
        looked, tests = [], [f"{self._length()} {short} {kind.run.size}"]
        for place, leaf in kind.leaves():
            item = leaf.fields[0]
            wanted = [field for field in leaf.fields if field.valid]
            if place == selector:
                tests.append(self._wrong_kind(kind, _NAMES.local(item.id)))
            elif item.id == length.id:
                if (sole_lower_bound(item) or 0) > kind.run.size or sole_lower_bound(item) is None:
                    tests += self._violations(item, self.segment.entry)
            elif wanted:
                tests += self._violations(item, leaf.owner)
            else:
                continue
            looked.append((place, leaf))
        return looked, tests

    def _violations(self, item: Field, owner: Type) -> list[str]:
        name = _NAMES.local(item.id)
        tests = Translator(self.model, owner, _NAMES.local, value=name).violated(item)
        return [f"({test})" if " or " in test else test for test in tests]

    def _wrong_kind(self, kind: _Kind, name: str) -> str:
        cases = [
            case
            for case, reference in self.segment.switch.cases
            if self.model.type(reference) == kind.type and case is not None
        ]
        if len(cases) == 1:
            return f"{name} != {cases[0]}"
        return f"{name} not in {tuple(cases)}"

    # -- columns ----------------------------------------------------------------------------

    def _tables(self, kind: _Kind, out: CodeWriter) -> list[str]:
        integers, bits = [], []
        for place, leaf in kind.leaves():
            if leaf.is_bytes:
                continue  # Their place and size are made.
            if not leaf.is_bits:
                signed = leaf.code.islower()
                integers.append(f'"{_path(leaf)}": HeaderInteger({place}, {leaf.size}, {signed}),')
                continue
            prefix = "".join(f"{step.id}." for step in leaf.parents)
            for field, shift, mask in leaf.shifted():
                arguments = f"{place}, {leaf.size}, {shift}, {mask.bit_length()}"
                bits.append(f'"{prefix}{field.id}": HeaderBits({arguments}),')
        made, conditions = [], []
        for path, expression, owner in self._made(kind):
            function = f"_{kind.type.name}_{path.replace('.', '_')}"
            self._function(function, owner, expression, out)
            made.append(f'"{path}": {function},')
        for member in members(self.model, kind.type):
            if member.condition is not None:
                function = f"_{kind.type.name}_has_{member.identifier}"
                self._function(function, member.owner, member.condition, out)
                conditions.append(f'"{member.path}": {function},')
        return [
            "HeaderColumns(",
            f'    key="{kind.type.key}",',
            f"    size={kind.size},",
            f"    hop=hop_{kind.type.name},",
            *(f"    {name}={{{' '.join(table)}}}," for name, table in (
                ("integers", integers), ("bits", bits), ("made", made), ("conditions", conditions)
            )),
            "),",
        ]  # fmt: skip

    def _made(self, kind: _Kind) -> Iterator[tuple[str, ex.Expression, Type]]:
        """Yield the columns that are computed from others: path, expression, and its type."""
        length, framing = ex.Name(self.segment.length.id), kind.framing.size
        yield "size", _sum(length, framing), self.segment.entry
        if kind.rest is not None:
            yield f"{kind.rest.id}.position", _sum(ex.Name("position"), kind.size), kind.type
            yield f"{kind.rest.id}.size", _sum(length, -kind.run.size), self.segment.entry
        for place, leaf in kind.leaves():
            if leaf.is_bytes:
                yield f"{_path(leaf)}.position", _sum(ex.Name("position"), place), kind.type
                yield f"{_path(leaf)}.size", ex.Int(leaf.size), kind.type
        known = {_path(leaf) for _, leaf in kind.leaves()}
        given = self.segment.arguments(kind.type)
        for member in members(self.model, kind.type):
            if member.instance is not None:
                yield member.path, member.instance.value, kind.type
            elif member.path in given and member.path not in known:
                yield member.path, given[member.path], self.segment.entry

    def _function(self, name: str, owner: Type, value: ex.Expression, out: CodeWriter) -> None:
        used = list(dict.fromkeys(_paths(value)))
        paths = {expression: path for path, expression in used}
        names_ = {expression: path.replace(".", "_") for expression, path in paths.items()}
        plain = Translator(self.model, owner, str, overrides=names_)
        wrapped = replace(plain, wrap=True).text(value)
        columns = ", ".join(f'column("{path}")' for path, _ in used)
        variables = ", ".join(names_.values())
        rows = f"zip({columns}, strict=True)" if len(used) > 1 else columns
        with out.block(f"def {name}(column: Column) -> Sequence[int]:"):
            if isinstance(value, ex.Int):
                out.line(f'return array("q", [{value.value}]) * len(column("position"))')
            elif value in names_:
                out.line(f"return {columns}")
            elif _is_sum(value):
                assert isinstance(value, ex.Binary)
                left, right = (
                    str(side.value) if isinstance(side, ex.Int) else f'column("{paths[side]}")'
                    for side in (value.left, value.right)
                )
                out.line(f"return sums({left}, {right})")
            else:
                out.line(f'return array("q", [{wrapped} for {variables} in {rows}])')
        out.lines("", "")


def _is_plain(leaf: Leaf) -> bool:
    """Return whether its high byte is first, and its bounds depend on one number only."""
    if leaf.order == "<":
        return False
    parts = [part for field in leaf.fields for part in valid_parts(field.valid)]
    return not parts or not (leaf.is_bits or any(ex.names(part) - {"_"} for part in parts))


def _is_open(field: Field) -> bool:
    return (
        isinstance(field.type, BytesType)
        and field.type.size is None
        and field.condition is None
        and field.repeat is None
        and field.valid is None
        and not field.is_guard
    )


def _path(leaf: Leaf) -> str:
    return ".".join(step.id for step in (*leaf.parents, leaf.fields[0]))


def _format(looked: list[tuple[int, Leaf]], size: int) -> str:
    text, place = ">", 0
    for start, leaf in looked:
        text += f"{start - place}x" if start > place else ""
        text += leaf.code
        place = start + leaf.size
    return f"{text}{size - place}x" if size > place else text


def _sum(name: ex.Name, number: int) -> ex.Expression:
    return ex.Binary("+", name, ex.Int(number))


def _is_sum(value: ex.Expression) -> bool:
    """Return whether the sum is a column plus a column or number: added for all rows at once."""
    return (
        isinstance(value, ex.Binary)
        and value.operator == "+"
        and isinstance(value.left, ex.Name)
        and isinstance(value.right, ex.Name | ex.Int)
    )


def _paths(value: ex.Expression) -> Iterator[tuple[str, ex.Expression]]:
    """Yield the columns in an expression: dotted id, and the sub-expression that names it."""
    if isinstance(value, ex.Name | ex.Attribute):
        yield next(ex.dotted(value)), value
        return
    for part in ex.parts(value):
        yield from _paths(part)
