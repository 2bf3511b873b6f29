"""Rules of a house are data: a specification of another format has none of them, or its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.specgen.edits import HOUSE
from tests.specgen.formats.samples import FORMATS, NAMES
from tools.specgen.document import SpecError
from tools.specgen.house import NONE, house_of
from tools.specgen.lint.rules import lint
from tools.specgen.loader import load

EDITS = [
    ("telemetry", "  endian: le\n", "",
     "#/meta: meta: endian is missing; write endian: be or endian: le"),
    ("telemetry", "endian: le", "endian: mixed",
     "#/meta/endian: 'mixed' is not an order of bytes; write be or le"),
    ("telemetry", "        -derive: count(samples)\n", "",
     "#/types/block/seq/3: derive: it is the number of samples; write -derive: count(samples)"),
    ("telemetry", "valid: {expr: _.value <= 255}", "valid: {expr: _.value <= gone}",
     "#/types/text/seq/0: name: valid: gone is neither an earlier field nor a parameter of text"),
    ("chat", "            _: unknown\n", "",
     "#/types/message/seq/0: S6: content has no case for every value of its switch; "
     "write a case _ or let valid: of the switch allow the cases only"),
    ("chat", "        type: message(kind.to_i)", "        type: message",
     "#/types/envelope/seq/3: message takes 1 parameters, not 0; write one argument for each"),
    ("atlas", "  bit-endian: be\n", "",
     "#/meta: meta: there are bit fields; write bit-endian: be"),
    ("atlas", "type: b15", "type: b14",
     "#/types/tile/seq/7: bits: 15 bits stand before pad; "
     "fill them up to whole bytes with a reserved field"),
    ("atlas", "        type: u2be\n        valid: 0x4154\n", "        contents: [0x41, 0x54]\n",
     "#/types/header/seq/0: the language has no contents; "
     "write a type of integer and valid: with its value"),
    ("atlas", "type: f8le", "type: strz",
     "#/types/header/seq/2: the language has no strz; write a size before it: "
     "a field with -derive: len(...), and bytes of that size"),
    ("chat", "        size: len_text\n", "        size: len_text\n        type: str\n",
     "#/types/reason/seq/2: the language has no str; text is bytes: leave type and encoding out"),
    ("atlas", "    repeat: eos\n", "    repeat: eos\n    sise: 3\n",
     "#/seq/1: S10: unknown key sise; write size"),
]  # fmt: skip


def test_ids_of_files_that_come_along(tmp_path: Path) -> None:
    text = (FORMATS / "atlas" / "atlas.ksy").read_text(encoding="utf-8")
    (tmp_path / "rows.ksy").write_text(text.replace("id: atlas", "id: rows"), encoding="utf-8")
    assert [f"{p.location}: {p.rule}: {p.message}" for p in lint(load(tmp_path))] == [
        "rows.ksy#/: reserved: generated code has a file rows; give this one another id"
    ]


def test_there_are_no_rules_of_a_house() -> None:
    for name in NAMES:
        assert lint(load(FORMATS / name)) == []
        assert lint(load(FORMATS / name, HOUSE))


@pytest.mark.parametrize(("name", "old", "new", "expected"), EDITS)
def test_the_linter_says_what_to_write(
    tmp_path: Path, name: str, old: str, new: str, expected: str
) -> None:
    text = (FORMATS / name / f"{name}.ksy").read_text(encoding="utf-8")
    assert text.count(old) >= 1
    (tmp_path / f"{name}.ksy").write_text(text.replace(old, new, 1), encoding="utf-8")
    try:
        found = [f"{p.location}: {p.rule}: {p.message}" for p in lint(load(tmp_path))]
    except SpecError as error:
        found = [str(error)]
    assert f"{name}.ksy{expected}" in found


def _said(house: str, tmp_path: Path) -> list[str]:
    text = (FORMATS / "atlas" / "atlas.ksy").read_text(encoding="utf-8")
    (tmp_path / "atlas.ksy").write_text(text, encoding="utf-8")
    (tmp_path / "house.yaml").write_text(house, encoding="utf-8")
    return [f"{p.location}: {p.rule}: {p.message}" for p in lint(load(tmp_path))]


def test_a_house_has_rules_of_its_own(tmp_path: Path) -> None:
    house = """
name: Cartographers
meta: {license: MIT}
reference: "https://example\\\\.org/.*"
"""
    assert _said(house, tmp_path) == [
        "atlas.ksy#/meta: meta: license is missing; write license: MIT"
    ]
    house += "doc: true\n"
    missing = "atlas.ksy#/types/header: doc: header has no doc-ref; write the URL of "
    found = [line for line in _said(house, tmp_path) if line.startswith(missing)]
    assert found == [
        f"{missing}Cartographers's source at a release, a blank and the name of the class"
    ]


@pytest.mark.parametrize(
    ("house", "expected"),
    [
        ("colour: red\n", "house.yaml#/: unknown key colour; the keys are "),
        ("reference: '['\n", "house.yaml#/reference: not a regular expression: "),
        ("style: much\n", "house.yaml#/style: expected true or false, not 'much'"),
        ("- a\n", "house.yaml#/: expected a mapping"),
        ("width: wide\n", "house.yaml#/width: expected a number of columns, not 'wide'"),
        ("targets: [paper]\n", "house.yaml#/targets: there is no target paper; the targets are "),
    ],
)
def test_a_house_that_cannot_be_read(tmp_path: Path, house: str, expected: str) -> None:
    (tmp_path / "house.yaml").write_text(house, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        house_of(tmp_path)
    assert str(caught.value).startswith(expected)


def test_no_file_is_no_house(tmp_path: Path) -> None:
    assert house_of(tmp_path) == NONE
