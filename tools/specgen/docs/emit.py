"""Emit ``generated/docs``: one page for each specification, and an index of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import PurePosixPath

from tools.quirks import link
from tools.specgen.docs.diagram import diagram
from tools.specgen.docs.text import (
    allowed_text,
    cell,
    code,
    meaning,
    size_text,
    type_size,
    type_text,
    valid_text,
    writer_text,
)
from tools.specgen.expression import literal
from tools.specgen.facts.sizes import fixed_size
from tools.specgen.house import House
from tools.specgen.model import (
    BitsType,
    Enum,
    EnumValue,
    Field,
    IntegerType,
    Model,
    Scalar,
    Spec,
    Type,
    TypeReference,
)
from tools.specgen.output import Output
from tools.specgen.writer import CodeWriter

_SCALARS = {
    Scalar.VARINT32: "one signed integer",
    Scalar.VARINT64: "one signed integer",
    Scalar.UNSIGNED_VARINT32: "one unsigned integer",
    Scalar.NULLABLE_BYTES: "one byte string or null",
    Scalar.BYTES: "one byte string",
}


def emit(model: Model) -> list[Output]:
    """Return a page for each specification, and the index."""
    pages = [Output(f"docs/{spec.id}.md", (spec.id,), page(model, spec)) for spec in model.specs]
    return [*pages, _index(model)]


def page(model: Model, spec: Spec) -> str:
    """Return the page of one specification."""
    out = CodeWriter()
    out.lines(f"# {spec.title}", "")
    out.lines(*spec.doc.splitlines(), *[""][: len(spec.doc)])
    if spec.file_extensions:
        extensions = ", ".join(f"`.{extension}`" for extension in spec.file_extensions)
        out.lines(f"Files: {extensions}.", "")
    house = model.house
    origin = f"`{spec.file_name}`"
    if house.spec:
        origin = f"[spec/{spec.file_name}]({house.spec}/{spec.file_name})"
    source = f" {_of(house, 'source')}: {_sources(spec.doc_refs)}." if spec.doc_refs else ""
    out.lines(f"Specification: {origin}.{source} [All pages](README.md)", "")
    types = [type_ for type_ in spec.types if type_.fields]
    _contents(out, spec, types)
    for type_ in types:
        out.lines(f"## {type_.name}", "")
        structure(out, model, spec, type_)
    for enum in spec.enums:
        out.lines(f"## {enum.id}", "")
        enumeration(out, enum)
    return _linked(house, out.text().rstrip("\n") + "\n")


def _contents(out: CodeWriter, spec: Spec, types: list[Type]) -> None:
    for type_ in types:
        out.line(f"- [{type_.name}](#{type_.name})" + _note(spec, type_))
    for enum in spec.enums:
        out.line(f"- [{enum.id}](#{enum.id}): enumeration")
    out.line()


def _note(spec: Spec, type_: Type) -> str:
    return ": a file" if type_ is spec.root and spec.file_extensions else ""


def _of(house: House, what: str) -> str:
    """Return ``Kafka's source``, or ``Source`` where the house names nobody."""
    return house.owned(what) if house.name else what.capitalize()


def _linked(house: House, text: str) -> str:
    """Return the text with links to the quirks that it names, if the house has a page of them."""
    return link(text, house.quirks) if house.quirks else text


def _sources(references: tuple[str, ...]) -> str:
    return ", ".join(
        f"[{name}]({url})" for url, _, name in (item.partition(" ") for item in references)
    )


def structure(out: CodeWriter, model: Model, spec: Spec, type_: Type) -> None:
    """Write what is below the heading of a type: its text, its diagram and its tables."""
    is_root = type_ is spec.root
    if is_root:
        out.lines("The file." if spec.file_extensions else "Read as a whole.", "")
    else:
        out.lines(*type_.doc.splitlines(), *[""][: len(type_.doc)])
    out.lines(" ".join(_facts(model, type_, is_root=is_root)), "")
    if type_.parameters:
        _parameters(out, model, type_)
    drawing = diagram(model, type_)
    if drawing:
        out.lines("```text", *drawing, "```", "")
    _fields(out, model, type_)
    _peeks(out, type_)
    _instances(out, type_)


