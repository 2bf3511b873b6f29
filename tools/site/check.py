"""Check what was built: links and anchors lead somewhere, and no other host is asked."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

_LOADED: Final = {"script", "link", "img", "iframe", "source", "video", "audio", "object", "embed"}
_PLACES: Final = {"href", "src", "data", "poster"}
_REFUSED: Final = {401, 403, 405, 429, 999}
"""Answers of hosts that do not talk to programs."""
_RELATIONS: Final = {"canonical", "prev", "next", "alternate", "edit"}


class _Page(HTMLParser):
    """The anchors and links of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: list[str] = []
        self.links: list[tuple[str, str, bool]] = []
        """Tag, address, and whether a browser loads it by itself."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if found.get("id"):
            self.anchors.append(str(found["id"]))
        if tag == "a" and found.get("name"):
            self.anchors.append(str(found["name"]))
        loaded = tag in _LOADED and found.get("rel") not in _RELATIONS
        self.links += [(tag, found[key] or "", loaded) for key in _PLACES & found.keys()]


def check(site: Path) -> Iterator[str]:
    """Yield what is wrong with the site in a folder."""
    read = {path.relative_to(site).as_posix(): _read(path) for path in sorted(site.rglob("*.html"))}
    for name, page in read.items():
        # A page that is not found does not know from where it is asked for.
        for tag, address, loaded in page.links if name != "404.html" else ():
            problem = _wrong(site, read, name, address, loaded=loaded)
            if problem:
                yield f"{name}: <{tag}> {address}: {problem}"


def external(site: Path) -> list[str]:
    """Return the addresses of other hosts that pages link, each once."""
    found = {
        address.partition("#")[0]
        for path in site.rglob("*.html")
        for _, address, _ in _read(path).links
        if address.startswith("https:")
    }
    return sorted(found)


def unreachable(addresses: list[str]) -> list[str]:
    """Return what is wrong with addresses of other hosts, each of which is asked."""
    with ThreadPoolExecutor(8) as pool:
        return [problem for problem in pool.map(_ask, addresses) if problem]


def _ask(address: str) -> str:
    request = Request(address, headers={"User-Agent": "kafkaspec-docs"})
    try:
        with urlopen(request, timeout=30):
            return ""
    except HTTPError as error:
        return "" if error.code in _REFUSED else f"{address}: {error.code}"
    except (URLError, OSError) as error:
        return f"{address}: {error}"


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _wrong(site: Path, read: dict[str, _Page], name: str, address: str, *, loaded: bool) -> str:
    link = urlsplit(address)
    if link.scheme in ("data", "mailto"):
        return ""
    if link.scheme or link.netloc:
        if loaded:
            return "is loaded from another host"
        return "" if link.scheme == "https" and link.hostname else "is not an https address"
    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(link.path)))
    if not link.path:
        target = name
    if target == "." or (site / target).is_dir():
        target = posixpath.normpath(f"{target}/index.html")
    if not (site / target).is_file():
        return "is not there"
    anchor = unquote(link.fragment)
    if anchor and target in read and anchor not in read[target].anchors:
        return "has no such anchor"
    return ""
