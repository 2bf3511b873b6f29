"""Emit ``generated/go``: the package ``format``, which needs only the standard library of Go."""

from __future__ import annotations

from kafkaspec.errors import Reason
from tools.specgen.facts.ranges import VARINTS
from tools.specgen.facts.segments import Segment, segments
from tools.specgen.go.expressions import UnsupportedError
from tools.specgen.go.names import RUNTIME, type_name
from tools.specgen.go.segment import emit_segment
from tools.specgen.go.types import TypesEmitter, own_shape, parameters
from tools.specgen.go.writing import emit_writers, written_types
from tools.specgen.model import IntegerType, Model, Type, camel
from tools.specgen.output import Output
from tools.specgen.writer import GoWriter


def emit(model: Model) -> list[Output]:
    """Return a file for each specification, one for segments, the registry and the runtime."""
    every = tuple(spec.id for spec in model.specs)
    made = [type_name(type_) for type_ in model.all_types()]
    twice = sorted({name for name in made if made.count(name) > 1})
    assert not twice, f"two types have the same name in Go: {', '.join(twice)}"
    outputs = [
        Output(f"go/{_file_name(spec.id)}.go", (spec.id,), TypesEmitter(model, spec).text())
        for spec in model.specs
    ]
    outputs += [
        Output("go/segment.go", (segment.type.spec_id,), _segment(segment))
        for segment in segments(model)[:1]
    ]
    outputs.append(Output("go/writing.go", every, emit_writers(model, written_types(model))))
    outputs.append(Output("go/registry.go", every, _registry(model)))
    outputs.append(Output("go/reasons.go", every, _reasons()))
    outputs.append(Output("go/runtime.go", every, RUNTIME.read_text(encoding="utf-8")))
    return outputs


def _segment(segment: Segment) -> str:
    """Return the columns of a log, or why there are none."""
    try:
        return emit_segment(segment)
    except UnsupportedError as reason:
        return f"package format\n\n// There are no columns: {reason}.\n"


def _file_name(spec_id: str) -> str:
    """Return the name of a file: the end of some ids means a system or a test to Go."""
    return f"{spec_id}_types"


def _reasons() -> str:
    out = GoWriter()
    out.lines("package format", "", "// Reason is why bytes are refused; the list is closed.")
    out.lines("type Reason string", "")
    for reason in Reason:
        name = f"Reason{camel(reason.value)}"
        out.lines(f"// {name} is a reason of the specification.")
        out.lines(f'const {name} Reason = "{reason.value}"', "")
    return out.text().rstrip("\n") + "\n"


def _registry(model: Model) -> str:
    out = GoWriter()
    out.lines("package format", "")
    out.lines(
        "type parser func(",
        "\tdata []byte, pos, end int, complete bool, given []any,",
        ") (any, int, *Error)",
        "",
    )
    out.line("// parsers of all types by key.")
    with out.block("var parsers = map[string]parser{", "}"):
        for type_ in model.all_types():
            _parser(model, type_, out)
    return out.text()


def _parser(model: Model, type_: Type, out: GoWriter) -> None:
    head = f'"{type_.key}": func(data []byte, pos, end int, complete bool, given []any) (any, int, *Error) {{'  # noqa: E501
    found = own_shape(model, type_)
    with out.block(head, "},"):
        if type_.scalar in VARINTS:
            assert type_.scalar is not None
            varint = VARINTS[type_.scalar]
            name = f"varint{varint.bits}" if varint.zigzag else f"unsignedVarint{varint.bits}"
            out.line(f"v, pos, err := {name}(data, pos, end, complete)")
            out.line(f'return v, pos, err.named("", "{type_.location}")')
            return
        passed = ""
        for number, (item, _, kind) in enumerate(parameters(model, type_)):
            made = f"given[{number}].({kind})"
            if isinstance(item.type, IntegerType):
                made = f"given[{number}].(int64)"
            passed += f", {made}"
        call = f"parse{type_name(type_)}(data, pos, end, complete{passed}"
        if type_.scalar is not None:
            out.line(f"v, pos, err := {call})")
            out.line(f'return octets(v), pos, err.named("", "{type_.location}")')
        elif found.is_node:
            out.line(f"v, pos, err := {call})")
            out.line("return v, pos, err")
        else:
            out.line(f"v := new({found.text})")
            out.line(f"pos, err := {call}, v)")
            out.line("return v, pos, err")