def _facts(model: Model, type_: Type, *, is_root: bool) -> list[str]:
    size = type_size(model, type_).replace("+", " or more")
    facts = [f"{size} byte{'' if size == '1' else 's'}."]
    if type_.scalar is not None:
        facts.append(f"Programs see {_SCALARS[type_.scalar]}.")
    elif type_.is_frame:
        facts.append(f"Programs see `{type_.fields[1].id}` alone.")
    elif type_.is_choice:
        facts.append("Programs see the chosen structure alone.")
    else:
        facts.append(f"Class `{type_.class_name}`.")
    if type_.original_id:
        facts.append(f"{_of(model.house, 'name')}: `{type_.original_id}`.")
    if not is_root and type_.doc_refs:
        facts.append(f"Source: {_sources(type_.doc_refs)}.")
    return facts


def _parameters(out: CodeWriter, model: Model, type_: Type) -> None:
    out.lines("Known from outside:", "")
    for parameter in type_.parameters:
        kind = parameter.type
        other = model.type(kind).name if isinstance(kind, TypeReference) else ""
        which = f" ([{other}](#{other}))" if other else ""
        name = _anchored(type_.name, parameter.id)
        out.line(f"- {name}{which}: {cell(parameter.doc)}")
    out.line()


def _anchored(owner: str, name: str) -> str:
    """Return a name that a link can end in: ``#record_batch-crc``."""
    return f'<a id="{owner}-{name}"></a>`{name}`'


