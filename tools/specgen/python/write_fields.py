"""Write the statements that write the fields of one type, for ``serialize``."""

from __future__ import annotations

from collections.abc import Callable

from tools.specgen.expression import Expression, names
from tools.specgen.model import (
    BytesType,
    Field,
    IntegerType,
    Model,
    SwitchType,
    Type,
    TypeReference,
)
from tools.specgen.python.runs import Run, run_of, segments
from tools.specgen.python.write_runs import RunWriter


def needed_parameters(model: Model, type_: Type) -> frozenset[str]:
    """Return the parameters that the writer of a frame or choice takes; structures hold theirs."""
    if type_.scalar or not type_.is_transparent:
        return frozenset()
    kind = type_.fields[-1].type
    found: set[str] = set()
    references = [kind] if isinstance(kind, TypeReference) else []
    if isinstance(kind, SwitchType):
        found |= names(kind.on)
        references = [reference for _, reference in kind.cases]
    for reference in references:
        inner = model.type(reference)
        needed = needed_parameters(model, inner)
        for parameter, argument in zip(inner.parameters, reference.arguments, strict=True):
            if parameter.id in needed:
                found |= names(argument)
    return frozenset(found & {parameter.id for parameter in type_.parameters})


class FieldWriter(RunWriter):
    """Writer of the body of one serializer."""

    def write_all(self) -> None:
        """Write every field in order, then the values that are known only at the end."""
        for segment in segments(self.model, self.type):
            if isinstance(segment, Run):
                self._run(segment)
            elif not segment.is_guard:
                self._mark(segment)
                self._field(segment)
                self._mark_end(segment)
        self._patch()

    def _field(self, field: Field) -> None:
        stored = self._stored(field)
        if field.id in self.bodies:
            self.out.line(f"out += {self.bodies[field.id]}")
        elif field.derive and not self.type.is_opaque_count(field):
            name = self._derived(field)
            self._check(field, name, self._where(field))
            self._scalar(field, name, "out")
        elif field.condition is not None:
            self._optional(field, stored)
        elif field.repeat:
            self._array(field, stored)
        else:
            self.value(field, stored, "out")

    def _optional(self, field: Field, stored: str) -> None:
        assert field.condition is not None
        if self.type.scalar:
            with self.out.block(f"if {stored} is not None:"):
                self.out.line(f"out += {stored}")
            return
        with self.out.block(f"if {self._translator().text(field.condition)}:"):
            self.value(field, stored, "out")
        with self.out.block(f"elif {stored} is not None and not raw:"):
            self.out.line(f"raise unencodable({stored}, {self._where(field)})")

    def _array(self, field: Field, stored: str) -> None:
        self._check_kind("items", field, stored)
        self._check_count(field, stored)

        with self.out.block(f"for index, item in enumerate({stored}):"):
            if self._is_structure(field):
                self.with_path(
                    f"/{field.id}/{{index}}",
                    lambda: self.value(field, "item", "out", guarded=False),
                )
            else:
                self.value(field, "item", "out", guarded=False)

    def _check_count(self, field: Field, stored: str) -> None:
        """Check that a count that is not derived from the array agrees with it."""
        count = field.repeat.count if field.repeat else None
        if count is None or any(
            other.derive and other.derive.first == field.id and other.id in names(count)
            for other in self.type.fields
        ):
            return
        expected = self._translator().operand(count)
        with self.out.block(f"if not raw and len({stored}) != {expected}:"):
            where = f'"/{field.id}", "{field.location}"'
            self.out.line(f"raise unencodable(len({stored}), {where})")

    def _is_structure(self, field: Field) -> bool:
        match field.type:
            case TypeReference():
                return self.model.type(field.type).scalar is None
            case SwitchType():
                return True
        return False

    def value(self, field: Field, stored: str, out: str, *, guarded: bool = True) -> None:
        """Write one value; ``guarded`` adds the field before paths of errors."""
        where = self._where(field)
        match field.type:
            case BytesType(size):
                if not self.type.scalar:
                    self._check_kind("bytes", field, stored)
                    self._check_size(field, size, stored, where)
                self.out.line(f"{out} += {stored}")
            case IntegerType():
                low, high = field.type.minimum, field.type.maximum
                self.out.line(f"check_integer({stored}, {low}, {high}, {where})")
                self._check(field, stored, where)
                struct = self.structs.name(run_of(self.model, self.type, (field,)).format)
                self.out.line(f"{out} += {struct}.pack({stored})")
            case TypeReference() if self.model.type(field.type).scalar:
                self._check_scalar(field, stored, where)
                self._scalar(field, stored, out)
            case TypeReference():
                reference = field.type

                def body() -> None:
                    self._check_class(field, self.model.type(reference), stored)
                    self.call(reference, stored, out)

                if guarded:
                    self.with_path(f"/{field.id}", body)
                else:
                    body()
            case SwitchType():
                raise ValueError(f"{field.location}: a switch needs a type of its own")

    def _check_class(self, field: Field, type_: Type, stored: str) -> None:
        """Check the class here, since the writer of the structure does not know the field."""
        if not type_.is_transparent:
            with self.out.block(f"if not isinstance({stored}, {self.class_of(type_)}):"):
                self.out.line(f'raise unencodable({stored}, "", "{field.location}")')

    def _check_size(self, field: Field, size: Expression | None, stored: str, where: str) -> None:
        if size is None or any(
            other.derive and other.derive.first == field.id and other.id in names(size)
            for other in self.type.fields
        ):
            return
        expected = self._translator().operand(size)
        with self.out.block(f"if not raw and len({stored}) != {expected}:"):
            self.out.line(f"raise unencodable({stored}, {where})")

    def _check_scalar(self, field: Field, stored: str, where: str) -> None:
        """Check the type of an integer before ``valid``; the scalar's writer checks its range."""
        if field.valid is None:
            return
        with self.out.block(f"if not isinstance({stored}, int):"):
            self.out.line(f"raise unencodable({stored}, {where})")
        self._check(field, stored, where)

    def _scalar(self, field: Field, stored: str, out: str) -> None:
        if isinstance(field.type, IntegerType):
            low, high = field.type.minimum, field.type.maximum
            self.out.line(f"check_integer({stored}, {low}, {high}, {self._where(field)})")
            struct = self.structs.name(run_of(self.model, self.type, (field,)).format)
            self.out.line(f"{out} += {struct}.pack({stored})")
            return
        assert isinstance(field.type, TypeReference)
        name = self._function(field.type)
        self.out.line(f"{name}({out}, {stored}, raw, {self._where(field)})")

    def call(self, reference: TypeReference, stored: str, out: str = "out") -> None:
        """Call the writer of another type."""
        inner = self.model.type(reference)
        needed = needed_parameters(self.model, inner)
        arguments = "".join(
            f", {self._translator().text(argument)}"
            for parameter, argument in zip(inner.parameters, reference.arguments, strict=True)
            if parameter.id in needed
        )
        self.out.line(f"{self._function(reference)}({out}, {stored}, raw{arguments})")

    def _function(self, reference: TypeReference) -> str:
        module = "" if reference.spec_id == self.type.spec_id else f"{reference.spec_id}."
        return f"{module}write_{reference.name}"

    def with_path(self, path: str, body: Callable[[], None]) -> None:
        """Write a handler that adds ``path`` before the path of errors from inside."""
        with self.out.block("try:"):
            body()
        with self.out.block("except KafkaSpecError as error:"):
            self.out.line(f'error.path = f"{path}{{error.path}}"')
            self.out.line("raise")
