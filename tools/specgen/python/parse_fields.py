"""Write the statements that read the fields of one type, for ``parse``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tools.specgen.expression import Expression, Int, names
from tools.specgen.facts.fields import is_computed, mentioned, model_fields, valid_parts
from tools.specgen.facts.sizes import fixed_size, minimum_size
from tools.specgen.model import (
    BytesType,
    Field,
    IntegerType,
    Model,
    Repeat,
    SwitchType,
    Type,
    TypeReference,
    ValueInstance,
)
from tools.specgen.python.expressions import Stream, Translator
from tools.specgen.python.runs import (
    Leaf,
    Run,
    has_one_order,
    is_fixed,
    path_of,
    run_of,
    segments,
)
from tools.specgen.python.statements import Module, Statements, plus


@dataclass(frozen=True)
class Place:
    """Source texts of the place of an error: offset, path and place in the specification."""

    offset: str
    path: str
    spec: str

    def __str__(self) -> str:
        return f"{self.path}, {self.spec}"


def is_bulk(model: Model, type_: Type) -> bool:
    """Return whether arrays of the type can be read with one ``iter_unpack``."""
    return (
        not type_.is_transparent
        and bool(type_.fields)
        and fixed_size(model, type_) is not None
        and all(is_fixed(model, field) for field in type_.fields)
        and has_one_order(model, type_, type_.fields)
        and not any(field.derive for field in type_.fields)
        and any(_is_array_of(type_, field) for user in model.all_types() for field in user.fields)
    )


def _is_array_of(type_: Type, field: Field) -> bool:
    return (
        field.repeat is not None
        and isinstance(field.type, TypeReference)
        and (field.type.spec_id, field.type.name) == (type_.spec_id, type_.name)
    )


def bulk_run(model: Model, type_: Type) -> Run:
    """Return the one run of a type that ``is_bulk``."""
    return run_of(model, type_, type_.fields)


class FieldReader(Statements):
    """Writer of the body of one parser."""

    def __init__(self, module: Module, type_: Type) -> None:
        super().__init__(module, type_)
        self.seen: set[str] = set()

    def read_all(self) -> None:
        """Write every field in order."""
        if self.type.scalar:
            self.out.line("start = pos")
        if self.type.peek_instances:
            self.out.line("base = pos")
        self.declare_item()
        for segment in segments(self.model, self.type):
            if isinstance(segment, Run):
                self._run(segment)
            else:
                self._peeks(segment)
                self._field(segment)

    def _peeks(self, field: Field) -> None:
        for peek in self.type.peek_instances:
            if peek.id not in mentioned(field) or peek.id in self.seen:
                continue
            self.seen.add(peek.id)
            assert isinstance(peek.position, Int)
            assert isinstance(peek.type, IntegerType)
            place = Place(plus("base", peek.position.value), f'"/{peek.id}"', f'"{peek.location}"')
            as_field = Field(peek.id, peek.type, peek.location, valid=peek.valid)
            self._unpack(as_field, self.local(peek.id), place, "base", peek.position.value)
            self._check(as_field, self.local(peek.id), place, "pos")

    def _field(self, field: Field) -> None:
        if field.is_guard:
            self._guard(field)
            return
        target = self.local(field.id)
        if field.condition is not None:
            hint = ": list[Any] | None" if field.repeat is not None else ""
            self.out.line(f"{target}{hint} = None")
            with self.out.block(f"if {self.translator().text(field.condition)}:"):
                if field.repeat:
                    self._array(field, field.repeat, target)
                else:
                    self._value(field, target)
        elif field.repeat:
            self._array(field, field.repeat, target)
        else:
            self._value(field, target)

    def _guard(self, field: Field) -> None:
        assert field.valid
        assert field.valid.expression is not None
        place = self._place(field)
        with self.out.block(f"if {self.translator().negated(field.valid.expression)}:"):
            self.out.line(f"raise trailing({place.offset}, end - pos, {place})")

    def _array(self, field: Field, repeat: Repeat, target: str) -> None:
        count = None if repeat.count is None else self.translator().text(repeat.count)
        bulk = False
        if isinstance(field.type, TypeReference):
            bulk = is_bulk(self.model, self.model.type(field.type))
        if bulk and isinstance(field.type, TypeReference):
            size = minimum_size(self.model, self.model.type(field.type))
            fit = f"(end - pos) // {size}"
            most = fit if count is None else f"min({count}, {fit})"
            name = self.function("parse_many", field.type)
            arguments = "".join(f", {text}" for text in self._arguments(field.type))
            self.out.line(f"{target} = {name}(buffer, pos, {most}{arguments})")
            self.out.line(f"pos += {size} * len({target})")
        else:
            hint = ": list[Any]" if field.condition is None else ""
            self.out.line(f"{target}{hint} = []")
        if count is None:
            loop = "while pos < end:"
        elif bulk:
            loop = f"for _ in range(len({target}), {count}):"
        else:
            loop = f"for _ in range({count}):"

        path = f"/{field.id}/{{len({target})}}"
        with self.with_path(path, needed=self.is_structure(field)), self.out.block(loop):
            if field.ascending is not None:
                self.out.line("start = pos")
            self._value(field, "item", guarded=False)
            if field.ascending is not None:
                number = self.model.inner(field).field_by_id[field.ascending]
                test = f"{target} and item.{number.id} <= {target}[-1].{number.id}"
                with self.out.block(f"if {test}:"):
                    place = f'"/{number.id}", "{number.location}"'
                    self.out.line(f"raise invalid(start, item.{number.id}, {place})")
            self.out.line(f"{target}.append(item)")

    def _value(self, field: Field, target: str, *, guarded: bool = True) -> None:
        """Read one value into ``target``; ``guarded`` adds the field before paths of errors."""
        place = self._place(field)
        kind = field.type
        checked = field.valid is not None and not self.type.scalar
        if checked:
            self.out.line("start = pos")
            place = self._place(field, "start")
        match kind:
            case BytesType(size):
                self._bytes(field, size, target, self._place(field))
            case TypeReference() if self.model.type(kind).scalar:
                name = self.function("parse", kind)
                where = self._place(field)
                self.out.line(f"{target}, pos = {name}(buffer, pos, end, complete, {where})")
            case TypeReference() | SwitchType():
                self._structure(field, kind, target, guarded=guarded)
            case _:
                width = self._unpack(field, target, self._place(field), "pos", 0)
                self.out.line(f"pos += {width}")
        self._check(field, target, place, "pos")

    def _unpack(self, field: Field, target: str, place: Place, base: str, offset: int) -> int:
        """Read a number ``offset`` bytes after ``base``; return its size."""
        run = run_of(self.model, self.type, (field,))
        with self.out.block(f"if end - {base} < {offset + run.size}:"):
            self.out.line(f"raise missing({place.offset}, complete, {place})")
        struct = self.structs.name(run.format)
        self.out.line(f"({target},) = {struct}.unpack_from(buffer, {plus(base, offset)})")
        return run.size

    def _sized(self, field: Field, size: Expression, place: Place) -> None:
        """Set ``stop`` to the end of ``size`` bytes."""
        text = self.translator().operand(size)
        if not self.translator().never_negative(field, size):
            self.out.when(f"{text} < 0", f"raise invalid({place.offset}, {text}, {place})")
        self.out.when(f"{text} > end - pos", f"raise missing({place.offset}, complete, {place})")
        self.out.line(f"stop = pos + {text}")

    def _bytes(self, field: Field, size: Expression | None, target: str, place: Place) -> None:
        if size is None:
            self.out.line(f"{target} = buffer[pos:end]")
            self.out.line("pos = end")
            return
        self._sized(field, size, place)
        self.out.line(f"{target} = bytes(buffer[pos:stop])")
        self.out.line("pos = stop")

    def _structure(
        self, field: Field, kind: TypeReference | SwitchType, target: str, *, guarded: bool
    ) -> None:
        bounded = kind.size is not None
        if kind.size is not None:
            self._sized(field, kind.size, self._place(field))
        end, complete = ("stop", "True") if bounded else ("end", "complete")
        result = f"{target}, _" if bounded or kind.size_eos else f"{target}, pos"

        def call(reference: TypeReference) -> None:
            name = self.function("parse", reference)
            arguments = "".join(f", {text}" for text in self._arguments(reference))
            self.out.line(f"{result} = {name}(buffer, pos, {end}, {complete}{arguments})")

        with self.with_path(f"/{field.id}", needed=guarded):
            if isinstance(kind, SwitchType):
                self._cases(field, kind, call)
            else:
                call(kind)
        if bounded or kind.size_eos:
            self.out.line(f"pos = {end}")

    def _cases(self, field: Field, kind: SwitchType, call: Callable[[TypeReference], None]) -> None:
        on = self.translator().text(kind.on)
        default = None
        word = "if"
        hint = f"{self.local(field.id)}: Any"
        self.out.line(hint)
        for cases, reference in _grouped_cases(kind):
            if cases is None:
                default = reference
                continue
            test = f"== {cases[0]}" if len(cases) == 1 else f"in {cases!r}"
            with self.out.block(f"{word} {on} {test}:"):
                call(reference)
            word = "elif"
        with self.out.block("else:"):
            if default is not None:
                call(default)
            else:
                # The handler around this adds the path of the field.
                self.out.line(f'raise invalid(pos, {on}, "", "{field.location}")')

    def _arguments(self, reference: TypeReference) -> list[str]:
        return [self.translator().text(argument) for argument in reference.arguments]

    def construct(self, type_: Type, parents: tuple[Field, ...] = ()) -> str:
        """Return the call that makes the value from the variables."""
        parts = [] if parents else [f"{p.id}={self.local(p.id)}" for p in type_.parameters]
        for field in model_fields(type_):
            if is_computed(type_, field):
                continue
            inner = field.type
            if isinstance(inner, TypeReference) and parents:
                made = self.construct(self.model.type(inner), (*parents, field))
                parts.append(f"{field.id}={made}")
            else:
                parts.append(f"{field.id}={self._variable(parents, field)}")
        return f"{self.class_of(type_)}({', '.join(parts)})"

    def translator(self, value: str = "_", position: str = "pos") -> Translator:
        """Return the translator of expressions of this type over the local variables."""
        return Translator(
            self.model,
            self.type,
            self._resolve,
            value=value,
            stream=Stream(position, "end", "base" if self.type.peek_instances else ""),
        )

    def _resolve(self, name: str) -> str:
        member = self.type.members.get(name)
        if isinstance(member, ValueInstance):
            return f"({self.translator().text(member.value)})"
        return self.local(name)

    def _variable(self, parents: tuple[Field, ...], field: Field) -> str:
        return self.local("_".join(step.id for step in (*parents, field)))

    def _place(self, field: Field, offset: str = "pos", parents: tuple[Field, ...] = ()) -> Place:
        if self.type.scalar:
            return Place("start", "path", "spec")
        path = path_of(parents, field)
        if field.repeat:
            return Place(
                offset, f'f"{path}/{{len({self.local(field.id)})}}"', f'"{field.location}"'
            )
        return Place(offset, f'"{path}"', f'"{field.location}"')

    def targets(self, run: Run) -> str:
        """Return the variables of a run, as the left side of an assignment."""
        listed = ", ".join(self._leaf_variable(leaf) for leaf in run.leaves)
        return f"({listed},)" if len(run.leaves) == 1 else f"({listed})"

    def _leaf_variable(self, leaf: Leaf) -> str:
        name = self._variable(leaf.parents, leaf.fields[0])
        return f"{name}_bits" if leaf.is_bits else name

    def _run(self, run: Run) -> None:
        with self.out.block(f"if end - pos < {run.size}:"):
            self._short_run(run)
        self.out.line(
            f"{self.targets(run)} = {self.structs.name(run.format)}.unpack_from(buffer, pos)"
        )
        self.after_run(run)
        self.out.line(f"pos += {run.size}")

    def _short_run(self, run: Run) -> None:
        """Write the case of a cut run: an earlier wrong field is reported before a missing one."""
        for leaf in run.leaves[:-1]:
            with self.out.block(f"if end - pos < {leaf.offset + leaf.size}:"):
                self._raise_missing(leaf)
            if self._used_in_checks(run, leaf):
                struct = self.structs.name(leaf.format)
                at = plus("pos", leaf.offset)
                self.out.line(
                    f"({self._leaf_variable(leaf)},) = {struct}.unpack_from(buffer, {at})"
                )
                self._after_leaf(leaf)
        self._raise_missing(run.leaves[-1])

    def _used_in_checks(self, run: Run, leaf: Leaf) -> bool:
        if any(field.valid for field in leaf.fields):
            return True
        mentioned = {
            name
            for field in run.fields
            if field.valid
            for part in valid_parts(field.valid)
            for name in names(part)
        }
        return bool(mentioned & {field.id for field in (*leaf.parents, *leaf.fields)})

    def _raise_missing(self, leaf: Leaf) -> None:
        place = self._place(leaf.fields[0], plus("pos", leaf.offset), leaf.parents)
        self.out.line(f"raise missing({place.offset}, complete, {place})")

    def after_run(self, run: Run, on_invalid: str = "") -> None:
        """Write bits, checks and structures of a run whose numbers are in their variables."""
        for leaf in run.leaves:
            self._after_leaf(leaf, on_invalid)
        for field in run.fields:
            if isinstance(field.type, TypeReference):
                made = self.construct(self.model.type(field.type), (field,))
                self.out.line(f"{self.local(field.id)} = {made}")

    def _after_leaf(self, leaf: Leaf, on_invalid: str = "") -> None:
        if leaf.is_bits:
            number = self._leaf_variable(leaf)
            for field, shift, mask in leaf.shifted():
                text = f"{number} >> {shift}" if shift else number
                if mask.bit_length() + shift < 8 * leaf.size:
                    shown = hex(mask) if mask > 9 else str(mask)
                    text = f"({text}) & {shown}" if shift else f"{text} & {shown}"
                text = f"bool({text})" if field.is_bool else text
                self.out.line(f"{self._variable(leaf.parents, field)} = {text}")
        for field in leaf.fields:
            offset = plus("pos", leaf.offset)
            place = self._place(field, offset, leaf.parents)
            after = plus("pos", leaf.offset + leaf.size)
            self._check(field, self._variable(leaf.parents, field), place, after, on_invalid)

    def _check(
        self, field: Field, value: str, place: Place, after: str, on_invalid: str = ""
    ) -> None:
        for test in self.translator(value, after).violated(field):
            with self.out.block(f"if {test}:"):
                self.out.line(on_invalid or f"raise invalid({place.offset}, {value}, {place})")


def _grouped_cases(kind: SwitchType) -> list[tuple[tuple[int, ...] | None, TypeReference]]:
    """Group cases with the same type; None is the default."""
    groups: dict[tuple[bool, TypeReference], list[int]] = {}
    for case, reference in kind.cases:
        groups.setdefault((case is None, reference), []).extend([] if case is None else [case])
    return [(None if default else tuple(c), ref) for (default, ref), c in groups.items()]
