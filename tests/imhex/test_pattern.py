"""The pattern for ImHex has all of the specification; plcli, ImHex's evaluator, reads by it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pytest

import kafkaspec as ks
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.layout.files import FILES
from kafkaspec.cli.commands.explain_data import explain_batch
from kafkaspec.codecs.references.kaitai.codec import KaitaiCodec
from kafkaspec.codecs.references.kaitai.positions import FieldPosition
from kafkaspec.layout.names import CONTROL_KEY, CONTROL_VALUE
from kafkaspec.log.batch import Batch
from tests.goldens import GOLDEN
from tests.specgen.edits import SPEC
from tools.drafts.overlay import Draft, apply, drafts
from tools.specgen.imhex.emit import emit
from tools.specgen.loader import load
from tools.specgen.model import (
    BitsType,
    BytesType,
    Field,
    FloatType,
    IntegerType,
    Model,
    SwitchType,
    TypeReference,
)

PATTERN = Path(__file__).parents[2] / "generated" / "imhex" / "kafkaspec.hexpat"
PLCLI = shutil.which("plcli")
VERSIONS: Final = ("0.8.2.2", "0.10.2.2", "2.8.2", "4.4.0")
ENTRIES: Final = 2
"""Entries of each file whose fields are compared."""
MOST: Final = 400_000
"""Bytes of a file that is compared."""
OTHERS: Final = [
    path
    for folder in (GOLDEN / "4.4.0" / "logs", Path(__file__).parents[1] / "message_set" / "golden")
    for path in sorted(folder.rglob("*"))
    if path.suffix in FILES and path.suffix != ".log" and 0 < path.stat().st_size < 10_000
]
CONTROL: Final = tuple(name.rpartition(".")[2] for name in (CONTROL_KEY, CONTROL_VALUE))
"""Members that hold what a control record means."""
VALUES: Final = {
    f"{enum.spec_id}::{enum.id}::{each.id}": each.value
    for spec in load(SPEC).specs
    for enum in spec.enums
    for each in enum.values
}
evaluated = pytest.mark.skipif(PLCLI is None, reason="plcli, ImHex's evaluator, is not installed")

_MEMBER: Final = re.compile(
    r"(?:\((?:-?\d+|_)\): )?(?:le )?(?:(?P<type>[\w:]+)(?:<.*?>)? )?(?P<name>\w+)"
    r"(?:\[[^=]*\]| : (?P<bits>\d+))?(?: \[\[comment.*)?;"
)


def _declared(text: str) -> dict[str, list[tuple[str, str]]]:
    """Return the members of each structure and enumeration, as the text has them."""
    found: dict[str, list[tuple[str, str]]] = {}
    space, members = "", []
    for line in map(str.strip, text.splitlines()):
        if match := re.fullmatch(r"namespace (\w+) \{", line):
            space = match[1]
        elif match := re.fullmatch(r"(?:struct|bitfield|enum) (\w+).*\{", line):
            members = found.setdefault(f"{space}::{match[1]}", [])
        elif match := _MEMBER.fullmatch(line):
            members.append((match["bits"] or match["type"], match["name"]))
        elif match := re.match(r"(\w+) = (-?\d+),", line):
            members.append((match[2], match[1]))
    return found


def _name(key: str) -> str:
    return key.replace(".", "::")


def _wanted(field: Field) -> list[tuple[str, str]]:
    """Return the declarations of a field."""
    match field.type:
        case IntegerType(size, signed):
            kinds = [f"{'s' if signed else 'u'}{8 * size}" if not field.enum else _name(field.enum)]
        case FloatType(size):
            kinds = ["double" if size == 8 else "float"]
        case BitsType(width):
            kinds = [str(width)]
        case BytesType():
            kinds = ["bytes"]
        case TypeReference():
            kinds = [f"{field.type.spec_id}::{field.type.name}"]
        case SwitchType(cases=cases):
            kinds = [f"{reference.spec_id}::{reference.name}" for _, reference in cases]
    return [(kind, field.id) for kind in kinds]


def _compare(model: Model, text: str) -> int:
    """Compare what the text declares with the model; return the number of members."""
    found = _declared(text)
    compared = 0
    for type_ in (type_ for spec in model.specs if not spec.is_message for type_ in spec.types):
        fields = [field for field in type_.fields if not field.is_guard]
        wanted = [declared for field in fields for declared in _wanted(field)]
        for field in type_.fields:
            if field.enum:
                values = [(str(each.value), each.id) for each in model.enum(field.enum).values]
                assert found[_name(field.enum)] == values
        if wanted:
            members = [
                ("bytes" if kind in ("u8", "char") and ("bytes", name) in wanted else kind, name)
                for kind, name in found[_name(type_.key)]
            ]
            # A batch has two declarations of its records: as they are, and as bytes.
            assert [each for each in members if each in wanted] == wanted, type_.key
        compared += len(wanted)
    return compared


def test_every_field_is_in_the_pattern() -> None:
    assert _compare(load(SPEC), PATTERN.read_text(encoding="utf-8")) > 200


@pytest.mark.slow
@pytest.mark.parametrize("draft", drafts(), ids=lambda draft: draft.name)
def test_a_draft_is_in_the_pattern_made_of_it(draft: Draft, tmp_path: Path) -> None:
    spec = tmp_path / "spec"
    shutil.copytree(SPEC, spec)
    apply(draft, spec)
    before, after = (
        {path.name: path.read_bytes() for path in folder.glob("*.ksy")} for folder in (SPEC, spec)
    )
    if before == after:
        return  # a draft of messages alone, which are not in the pattern
    model = load(spec)
    (output,) = emit(model)
    assert _compare(model, output.text) > 200
    assert _declared(output.text) != _declared(PATTERN.read_text(encoding="utf-8"))
    if PLCLI is not None:
        pattern = tmp_path / "draft.hexpat"
        pattern.write_text(output.text, encoding="utf-8")
        (path,) = (GOLDEN / "4.4.0" / "logs" / "plain-0").glob("*.log")
        assert _evaluated(path, pattern=pattern)["entries"]


# -- read by plcli --------------------------------------------------------------------------------


def _plcli(command: str, path: Path, *options: str, pattern: Path = PATTERN) -> str:
    assert PLCLI is not None
    arguments = [PLCLI, command, "-p", str(pattern), "-i", str(path), *options]
    done = subprocess.run(arguments, capture_output=True, check=False, timeout=300)
    text = done.stdout.decode()
    assert done.returncode == 0, text
    return text


def _evaluated(path: Path, *options: str, pattern: Path = PATTERN) -> Any:
    """Return what plcli reads of a file; bytes that are not text are in surrogates, as in PEP 383.

    plcli writes such a byte as an escape of two digits, and all other characters as they are.
    """
    text = _plcli("format", path, "-f", "json", "-m", *options, pattern=pattern)
    text = re.sub(r"(?<!\\)((?:\\\\)*)\\u00([89a-f][0-9a-f])", r"\1\\udc\2", text)
    return json.loads(text)["file"]


def _at(tree: Any, path: str) -> Any:
    for name in path.split("/")[1:]:
        tree = tree[int(name)] if isinstance(tree, list) else tree[name]
    return tree


def _bytes(node: Any) -> bytes:
    return bytes(node) if isinstance(node, list) else node.encode(errors="surrogateescape")


def _value(node: Any, field: FieldPosition) -> Any:
    """Return what plcli has of a field as a host value."""
    layout = LAYOUTS.get(field.type)
    if layout is not None and len(layout.fields) > 1:
        return _bytes(node["value"]) if "value" in node else None
    if isinstance(field.value, bytes | memoryview):
        return _bytes(node)
    if isinstance(node, str) and field.enum:
        return VALUES[node]
    return int(node)


def _names(node: Any, key: str) -> list[str]:
    """Return the fields of a structure as plcli lists them."""
    derived = LAYOUTS[key].instances
    return [each for each in node if not each.startswith("__") and each not in derived]


def _compare_fields(tree: Any, fields: list[FieldPosition], shift: int) -> int:
    """Compare what plcli read with what explain shows; return the number of fields."""
    children: dict[str, list[str]] = {}
    for field in fields:
        before, _, name = field.path.rpartition("/")
        children.setdefault(before, []).append(name)
    for field in fields:
        node = _at(tree, field.path)
        place = (field.start + shift, field.end - field.start)
        layout = LAYOUTS.get(field.type)
        if isinstance(node, dict):
            assert (int(node["__address"]), int(node["__size"])) == place, field
        if isinstance(node, list) and field.path in children:
            assert len(node) == len(children[field.path]), field
        if layout is not None and not layout.scalar:
            named = [each for each in _names(node, field.type) if each not in CONTROL]
            assert named == children[field.path], field
        elif field.type or field.value is not None:
            if isinstance(node, dict) and not field.type:
                continue  # records as they stand, which another section shows
            assert _value(node, field) == field.value, field
    return len(fields)


def _compare_batch(entry: Any, segment: ks.Segment, batch: Batch) -> int:
    compared = 0
    records = entry["message"]["content"].get("records")
    offsets = [record.offset for record in batch.records()]
    for section in explain_batch(segment, batch.position, 0):
        if match := re.match(r"(key|value) of control record (\d+)", section.title):
            body = records["records"][offsets.index(int(match[2]))]["body"]
            (name,) = (each for each in CONTROL if match[1] in each)
            if name in body:  # not where key or value are empty
                tree = body[name]
                compared += _compare_fields(tree, section.fields, int(tree["__address"]))
        elif section.title.startswith("entry") or isinstance(records, dict):
            compared += _compare_fields(entry, section.fields, 0)
    if isinstance(records, dict):
        bodies = [framed["body"] for framed in records["records"]]
        found = [(int(body["offset"]), int(body["timestamp"])) for body in bodies]
        assert found == [(record.offset, record.timestamp) for record in batch.records()]
    return compared


@evaluated
@pytest.mark.slow
def test_plcli_reads_what_explain_shows() -> None:
    """Compares all entries of 100 golden files and more, two of each by all fields."""
    paths = [path for name in VERSIONS for path in sorted((GOLDEN / name / "logs").rglob("*.log"))]
    files = compared = 0
    for path in paths:
        if not 0 < path.stat().st_size <= MOST:
            continue
        entries = _evaluated(path)["entries"]
        with ks.Segment(path) as segment:
            batches = list(segment)
            positions = [int(entry["__address"]) for entry in entries]
            assert positions == [batch.position for batch in batches]
            for entry, batch in islice(zip(entries, batches, strict=True), ENTRIES):
                compared += _compare_batch(entry, segment, batch)
        files += 1
    assert files >= 100
    assert compared > 3000


@evaluated
@pytest.mark.slow
@pytest.mark.parametrize("suffix", sorted({path.suffix for path in OTHERS}))
def test_plcli_reads_other_files(suffix: str) -> None:
    layout, codec, seen = FILES[suffix], KaitaiCodec(), 0
    parameters = [0] * len(LAYOUTS[layout.type].parameters)
    for path in (path for path in OTHERS if path.suffix == suffix):
        data = path.read_bytes()
        tree = _evaluated(path, "-D", suffix[1:].upper())
        assert int(tree["__size"]) == len(data)
        fields = codec.positions(layout.type, data, parameters=parameters)
        seen += _compare_fields(tree, fields, 0)
    assert seen > 10


@evaluated
def test_what_is_cut_or_wrong_is_said(tmp_path: Path) -> None:
    (source,) = (GOLDEN / "4.4.0" / "logs" / "plain-0").glob("*.log")
    with ks.Segment(source) as segment:
        batches, framing = list(islice(segment, 3)), segment.format.framing.size
    data = bytearray(source.read_bytes()[: batches[2].end - 5])
    record = batches[1].position + LAYOUTS["recordbatch.record_batch"].minimum_size + framing
    data[record] = 0xFF  # the size of the first record
    path = tmp_path / "torn.log"
    path.write_bytes(data)
    entries = _evaluated(path)["entries"]
    assert [int(entry["__address"]) for entry in entries] == [each.position for each in batches]
    read = [entry.get("message", {}).get("content") for entry in entries]
    assert len(read[0]["records"]["records"]) == len(list(batches[0].records()))
    (broken,) = read[1]["records"]["records"]
    assert list(broken)[-1] == "len_body"
    assert read[2] is None
    said = _plcli("run", path, "-v")
    assert f"recordbatch.framed_record.len_body at 0x{record:X}: not as" in said
    needed = batches[2].size - framing
    assert (
        f"recordbatch.entry.message at 0x{batches[2].position + framing:X}: {needed} bytes" in said
    )


@evaluated
def test_zeros_at_the_end_are_no_entries(tmp_path: Path) -> None:
    (source,) = (GOLDEN / "4.4.0" / "logs" / "plain-0").glob("*.log")
    path = tmp_path / "zeros.log"
    path.write_bytes(source.read_bytes() + bytes(1000))
    found = [_evaluated(each)["entries"] for each in (source, path)]
    read = [[entry["__address"] for entry in entries if "message" in entry] for entries in found]
    assert read[0] == read[1]
    assert len(found[1]) == len(read[1]) + 1  # the first zeros, up to the size


@evaluated
def test_a_macro_and_a_placed_type(tmp_path: Path) -> None:
    """As the guide has them: a kind of file in the first line, and a type after the last one."""
    text = PATTERN.read_text(encoding="utf-8")
    (log,) = (GOLDEN / "4.4.0" / "logs" / "plain-0").glob("*.log")
    with ks.Segment(log) as segment:
        batch = list(islice(segment, 2))[1]
    changed = tmp_path / "changed.hexpat"
    placed = f"recordbatch::entry<end_of_file> file @ 0x{batch.position:X};\n"
    changed.write_text(text.replace("<end_of_file> file", "<end_of_file> log") + placed)
    assert _evaluated(log, pattern=changed)["base_offset"] == batch.base_offset
    changed.write_text("#define TIMEINDEX\n" + text)
    times = next(path for path in OTHERS if path.suffix == ".timeindex")
    assert "timestamp" in _evaluated(times, pattern=changed)["entries"][0]