def write_table(out: CodeWriter, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Write a table in Markdown."""
    out.line(f"| {' | '.join(head)} |")
    out.line("|" + "---|" * len(head))
    for row in rows:
        out.line("| " + " | ".join(row) + " |")
    out.line()


def _fields(out: CodeWriter, model: Model, type_: Type) -> None:
    offsets = _offsets(model, type_)
    rows = [
        (
            offsets[field.id],
            size_text(model, field),
            _anchored(type_.name, field.id),
            type_text(model, field, type_.spec_id),
            f"`{field.original_id}`" if field.original_id else "",
            meaning(model, field),
            allowed_text(field, type_.spec_id),
            writer_text(model, type_, field),
        )
        for field in type_.fields
    ]
    origin = f"In {model.house.name}" if model.house.name else "Original name"
    head = ("Offset", "Size", "Field", "Type", origin, "Meaning", "Allowed", "Written")
    used = [i for i in range(len(head)) if i != 4 or any(row[i] for row in rows)]
    write_table(
        out,
        tuple(head[i] for i in used),
        [tuple(row[i] for i in used) for row in rows],
    )


def _offsets(model: Model, type_: Type) -> dict[str, str]:
    """Return where a field begins, if that is fixed; for bit fields also their bits."""
    result: dict[str, str] = {}
    position: int | None = 0
    for is_bits, group in groupby(type_.fields, lambda field: isinstance(field.type, BitsType)):
        fields = tuple(group)
        high = _width(fields) - 1
        for field in fields:
            start = "" if position is None else str(position)
            if isinstance(field.type, BitsType):
                low = high - field.type.width + 1
                span = f"bit {high}" if low == high else f"bits {high} to {low}"
                start = ", ".join(part for part in (start, span) if part)
                high = low - 1
            result[field.id] = start
            size = 0 if is_bits else fixed_size(model, field)
            position = None if position is None or size is None else position + size
        if is_bits and position is not None:
            position += _width(fields) // 8
    return result


def _width(fields: Sequence[Field]) -> int:
    """Return the bits of all bit fields."""
    return sum(field.type.width for field in fields if isinstance(field.type, BitsType))


def _peeks(out: CodeWriter, type_: Type) -> None:
    if not type_.peek_instances:
        return
    out.lines("Read ahead, to choose by:", "")
    rows = []
    for peek in type_.peek_instances:
        assert isinstance(peek.type, IntegerType)
        kind = f"{'' if peek.type.signed else 'u'}int{8 * peek.type.size}"
        allowed = valid_text(peek.valid, peek.id)
        rows.append(
            (
                str(literal(peek.position)),
                _anchored(type_.name, peek.id),
                kind,
                cell(peek.doc),
                allowed,
            )
        )
    write_table(out, ("Offset", "Name", "Type", "Meaning", "Allowed"), rows)


def _instances(out: CodeWriter, type_: Type) -> None:
    # The doc of a varint says how it is put together; shifts and masks do not help.
    if not type_.value_instances or type_.scalar is not None:
        return
    out.lines("What follows from the fields:", "")
    rows = []
    for instance in type_.value_instances:
        condition = f"; only if {code(instance.condition)}" if instance.condition else ""
        name = _anchored(type_.name, instance.id)
        if instance.original_id:
            name += f" (`{instance.original_id}`)"
        rows.append((name, code(instance.value) + condition, cell(instance.doc)))
    write_table(out, ("Name", "Is", "Meaning"), rows)


def enumeration(out: CodeWriter, enum: Enum) -> None:
    """Write the table of an enumeration."""
    write_table(
        out,
        ("Value", "Name", "Meaning"),
        [(str(value.value), _name(enum, value), cell(value.doc)) for value in enum.values],
    )


def _name(enum: Enum, value: EnumValue) -> str:
    name = _anchored(enum.id, value.id)
    return f"{name} (`{value.original_id}`)" if value.original_id else name


def _by_use(model: Model) -> list[tuple[str, list[Spec]]]:
    """Return the pages in the order in which they are used: files, what is in them, their parts.

    Of files, those with a file extension come first, and of these the one with the most to
    say: the file of data before its indexes.
    """
    shared = {name for spec in model.specs for name in spec.imports}
    groups: dict[str, list[Spec]] = {"Files": []}
    parts: list[Spec] = []
    for spec in model.specs:
        folders = PurePosixPath(spec.file_name).parts[:-1]
        if folders:
            title = folders[-1].replace("_", " ").capitalize()
            groups.setdefault(title, []).append(spec)
        elif spec.id in shared or not any(type_.fields for type_ in spec.types):
            parts.append(spec)
        else:
            groups["Files"].append(spec)
    groups["Files"].sort(key=lambda spec: (not spec.file_extensions, -_length(spec)))
    return [item for item in [*groups.items(), ("Building blocks", parts)] if item[1]]


def _length(spec: Spec) -> int:
    return sum(len(type_.fields) for type_ in spec.types)


def _index(model: Model) -> Output:
    out = CodeWriter()
    house = model.house
    about = "Layouts of files, made from their specification."
    if house.spec:
        about = (
            f"Layouts of Apache {house.name}'s files, made from the specification in "
            f"[spec/]({house.spec}/README.md)."
        )
    out.lines("# Formats", "", about, "")
    for title, specs in _by_use(model):
        out.lines(f"## {title}", "")
        rows = []
        for spec in specs:
            names = [f"[{t.name}]({spec.id}.md#{t.name})" for t in spec.types if t.fields]
            rows.append((f"[{spec.title}]({spec.id}.md)", ", ".join(names)))
        write_table(out, ("Page", "Structures"), rows)
    out.lines(
        "## How to read the tables",
        "",
        "- Integers are big-endian: `int32` has a sign, `uint32` has none"
        + ("." if house.spec else "; those that end in `le` are little-endian."),
        "- Offset counts bytes from the start of the structure; it is empty where earlier fields "
        "vary in size.",
        "- Size is in bytes unless it says bits; `rest` is all bytes left in the structure that "
        "has a size, or in the file.",
        "- Allowed is what readers accept. `bytes_left` is the number of bytes after the field, "
        "`at_end` means that there are none. Empty means any value.",
        "- Written is what a writer puts there: computed, always the same, or as given by its "
        "caller.",
    )
    if house.quirks:
        out.lines(
            "- A link to a field, or to a value of an enumeration, ends in its structure and its "
            "name: `recordbatch.md#record_batch-crc` here, "
            "`formats/recordbatch.html#record_batch-crc` on the site that `make docs` builds.",
            f"- [Quirks]({house.quirks}) (Q4, Q9 and so on) are places where {house.name}'s reader "
            "is laxer or stricter than one would expect.",
        )
    text = _linked(house, out.text())
    return Output("docs/README.md", tuple(spec.id for spec in model.specs), text)
