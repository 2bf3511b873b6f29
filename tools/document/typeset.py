"""Set the document as one PDF, from its pages: Markdown, then HTML, then Typst."""

from __future__ import annotations

import json
import posixpath
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

from tools.document.source import FormatDocument

_PLACE: Final = "docs/format"
_SHORT: Final = 16
"""Characters up to which a column of a table is as wide as its longest cell."""
_PREAMBLE: Final = """\
#set document(title: {title}, author: {authors}, date: datetime({date}))
#set page(paper: "a4", margin: (x: 2cm, y: 2.2cm), numbering: "1",
  header: context if counter(page).get().first() > 1 {{
    set text(8pt); [#{title}; #h(1fr) #{version};]
  }})
#set text(font: "Libertinus Serif", size: 10pt, lang: "en")
#set par(justify: false)
#set heading(numbering: none)
#show heading.where(level: 1): it => {{ pagebreak(weak: true); it; v(0.4em) }}
#show heading: set block(above: 1.4em, below: 0.8em)
#show link: set text(fill: rgb("#1a4f8b"))
#show raw: set text(font: "DejaVu Sans Mono", size: 0.82em)
#show raw.where(block: true): set block(fill: luma(245), inset: 6pt, width: 100%)
#show quote.where(block: true): set text(size: 8.5pt, fill: luma(80))
#set quote(block: true)
#set table(stroke: 0.4pt + luma(190), inset: 3pt)
#show table: set text(size: 7.5pt)
#show table.cell.where(y: 0): strong
#align(center)[#v(5cm) #text(26pt, weight: "bold")[#{title};]
  #v(1em) #text(14pt)[#{format};, version #{version};]
  #v(0.5em) #{status};, #{day};
  #v(3em) #block(width: 80%)[#set align(left); #{abstract};]
  #v(2em) #{license};]
#pagebreak()
#outline(depth: 2)
"""


def typst_source(document: FormatDocument, files: dict[str, str], repository: str) -> str:
    """Return the text that Typst makes the PDF of.

    Args:
        document: the document.
        files: its pages in Markdown, by name.
        repository: address of the repository, for links that leave the document.
    """
    import markdown

    facts = {key: json.dumps(value, ensure_ascii=False) for key, value in document.facts.items()}
    year, month, day = (int(part) for part in document.facts["date"].split("-"))
    parts = [
        _PREAMBLE.format(
            **facts | {"date": f"year: {year}, month: {month}, day: {day}"},
            day=facts["date"],
            authors=json.dumps(document.authors).replace("[", "(").replace("]", ",)"),
        )
    ]
    pages = [f"{chapter.id}.md" for chapter in document.chapters]
    for page in pages:
        text = files[page].partition("\n")[2].rpartition("\n[")[0]
        html = markdown.markdown(text, extensions=["tables", "fenced_code", "sane_lists"])
        writer = _Typst(page, {*pages}, repository)
        writer.feed(html)
        parts.append(writer.text())
    return "\n".join(parts)


def typeset(source: str, day: str, into: Path) -> None:
    """Write the PDF of a text of Typst; the same text gives the same bytes.

    Args:
        source: the text.
        day: the date of the document, ``2026-11-27``.
        into: the file.

    Raises:
        ModuleNotFoundError: there is no Typst in this environment.
    """
    import typst

    into.parent.mkdir(parents=True, exist_ok=True)
    moment = datetime.fromisoformat(f"{day}T00:00:00+00:00")
    into.write_bytes(typst.compile(source.encode(), timestamp=moment))


