"""Reads a page and says what a browser would make of it."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

VOID = frozenset({"meta", "br", "hr", "input", "img", "link"})
LOADING = frozenset({"src", "href", "srcset", "data", "action", "poster", "xlink:href"})
"""Attributes that make a browser load something."""


class Page(HTMLParser):
    """A page that was checked: its tags are closed, and it asks for nothing.

    Attributes:
        tags: every tag with its attributes.
        text: all text.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.style = ""
        self._open: list[str] = []
        self.feed(data.decode())
        self.close()
        assert self._open == []
        self._check()

    @property
    def text(self) -> str:
        return "\n".join(self.texts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID and not (self.get_starttag_text() or "").endswith("/>"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self._open[-1:] == ["style"]:
            self.style += data
        else:
            self.texts.append(data)

    def _check(self) -> None:
        names = {tag for tag, _ in self.tags}
        assert not names & {"script", "iframe", "object", "embed", "link", "base", "form", "img"}
        for tag, attributes in self.tags:
            assert not LOADING & attributes.keys(), tag
            assert not [name for name in attributes if name.startswith("on") or name == "style"]
        assert not re.search(r"url\(|@import|expression", self.style)
        (policy,) = [
            attributes["content"] or ""
            for tag, attributes in self.tags
            if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
        ]
        digest = base64.b64encode(hashlib.sha256(self.style.encode()).digest()).decode()
        assert "default-src 'none'" in policy
        assert f"style-src 'sha256-{digest}'" in policy
        assert "unsafe" not in policy
