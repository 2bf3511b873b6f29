"""Look at the built site, as it lies on the disk, in Chromium."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page, sync_playwright

from tools.site.search import answers

KINDS: Final = {
    "index.html": "h1",
    "guide.html": "table",
    "guide/verify.html": "pre",
    "runbook.html": "pre",
    "formats.html": "table",
    "formats/recordbatch.html#record_batch-crc": "tr:has(:target)",
    "api/functions.html#encode": "h2:target",
    "api/segment.html": "table",
    "architecture.html": "div.mermaid",
    "quirks.html#q4": "h3:has(:target)",
    "conformance.html": "table",
    "explore.html": "iframe.explorer",
    "404.html": "h1",
}
"""Pages of each kind, and what is to be seen on them."""
VIEWS: Final = (
    *(("light", 1280), ("dark", 360), ("dark", 1280), ("light", 360)),
    *(("light", 768), ("dark", 1920)),
)
_RULES: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
FRONT: Final = "index.html"
_CUT: Final = """() => [...document.querySelectorAll('article pre code')].some(
  box => box.scrollWidth > box.clientWidth)"""
_OWN: Final = ("asks for file:", "asks for blob:")
"""Requests without a network: for files of the site, and for the worker that the explorer makes."""
_SOUGHT: Final = "last_offset_delta"
_WIDER: Final = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def chromium() -> str | None:
    """Return the path of the browser; None without one."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def look(site: Path, axe: Path, pictures: Path) -> Iterator[str]:
    """Yield what is wrong with the pages as people see them, and keep a picture of each.

    Args:
        site: folder of the site.
        axe: the script of axe-core.
        pictures: folder of the pictures.
    """
    pictures.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for scheme, width in VIEWS:
            for problem in _view(browser, site, axe, pictures, scheme, width):
                yield f"{scheme}, {width} pixels: {problem}"
        browser.close()


def _view(
    browser: Browser, site: Path, axe: Path, pictures: Path, scheme: str, width: int
) -> Iterator[str]:
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    heard: list[str] = []
    page.on("request", lambda asked: heard.append(f"asks for {asked.url}"))
    page.on("pageerror", lambda error: heard.append(f"fails: {error}"))
    for kind, expected in KINDS.items():
        heard.clear()
        page.goto(f"{site.as_uri()}/{kind}")
        page.locator(expected).first.wait_for()
        path, _, anchor = kind.partition("#")
        if anchor and not page.locator(":target").first.evaluate(_IN_VIEW):
            yield f"{kind}: the target is out of sight"
        if page.evaluate(_WIDER) > 0:
            yield f"{kind}: wider than the window"
        if kind == FRONT and page.evaluate(_CUT):
            yield f"{kind}: a line of code runs out of its box"
        name = path.removesuffix(".html").replace("/", "-")
        page.screenshot(path=pictures / f"{name}-{scheme}-{width}.png")
        if path != "404.html":
            yield from (f"{kind}: {said}" for said in heard if not said.startswith(_OWN))
            yield from (f"{kind}: {finding}" for finding in _findings(page, axe))
    yield from _search(page, site)
    context.close()


_IN_VIEW: Final = """node => {
  const box = node.getBoundingClientRect()
  return box.top >= 0 && box.bottom <= innerHeight
}"""


def _findings(page: Page, axe: Path) -> Iterator[str]:
    page.evaluate(axe.read_text(encoding="utf-8"))
    options = {"runOnly": _RULES, "preload": False}
    for found in page.evaluate("options => axe.run(document, options)", options)["violations"]:
        yield f"{found['id']} at {found['nodes'][0]['target']} and {len(found['nodes']) - 1} more"


def _search(page: Page, site: Path) -> Iterator[str]:
    page.goto(f"{site.as_uri()}/index.html?q={_SOUGHT}")
    link = page.locator("a.md-search-result__link").first
    link.wait_for(state="attached")
    ((wanted, *_),) = answers(site, [_SOUGHT])
    if f"/{wanted}" not in (link.get_attribute("href") or ""):
        yield f"the search finds {link.get_attribute('href')} before {wanted}"
