"""Which pages the site has, where each one stands, and how one gets there.

The site has every Markdown page that links lead to from README. They are copied to one folder, with
their links changed to fit, so that any program that makes a site of Markdown can take them.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

Nav: TypeAlias = list["str | dict[str, str | Nav]"]
"""As MkDocs has it: pages, titled pages, titled lists."""

ROOT: Final = Path(__file__).resolve().parents[2]
FRONT: Final = "README.md"
GUIDE: Final = "docs/guide/README.md"
FORMATS: Final = "generated/docs/README.md"
DOCUMENT: Final = "docs/format/README.md"
API: Final = "docs/api.md"
EXPLORER: Final = "tools/site/explore.md"
EXPLORER_FILE: Final = "generated/explorer/explorer.html"
"""What the page shows, where it is built."""
_LINKS: Final = (
    '<meta name="explorer-pages" content="../docs/">',
    '<meta name="explorer-pages" content="../formats/" data-ending="html">',
)
"""Where the explorer finds the format pages: in the repository, and on the site."""

_ALONE: Final = (FRONT, EXPLORER)
"""Pages beside which no list of others is shown."""

_CODE: Final = re.compile(r"^(`{3,}).*?^\1$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_COMMENT: Final = re.compile(r"\A(<!--.*?-->\s*)+", re.DOTALL)
_LINK: Final = re.compile(r"\]\((?![a-z]+:)([^)#\s]+)(#[^)\s]*)?\)")
_HEADING: Final = re.compile(r"^## (.+)$|\[([^]]+)\]\(([^)#\s]+\.md)\)", re.MULTILINE)
_RELEASE: Final = re.compile(r"_(\d+)_(\d+)$")


def navigation() -> Nav:
    """Return the list of all pages: those of the guide by task, formats as in spec/.

    Pages outside of docs/, beside what they describe, come last where they are not listed.
    """
    nav = _listed()
    seen = {*listed(nav)}
    others = [page for page in sorted(pages()) if page not in seen and page[:5] != "docs/"]
    project = nav[-1]
    assert isinstance(project, dict)
    return [*nav[:-1], {title: [*part, *others] for title, part in project.items()}]


def _listed() -> Nav:
    return [
        {"Home": FRONT},
        {"Guide": [{"All tasks": GUIDE}, "docs/runbook.md", "docs/cookbook.md", *_guide()]},
        {
            "Formats": [
                {"All formats": FORMATS},
                {"The document": [{"Contents": DOCUMENT}, *_document()]},
                {"Quirks of Kafka": "docs/quirks.md"},
                "docs/glossary.md",
                {"The specification": "spec/README.md"},
                *_formats(),
            ]
        },
        {"API": [{"All names": API}, *api()[1:]]},
        *_explorer(),
        {
            "Evidence": [
                "docs/supported.md",
                "docs/compatibility.md",
                "docs/releases.md",
                "docs/replay.md",
                "docs/conformance.md",
                "docs/reader-differences.md",
                "docs/salvage-results.md",
                {"Golden segments": "tests/golden/README.md"},
                {"Golden segments of Kafka 0.7": "tests/message_set/golden/README.md"},
                {"Speed": "benchmarks/RESULTS.md"},
                {"Speed: limits": "benchmarks/LIMITS.md"},
                {"Speed: forensic commands": "benchmarks/FORENSICS.md"},
                {"Speed: Spark": "benchmarks/SPARK.md"},
                {"Speed: growth": "benchmarks/GROWTH.md"},
                {"Size of a lake": "benchmarks/LAKE.md"},
            ]
        },
        {
            "Project": [
                "docs/why.md",
                "docs/stability.md",
                "docs/state.md",
                "docs/platforms.md",
                "docs/proof.md",
                "docs/shell-completion.md",
                "docs/architecture.md",
                "CONTRIBUTING.md",
                "CHANGELOG.md",
                "changes/README.md",
                "docs/releasing.md",
                "SECURITY.md",
            ]
        },
    ]


def listed(nav: Nav) -> Iterator[str]:
    """Yield the pages of a list, in its order."""
    for item in nav:
        for part in [item] if isinstance(item, str) else item.values():
            yield from [part] if isinstance(part, str) else listed(part)


def placed(nav: Nav) -> Nav:
    """Return a list with the paths that its pages have among the sources of the site."""
    return [
        place(item)
        if isinstance(item, str)
        else {
            title: place(part) if isinstance(part, str) else placed(part)
            for title, part in item.items()
        }
        for item in nav
    ]


@cache
def pages() -> frozenset[str]:
    """Return the pages of the site: all that links lead to from README."""
    found: set[str] = set()
    todo = [FRONT, *listed(_explorer())]
    while todo:
        page = todo.pop()
        if page not in found and page.endswith(".md") and (ROOT / page).is_file():
            found.add(page)
            text = _CODE.sub("", text_of(page))
            todo += [_target(page, link[1]) for link in _LINK.finditer(text)]
    return frozenset(found)


def api() -> list[str]:
    """Return the pages about the library, the list of all names first."""
    links = dict.fromkeys(link[1] for link in _LINK.finditer(text_of(API)))
    return [API, *(page for link in links if (page := _target(API, link)).startswith("docs/api/"))]


def shown() -> list[str]:
    """Return the files that pages show: pictures, and the explorer."""
    found = [*(ROOT / "docs" / "images").rglob("*.*"), ROOT / EXPLORER_FILE]
    return sorted(path.relative_to(ROOT).as_posix() for path in found if path.is_file())


def address(page: str) -> str:
    """Return where a page stands on the site: ``docs/guide/find.md`` at ``guide/find.html``."""
    return f"{place(page).removesuffix('.md')}.html"


def place(page: str) -> str:
    """Return the path of a page or a picture among the sources of the site."""
    for folder, short in (
        ("generated/docs/", "formats/"),
        ("generated/explorer/", "explorer/"),
        ("docs/", ""),
        ("tools/site/", ""),
    ):
        if page.startswith(folder):
            page = short + page.removeprefix(folder)
            break
    if not page.endswith(".md"):
        return page
    path = page.removesuffix(".md").lower()
    # formats/index.md is the page of index.ksy, hence formats.md for that of all.
    return "index.md" if path == "readme" else f"{path.removesuffix('/readme')}.md"


def text_of(page: str) -> str:
    """Return the Markdown of a page."""
    return (ROOT / page).read_text(encoding="utf-8")


def explorer(text: str) -> str:
    """Return the explorer, whose fields lead to the format pages of the site."""
    before, after = _LINKS
    if text.count(before) != 1:
        raise ValueError(f"{EXPLORER_FILE} has no {before}")
    return text.replace(before, after)


def staged(page: str, text: str, repository: str) -> tuple[str, str]:
    """Return where a page stands among the sources of the site, and its Markdown there.

    Args:
        page: path of the page below the root of the repository.
        text: its Markdown.
        repository: where the repository can be seen: files that are not pages are linked there.
    """
    where = place(page)
    here = {*pages(), *shown()}

    def led(link: re.Match[str]) -> str:
        target = _target(page, link[1])
        there = ROOT / target
        if target in here:
            way = posixpath.relpath(place(target), posixpath.dirname(where) or ".")
        elif there.exists():
            way = f"{repository}/{'tree' if there.is_dir() else 'blob'}/main/{target}"
        else:
            return link[0]
        return f"]({way}{link[2] or ''})"

    text = _COMMENT.sub("", text)
    result = _outside_code(text, lambda part: _LINK.sub(led, part))
    if "\n```mermaid\n" in result:
        drawing = posixpath.relpath("assets/mermaid.js", posixpath.dirname(where) or ".")
        result += f'\n<script src="{drawing}"></script>\n'
    is_format = where.startswith("formats/")
    is_wide = is_format or page == EXPLORER or "\n```mermaid\n" in text
    hidden = ["navigation"] * (page in _ALONE) + ["toc"] * is_wide
    # Words of the guide are found before names of fields and of the library.
    is_reference = is_format or page in api() or page == "CHANGELOG.md"
    front = {"hide": hidden} | ({"search": {"boost": 0.5}} if is_reference else {})
    return where, f"---\n{json.dumps(front)}\n---\n\n{result}"


def slug(heading: str, separator: str) -> str:
    """Return the anchor of a heading, as code hosts make it."""
    words = re.sub(r"[^\w\- ]", "", re.sub(r"<[^>]*>", "", heading).lower())
    return words.strip().replace(" ", separator)


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    parts: list[str] = []
    end = 0
    for code in _CODE.finditer(text):
        parts += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(text[end:])])


def _target(page: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def _explorer() -> Nav:
    return [{"Explorer": EXPLORER}] if (ROOT / EXPLORER_FILE).is_file() else []


def _guide() -> Nav:
    """Return the guide's groups of tasks, each with the pages that are not in one before it."""
    found: Nav = []
    seen = {DOCUMENT}  # which is among the formats
    group: Nav = []
    for heading, title, link in _HEADING.findall(text_of(GUIDE)):
        if heading:
            group = []
            found.append({heading: group})
        elif found and (page := _target(GUIDE, link)) not in seen:
            seen.add(page)
            group.append({title: page})
    return [item for item in found if isinstance(item, dict) and any(item.values())]


def _document() -> Nav:
    """Return the chapters of the document about the storage format, in their order."""
    folder = posixpath.dirname(DOCUMENT)
    links = (_target(DOCUMENT, link[1]) for link in _LINK.finditer(text_of(DOCUMENT)))
    chapters = (page for page in links if page.endswith(".md"))
    return list(dict.fromkeys(page for page in chapters if posixpath.dirname(page) == folder))


def _formats() -> Nav:
    """Return the format pages in the groups and in the order of their list."""
    found: Nav = []
    group: Nav = []
    for heading, _, link in _HEADING.findall(text_of(FORMATS)):
        if heading:
            group = []
            found.append({heading: group})
        elif found and (page := _target(FORMATS, link)).startswith("generated/docs/"):
            group.append({_title(page, text_of(page)): page})
    return [item for item in found if isinstance(item, dict) and any(item.values())]


def _title(page: str, text: str) -> str:
    """Return a short title of a format page; several releases can have one of the same name."""
    heading = text.partition("\n# ")[2].partition("\n")[0].removesuffix(" of Apache Kafka")
    release = _RELEASE.search(page.removesuffix(".md"))
    return f"{heading} ({release[1]}.{release[2]})" if release else heading
