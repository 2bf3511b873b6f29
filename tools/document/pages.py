"""Make the pages of the document in Markdown: one for each chapter, and the front page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kafkaspec._generated.layout.messages import MESSAGES
from kafkaspec.layout import MessageLayout, Role, TextLayout
from tools import quirks
from tools.document.source import (
    DocumentProfile,
    DocumentRule,
    DocumentSection,
    FormatDocument,
)
from tools.specgen.docs.emit import enumeration, structure, write_table
from tools.specgen.model import Model
from tools.specgen.writer import CodeWriter

MADE: Final = (
    "<!-- Made by `python -m tools.document` from spec/ and spec/document/. Do not edit. -->"
)
FRONT: Final = "README.md"
PDF: Final = "kafka-storage-format.pdf"
"""Name of the document as one file, beside its pages on the site."""
CITATION: Final = "CITATION.cff"
_LINK: Final = re.compile(r"\]\((?:(\w+)\.md)?#(\w+)\)")
_FORMATS: Final = "../../generated/docs"
_ROLES: Final = {
    Role.KEY: "key",
    Role.VALUE: "value",
    Role.RECORD: "framed value",
    Role.EMBEDDED: "inside a message",
}


class _Book:
    """The whole document, as its pages need it."""

    def __init__(self, document: FormatDocument, model: Model) -> None:
        self.document, self.model = document, model
        self.pages = {
            section.id: f"{chapter.id}.md"
            for chapter in document.chapters
            for section in (chapter, *chapter.sections)
        }
        self.shown = {
            section.what: section
            for section in document.sections()
            if section.shows in ("layout", "enum")
        }

    def linked(self, text: str, spec: str, page: str) -> str:
        """Return the text of a layout, whose links lead to sections of the document."""

        def led(link: re.Match[str]) -> str:
            key = f"{link[1] or spec}.{link[2]}"
            section = self.shown.get(key)
            if section is None:
                return f"]({_FORMATS}/{link[1] or spec}.md#{link[2]})"
            there = self.pages[section.id]
            return f"]({'' if there == page else there}#{anchor(section)})"

        return _LINK.sub(led, text)

    def title(self, section: DocumentSection) -> str:
        """Return the title of a section."""
        name = f"`{section.what.partition('.')[2]}`"
        return section.title or (f"{name}: enumeration" if section.shows == "enum" else name)


def pages(document: FormatDocument, model: Model) -> dict[str, str]:
    """Return the text of each page, and of the citation, by its name."""
    book = _Book(document, model)
    made = {FRONT: _front(book), CITATION: citation(document)}
    for chapter in document.chapters:
        made[f"{chapter.id}.md"] = _chapter(book, chapter)
    return made


def anchor(section: DocumentSection) -> str:
    """Return the anchor of a section: ``s4.2``."""
    return f"s{section.number}"


def citation(document: FormatDocument) -> str:
    """Return the text of ``CITATION.cff`` of the document."""
    facts = document.facts
    authors = "".join(f"\n  - name: {name}" for name in document.authors)
    inner = authors.replace("\n", "\n  ")
    return f"""\
# Made by python -m tools.document. Do not edit.
cff-version: 1.2.0
message: >-
  If you cite the format, cite its document, with the version and the number of the section or rule:
  "{facts["title"]}, version {facts["version"]}, §4.5, R14".
title: "{facts["title"]} ({facts["format"]})"
version: {facts["version"]}
date-released: {facts["date"]}
license: {facts["license"]}
authors:{authors}
preferred-citation:
  type: standard
  title: "{facts["title"]} ({facts["format"]})"
  version: {facts["version"]}
  date-released: {facts["date"]}
  status: preprint
  license: {facts["license"]}
  authors:{inner}
