"""Write the statements that read the fields of one type, for ``parse``."""

from __future__ import annotations

from collections.abc import Callable

from tools.specgen.expression import Expression, Int
from tools.specgen.facts.fields import mentioned
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
)
from tools.specgen.python.checks import grouped_cases
from tools.specgen.python.parse_runs import Place, RunReader, plus
from tools.specgen.python.runs import Run, is_fixed, run_of, segments


def is_bulk(model: Model, type_: Type) -> bool:
    """Return whether arrays of the type can be read with one ``iter_unpack``."""
    return (
        not type_.is_transparent
        and bool(type_.fields)
        and fixed_size(model, type_) is not None
        and all(is_fixed(model, field) for field in type_.fields)
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


class FieldReader(RunReader):
    """Writer of the body of one parser."""

    def read_all(self) -> None:
        """Write every field in order."""
        if self.type.scalar:
            self.out.line("start = pos")
        if self.type.peek_instances:
            self.out.line("base = pos")
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
            run = run_of(self.model, self.type, (as_field,))
            with self.out.block(f"if end - base < {peek.position.value + run.size}:"):
                self.out.line(f"raise missing({place.offset}, complete, {place})")
            struct = self.structs.name(run.format)
            self.out.line(
                f"({self.local(peek.id)},) = {struct}.unpack_from(buffer, {place.offset})"
            )
            self._check(as_field, self.local(peek.id), place, "pos")

    def _field(self, field: Field) -> None:
        if field.is_guard:
            self._guard(field)
            return
        target = self.local(field.id)
        if field.condition is not None:
            self.out.line(f"{target} = None")
            with self.out.block(f"if {self.translator().text(field.condition)}:"):
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
        if repeat.until is not None or field.valid:
            raise ValueError(f"{field.location}: only whole types of scalars repeat until")
        count = None if repeat.count is None else self.translator().text(repeat.count)
        bulk = isinstance(field.type, TypeReference) and is_bulk(
            self.model, self.model.type(field.type)
        )
        if bulk:
            assert isinstance(field.type, TypeReference)
            type_ = self.model.type(field.type)
            size = minimum_size(self.model, type_)
            fit = f"(end - pos) // {size}"
            most = fit if count is None else f"min({count}, {fit})"
            name = self._function_name(field.type, "parse_many")
            arguments = "".join(f", {text}" for text in self._arguments(field.type))
            self.out.line(f"{target} = {name}(buffer, pos, {most}{arguments})")
            self.out.line(f"pos += {size} * len({target})")
        else:
            self.out.line(f"{target} = []")
        if count is None:
            loop = "while pos < end:"
        elif bulk:
            loop = f"for _ in range(len({target}), {count}):"
        else:
            loop = f"for _ in range({count}):"

        def each() -> None:
            with self.out.block(loop):
                self._value(field, "item", guarded=False)
                self.out.line(f"{target}.append(item)")

        if self._calls_structure(field):
            self._with_path(field, each)
        else:
            each()

    def _calls_structure(self, field: Field) -> bool:
        match field.type:
            case TypeReference():
                return self.model.type(field.type).scalar is None
            case SwitchType():
                return True
        return False

    def _with_path(self, field: Field, body: Callable[[], None]) -> None:
        """Write a handler that adds the field before the path of errors from inside."""
        with self.out.block("try:"):
            body()
        with self.out.block("except KafkaSpecError as error:"):
            path = f"/{field.id}"
            if field.repeat:
                path += f"/{{len({self.local(field.id)})}}"
            self.out.line(f'error.path = f"{path}{{error.path}}"')
            self.out.line("raise")

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
                name = self._function_name(kind)
                where = self._place(field)
                self.out.line(f"{target}, pos = {name}(buffer, pos, end, complete, {where})")
            case TypeReference() | SwitchType():
                self._structure(field, kind, target, guarded=guarded)
            case IntegerType():
                run = run_of(self.model, self.type, (field,))
                where = self._place(field)
                with self.out.block(f"if end - pos < {run.size}:"):
                    self.out.line(f"raise missing({where.offset}, complete, {where})")
                struct = self.structs.name(run.format)
                self.out.line(f"({target},) = {struct}.unpack_from(buffer, pos)")
                self.out.line(f"pos += {run.size}")
            case _:
                raise ValueError(f"{field.location}: bit fields are not optional and do not repeat")
        self._check(field, target, place, "pos")

    def _sized(self, field: Field, size: Expression, place: Place) -> None:
        """Set ``stop`` to the end of ``size`` bytes."""
        text = self.translator().operand(size)
        if not self.translator().never_negative(field, size):
            with self.out.block(f"if {text} < 0:"):
                self.out.line(f"raise invalid({place.offset}, {text}, {place})")
        with self.out.block(f"if {text} > end - pos:"):
            self.out.line(f"raise missing({place.offset}, complete, {place})")
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
        elif not kind.size_eos:
            self._refuse_peeks(field, kind)
        end, complete = ("stop", "True") if bounded else ("end", "complete")
        result = f"{target}, _" if bounded or kind.size_eos else f"{target}, pos"

        def call(reference: TypeReference) -> None:
            name = self._function_name(reference)
            arguments = "".join(f", {text}" for text in self._arguments(reference))
            self.out.line(f"{result} = {name}(buffer, pos, {end}, {complete}{arguments})")

        def body() -> None:
            if isinstance(kind, SwitchType):
                self._cases(field, kind, call)
            else:
                call(kind)

        if guarded:
            self._with_path(field, body)
        else:
            body()
        if bounded or kind.size_eos:
            self.out.line(f"pos = {end}")

    def _cases(self, field: Field, kind: SwitchType, call: Callable[[TypeReference], None]) -> None:
        on = self.translator().text(kind.on)
        default = None
        word = "if"
        hint = f"{self.local(field.id)}: Any"
        self.out.line(hint)
        for cases, reference in grouped_cases(kind):
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

    def _refuse_peeks(self, field: Field, kind: TypeReference | SwitchType) -> None:
        references = [case for _, case in kind.cases] if isinstance(kind, SwitchType) else [kind]
        for reference in references:
            if self.model.type(reference).peek_instances:
                raise ValueError(f"{field.location}: a type that looks ahead needs a size (S2)")

    def _function_name(self, reference: TypeReference, prefix: str = "parse") -> str:
        module = "" if reference.spec_id == self.type.spec_id else f"{reference.spec_id}."
        return f"{module}{prefix}_{reference.name}"

    def _arguments(self, reference: TypeReference) -> list[str]:
        return [self.translator().text(argument) for argument in reference.arguments]
