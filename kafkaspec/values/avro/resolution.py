"""Avro's rules for data of one schema that is read as another, as Avro for Java follows them."""

from __future__ import annotations

from kafkaspec.values.avro.schema import NAMED, AvroField, AvroKind, AvroNode
from kafkaspec.values.definition import SchemaError

_STEPS = 1_000_000
"""Fields and branches that are compared: records and unions can meet each other often."""

_PROMOTIONS = {
    AvroKind.INT: {AvroKind.LONG, AvroKind.FLOAT, AvroKind.DOUBLE},
    AvroKind.LONG: {AvroKind.FLOAT, AvroKind.DOUBLE},
    AvroKind.FLOAT: {AvroKind.DOUBLE},
    AvroKind.STRING: {AvroKind.BYTES},
    AvroKind.BYTES: {AvroKind.STRING},
}


class Resolution:
    """Decides what of a writer's schema is what of a reader's.

    Its methods raise SchemaError where the schemas are too large to be compared.
    """

    def __init__(self, reader: AvroNode) -> None:
        self._steps = 0
        self._renamed: dict[str, str] = {}
        self._fields: dict[str, dict[str, str]] = {}
        self._branches: dict[tuple[int, int], int | None] = {}
        seen: set[int] = set()
        stack = [reader]
        while stack:
            node = stack.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            for alias in node.aliases:
                self._renamed[alias] = node.name
            for item in node.fields:
                for alias in item.aliases:
                    self._fields.setdefault(node.name, {})[alias] = item.name
            stack.extend(node.children)
            stack.extend(item.node for item in node.fields)

    def sources(self, writer: AvroNode, reader: AvroNode) -> dict[str, int]:
        """Return which field of a written record each field of the reader's comes from."""
        self._count(len(writer.fields) + len(reader.fields))
        names = {item.name: i for i, item in enumerate(writer.fields)}
        found = {item.name: names[item.name] for item in reader.fields if item.name in names}
        if self._name(writer) == reader.name:
            for alias, name in self._fields.get(reader.name, {}).items():
                if alias in names and alias not in found:
                    found.setdefault(name, names[alias])
        return found

    def missing(self, writer: AvroNode, reader: AvroNode) -> AvroField | None:
        """Return a field of the reader's record that was not written and has no default."""
        found = self.sources(writer, reader)
        lacking = (
            item for item in reader.fields if item.name not in found and not item.has_default
        )
        return next(lacking, None)

    def problem(self, writer: AvroNode, reader: AvroNode) -> str:
        """Return why no value of a type, not a union, can be read as another; empty if some may."""
        if reader.kind == AvroKind.UNION:
            if self.branch(writer, reader) is None:
                return f"no branch of the union takes {writer.full_name}"
            return ""
        if writer.kind != reader.kind:
            if reader.kind in _PROMOTIONS.get(writer.kind, ()):
                return ""
            return f"{writer.full_name} is no {reader.full_name}"
        if writer.kind in {AvroKind.FIXED, AvroKind.ENUM} and self._name(writer) != reader.name:
            return f"{writer.name} is not {reader.name}"
        if writer.size != reader.size:
            return f"{writer.size} bytes are not {reader.size}"
        if writer.kind == AvroKind.RECORD and (field := self.missing(writer, reader)):
            return f"the field {field.name} is missing and has no default"
        if writer.logical and reader.logical:
            if writer.logical != reader.logical:
                return f"{writer.logical} is not {reader.logical}"
            if writer.scale != reader.scale:
                return f"a decimal of scale {writer.scale} is none of scale {reader.scale}"
        return ""

    def branch(self, writer: AvroNode, union: AvroNode) -> int | None:
        """Return the number of the branch of a union that takes a type, None if none does."""
        key = id(writer), id(union)
        if key not in self._branches:
            self._branches[key] = None  # a record within itself
            self._branches[key] = self._branch(writer, union)
        return self._branches[key]

    def _branch(self, writer: AvroNode, union: AvroNode) -> int | None:
        self._count(len(union.children))
        alike: int | None = None
        for number, branch in enumerate(union.children):
            if branch.kind != writer.kind:
                continue
            if writer.kind not in NAMED or self._name(writer) == branch.name:
                return number
            if writer.kind == AvroKind.RECORD and self._fits(writer, branch):
                same = _short(self._name(writer)) == _short(branch.name)
                if alike is None or same:
                    alike = number
        if alike is not None:
            return alike
        for number, branch in enumerate(union.children):
            if branch.kind in _PROMOTIONS.get(writer.kind, ()):
                return number
        return None

    def _fits(self, writer: AvroNode, reader: AvroNode) -> bool:
        if self.missing(writer, reader):
            return False
        found = self.sources(writer, reader)
        for item in reader.fields:
            source = found.get(item.name)
            if source is None:
                continue
            written = writer.fields[source].node
            if written.kind != AvroKind.UNION and self.problem(written, item.node):
                return False
        return True

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > _STEPS:
            raise SchemaError("the schemas are too large to be read one as the other")

    def _name(self, writer: AvroNode) -> str:
        return self._renamed.get(writer.name, writer.name)


def _short(name: str) -> str:
    return name.rpartition(".")[2]
