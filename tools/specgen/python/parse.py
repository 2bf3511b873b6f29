"""Emit ``generated/python/parse``: one checked, straight-line function for each type.

A function takes the buffer, the position, the end of the stream and whether that end is final
(``complete``), then the parameters of the type; it returns the value and the position after it.
Paths of errors grow on the way out: each caller adds its own field before the path.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools.specgen.facts.fields import is_computed, model_fields, value_types
from tools.specgen.facts.ranges import VARINTS
from tools.specgen.facts.sizes import ChecksumPlace, checksums_of
from tools.specgen.model import Model, Scalar, Spec, Type, TypeReference
from tools.specgen.output import Output
from tools.specgen.python.parse_fields import FieldReader, bulk_run, is_bulk
from tools.specgen.python.runs import Names
from tools.specgen.python.statements import Module, package, plus, taken_names


def emit(model: Model) -> list[Output]:
    """Return one module for each specification, and the package."""
    doc = "Parsers: checked functions from bytes to the typed model, by specification."
    modules = [_ParseModule(model, spec).emit() for spec in model.specs]
    return [*modules, package(model, "parse", doc)]


class _ParseModule(Module):
    """Writer of one module of parsers."""

    def __init__(self, model: Model, spec: Spec) -> None:
        super().__init__(model, spec, Names(taken_names(model.closure(spec.id))))

    def emit(self) -> Output:
        """Return the whole module without its header."""
        for type_ in self.spec.types:
            if type_.scalar in VARINTS:
                self._varint(type_)
            else:
                self._function(type_)
            self.out.lines("", "")
            if is_bulk(self.model, type_):
                self._bulk(type_)
                self.out.lines("", "")
        return self.output("parse", self._table())

    def _table(self) -> Iterator[str]:
        yield "PARSERS: dict[str, Callable[..., tuple[Any, int]]] = {"
        for type_ in self.spec.types:
            yield f'    "{type_.key}": parse_{type_.name},'
        yield "}"
        yield '"""Functions by key of the type."""'

    def _open(self, type_: Type) -> None:
        parameters = self._parameters(type_)
        if type_.scalar:
            parameters = f', path: str = "", spec: str = "{type_.location}"'
        head = f"buffer: Buffer, pos: int, end: int, complete: bool{parameters}"
        self.out.line(f"def parse_{type_.name}({head}) -> tuple[{self._hint(type_)}, int]:")
        self.out.line(f'    """Return a value of ``{type_.name}`` and the position after it."""')

    def _function(self, type_: Type) -> None:
        self._open(type_)
        with self.out.indented():
            reader = FieldReader(self, type_)
            places = [] if self.model.house.verifies else list(checksums_of(self.model, type_))
            if places:
                self.out.line("begin = pos")
            reader.read_all()
            for place in places:
                self._verify(place, reader.local(place.field.id))
            self._return(type_, reader)

    def _verify(self, place: ChecksumPlace, stored: str) -> None:
        """Compare a checksum with that of the bytes that it covers."""
        covered = f"memoryview(buffer)[{plus('begin', place.start)} : pos]"
        test = f"(computed := {place.function}({covered})) != {stored}"
        with self.out.block(f"if {test}:"):
            where = f'"/{place.field.id}", "{place.field.location}"'
            at = plus("begin", place.position)
            self.out.line(f"raise mismatch({at}, {stored}, computed, {where})")

    def _return(self, type_: Type, reader: FieldReader) -> None:
        if type_.is_transparent:
            self.out.line(f"return {reader.local(type_.fields[-1].id)}, pos")
            return
        computed = [
            field
            for field in model_fields(type_)
            if is_computed(type_, field) and field.constant is None
        ]
        made = reader.construct(type_)
        if not computed:
            self.out.line(f"return {made}, pos")
            return
        self.out.line(f"result = {made}")
        for field in computed:
            self.out.line(f"result.{field.id} = {reader.local(field.id)}")
        self.out.line("return result, pos")

    def _bulk(self, type_: Type) -> None:
        """Write the fast reader of an array of fixed-size items."""
        run = bulk_run(self.model, type_)
        head = f"buffer: Buffer, pos: int, count: int{self._parameters(type_)}"
        with self.out.block(f"def parse_many_{type_.name}({head}) -> list[{self._hint(type_)}]:"):
            self.out.line(
                f'"""Return ``count`` items of ``{type_.name}``, or those before an invalid one."""'
            )
            self.out.line(f"stop = pos + count * {run.size}")
            self.out.line("items = []")
            reader = FieldReader(self, type_)
            struct = self.structs.name(run.format)
            with self.out.block(
                f"for {reader.targets(run)} in {struct}.iter_unpack(memoryview(buffer)[pos:stop]):"
            ):
                reader.after_run(run, on_invalid="break")
                self.out.line(f"items.append({reader.construct(type_)})")
            self.out.line("return items")

    def _varint(self, type_: Type) -> None:
        assert type_.scalar
        size, bits, zigzag = VARINTS[type_.scalar]
        self._open(type_)
        with self.out.indented():
            short = "(byte >> 1) ^ -(byte & 1)" if zigzag else "byte"
            self.out.when("pos < end and (byte := buffer[pos]) < 0x80", f"return {short}, pos + 1")
            self.out.lines("start = pos", "value = 0")
            with self.out.block(f"for shift in range(0, {7 * size}, 7):"):
                self.out.when("pos == end", "raise missing(start, complete, path, spec)")
                self.out.lines("byte = buffer[pos]", "pos += 1", "value |= (byte & 0x7F) << shift")
                with self.out.block("if byte < 0x80:"):
                    self.out.line("break")
            with self.out.block("else:"):
                self.out.line("raise endless(start, path, spec)")
            if 7 * size > bits:
                self.out.line("# Bits that do not fit are dropped.")
                self.out.line(f"value &= 0x{(1 << bits) - 1:X}")
            result = "(value >> 1) ^ -(value & 1)" if zigzag else "value"
            self.out.line(f"return {result}, pos")

    def _parameters(self, type_: Type) -> str:
        return "".join(
            f", {self.names.local(p.id)}: "
            + (self._hint(self.model.type(p.type)) if isinstance(p.type, TypeReference) else "int")
            for p in type_.parameters
        )

    def _hint(self, type_: Type) -> str:
        if type_.scalar:
            hints = {Scalar.BYTES: "bytes", Scalar.NULLABLE_BYTES: "bytes | None"}
            return hints.get(type_.scalar, "int")
        classes = value_types(self.model, TypeReference(type_.spec_id, type_.name))
        named = FieldReader(self, self.spec.root)
        return " | ".join(named.class_of(inner) for inner in classes)
