"""Write the statements that read runs of fixed-width fields, for ``parse``."""

from __future__ import annotations

from dataclasses import dataclass

from tools.specgen.expression import names
from tools.specgen.facts.fields import is_computed, model_fields, valid_parts
from tools.specgen.model import Field, Model, Type, TypeReference, ValueInstance
from tools.specgen.python.checks import violated
from tools.specgen.python.expressions import Stream, Translator
from tools.specgen.python.runs import Leaf, Names, Run, Structs, path_of
from tools.specgen.writer import CodeWriter


@dataclass(frozen=True)
class Place:
    """Source texts of the place of an error: offset, path and place in the specification."""

    offset: str
    path: str
    spec: str

    def __str__(self) -> str:
        return f"{self.path}, {self.spec}"


class RunReader:
    """Writer of the runs of a parser, with the basics for all of its statements."""

    def __init__(
        self, model: Model, type_: Type, out: CodeWriter, structs: Structs, names_: Names
    ) -> None:
        self.model = model
        self.type = type_
        self.out = out
        self.structs = structs
        self.names = names_
        self.members = type_.members
        self.seen: set[str] = set()

    def local(self, name: str) -> str:
        """Return the variable that holds a field."""
        return self.names.local(name)

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
        return f"{self._module(type_)}{type_.class_name}({', '.join(parts)})"

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
        member = self.members.get(name)
        if isinstance(member, ValueInstance):
            return f"({self.translator().text(member.value)})"
        return self.local(name)

    def _module(self, type_: Type) -> str:
        return "model." if type_.spec_id == self.type.spec_id else f"{type_.spec_id}_model."

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
                struct = self.structs.name(f">{leaf.code}")
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
        if field.valid is None:
            return
        for test in violated(self.translator(value, after), self.type, field):
            with self.out.block(f"if {test}:"):
                self.out.line(on_invalid or f"raise invalid({place.offset}, {value}, {place})")


def plus(name: str, number: int) -> str:
    """Return ``name + number``, or the name alone."""
    return f"{name} + {number}" if number else name