class _Typst(HTMLParser):
    """Write HTML as Python-Markdown makes it in the language of Typst."""

    _OPEN: Final = {
        "p": "\n#block[",
        "strong": "#strong[",
        "em": "#emph[",
        "blockquote": "\n#quote[",
        "ul": "\n#list(",
        "li": "[",
    }
    _CLOSE: Final = {
        "p": "]\n",
        "strong": "];",
        "em": "];",
        "blockquote": "]\n",
        "ul": ")\n",
        "li": "],",
    }

    def __init__(self, page: str, pages: set[str], repository: str) -> None:
        super().__init__()
        self._page, self._pages, self._repository = page, pages, repository
        self._out: list[str] = []
        self._raw: list[str] | None = None
        self._in_pre = self._in_heading = False
        self._links: list[str] = []
        self._anchor = ""
        self._rows: list[list[str]] = []
        self._cell: int = 0

    def text(self) -> str:
        """Return what was written."""
        return "".join(self._out)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        match tag:
            case "h1" | "h2" | "h3":
                self._in_heading = True
                self._out.append(f"\n#heading(level: {tag[1]})[")
            case "a" if given.get("id"):
                self._anchor = self._label(f"#{given['id']}")
                self._links.append("")
            case "a":
                self._out.append(self._open_link(given.get("href") or ""))
                self._links.append("];")
            case "code" | "pre":
                self._in_pre |= tag == "pre"
                self._raw = self._raw or []
            case "table":
                self._rows = []
            case "tr":
                self._rows.append([])
            case "td" | "th":
                self._cell = len(self._out)
            case "ul" | "p" | "li" | "strong" | "em" | "blockquote":
                self._out.append(self._OPEN[tag])
            case "thead" | "tbody":
                pass
            case _:
                raise ValueError(f"{self._page}: no way to set <{tag}>")

    def handle_endtag(self, tag: str) -> None:
        match tag:
            case "h1" | "h2" | "h3":
                self._in_heading = False
                self._out.append(f"]#label({self._anchor})\n" if self._anchor else "]\n")
                self._anchor = ""
            case "a":
                self._out.append(self._links.pop())
                if not self._in_heading:
                    self._flush_anchor()
            case "code" | "pre" if tag == "pre" or not self._in_pre:
                block = str(self._in_pre).lower()
                text = "".join(self._raw or []).rstrip("\n")
                self._out.append(f"#raw(block: {block}, {_quoted(text)});")
                self._raw, self._in_pre = None, False
            case "td" | "th":
                cell = "".join(self._out[self._cell :])
                del self._out[self._cell :]
                self._rows[-1].append(cell)
            case "table":
                self._out.append(self._table())
            case "ul" | "p" | "li" | "strong" | "em" | "blockquote":
                self._out.append(self._CLOSE[tag])

    def handle_data(self, data: str) -> None:
        if self._raw is not None:
            self._raw.append(data)
        elif data.strip():
            self._out.append(f"#{_quoted(data.replace(chr(10), ' '))};")
        elif data and self._out and self._out[-1].endswith(";"):
            self._out.append(" ")

    def _flush_anchor(self) -> None:
        if self._anchor:
            self._out.append(f"#metadata(none)#label({self._anchor})")
            self._anchor = ""

    def _label(self, address: str) -> str:
        page, _, anchor = address.partition("#")
        return _quoted(f"{page or self._page}#{anchor}")

    def _open_link(self, address: str) -> str:
        if address.startswith("https:"):
            return f"#link({_quoted(address)})["
        page = address.partition("#")[0] or self._page
        if page in self._pages:
            return f"#link(label({self._label(address)}))["
        target = posixpath.normpath(posixpath.join(_PLACE, address))
        return f"#link({_quoted(f'{self._repository}/blob/main/{target}')})["

    def _table(self) -> str:
        head, *rows = self._rows
        lengths = [max(_length(row[column]) for row in self._rows) for column in range(len(head))]
        widths = [
            "auto" if length <= _SHORT else f"{min(length, 120) ** 0.5:.2f}fr" for length in lengths
        ]
        header = f"table.header({', '.join(f'[{cell}]' for cell in head)})" if any(head) else ""
        cells = ",\n  ".join(", ".join(f"[{cell}]" for cell in row) for row in rows)
        parts = ", ".join(part for part in (header, cells) if part)
        return f"\n#table(columns: ({', '.join(widths)},), {parts})\n"


def _length(cell: str) -> int:
    """Return about how many characters of a cell are seen."""
    return sum(len(part) for part in cell.split('"')[1::2] if "#" not in part and "/" not in part)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
