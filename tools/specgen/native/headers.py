"""Emit the C that reads entries and their headers into structures of 64-bit integers."""

from __future__ import annotations

from tools.specgen.expression import Int
from tools.specgen.facts.columns import c_name
from tools.specgen.facts.segments import Segment, members
from tools.specgen.facts.sizes import checksum_of, minimum_size
from tools.specgen.model import Field, IntegerType, Model, Type, TypeReference
from tools.specgen.native.contracts import contract
from tools.specgen.native.expressions import CTranslator, bare, checks
from tools.specgen.native.walk import Scope, Walk
from tools.specgen.writer import CodeWriter, CWriter


def structure_name(type_: Type) -> str:
    """Return the name of the C structure that holds the members of a type."""
    return f"struct {type_.name}"


class _HeaderWalk(Walk):
    """Reader of a structure into ``h``; byte strings become position and size."""

    def place(self, scope: Scope, path: str) -> str:
        scope.names[path] = f"h->{c_name(scope.prefix + path)}"
        return scope.names[path]

    def on_bytes(self, scope: Scope, field: Field, start: str, size: str) -> None:
        name = c_name(scope.prefix + field.id)
        self.out.line(f"h->{name}_position = {start} - base;")
        self.out.line(f"h->{name}_size = {size} < 0 ? -1 : {size};")


def emit_structure(model: Model, type_: Type, out: CodeWriter) -> None:
    """Write the structure; ``present`` says which optional members are present."""
    with out.block(f"{structure_name(type_)} {{", "};"):
        for member in members(model, type_):
            out.line(f"int64_t {member.identifier};")
        out.line("uint64_t present;")
    out.line()


def emit_reader(model: Model, type_: Type, out: CodeWriter) -> None:
    """Write ``read_<type>``, which reads a message or batch; NULL if it is irregular."""
    parameters = [p.id for p in type_.parameters if isinstance(p.type, IntegerType)]
    _emit_contract(model, type_, out)
    with out.block(f"{reader_head(type_)}\n{{", "}"):
        scope = Scope(type_)
        for name in parameters:
            out.line(f"h->{name} = {name};")
            scope.names[name] = f"h->{name}"
        out.line("(void)base;")
        _HeaderWalk(model, out).read(scope)
        _emit_meaning(model, type_, scope, out)
        out.line("return p;")
    out.line()


def _emit_contract(model: Model, type_: Type, out: CodeWriter) -> None:
    """Write what ``read_<type>`` needs, and where the bytes are that it names."""
    inside = [f"ks_between(p, \\result, end) && end - p >= {minimum_size(model, type_)}"]
    for member in members(model, type_):
        if member.identifier.endswith("_position"):
            size = f"{member.identifier.removesuffix('_position')}_size"
            inside += [
                f"p - base <= h->{member.identifier} <= end - base && h->{size} >= -1",
                f"h->{member.identifier} + h->{size} <= end - base",
            ]
    contract(
        out,
        "requires ks_readable(p, end) && ks_between(base, p, end) && \\valid(h);",
        "requires \\separated(h, p + (0 .. end - p - 1));",
        "assigns *h;",
        *(f"ensures \\result != \\null ==> {text};" for text in inside),
    )


def reader_head(type_: Type) -> str:
    """Return the declaration of ``read_<type>``."""
    given = "".join(
        f", int64_t {p.id}" for p in type_.parameters if isinstance(p.type, IntegerType)
    )
    return (
        f"static const uint8_t *read_{type_.name}(const uint8_t *p, const uint8_t *end,\n"
        f"        const uint8_t *base{given}, {structure_name(type_)} *h)"
    )


def _emit_meaning(model: Model, type_: Type, scope: Scope, out: CodeWriter) -> None:
    """Write value instances and ``present``."""
    translator = Walk(model, out).translator(scope)
    out.line("h->present = 0;")
    for number, member in enumerate(members(model, type_)):
        bit = f"UINT64_C(1) << {number}"
        value = translator.text(member.instance.value) if member.instance else None
        if member.condition is None:
            if value:
                out.line(f"h->{member.identifier} = {value};")
                scope.names[member.path] = f"h->{member.identifier}"
            out.line(f"h->present |= {bit};")
            continue
        condition = translator.text(member.condition)
        if value:
            out.line(f"h->{member.identifier} = {condition} ? {value} : -1;")
            scope.names[member.path] = f"h->{member.identifier}"
        out.when(f"{bare(condition)}", f"h->present |= {bit};")


FRAME_HEAD = "static int read_frame(const uint8_t *p, const uint8_t *end, struct frame *h)"


