"""Texts have no phrase that reads as translated, and the words of the glossary."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import english

PHRASES = (
    "what has no schema is no value",
    "it says what becomes of it",
    "batches behind the damage",
    "it begins anew",
    "a broker starts of its own accord",
    "nothing of a path can be read",
    "--where goes without --batches",
    "the choice is left to a broker",
    "it says how far that is proven",
    "down to the begin of a segment",
    "by clocks that stand still",
    "a batch inside of a value",
    "a file of its own",
    "a broker takes a directory for a stray one",
    "a key with other bytes is another key",
    "a format of your own",
    "an index speaks for it",
)
ALLOWED = (
    "the file is no longer there, and is no larger than before",
    "there is no schema, and there are no values",
    "the first batch begins at byte 0",
    "that goes without saying",
    "say `is no value` in code only",
    "its own file",
    "it takes ten seconds for a log",
)


def found(text: str) -> list[str]:
    return [match[0] for match, _ in english.matches(text)]


@pytest.mark.parametrize("text", PHRASES)
def test_a_phrase_is_found(text: str) -> None:
    assert len(found(text)) == 1


def test_each_phrase_is_tried() -> None:
    tried = {better for text in PHRASES for _, better in english.matches(text)}
    assert tried == {phrase.better for phrase in english.PHRASES}


@pytest.mark.parametrize("text", ALLOWED)
def test_plain_english_passes(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(english, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n```\nis no code\n```\n\n{text}\n", encoding="utf-8")
    assert list(english.in_page(page)) == []


def test_a_hit_names_file_line_and_a_better_phrase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(english, "ROOT", tmp_path)
    page, module = tmp_path / "page.md", tmp_path / "module.py"
    page.write_text("# Page\n\n```\ncode\n```\n\nThis is\nno value.\n", encoding="utf-8")
    module.write_text(
        '"""What it does."""\n\n\n'
        'def f() -> None:\n    """Return.\n\n    A file of its own.\n    """\n',
        encoding="utf-8",
    )
    (hit,) = english.in_page(page)
    assert str(hit) == 'page.md:7: "is no value": say "is not a", "are not", or "has no"'
    assert [(hit.line, hit.found) for hit in english.in_module(module)] == [
        (1, "What"),
        (7, "of its own"),
    ]


def test_a_question_may_begin_with_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(english, "ROOT", tmp_path)
    module = tmp_path / "module.py"
    module.write_text('"""What is in a log?"""\n', encoding="utf-8")
    assert list(english.in_module(module)) == []


def test_a_word_that_a_term_begins_with_is_found_alone() -> None:
    assert found("a valueless record") == ["valueless"]
    assert found("a record without a value is a tombstone") == []


def test_the_glossary_names_each_term_once_and_avoids_none_of_them() -> None:
    terms = [term.lower() for term, _, _ in english.rows() for term in term.split(", ")]
    avoided = [word.lower() for _, _, words in english.rows() for word in words]
    assert terms
    assert avoided
    assert sorted({*terms}) == sorted(terms)
    assert sorted({*avoided}) == sorted(avoided)
    assert not {*terms} & {*avoided}


@pytest.mark.slow
def test_no_text_has_such_a_phrase() -> None:
    assert [str(hit) for hit in english.hits()] == []
