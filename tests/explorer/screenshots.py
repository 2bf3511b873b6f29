"""Take pictures of the explorer: ``python -m tests.explorer.screenshots FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser

from tests.cli.helpers import golden
from tests.explorer import samples
from tests.explorer.browser import Explorer, explorer, started

SIZES = {"phone": (320, 640), "tablet": (820, 1180), "desk": (1440, 900), "4k": (3840, 2160)}


def look(page: Explorer, into: Path, name: str, sample: Path) -> None:
    """Take pictures of one window, from nothing to a record, its bytes, a look-up and a key."""

    def shot(what: str) -> None:
        page.page.wait_for_timeout(200)
        page.page.screenshot(path=into / f"{name}-{what}.png")

    shot("welcome")
    page.open(*sorted(sample.iterdir()))
    page.page.locator("#files .row", has_text=".log").first.click()
    page.ready()
    page.page.keyboard.press("b")
    page.focused("batches")
    shot("log")
    page.page.keyboard.press("]")
    page.page.wait_for_selector("#batches .damaged[aria-selected=true]")
    shot("damage")
    page.page.fill("#place", "1000")
    page.page.focus("#place")
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector("#steps li")
    shot("offset")
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("r")
    page.focused("records")
    page.page.wait_for_selector("#record", state="attached")
    shot("record")
    page.page.keyboard.press("h")
    page.focused("bytes")
    for _ in range(6):
        page.page.keyboard.press("n")
    shot("bytes")
    page.page.keyboard.press("?")
    page.page.wait_for_selector("dialog[open]")
    shot("keys")
    page.page.keyboard.press("Escape")
    page.page.locator("#files .row", has_text=".timeindex").first.click()
    page.page.wait_for_selector("#entries")
    shot("index")


def main(into: Path) -> None:
    """Take all pictures, in light and dark."""
    into.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder, started() as browser:
        sample = samples.partition(Path(folder))
        for scheme in ("light", "dark"):
            for size, (width, height) in SIZES.items():
                view = {"width": width, "height": height}
                with explorer(browser, viewport=view, color_scheme=scheme) as page:
                    look(page, into, f"{size}-{scheme}", sample)
        _front(browser, into / "explorer.png", sample)
        with explorer(browser, viewport={"width": 1440, "height": 900}) as page:
            page.page.set_input_files("#folder-input", golden("4.4.0", "__consumer_offsets-0"))
            page.ready()
            page.page.locator("#files .row", has_text=".log").first.click()
            page.ready()
            page.choose("batches", 2)
            page.choose("records", 0)
            page.page.click(".switch >> text=Value")
            page.page.wait_for_timeout(300)
            page.page.screenshot(path=into / "internal.png")


def _front(browser: Browser, path: Path, sample: Path) -> None:
    """The picture of the front page: a record of a log with damage, and a field of its batch."""
    with explorer(browser, viewport={"width": 1440, "height": 860}) as page:
        page.open(*sorted(sample.iterdir()))
        page.page.locator("#files .row", has_text=".log").first.click()
        page.ready()
        page.page.locator("#damage summary").click()
        page.page.fill("#place", "2304")
        page.page.focus("#place")
        page.page.keyboard.press("Enter")
        page.page.wait_for_selector("#steps li")
        page.page.keyboard.press("Escape")
        page.page.click('.switch >> text="Batch"')
        page.page.wait_for_timeout(200)
        page.page.locator("#tree .field", has_text="max_timestamp").first.hover()
        page.page.wait_for_timeout(200)
        page.page.screenshot(path=path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
