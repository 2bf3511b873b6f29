"""The pages: nothing is missing, every link leads somewhere, diagrams show what is there."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tools.specgen.docs.diagram import diagram
from tools.specgen.docs.emit import emit
from tools.specgen.loader import load
from tools.specgen.model import BitsType, Field, IntegerType, Model, Spec, Type

ROOT = Path(__file__).parents[2]
MODEL = load(ROOT / "spec")
PAGES = {output.path: output.text for output in emit(MODEL)}
SPECS = [spec.id for spec in MODEL.specs]


def section(spec: str, name: str) -> str:
    text = PAGES[f"docs/{spec}.md"].split(f"\n## {name}\n")[1].split("\n## ")[0]
    return re.sub(r"\[(Q\d+)\]\([^)]*\)", r"\1", text)


@pytest.mark.parametrize("spec_id", SPECS)
def test_every_field_and_instance_has_a_row(spec_id: str) -> None:
    for type_ in MODEL.spec(spec_id).types:
        if not type_.fields:
            continue
        text = section(spec_id, type_.name)
        ids = [field.id for field in type_.fields] + [peek.id for peek in type_.peek_instances]
        if type_.scalar is None:
            ids += [instance.id for instance in type_.value_instances]
        for name in ids:
            shown = f'<a id="{type_.name}-{name}"></a>`{name}`'
            assert re.search(rf"^\|(.*\|)? {shown} ", text, re.MULTILINE), name
        for line in " ".join(field.doc for field in type_.fields).replace("|", "\\|").split():
            assert line in text


@pytest.mark.parametrize("path", sorted(PAGES))
def test_an_anchor_is_there_once(path: str) -> None:
    found = re.findall(r'<a id="([^"]+)"', PAGES[path]) + re.findall(
        r"^## (.+)$", PAGES[path], re.M
    )
    assert [name for name, count in Counter(found).items() if count > 1] == []


@pytest.mark.parametrize("path", sorted(PAGES))
def test_tables_are_whole(path: str) -> None:
    columns = 0
    for line in PAGES[path].splitlines():
        count = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert columns in (0, count) or count == 0, line
        columns = count


@pytest.mark.parametrize("path", sorted(PAGES))
def test_links(path: str) -> None:
    for target in re.findall(r"\]\(([^)]*)\)", PAGES[path]):
        if target.startswith("https://github.com/"):
            continue
        file, _, anchor = target.partition("#")
        other = f"docs/{file}" if file else path
        if file.startswith("../../"):
            there = (ROOT / "generated" / "docs" / file).resolve()
            assert there.exists()
            assert not anchor or f'<a id="{anchor}"></a>' in there.read_text(encoding="utf-8")
        else:
            assert other in PAGES
            assert not anchor or f"\n## {anchor}\n" in PAGES[other], target


@pytest.mark.slow
def test_lines_end_without_blanks_and_repeat_themselves() -> None:
    assert {output.path: output.text for output in emit(MODEL)} == PAGES
    for text in PAGES.values():
        assert not re.search(r"[ \t]$", text, re.MULTILINE)


def integers(*sizes: int) -> Type:
    fields = tuple(
        Field(chr(ord("a") + i) * size, IntegerType(size, signed=True), f"x.ksy#/seq/{i}")
        for i, size in enumerate(sizes)
    )
    return Type("x", "x", "x.ksy#/", fields)


def model_of(type_: Type) -> Model:
    return Model((Spec("x", "x.ksy", "X", (type_,), ()),))


def test_byte_diagram() -> None:
    type_ = integers(4, 1, 8)
    assert diagram(model_of(type_), type_) == [
        "       0    1    2    3    4    5    6    7",
        "     +----+----+----+----+----+",
        "   0 |       aaaa        | b  |",
        "     +----+----+----+----+----+----+----+----+",
        "   5 |               cccccccc                |",
        "     +----+----+----+----+----+----+----+----+",
    ]


def test_bit_diagram() -> None:
    fields = tuple(
        Field(name, BitsType(width), "x.ksy#/seq/0")
        for name, width in (("high", 4), ("flag", 1), ("low", 3))
    )
    type_ = Type("x", "x", "x.ksy#/", fields)
    assert diagram(model_of(type_), type_) == [
        "   7  6  5  4  3  2  1  0",
        "   x  x  x  x  .  .  .  .   high",
        "   .  .  .  .  x  .  .  .   flag",
        "   .  .  .  .  .  x  x  x   low",
    ]


def test_header_of_a_batch_as_kafka_documents_it() -> None:
    # Offsets from the start of the batch, 12 less: RecordBatch in Kafka's protocol guide.
    documented = {
        "partition_leader_epoch": 12, "magic": 16, "crc": 17, "attributes": 21,
        "last_offset_delta": 23, "base_timestamp": 27, "max_timestamp": 35, "producer_id": 43,
        "producer_epoch": 51, "base_sequence": 53, "num_records": 57, "records": 61,
    }  # fmt: skip
    rows = re.findall(
        r"^\| (\d+) \|[^|]*\| <a [^|]*>`(\w+)`", section("recordbatch", "record_batch"), re.M
    )
    assert {name: int(offset) + 12 for offset, name in rows} == documented
