"""Numbers of layouts come from the specification, and releases from the brokers that were run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from kafkaspec.broker.profiles import DEFAULT_PROFILE, NEWEST
from kafkaspec.dumplog import options as dumps
from kafkaspec.layout.kinds import CURRENT
from kafkaspec.log.encoding import RECORD_OVERHEAD
from kafkaspec.release import minor_of, parse_release
from tests.structure.source import CODE, ROOT, trees, walk
from tools.brokers.versions import VERSIONS

OTHER_FORMATS = ("kafkaspec/compression/", "kafkaspec/values/")
"""Formats that are not in the specification: of compression, and of keys and values."""
_BIG = ">"


def by_hand(tree: ast.Module) -> Iterator[str]:
    """Yield the sums of a fact of a layout and a number, and the numbers of a typed width."""
    facts = {
        alias.asname or alias.name
        for node in walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kafkaspec.layout")
        for alias in node.names
        if alias.name.isupper()
    }
    for node in walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            for side, other in ((node.left, node.right), (node.right, node.left)):
                if is_typed(side) and isinstance(other, ast.Name) and other.id in facts:
                    yield ast.unparse(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            text = node.args[0] if node.args else None
            order = node.args[1] if len(node.args) > 1 else None
            if called in ("from_bytes", "to_bytes") and getattr(order, "value", None) == "big":
                if any(map(is_typed, ast.walk(node.args[0]))):
                    yield ast.unparse(node)
            elif (
                called in ("Struct", "pack", "unpack", "unpack_from")
                and isinstance(text, ast.Constant)
                and str(text.value).startswith(_BIG)
            ):
                yield ast.unparse(node)


def is_typed(node: ast.AST) -> bool:
    """Return whether a node is a number of bytes; 1 is the next byte or offset."""
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value > 1


ALLOWED = {
    "pack('>d', value)": "the one kind of number that has no size in the specification",
    "9863518390377041911 .to_bytes(8, 'big')": "the magic of files of another system",
    "number.to_bytes(total // 8, 'big')": "a run of bits, the highest first in every type",
    "number.to_bytes(4, 'big')": "the counter of a cipher",
    "value.to_bytes(_WORD // 8, 'big')": "a hash of an id, which is hashed again",
}


@pytest.mark.slow
def test_no_number_of_a_layout_is_typed() -> None:
    found = {
        text
        for path, tree in trees("kafkaspec").items()
        if not path.relative_to(ROOT).as_posix().startswith(OTHER_FORMATS)
        for text in by_hand(tree)
    }
    assert found == set(ALLOWED)


def test_numbers_that_are_typed_are_found() -> None:
    text = """
from kafkaspec.layout.framing import FRAMING
a = FRAMING - 4
b = FRAMING + 1
c = int.from_bytes(data[at : at + 4], "big")
d = (5).to_bytes(field.size, "big")
e = size.to_bytes(4, "big")
f = Struct(">iq")
g = int.from_bytes(data[at : at + field.size], "big")
"""
    assert list(by_hand(ast.parse(text))) == [
        "FRAMING - 4",
        "int.from_bytes(data[at:at + 4], 'big')",
        "size.to_bytes(4, 'big')",
        "Struct('>iq')",
    ]


def test_names_of_segments_are_written_in_one_place() -> None:
    """``segment_name`` and ``checkpoint_name`` alone know how many digits an offset has there."""
    typed = re.compile(r":0?20d?\}")
    found = [
        path.relative_to(ROOT).as_posix()
        for part in CODE
        for path in (ROOT / part).rglob("*.py")
        if typed.search(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_kafkas_constants_follow_from_the_specification() -> None:
    """``RecordBatch.CURRENT_MAGIC_VALUE`` and ``DefaultRecord.MAX_RECORD_OVERHEAD`` of Kafka."""
    assert CURRENT == 2
    assert RECORD_OVERHEAD == 21


def test_releases_are_those_of_the_brokers_that_were_run() -> None:
    """The default is the newest of which all scenarios, and the output of the tool, were kept."""
    assert minor_of(VERSIONS[-1].name) == parse_release(NEWEST)
    assert minor_of([each for each in VERSIONS if each.full][-1].name) == parse_release(
        DEFAULT_PROFILE
    )
    assert minor_of([each for each in VERSIONS if not each.dumped_by][-1].name) == dumps.NEWEST
    assert minor_of(VERSIONS[0].name) == dumps.OLDEST
