"""Read ``spec/document``: what the document is, its sections, its rules and the numbers in use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.specgen.document import Node, SpecError, file_text, parsed

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = ROOT / "spec" / "document"
BINDING: Final = re.compile(r"\b(?:MUST|SHOULD|MAY|SHALL|REQUIRED|RECOMMENDED|OPTIONAL)\b")
"""The words of BCP 14."""
WORDS: Final = "words"
"""The section that says what these words mean."""

_NUMBER: Final = re.compile(r"[1-9]\d*(\.[1-9]\d*)?")
_RULE: Final = re.compile(r"R[1-9]\d*")
_SHOWN: Final = ("layout", "enum", "texts", "messages", "profile", "changes")
"""What a section can show, each in place of the others."""
_OF_SECTION: Final = {"number", "id", "title", "text", "sections", "withdrawn", *_SHOWN}
_OF_DOCUMENT: Final = {
    "title", "format", "version", "date", "status", "license", "authors", "abstract", "profiles",
    "changes",
}  # fmt: skip


@dataclass(frozen=True)
class DocumentRule:
    """A sentence that binds.

    Attributes:
        id: ``R7``.
        section: id of the section that has it.
        text: the sentence, or two.
        profiles: those that it is a part of.
        tests: what shows it, each as pytest names it.
        withdrawn: the version from which on it does not hold any more; empty if it does.
    """

    id: str
    section: str
    text: str
    profiles: tuple[str, ...]
    tests: tuple[str, ...]
    withdrawn: str = ""


@dataclass(frozen=True)
class DocumentSection:
    """A section with a number.

    Attributes:
        number: ``4`` or ``4.2``.
        id: what it is called in rules.
        title: in words; empty for the name of what is shown.
        text: Markdown.
        shows: ``layout``, ``enum``, ``texts``, ``messages``, ``profile``, ``changes`` or "".
        what: what is shown, such as ``recordbatch.entry``.
        sections: those in it.
        withdrawn: the version from which on it is empty; "" if it is not.
    """

    number: str
    id: str
    title: str
    text: str
    shows: str
    what: str
    sections: tuple[DocumentSection, ...] = ()
    withdrawn: str = ""


@dataclass(frozen=True)
class DocumentProfile:
    """A part of the rules that a program can conform to.

    Attributes:
        id: its name, ``segment-reader``.
        title: in words.
        text: what such a program does.
        levels: levels of the conformance kit, those of ``includes`` too.
        includes: profiles whose rules are rules of this one.
    """

    id: str
    title: str
    text: str
    levels: tuple[str, ...]
    includes: tuple[str, ...]


@dataclass(frozen=True)
class FormatDocument:
    """The whole document, without the layouts, which the specification has."""

    facts: dict[str, str]
    """Title, format, version, date, status, license and abstract."""
    authors: tuple[str, ...]
    profiles: tuple[DocumentProfile, ...]
    changes: tuple[tuple[str, str, str], ...]
    """Version, date and text, the newest first."""
    chapters: tuple[DocumentSection, ...]
    rules: tuple[DocumentRule, ...]

    def sections(self) -> Iterator[DocumentSection]:
        """Yield all sections in their order, each before those in it."""
        for chapter in self.chapters:
            yield chapter
            yield from chapter.sections

    def numbers(self) -> dict[str, str]:
        """Return what each number of a section or a rule stands for."""
        named = {section.number: section.id for section in self.sections()}
        return named | {rule.id: rule.section for rule in self.rules}


def read(folder: Path = FOLDER) -> FormatDocument:
    """Return the document of a folder.

    Raises:
        SpecError: a file cannot be read, or contradicts itself.
    """
    top = _node(folder, "document.yaml")
    top.check(_OF_DOCUMENT, _OF_DOCUMENT)
    profiles = _profiles(top)
    chapters = tuple(_section(node) for node in _list(folder, "sections.yaml"))
    rules = tuple(rule for node in _list(folder, "rules.yaml") for rule in _rules(node))
    document = FormatDocument(
        {key: _text(top, key) for key in sorted(_OF_DOCUMENT - {"authors", "profiles", "changes"})},
        top.texts("authors"),
        profiles,
        tuple(
            (version, str(node.content.get("date", "")), node.text("doc"))
            for version, node in top.named("changes")
        ),
        chapters,
        rules,
    )
    _agree(document)
    return document


def taken(folder: Path = FOLDER) -> dict[str, str]:
    """Return the numbers that are in use, each with what it stands for."""
    path = folder / "numbers.txt"
    if not path.exists():
        return {}
    lines = file_text(path, path.name).splitlines()
    pairs = [line.split() for line in lines if line and not line.startswith("#")]
    for pair in pairs:
        if len(pair) != 2:
            raise SpecError(path.name, f"{' '.join(pair)} is not a number and an id; mend the line")
    if len({number for number, _ in pairs}) < len(pairs):
        raise SpecError(path.name, "a number is there twice; leave one of them out")
    return {pair[0]: pair[1] for pair in pairs}


def moved(document: FormatDocument, numbers: dict[str, str]) -> list[str]:
    """Return what is wrong with the numbers of a document, compared with those that were taken."""
    found = document.numbers()
    problems = []
    for number, meaning in numbers.items():
        if number not in found:
            problems.append(f"{number} ({meaning}) is gone; bring it back, and mark it withdrawn")
        elif found[number] != meaning:
            problems.append(f"{number} is {meaning}, not {found[number]}; take the next number")
    places = {meaning: number for number, meaning in numbers.items() if number[0] != "R"}
    for section in document.sections():
        if places.get(section.id, section.number) != section.number:
            problems.append(f"{section.id} is {places[section.id]}, not {section.number}")
    return problems


def new(document: FormatDocument, numbers: dict[str, str]) -> dict[str, str]:
    """Return the numbers of a document that were not taken before."""
    return {n: meaning for n, meaning in document.numbers().items() if n not in numbers}


def _agree(document: FormatDocument) -> None:
    """Refuse what contradicts itself."""
    where = "spec/document"
    ids = [section.id for section in document.sections()]
    numbers = [section.number for section in document.sections()]
    rules = [rule.id for rule in document.rules]
    for name, all_ in (("id", ids), ("number", numbers), ("rule", rules)):
        if twice := {each for each in all_ if all_.count(each) > 1}:
            raise SpecError(where, f"the {name} {min(twice)} is there twice; choose another")
    for rule in document.rules:
        if rule.section not in ids:
            raise SpecError(where, f"{rule.id} is in {rule.section}, which is not a section")
        for profile in rule.profiles:
            if profile not in {each.id for each in document.profiles}:
                raise SpecError(where, f"{rule.id} names {profile}, which is not a profile")
        if not BINDING.search(rule.text):
            raise SpecError(where, f"{rule.id} does not bind; write MUST, SHOULD or MAY")
        if not rule.tests and not rule.withdrawn:
            raise SpecError(where, f"{rule.id} names no test; write the one that shows it")
    for section in document.sections():
        if section.id != WORDS and BINDING.search(section.text):
            raise SpecError(where, f"the text of {section.number} binds; make it a rule")
    if document.facts["version"] != document.changes[0][0]:
        raise SpecError(where, "the newest version has no entry in changes; write one")


def _node(folder: Path, name: str) -> Node:
    return Node(name, "", parsed(name, file_text(folder / name, name)))


def _list(folder: Path, name: str) -> list[Node]:
    content = parsed(name, file_text(folder / name, name))
    return Node(name, "", {"list": content}).nodes("list")


def _text(node: Node, key: str) -> str:
    return str(node.content[key]).strip()


def _profiles(node: Node) -> tuple[DocumentProfile, ...]:
    made: dict[str, DocumentProfile] = {}
    for name, each in node.named("profiles"):
        each.check({"title", "levels", "includes", "doc"}, {"title", "levels", "doc"})
        levels = dict.fromkeys(
            level for other in each.texts("includes") for level in made[other].levels
        )
        levels |= dict.fromkeys(each.texts("levels"))
        made[name] = DocumentProfile(
            name, each.text("title"), each.text("doc"), tuple(levels), each.texts("includes")
        )
    return tuple(made.values())


def _section(node: Node, chapter: str = "") -> DocumentSection:
    node.check(_OF_SECTION, {"number", "id"})
    number = node.text("number")
    if not _NUMBER.fullmatch(number) or (chapter and number.rpartition(".")[0] != chapter):
        raise node.fail(f"{number} is not a number of this chapter; write {chapter or 'N'}.N")
    shows = [key for key in _SHOWN if key in node.content]
    if len(shows) > 1:
        raise node.fail(f"a section shows one thing; leave out {shows[1]}")
    if "title" not in node.content and not {"layout", "enum"} & set(shows):
        raise node.fail("a section that shows no type needs a title")
    return DocumentSection(
        number,
        node.text("id"),
        node.text("title"),
        node.text("text"),
        shows[0] if shows else "",
        str(node.content[shows[0]]) if shows else "",
        () if chapter else tuple(_section(each, number) for each in node.nodes("sections")),
        node.text("withdrawn"),
    )


def _rules(node: Node) -> Iterator[DocumentRule]:
    node.check({"section", "profiles", "rules"}, {"section", "profiles", "rules"})
    for name, each in node.named("rules"):
        each.check({"text", "tests", "withdrawn"}, {"text"})
        if not _RULE.fullmatch(name):
            raise each.fail(f"{name} is not R and a number")
        yield DocumentRule(
            name,
            node.text("section"),
            each.text("text"),
            node.texts("profiles"),
            each.texts("tests"),
            each.text("withdrawn"),
        )