def emit_frame_structure(segment: Segment, out: CodeWriter) -> None:
    """Write the structure of an entry before its kind is known."""
    with out.block("struct frame {", "};"):
        for member in members(segment.model, segment.entry):
            out.line(f"int64_t {member.identifier};")
        out.line("int64_t selector;")
        out.line("const uint8_t *body;")
        out.line("const uint8_t *end;")
    out.line()


def emit_entry(segment: Segment, out: CodeWriter) -> None:
    """Write ``read_frame``, which reads the framing of one entry and the number of its kind."""
    contract(
        out,
        "requires ks_readable(p, end) && \\valid(h) && \\separated(h, p + (0 .. end - p - 1));",
        "assigns *h;",
        "ensures \\result == KS_OK ==> ks_between(p, h->body, h->end);",
        "ensures \\result == KS_OK ==> p < h->end && ks_between(h->body, h->end, end);",
    )
    with out.block(f"{FRAME_HEAD}\n{{", "}"):
        lengths = CWriter()
        size = _emit_framing(segment, "return KS_IRREGULAR;", lengths)
        # Too few bytes for the framing are a short end; a bad value in it is not.
        text = lengths.text().rstrip("\n").split("\n")
        text[1] = text[1].replace("KS_IRREGULAR", "KS_SHORT")
        out.lines(*text)
        out.when(f"{size} > end - p", "return KS_SHORT;")
        out.line("h->body = p;")
        out.line(f"h->end = p + {size};")
        _emit_peek(segment, size, "return KS_IRREGULAR;", out)
        out.line("return KS_OK;")
    out.line()


def emit_hop(segment: Segment, kind: Type, size: int, out: CodeWriter) -> None:
    """Write ``hop_<batch>``, which says from a header of ``size`` bytes how long the entry is."""
    fail = "return -1;"
    with out.block(f"static int64_t hop_{kind.name}(const uint8_t *p)\n{{", "}"):
        out.line("struct frame frame, *const h = &frame;")
        out.line(f"{structure_name(kind)} header;")
        out.line(f"const uint8_t *const start = p, *const end = p + {size};")
        length = _emit_framing(segment, fail, out)
        out.when(f"{length} < end - p", fail)
        _emit_peek(segment, length, fail, out)
        out.when(f"!({cases_of(segment, kind)})", fail)
        arguments = "".join(f", {text}" for text in kind_arguments(segment, kind, "frame"))
        out.when(f"!read_{kind.name}(p, end, start{arguments}, &header)", fail)
        out.line(f"return p - start + {length};")
    out.line()


def _emit_framing(segment: Segment, fail: str, out: CodeWriter) -> str:
    """Write what reads the fields before the body into ``h``; return the size of the body."""
    model, entry = segment.model, segment.entry
    before = entry.fields[: entry.fields.index(segment.body)]
    framing = Type(entry.name, entry.spec_id, entry.location, before)
    walk, scope = _HeaderWalk(model, out), Scope(framing)
    walk.fail = fail
    walk.read(scope)
    reference = segment.body.type
    assert isinstance(reference, TypeReference)
    assert reference.size is not None
    return CTranslator(model, entry, lambda path: scope.names[path]).text(reference.size)


def _emit_peek(segment: Segment, size: str, fail: str, out: CodeWriter) -> None:
    peek = segment.peek
    assert isinstance(peek.type, IntegerType)
    assert isinstance(peek.position, Int)
    start = peek.position.value
    out.when(f"{size} < {start + peek.type.size}", fail)
    sign = "s" if peek.type.signed else "u"
    out.line(f"h->selector = ks_{sign}{peek.type.size}(p + {start});")
    translator = CTranslator(segment.model, segment.choice, str, "h->selector")
    for condition in checks(translator, peek):
        out.when(f"!({condition})", fail)


def kind_arguments(segment: Segment, kind: Type, frame: str) -> list[str]:
    """Return the source text of the integer arguments that the entry passes to a kind."""

    def resolve(path: str) -> str:
        name = "selector" if path == segment.peek.id else c_name(path)
        return f"{frame}.{name}"

    translator = CTranslator(segment.model, segment.entry, resolve)
    return [translator.text(value) for value in segment.arguments(kind).values()]


def cases_of(segment: Segment, kind: Type) -> str:
    """Return the condition on ``selector`` under which an entry is of that kind."""
    values = [case for case, ref in segment.switch.cases if segment.model.type(ref) == kind]
    return " || ".join(f"frame.selector == {value}" for value in values if value is not None)


def checksum(model: Model, type_: Type, body: str, end: str) -> str | None:
    """Return the condition that the stored checksum of ``h`` is right, None if there is none."""
    found = checksum_of(model, type_)
    if found is None:
        return None
    start = f"{body} + {found.start}" if found.start else body
    computed = f"ks_{found.function}({start}, {end} - ({start}))"
    return f"(int64_t){computed} == h.{c_name(found.field.id)}"
