"""Each mention of a quirk of Kafka has an entry in docs/quirks.md, each entry is mentioned, and
Markdown pages link the two."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages import ROOT
from tools.quirks import MENTION

LIST = ROOT / "docs" / "quirks.md"
PLACES = ("*.md", "docs", "spec", "generated", "kafkaspec", "tools", "tests", "examples")
KINDS = {".md", ".ksy", ".py", ".c", ".h", ".txt", ".json", ".diff"}
FOREIGN = ("tests/golden/", "tests/message_set/golden/", "benchmarks/")
"""Files of brokers, in which the letters of a number can stand by chance."""
_ENTRY = re.compile(r'^### <a id="q(\d+)"></a>Q(\d+): ', re.MULTILINE)
_RANGE = re.compile(r"\bQ(\d{1,2}) to Q(\d{1,2})\b")
_LINKED = re.compile(r"\[Q(\d{1,2})\]\(([^)#]*)#q(\d+)\)")
_WORD = re.compile(r"(?<=known[ :]) ?Q\d{1,2}\b")
"""A quirk as a word of a command, or of its output: code cannot hold a link."""


def files() -> Iterator[Path]:
    for place in PLACES:
        for path in sorted(ROOT.glob(place)):
            for file in [path] if path.is_file() else sorted(path.rglob("*")):
                name = file.relative_to(ROOT).as_posix()
                foreign = name.startswith(FOREIGN) or file == Path(__file__)
                if file.suffix in KINDS and file.is_file() and not foreign and file != LIST:
                    yield file


def entries() -> list[int]:
    found = _ENTRY.findall(LIST.read_text(encoding="utf-8"))
    assert all(anchor == number for anchor, number in found)
    return [int(number) for _, number in found]


def mentions(text: str) -> set[int]:
    found = {int(number) for number in MENTION.findall(text)}
    for first, last in _RANGE.findall(text):
        found |= set(range(int(first), int(last) + 1))
    return found


def test_entries_are_numbered_without_gaps() -> None:
    assert sorted(entries()) == list(range(1, max(entries()) + 1))


@pytest.mark.slow
def test_every_mention_has_an_entry_and_every_entry_is_mentioned() -> None:
    known = set(entries())
    seen: Counter[int] = Counter()
    for file in files():
        found = mentions(file.read_text(encoding="utf-8"))
        assert found <= known, f"{file}: {sorted(found - known)} are not in {LIST.name}"
        seen.update(found)
    assert sorted(known - set(seen)) == []


@pytest.mark.slow
def test_markdown_pages_link_every_mention() -> None:
    for file in files():
        if file.suffix != ".md":
            continue
        text = file.read_text(encoding="utf-8")
        for name, path, anchor in _LINKED.findall(text):
            assert (file.parent / path).resolve() == LIST, f"{file}: Q{name} leads to {path}"
            assert name == anchor, f"{file}: Q{name} leads to #q{anchor}"
        prose = _WORD.sub("", _LINKED.sub("", text))
        assert MENTION.findall(prose) == [], f"{file}: a mention is not a link"
