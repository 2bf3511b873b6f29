"""Write the statements that write runs and computed fields, for ``serialize``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import groupby

from tools.specgen.expression import Name, names
from tools.specgen.facts.fields import is_computed, valid_parts
from tools.specgen.facts.ranges import sole_lower_bound
from tools.specgen.model import (
    BitsType,
    BytesType,
    Derive,
    DeriveFunction,
    Field,
    IntegerType,
    Model,
    Type,
    TypeReference,
    Valid,
    ValueInstance,
)
from tools.specgen.python.checks import violated
from tools.specgen.python.expressions import Translator
from tools.specgen.python.runs import Leaf, Names, Run, Structs, path_of, run_of
from tools.specgen.writer import CodeWriter


class RunWriter(ABC):
    """Writer of the runs and positions of a serializer, and the basics for its statements."""

    def __init__(
        self, model: Model, type_: Type, out: CodeWriter, structs: Structs, names_: Names
    ) -> None:
        self.model = model
        self.type = type_
        self.out = out
        self.structs = structs
        self.names = names_
        self.members = type_.members
        self.bodies: dict[str, str] = {}
        self.checked: set[str] = set()

    def class_of(self, type_: Type) -> str:
        """Return the source text of the model class."""
        module = "model" if type_.spec_id == self.type.spec_id else f"{type_.spec_id}_model"
        return f"{module}.{type_.class_name}"

    def _spans(self) -> set[str]:
        """Return the ids of fields whose position is needed later."""
        found = {field.id for field in self.type.fields if self._is_patched(field)}
        for field in self.type.fields:
            if field.derive and self._is_patched(field):
                found.add(field.derive.first)
        return found

    def _mark(self, field: Field, offset: int = 0, start: str = "len(out)") -> None:
        if field.id in self._spans():
            self.out.line(f"{field.id}_at = {start}{f' + {offset}' if offset else ''}")

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
        if derive.function is DeriveFunction.COUNT:
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
        member = self.members.get(name)
        if isinstance(member, ValueInstance):
            return f"({self._translator().text(member.value)})"
        if isinstance(member, Field) and member.derive and not self.type.is_opaque_count(member):
            return self.names.local(name)
        if self.type.is_transparent:
            return self.names.local(name)
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
        for is_bytes, leaves in groupby(run.leaves, lambda leaf: leaf.code.endswith("s")):
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
                    low, high = field.type.minimum, field.type.maximum
                    self.out.line(f"check_integer({text}, {low}, {high}, {where})")
                case BitsType(width):
                    self.out.line(f"check_integer({text}, 0, {(1 << width) - 1}, {where})")
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
        low, high = field.type.minimum, field.type.maximum
        with self.out.block(f"if raw and {stored} is not None:"):
            self.out.line(f"check_integer({stored}, {low}, {high}, {self._where(field)})")

    def _number(self, field: Field, parents: tuple[Field, ...]) -> str:
        """Return the source text of the number to write; computed ones go to a variable first."""
        stored = self._stored(field, parents)
        if field.derive and not self.type.is_opaque_count(field):
            return self._derived(field)
        if field.constant is not None and not parents:
            name = self.names.local(field.id)
            self.out.line(f"{name} = {stored} if raw else {field.constant}")
            return name
        return stored

    def _pack(self, leaves: list[Leaf]) -> None:
        if not leaves:
            return
        struct = self.structs.name(">" + "".join(leaf.code for leaf in leaves))
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
        return self.names.local(field.id) if own else self._stored(field, leaf.parents)

    def _derived(self, field: Field) -> str:
        """Put a length or count, computed or stored, in a variable and return its source text."""
        name = self.names.local(field.id)
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
        plus = f" + {derive.plus}" if derive.plus else ""
        if derive.function is DeriveFunction.COUNT:
            self._check_kind("items", target, stored)
            return f"len({stored}){plus}"
        if isinstance(target.type, BytesType):
            if target.condition is not None:
                # Null is a length of -1.
                return f"(-1 if {stored} is None else len({stored})){plus}"
            self._check_kind("bytes", target, stored)
            return f"len({stored}){plus}"
        body = self.names.local(f"{target.id}_bytes")
        self.bodies[target.id] = body
        self.out.line(f"{body} = bytearray()")
        self.value(target, stored, body)
        return f"len({body}){plus}"

    def _check_kind(self, kind: str, field: Field, stored: str) -> None:
        """Write the body once for each field, since its length is needed too."""
        if self.type.scalar or field.id in self.checked:
            return
        self.checked.add(field.id)
        where = self._where_whole(field) if kind == "items" else self._where(field)
        self.out.line(f"check_{kind}({stored}, {where})")

    def _where_whole(self, field: Field) -> str:
        return "path, spec" if self.type.scalar else f'"/{field.id}", "{field.location}"'

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
        name = self.names.local(field.id)
        start = f"{derive.first}_at"
        end = "" if derive.open_end else f"{derive.last or derive.first}_end"
        if derive.function.is_checksum:
            computed = f"{derive.function}(memoryview(out)[{start}:{end}])"
        else:
            computed = f"{end or 'len(out)'} - {start}"
        plus = f" + {derive.plus}" if derive.plus else ""
        self.out.line(f"{name} = {computed}{plus}")
        self._prefer_stored(field, name)
        if not derive.function.is_checksum:
            where = self._where(field)
            low, high = field.type.minimum, field.type.maximum
            self.out.line(f"check_integer({name}, {low}, {high}, {where})")
            self._check(field, name, where)
        struct = self.structs.name(run_of(self.model, self.type, (field,)).format)
        self.out.line(f"{struct}.pack_into(out, {field.id}_at, {name})")

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
        tests = violated(self._translator(value), self.type, field)
        for test in tests:
            with self.out.block(f"if not raw and {_operand(test)}:"):
                self.out.line(f"raise unencodable({value}, {where})")

    @abstractmethod
    def value(self, field: Field, stored: str, out: str, *, guarded: bool = True) -> None:
        """Write one value; ``guarded`` adds the field before paths of errors."""


def _operand(test: str) -> str:
    return f"({test})" if " or " in test or " and " in test else test


def _mentions_stream(valid: Valid) -> bool:
    return any(Name("_io").id in names(part) for part in valid_parts(valid))


def _offset_of(run: Run, field: Field) -> int:
    return next(leaf.offset for leaf in run.leaves if field in (*leaf.parents, *leaf.fields))