"""


def _front(book: _Book) -> str:
    document, out = book.document, CodeWriter()
    facts = document.facts
    out.lines(MADE, "", f"# {facts['title']}", "", facts["abstract"], "")
    write_table(
        out,
        ("", ""),
        [
            (
                "Name of the format",
                f"`{facts['format']}` ([proposed](introduction.md#s1.3))",
            ),
            ("Version", facts["version"]),
            ("Status", f"{facts['status']}, {facts['date']}"),
            ("Licence", facts["license"]),
            ("Rules", str(len([rule for rule in document.rules if not rule.withdrawn]))),
        ],
    )
    out.lines(
        f"On the site that `make docs` builds, {PDF} beside this page has all of it as one file.",
        "",
        "## Profiles",
        "",
    )
    write_table(
        out,
        ("Profile", "Rules", "Levels of the conformance kit"),
        [
            (
                f"[{profile.title}](profiles.md#{anchor(section)})",
                str(len(_rules_of(document, profile))),
                ", ".join(f"`{level}`" for level in profile.levels),
            )
            for profile in document.profiles
            for section in document.sections()
            if (section.shows, section.what) == ("profile", profile.id)
        ],
    )
    out.lines("## Contents", "")
    for chapter in document.chapters:
        page = book.pages[chapter.id]
        out.line(f"- [{chapter.number} {book.title(chapter)}]({page}#{anchor(chapter)})")
        for section in chapter.sections:
            out.line(f"    - [{section.number} {book.title(section)}]({page}#{anchor(section)})")
    out.lines("", "## How to cite it", "", "```text", *_cited(document), "```", "")
    out.lines(
        "[CITATION.cff](CITATION.cff) says the same for programs. Add the number of the section or "
        "of the rule: §4.5, R14.",
        "",
    )
    return out.text().rstrip("\n") + "\n"


def _cited(document: FormatDocument) -> list[str]:
    facts = document.facts
    year, month, _ = facts["date"].split("-")
    return [
        f"@techreport{{{facts['format'].lower()},",
        f"  title = {{{facts['title']} ({facts['format']})}},",
        f"  author = {{{{{' and '.join(document.authors)}}}}},",
        f"  number = {{version {facts['version']}}},",
        f"  year = {{{year}}},",
        f"  month = {{{int(month)}}},",
        "}",
    ]


def _chapter(book: _Book, chapter: DocumentSection) -> str:
    out = CodeWriter()
    out.lines(MADE, "")
    for section in (chapter, *chapter.sections):
        level = "#" if section is chapter else "##"
        place = f'<a id="{anchor(section)}"></a>'
        out.lines(f"{level} {place}{section.number} {book.title(section)}", "")
        _section(out, book, section, book.pages[chapter.id])
    facts = book.document.facts
    out.lines(f"[{facts['title']}]({FRONT}), version {facts['version']}", "")
    return out.text().rstrip("\n") + "\n"


def _section(out: CodeWriter, book: _Book, section: DocumentSection, page: str) -> None:
    if section.withdrawn:
        out.lines(f"Withdrawn in version {section.withdrawn}.", "")
        return
    if section.text:
        out.lines(*quirks.link(section.text, "../quirks.md").splitlines(), "")
    match section.shows:
        case "layout" | "enum":
            out.lines(*_layout(book, section, page), "")
        case "texts":
            _texts(out, book.model)
        case "messages":
            _messages(out, [each for each in MESSAGES if _folder(book, each) == section.what])
        case "profile":
            _profile(out, book, section.what)
        case "changes":
            for version, date, text in book.document.changes:
                out.lines(f"- **{version}** ({date}): {text}")
            out.line()
    for rule in book.document.rules:
        if rule.section == section.id:
            out.lines(*_rule(book.document, rule), "")


def _layout(book: _Book, section: DocumentSection, page: str) -> list[str]:
    spec_id, _, name = section.what.partition(".")
    spec = book.model.spec(spec_id)
    out = CodeWriter()
    if section.shows == "enum":
        enumeration(out, next(enum for enum in spec.enums if enum.id == name))
    else:
        type_ = next(type_ for type_ in spec.types if type_.name == name)
        if type_ is spec.root and spec.doc:
            out.lines(*spec.doc.splitlines(), "")
        structure(out, book.model, spec, type_)
    text = quirks.link(out.text(), "../quirks.md")
    return book.linked(text, spec_id, page).rstrip("\n").splitlines()


def _rule(document: FormatDocument, rule: DocumentRule) -> Iterator[str]:
    if rule.withdrawn:
        yield f'<a id="{rule.id.lower()}"></a>**{rule.id}** Withdrawn in version {rule.withdrawn}.'
        return
    text = quirks.link(rule.text, "../quirks.md")
    yield f'<a id="{rule.id.lower()}"></a>**{rule.id}** {text}'
    yield ""
    titles = {profile.id: profile.title.lower() for profile in document.profiles}
    who = ", ".join(titles[profile] for profile in rule.profiles)
    yield f"> For: {who}. Shown by {', '.join(_test(test) for test in rule.tests)}."


def _test(test: str) -> str:
    path, _, name = test.partition("::")
    file = path.rpartition("/")[2]
    return f"[`{file}::{name}`](../../{path})"


def _rules_of(document: FormatDocument, profile: DocumentProfile) -> list[DocumentRule]:
    names = {profile.id, *profile.includes}
    return [rule for rule in document.rules if names & {*rule.profiles} and not rule.withdrawn]


def _profile(out: CodeWriter, book: _Book, name: str) -> None:
    document = book.document
    profile = next(each for each in document.profiles if each.id == name)
    titles = {each.id: each.title.lower() for each in document.profiles}
    more = " and ".join(f"{_article(titles[each])} {titles[each]}" for each in profile.includes)
    out.lines(f"{_article(profile.title).capitalize()} {profile.title.lower()} {profile.text}", "")
    if more:
        out.lines(f"It is {more} too.", "")
    pages_of = {section.id: book.pages[section.id] for section in document.sections()}
    rules = ", ".join(
        f"[{rule.id}]({pages_of[rule.section]}#{rule.id.lower()})"
        for rule in _rules_of(document, profile)
    )
    out.lines(f"Rules: {rules}.", "", "To put a program to the levels of this profile:", "")
    options = [f"--only-level {level}" for level in profile.levels]
    resource = ["--resource"] * ("resource" in profile.levels)
    out.lines("```sh", "kafkaspec conform --testee 'COMMAND' \\")
    out.lines(f"  {' '.join([*resource, *options])}", "```", "")


def _article(title: str) -> str:
    return "an" if title[0].lower() in "aeiou" else "a"


def _texts(out: CodeWriter, model: Model) -> None:
    same: dict[tuple[object, ...], list[TextLayout]] = {}
    for layout in model.texts:
        same.setdefault((layout.versions, layout.keys, layout.format), []).append(layout)
    for layouts in same.values():
        first = layouts[0]
        names = ", ".join(f"`{layout.name}`" for layout in layouts)
        versions = " and ".join(str(version) for version in first.versions)
        later = "; a later one is read as the last" if first.newer else ""
        plural = "s" if len(first.versions) > 1 else ""
        out.lines(f"{names}: {first.format}, version{plural} {versions}{later}.", "")
        write_table(
            out,
            ("Key", "Type", "Versions", "Needed in", "Notes"),
            [
                (
                    f"`{key.key}`",
                    key.type,
                    _numbers(key.versions),
                    _numbers(key.required),
                    "; ".join(
                        note
                        for note, holds in (
                            (f"a list of objects with `{key.item}`", key.item),
                            ("may be null", key.nullable),
                            ("never zero", key.nonzero),
                        )
                        if holds
                    ),
                )
                for key in first.keys
            ],
        )


def _numbers(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))


def _folder(book: _Book, message: MessageLayout) -> str:
    return book.model.spec(message.id).file_name.split("/")[1]


def _messages(out: CodeWriter, messages: list[MessageLayout]) -> None:
    write_table(
        out,
        ("Number", "Message", "Is", "Versions", "Releases"),
        [
            (
                "" if message.number is None else str(message.number),
                f"[{message.name}]({_FORMATS}/{message.id}.md)",
                _ROLES[message.role],
                _span(message.versions),
                "to ".join(("", message.releases[1]))
                if message.releases
                else f"from {message.since}"
                if message.since
                else "",
            )
            for message in messages
        ],
    )


def _span(versions: tuple[int, int]) -> str:
    first, last = versions
    if last == (1 << 15) - 1:
        return f"{first} and later"
    return str(first) if first == last else f"{first} to {last}"
