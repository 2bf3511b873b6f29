"""Write the statements that write the fields of one type, for ``serialize``."""

from __future__ import annotations

from itertools import groupby

from tools.specgen.expression import Expression, Name, names
from tools.specgen.facts.fields import is_computed, is_nullable, null_mark, valid_parts
from tools.specgen.facts.ranges import sole_lower_bound
from tools.specgen.model import (
    BitsType,
    BytesType,
    Derive,
    DeriveFunction,
    Field,
    FloatType,
    IntegerType,
    Model,
    SwitchType,
    Type,
    TypeReference,
    Valid,
    ValueInstance,
)
from tools.specgen.python.expressions import Translator
from tools.specgen.python.runs import Leaf, Run, format_of, path_of, run_of, segments
from tools.specgen.python.statements import Module, Statements, plus


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


class FieldWriter(Statements):
    """Writer of the body of one serializer."""

    def __init__(self, module: Module, type_: Type) -> None:
        super().__init__(module, type_)
        self.bodies: dict[str, str] = {}
        self.checked: set[str] = set()

    def write_all(self) -> None:
        """Write every field in order, then the values that are known only at the end."""
        self.declare_item()
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
            self.out.when(f"{stored} is not None", f"out += {stored}")
            return
        if is_nullable(self.type, field):
            with self.out.block(f"if {stored} is not None:"):
                if field.repeat:
                    self._array(field, stored)
                else:
                    self.value(field, stored, "out")
            return
        with self.out.block(f"if {self._translator().text(field.condition)}:"):
            self.value(field, stored, "out")
        with self.out.block(f"elif {stored} is not None and not raw:"):
            self.out.line(f"raise unencodable({stored}, {self._where(field)})")

    def _array(self, field: Field, stored: str) -> None:
        self._check_kind("items", field, stored)
        where = f'"/{field.id}", "{field.location}"'
        count = field.repeat.count if field.repeat else None
        self._check_length(field, count, stored, f"len({stored})", where)

        handler = self.with_path(f"/{field.id}/{{index}}", needed=self.is_structure(field))
        with self.out.block(f"for index, item in enumerate({stored}):"), handler:
            self.value(field, "item", "out", guarded=False)
            self._ascending(field, stored)

    def _ascending(self, field: Field, stored: str) -> None:
        """Check the order of the items; the handler around this adds the path of the item."""
        if field.ascending is not None:
            inner = self.model.inner(field).field_by_id[field.ascending]
            test = f"index and not raw and item.{inner.id} <= {stored}[index - 1].{inner.id}"
            with self.out.block(f"if {test}:"):
                self.out.line(
                    f'raise unencodable(item.{inner.id}, "/{inner.id}", "{inner.location}")'
                )

    def value(self, field: Field, stored: str, out: str, *, guarded: bool = True) -> None:
        """Write one value; ``guarded`` adds the field before paths of errors."""
        where = self._where(field)
        match field.type:
            case BytesType(size):
                if not self.type.scalar:
                    self._check_kind("bytes", field, stored)
                    self._check_length(field, size, stored, stored, where)
                self.out.line(f"{out} += {stored}")
            case IntegerType():
                self._check_integer(field.type, stored, where)
                self._check(field, stored, where)
                self.out.line(f"{out} += {self._struct(field)}.pack({stored})")
            case FloatType(size):
                self.out.line(f"{_check_of(size)}({stored}, {where})")
                self.out.line(f"{out} += {self._struct(field)}.pack({stored})")
            case TypeReference() if self.model.type(field.type).scalar:
                self._check_scalar(field, stored, where)
                self._scalar(field, stored, out)
            case TypeReference():
                with self.with_path(f"/{field.id}", needed=guarded):
                    self._check_class(field, self.model.type(field.type), stored)
                    self.call(field.type, stored, out)

    def _check_class(self, field: Field, type_: Type, stored: str) -> None:
        """Check the class here, since the writer of the structure does not know the field."""
        if not type_.is_transparent:
            with self.out.block(f"if not isinstance({stored}, {self.class_of(type_)}):"):
                self.out.line(f'raise unencodable({stored}, "", "{field.location}")')

    def _check_length(
        self, field: Field, length: Expression | None, stored: str, shown: str, where: str
    ) -> None:
        """Check a size or count unless it is derived from the field."""
        if length is None or any(
            other.derive and other.derive.first == field.id and other.id in names(length)
            for other in self.type.fields
        ):
            return
        expected = self._translator().operand(length)
        with self.out.block(f"if not raw and len({stored}) != {expected}:"):
            self.out.line(f"raise unencodable({shown}, {where})")

    def _check_scalar(self, field: Field, stored: str, where: str) -> None:
        """Check the type of an integer before ``valid``; the scalar's writer checks its range."""
        if field.valid is None:
            return
        self.out.when(f"not isinstance({stored}, int)", f"raise unencodable({stored}, {where})")
        self._check(field, stored, where)

    def _scalar(self, field: Field, stored: str, out: str) -> None:
        if isinstance(field.type, IntegerType):
            self._check_integer(field.type, stored, self._where(field))
            self.out.line(f"{out} += {self._struct(field)}.pack({stored})")
        elif isinstance(field.type, TypeReference):
            name = self.function("write", field.type)
            self.out.line(f"{name}({out}, {stored}, raw, {self._where(field)})")

    def _struct(self, field: Field) -> str:
        return self.structs.name(run_of(self.model, self.type, (field,)).format)

    def _check_integer(self, kind: IntegerType, value: str, where: str) -> None:
        self.out.line(f"check_integer({value}, {kind.minimum}, {kind.maximum}, {where})")

    def call(self, reference: TypeReference, stored: str, out: str = "out") -> None:
        """Call the writer of another type."""
        inner = self.model.type(reference)
        needed = needed_parameters(self.model, inner)
        arguments = "".join(
            f", {self._translator().text(argument)}"
            for parameter, argument in zip(inner.parameters, reference.arguments, strict=True)
            if parameter.id in needed
        )
        self.out.line(f"{self.function('write', reference)}({out}, {stored}, raw{arguments})")

    def _spans(self) -> set[str]:
        """Return the ids of fields whose position is needed later."""
        found = {field.id for field in self.type.fields if self._is_patched(field)}
        for field in self.type.fields:
            if field.derive and self._is_patched(field):
                found.add(field.derive.first)
        return found

    def _mark(self, field: Field, offset: int = 0, start: str = "len(out)") -> None:
        if field.id in self._spans():
            self.out.line(f"{field.id}_at = {plus(start, offset)}")

    def _mark_end(self, field: Field, end: str = "len(out)") -> None:
        derives = [f.derive for f in self.type.fields if f.derive and self._is_patched(f)]
        lasts = [derive.last or derive.first for derive in derives if not derive.open_end]
        if field.id in lasts:
            self.out.line(f"{field.id}_end = {end}")

    def _is_patched(self, field: Field) -> bool:
        """Return whether the field has a fixed width and is computed from bytes after it."""
        derive = field.derive
        if derive is None or not isinstance(field.type, IntegerType):
            return False
        if derive.function in (DeriveFunction.COUNT, DeriveFunction.PRESENT):
            return False
        return derive.function.is_checksum or self._is_span(derive) or not self._is_bytes(derive)

    def _is_span(self, derive: Derive) -> bool:
        return derive.open_end or derive.last is not None

    def _is_bytes(self, derive: Derive) -> bool:
        return isinstance(self.type.field_by_id[derive.first].type, BytesType)

    def _where(self, field: Field, parents: tuple[Field, ...] = ()) -> str:
        if self.type.scalar:
            return "path, spec"
        path = path_of(parents, field)
        text = f'f"{path}/{{index}}"' if field.repeat else f'"{path}"'
        return f'{text}, "{field.location}"'

    def _stored(self, field: Field, parents: tuple[Field, ...] = ()) -> str:
        """Return the source text of the stored value of a field."""
        if self.type.scalar or self.type.is_transparent:
            return "value"
        return ".".join(["value", *(step.id for step in (*parents, field))])

    def _translator(self, value: str = "_") -> Translator:
        return Translator(self.model, self.type, self._resolve, value=value)

    def _resolve(self, name: str) -> str:
        member = self.type.members.get(name)
        if isinstance(member, ValueInstance):
            return f"({self._translator().text(member.value)})"
        if isinstance(member, Field) and member.derive and not self.type.is_opaque_count(member):
            return self.local(name)
        if self.type.is_transparent:
            return self.local(name)
        return f"value.{name}"

    def _run(self, run: Run) -> None:
        """Pack the numbers between byte strings together, and append the strings."""
        for _, fields in groupby(run.fields, lambda field: isinstance(field.type, BytesType)):
            self._part(run_of(self.model, self.type, tuple(fields)))

    def _part(self, run: Run) -> None:
        marks = [field for field in run.fields if field.id in self._spans()]
        if marks:
            self.out.line("start = len(out)")
        for field in marks:
            self._mark(field, _offset_of(run, field), "start")
        for field in run.fields:
            if isinstance(field.type, TypeReference):
                self._check_classes(field, ())
        for leaf in run.leaves:
            self._check_leaf(leaf)
        for is_bytes, leaves in groupby(run.leaves, lambda leaf: leaf.is_bytes):
            if is_bytes:
                for leaf in leaves:
                    self.out.line(f"out += {self._stored(leaf.fields[0], leaf.parents)}")
            else:
                self._pack(list(leaves))
        after = run.size
        for field in reversed(run.fields):
            end = f"len(out) - {run.size - after}" if after < run.size else "len(out)"
            self._mark_end(field, end)
            after = _offset_of(run, field)

    def _check_classes(self, field: Field, parents: tuple[Field, ...]) -> None:
        assert isinstance(field.type, TypeReference)
        stored = self._stored(field, parents)
        inner = self.model.type(field.type)
        with self.out.block(f"if not isinstance({stored}, {self.class_of(inner)}):"):
            self.out.line(f"raise unencodable({stored}, {self._where(field, parents)})")
        for child in inner.fields:
            if isinstance(child.type, TypeReference):
                self._check_classes(child, (*parents, field))

    def _check_leaf(self, leaf: Leaf) -> None:
        for field in leaf.fields:
            if self._is_patched(field):
                self._check_stored(field)
                continue
            text = self._number(field, leaf.parents)
            where = self._where(field, leaf.parents)
            match field.type:
                case IntegerType():
                    self._check_integer(field.type, text, where)
                case BitsType(width):
                    self.out.line(f"check_integer({text}, 0, {(1 << width) - 1}, {where})")
                case FloatType(size):
                    self.out.line(f"{_check_of(size)}({text}, {where})")
                case BytesType():
                    self.out.line(f"check_bytes({text}, {where})")
                    with self.out.block(f"if not raw and len({text}) != {leaf.size}:"):
                        self.out.line(f"raise unencodable({text}, {where})")
            if field.derive is not None or field.constant is None:
                self._check(field, text, where)

    def _check_stored(self, field: Field) -> None:
        """Replace a computed value with the stored one if ``raw``, and check that it fits."""
        assert isinstance(field.type, IntegerType)
        stored = self._stored(field)
        with self.out.block(f"if raw and {stored} is not None:"):
            self._check_integer(field.type, stored, self._where(field))

    def _number(self, field: Field, parents: tuple[Field, ...]) -> str:
        """Return the source text of the number to write; computed ones go to a variable first."""
        stored = self._stored(field, parents)
        if field.derive and not self.type.is_opaque_count(field):
            return self._derived(field)
        if field.constant is not None and not parents:
            name = self.local(field.id)
            self.out.line(f"{name} = {stored} if raw else {field.constant}")
            return name
        return stored

    def _pack(self, leaves: list[Leaf]) -> None:
        if not leaves:
            return
        struct = self.structs.name(format_of(leaves))
        values = ", ".join(self._packed(leaf) for leaf in leaves)
        self.out.line(f"out += {struct}.pack({values})")

    def _packed(self, leaf: Leaf) -> str:
        field = leaf.fields[0]
        if self._is_patched(field):
            return "0"
        if leaf.is_bits:
            shifted = [
                f"{self._stored(f, leaf.parents)} << {shift}"
                if shift
                else self._stored(f, leaf.parents)
                for f, shift, _ in leaf.shifted()
            ]
            return " | ".join(f"({text})" if "<<" in text else text for text in shifted)
        own = not leaf.parents and (field.constant is not None or is_computed(self.type, field))
        return self.local(field.id) if own else self._stored(field, leaf.parents)

    def _derived(self, field: Field) -> str:
        """Put a length or count, computed or stored, in a variable and return its source text."""
        name = self.local(field.id)
        computed = self._length(field)
        self.out.line(f"{name} = {computed}")
        self._prefer_stored(field, name)
        return name

    def _prefer_stored(self, field: Field, name: str) -> None:
        if self.type.is_transparent:
            return
        with self.out.block(f"if raw and {self._stored(field)} is not None:"):
            self.out.line(f"{name} = {self._stored(field)}")

    def _length(self, field: Field) -> str:
        derive = field.derive
        assert derive is not None
        if derive.function.is_checksum or self._is_span(derive):
            raise ValueError(f"{field.location}: a writer can only patch a field of fixed width")
        target = self.type.field_by_id[derive.first]
        stored = self._stored(target)
        null = null_mark(self.type, target)
        if derive.function is DeriveFunction.PRESENT:
            return f"{null} if {stored} is None else 1"
        length = f"len({stored})"
        if is_nullable(self.type, target):
            length = f"(-1 if {stored} is None else {length})"
        if derive.function is DeriveFunction.COUNT:
            self._check_kind("items", target, stored)
            return plus(length, derive.plus)
        if isinstance(target.type, BytesType):
            if target.condition is None:
                self._check_kind("bytes", target, stored)
            return plus(length, derive.plus)
        body = self.local(f"{target.id}_bytes")
        self.bodies[target.id] = body
        self.out.line(f"{body} = bytearray()")
        self.value(target, stored, body)
        return plus(f"len({body})", derive.plus)

    def _check_kind(self, kind: str, field: Field, stored: str) -> None:
        """Write the body once for each field, since its length is needed too."""
        if self.type.scalar or field.id in self.checked:
            return
        self.checked.add(field.id)
        where = f'"/{field.id}", "{field.location}"' if kind == "items" else self._where(field)
        check = f"check_{kind}({stored}, {where})"
        if is_nullable(self.type, field):
            self.out.when(f"{stored} is not None", check)
        else:
            self.out.line(check)

    def _patch(self) -> None:
        pending = [field for field in self.type.fields if self._is_patched(field)]
        lengths = [f for f in pending if f.derive and f.derive.function is DeriveFunction.LEN]
        checksums = [f for f in pending if f not in lengths]
        # A checksum over another one comes later: the inner one starts at a later byte.
        for field in (*lengths, *reversed(checksums)):
            self._patch_one(field)

    def _patch_one(self, field: Field) -> None:
        derive = field.derive
        assert derive is not None
        assert isinstance(field.type, IntegerType)
        name = self.local(field.id)
        start = f"{derive.first}_at"
        end = "" if derive.open_end else f"{derive.last or derive.first}_end"
        if derive.function.is_checksum:
            computed = f"{derive.function}(memoryview(out)[{start}:{end}])"
        else:
            computed = f"{end or 'len(out)'} - {start}"
        self.out.line(f"{name} = {plus(computed, derive.plus)}")
        self._prefer_stored(field, name)
        if not derive.function.is_checksum:
            where = self._where(field)
            self._check_integer(field.type, name, where)
            self._check(field, name, where)
        self.out.line(f"{self._struct(field)}.pack_into(out, {field.id}_at, {name})")

    def _check(self, field: Field, value: str, where: str) -> None:
        """Check ``valid``; its conditions on the stream hold for everything that is written."""
        if field.valid is None or _mentions_stream(field.valid):
            return
        computed = field.derive is not None and not self.type.is_opaque_count(field)
        if computed and field.derive and not field.derive.function.is_checksum:
            demanded = sole_lower_bound(field)
            if (
                demanded is not None
                and demanded <= field.derive.plus
                and not self._is_span(field.derive)
                and not self._is_patched(field)
            ):
                return  # Lengths and counts are at least that.
        for test in self._translator(value).violated(field):
            self.out.when(f"not raw and {_operand(test)}", f"raise unencodable({value}, {where})")


def _check_of(size: int) -> str:
    return "check_float" if size == 8 else "check_float4"


def _operand(test: str) -> str:
    return f"({test})" if " or " in test or " and " in test else test


def _mentions_stream(valid: Valid) -> bool:
    return any(Name("_io").id in names(part) for part in valid_parts(valid))


def _offset_of(run: Run, field: Field) -> int:
    return next(leaf.offset for leaf in run.leaves if field in (*leaf.parents, *leaf.fields))
