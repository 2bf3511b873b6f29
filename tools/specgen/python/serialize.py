"""Emit ``generated/python/serialize``: one function for each type, from the model to bytes.

A function appends to ``out``. Derived fields are computed: lengths and counts in place or, like
checksums, patched when the bytes after them are there. With ``raw`` the stored values are written
instead, and the only check is that they fit.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools.specgen.expression import Name
from tools.specgen.facts.fields import value_types
from tools.specgen.facts.ranges import VARINTS
from tools.specgen.model import Model, Scalar, Spec, SwitchType, Type
from tools.specgen.output import Output
from tools.specgen.python.runs import Names
from tools.specgen.python.statements import Module, package, taken_names
from tools.specgen.python.write_fields import FieldWriter, needed_parameters

_LOCALS = ("out", "value", "raw", "view", "number", "body")


def emit(model: Model) -> list[Output]:
    """Return one module for each specification, and the package."""
    doc = "Serializers: functions from the typed model to bytes, by specification."
    modules = [_SerializeModule(model, spec).emit() for spec in model.specs]
    return [*modules, package(model, "serialize", doc)]


class _SerializeModule(Module):
    """Writer of one module of serializers."""

    def __init__(self, model: Model, spec: Spec) -> None:
        taken = taken_names(model.closure(spec.id)) | frozenset(_LOCALS)
        super().__init__(model, spec, Names(taken))

    def emit(self) -> Output:
        """Return the whole module without its header."""
        for type_ in self.spec.types:
            self._function(type_)
            self.out.lines("", "")
        return self.output("serialize", self._table())

    def _table(self) -> Iterator[str]:
        yield "SERIALIZERS: dict[str, tuple[Callable[..., None], tuple[int, ...]]] = {"
        for type_ in self.spec.types:
            taken = needed_parameters(self.model, type_)
            indexes = tuple(i for i, p in enumerate(type_.parameters) if p.id in taken)
            yield f'    "{type_.key}": (write_{type_.name}, {indexes!r}),'
        yield "}"
        yield '"""Functions by key of the type, and which parameters of it they take."""'

    def _function(self, type_: Type) -> None:
        is_bytes = type_.scalar is not None and not type_.scalar.is_integer
        parameters = f', path: str = "", spec: str = "{type_.location}"'
        if type_.scalar is None:
            taken = needed_parameters(self.model, type_)
            given = [self.names.local(p.id) for p in type_.parameters if p.id in taken]
            parameters = "".join(f", {name}: int" for name in given)
        head = f"out: bytearray, value: {'Any' if is_bytes else 'object'}, raw: bool{parameters}"
        with self.out.block(f"def write_{type_.name}({head}) -> None:"):
            self.out.line(f'"""Append a ``{type_.name}``."""')
            writer = FieldWriter(self, type_)
            if type_.scalar in VARINTS:
                self._varint(type_.scalar)
            elif type_.is_choice and not type_.scalar:
                kind = type_.fields[0].type
                assert isinstance(kind, SwitchType)
                with writer.with_path(f"/{type_.fields[0].id}"):
                    self._cases(type_, kind, writer)
            else:
                self._check_value(type_, writer)
                writer.write_all()

    def _check_value(self, type_: Type, writer: FieldWriter) -> None:
        if type_.scalar is Scalar.NULLABLE_BYTES:
            self.out.when("value is not None", "check_bytes(value, path, spec)")
        elif type_.scalar:
            self.out.line("check_bytes(value, path, spec)")
        elif not type_.is_frame:
            with self.out.block(f"if not isinstance(value, {writer.class_of(type_)}):"):
                self.out.line(f'raise unencodable(value, "", "{type_.location}")')

    def _varint(self, scalar: Scalar) -> None:
        _, bits, zigzag = VARINTS[scalar]
        low, high = VARINTS[scalar].range
        with self.out.block(f"if not isinstance(value, int) or not {low} <= value <= {high}:"):
            self.out.line("raise unencodable(value, path, spec)")
        coded = f"(value << 1) ^ (value >> {bits - 1})" if zigzag else "value"
        self.out.line(f"number = {coded}")
        with self.out.block("while number > 0x7F:"):
            self.out.lines("out.append((number & 0x7F) | 0x80)", "number >>= 7")
        self.out.line("out.append(number)")

    def _cases(self, type_: Type, kind: SwitchType, writer: FieldWriter) -> None:
        """Write a choice by the class of the value; the number that the switch reads must agree."""
        field = type_.fields[0]
        explicit = tuple(case for case, _ in kind.cases if case is not None)
        by_class: dict[tuple[Type, ...], list[int | None]] = {}
        for case, reference in kind.cases:
            by_class.setdefault(value_types(self.model, reference), []).append(case)
        word = "if"
        for classes, cases in by_class.items():
            reference = next(ref for case, ref in kind.cases if case in cases)
            listed = " | ".join(writer.class_of(inner) for inner in classes)
            with self.out.block(f"{word} isinstance(value, {listed}):"):
                self._agreement(type_, kind, classes, cases, explicit, writer)
                writer.call(reference, "value")
            word = "elif"
        with self.out.block("else:"):
            self.out.line(f'raise unencodable(value, "", "{field.location}")')

    def _agreement(
        self,
        type_: Type,
        kind: SwitchType,
        classes: tuple[Type, ...],
        cases: list[int | None],
        explicit: tuple[int, ...],
        writer: FieldWriter,
    ) -> None:
        field = type_.fields[0]
        own = tuple(case for case in cases if case is not None)
        excluded = tuple(case for case in explicit if case not in own)
        numbers, word = (excluded, "in") if None in cases else (own, "not in")
        if not numbers and None in cases:
            return
        assert isinstance(kind.on, Name)
        if kind.on.id in needed_parameters(self.model, type_):
            looked, where = self.names.local(kind.on.id), f'"", "{field.location}"'
        else:
            other = classes[0].field_by_id.get(kind.on.id)
            if other is None:
                raise ValueError(f"{field.location}: {classes[0].name} has no {kind.on.id}")
            if other.constant is not None:
                return
            looked, where = f"value.{other.id}", f'"/{other.id}", "{other.location}"'
        with self.out.block(f"if not raw and {looked} {word} {numbers!r}:"):
            self.out.line(f"raise unencodable({looked}, {where})")
