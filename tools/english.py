"""Find phrases that read as translated, and words that the glossary replaces.

python -m tools.english    name each one, with its place and a better phrase
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
GLOSSARY: Final = ROOT / "docs" / "glossary.md"


class Phrase(NamedTuple):
    """A phrase that no text may have.

    Attributes:
        pattern: what finds it.
        better: what to write instead.
    """

    pattern: re.Pattern[str]
    better: str


class Hit(NamedTuple):
    """A phrase in a text.

    Attributes:
        path: of the file, below the root of the repository.
        line: number of the line.
        found: the words that are there.
        better: what to write instead.
    """

    path: str
    line: int
    found: str
    better: str

    def __str__(self) -> str:
        return f'{self.path}:{self.line}: "{self.found}": {self.better}'


def _phrase(pattern: str, better: str) -> Phrase:
    """Return a phrase whose words may be on two lines."""
    return Phrase(re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE), better)


_COMPARED: Final = (
    "longer more less fewer other later earlier newer older larger smaller greater higher lower "
    "better worse further faster slower cheaper different"
)
_NO: Final = rf"\b(?:is|are|was|were|be|been) no (?!(?:{'|'.join(_COMPARED.split())})\b)[a-z]+"

PHRASES: Final = (
    _phrase(rf"(?<!\bthere\s){_NO}", 'say "is not a", "are not", or "has no"'),
    _phrase(r"\b(?:become|became)s? of\b", 'say "happens to", or name the result'),
    _phrase(r"\bbehind (?=[a-z])", 'say "after"'),
    _phrase(r"\banew\b", 'say "again"'),
    _phrase(r"\bof (?:its|their) own accord\b", 'say "by itself"'),
    _phrase(r"\bnothing of\b", 'say "no part of", or "nothing in"'),
    _phrase(r"\bgo(?:es)? without (?!saying|it\b)", 'say "cannot be combined with"'),
    _phrase(r"\b(?:is|are) left to\b", "name who does it"),
    _phrase(r"\bhow far\b", 'name the measure: "the strength of", "where"'),
    _phrase(r"\b(?:the|a) begin\b", 'say "the start"'),
    _phrase(r"\b(?:stand|stands|stood) still\b", 'say "does not change", or "fixed"'),
    _phrase(r"\binside of\b", 'say "inside"'),
    _phrase(r"(?<!\bone\s)\bof (?:its|their) own\b(?! accord)", 'say "its own", or "a separate"'),
    _phrase(
        r"\btakes? (?!(?:\w+ )*(?:seconds|milliseconds|minutes|memory|time|bytes) for)"
        r"(?:\w+ ){1,6}for an? ",
        'say "treats ... as"',
    ),
    _phrase(r"\b(?:is|are) another (?:thing|number|key)\b", 'say "is different"'),
    _phrase(r"\bof your own\b", 'say "your own"'),
    _phrase(r"\bspeaks? (?:for|against)\b", 'say "is evidence for", or "contradicts"'),
)
"""Checked in Markdown, and in the strings of Python: docstrings, help, messages."""

FIRST_WORDS: Final = Phrase(
    re.compile(r"\AWhat (?!.*\?)"), "begin a docstring with what it does or is, not with What"
)
"""Checked in docstrings only."""

_FENCE: Final = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
_CODE: Final = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_ROW: Final = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]*)\|$", re.MULTILINE)
_SKIPPED: Final = {"_generated", "node_modules", "generated", "build", "dist"}


def main() -> int:
    """Print all phrases that no text may have."""
    found = sorted(set(hits()))
    for hit in found:
        print(hit)
    return bool(found)


def hits() -> Iterator[Hit]:
    """Yield the phrases in all texts of the project."""
    for path in pages():
        yield from in_page(path)
    for path in modules():
        yield from in_module(path)


def pages() -> list[Path]:
    """Return the pages that are written by hand, and the sources of the document."""
    made = {ROOT / "docs" / "api.md", GLOSSARY}
    made |= {path for name in ("api", "format") for path in (ROOT / "docs" / name).glob("*.md")}
    sources = _files("*.yaml", ROOT / "spec" / "document")
    return [*(path for path in _files("*.md") if path not in made), *sources]


def modules() -> list[Path]:
    """Return the modules whose texts follow the rules."""
    files = (path for folder in ("kafkaspec", "tools") for path in _files("*.py", ROOT / folder))
    return [path for path in files if path != Path(__file__)]


def in_page(path: Path) -> Iterator[Hit]:
    """Yield the phrases in a page, outside of its code."""
    text = _CODE.sub(_blank, _FENCE.sub(_blank, path.read_text(encoding="utf-8")))
    yield from _in_text(path, 1, text)


def in_module(path: Path) -> Iterator[Hit]:
    """Yield the phrases in the strings of a module that are sentences."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    described = {id(text) for text in _docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            text = _CODE.sub(_blank, node.value)
            yield from _in_text(path, node.lineno, text)
            if id(node) in described and (match := FIRST_WORDS.pattern.search(text)):
                yield Hit(_name(path), node.lineno, match[0].strip(), FIRST_WORDS.better)


def matches(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield the phrases in a text, each with what to write instead."""
    for phrase in (*PHRASES, *words()):
        for match in phrase.pattern.finditer(text):
            yield match, phrase.better


@cache
def rows() -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Return the glossary: terms, their meanings, and the words that are not used for them."""
    found = _ROW.findall(GLOSSARY.read_text(encoding="utf-8"))
    return tuple(
        (term.strip(), meaning.strip(), tuple(re.findall(r"`([^`]+)`", avoided)))
        for term, meaning, avoided in found
        if term != "term"
    )


@cache
def words() -> tuple[Phrase, ...]:
    """Return the words that the glossary replaces."""
    return tuple(
        _phrase(rf"\b{word}\b", f'say "{term}"') for term, _, avoided in rows() for word in avoided
    )


def _in_text(path: Path, line: int, text: str) -> Iterator[Hit]:
    for match, better in matches(text):
        found = " ".join(match[0].split())
        yield Hit(_name(path), line + text.count("\n", 0, match.start()), found, better)


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(tree):
        body = node.body if isinstance(node, kinds) else []
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            yield body[0].value


def _files(pattern: str, folder: Path = ROOT) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob(pattern)
        if not _SKIPPED & {*path.relative_to(ROOT).parts}
        and not any(part.startswith(".venv") for part in path.relative_to(ROOT).parts)
    )


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _blank(match: re.Match[str]) -> str:
    """Return as many lines without words."""
    return "\n" * match[0].count("\n")


if __name__ == "__main__":
    sys.exit(main())
