"""The explorer's page in Debian's Chromium: what tests do with it, as a person would."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, sync_playwright

ROOT: Final = Path(__file__).resolve().parents[2]
HTML: Final = ROOT / "generated" / "explorer" / "explorer.html"
NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
WAIT: Final = 30_000
"""Milliseconds until a test fails; no test takes as long."""


DELAY: Final = int(os.environ.get("EXPLORER_DELAY", "0"))
"""Milliseconds that each request to the engine waits, so that a test which does not wait for an
answer fails, as it now and then would on a busy machine."""
SLOW: Final = """
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (...given) {
  setTimeout(() => post.apply(this, given), %d);
};
"""

_DRAWN: Final = (
    "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
)


def chromium() -> str | None:
    """The browser, which tools/setup/chromium.sh installs."""
    return next(filter(None, map(shutil.which, NAMES)), None)


needs_chromium = pytest.mark.skipif(
    chromium() is None, reason="there is no Chromium (tools/setup/chromium.sh)"
)


@contextmanager
def started() -> Iterator[Browser]:
    """A browser without a window; as root it has no sandbox of its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        try:
            yield browser
        finally:
            browser.close()


class Explorer:
    """The page in a tab, and all that it did wrong.

    Attributes:
        page: the tab.
        wrong: errors of scripts and of the policy.
        asked: addresses that were asked for.
    """

    def __init__(self, context: BrowserContext, address: str = "", delay: int = DELAY) -> None:
        self.page: Page = context.new_page()
        self.page.set_default_timeout(WAIT)
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", self._heard)
        self.page.on("dialog", self._dialog)
        context.on("request", lambda request: self.asked.append(request.url))
        self.page.add_init_script(
            "document.addEventListener('securitypolicyviolation',"
            " event => console.error('policy: ' + event.violatedDirective))"
        )
        if delay:
            self.page.add_init_script(SLOW % delay)
        self.page.goto(address or HTML.as_uri())

    def _heard(self, message: Any) -> None:
        if message.type == "error":
            self.wrong.append(message.text)

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"a script ran: {dialog.message}")
        dialog.dismiss()

    def open(self, *paths: Path) -> None:
        """Choose files, and wait for the first of them."""
        self.page.set_input_files("#file-input", paths)
        self.ready()

    def give(self, files: dict[str, bytes]) -> None:
        """Choose files of these names and contents."""
        kind = "application/octet-stream"
        given: Sequence[Any] = [
            {"name": name, "mimeType": kind, "buffer": data} for name, data in files.items()
        ]
        self.page.set_input_files("#file-input", given)
        self.ready()

    def ready(self) -> None:
        """Wait until a file is shown, with its fields and records."""
        self.page.wait_for_selector("main .panels[aria-busy=false]")

    def settled(self) -> None:
        """Wait until nothing of the file that is shown is still to come."""
        self.page.wait_for_selector("main [aria-busy=true]", state="detached")

    def drawn(self) -> None:
        """Wait until two pictures are drawn: what changed is on the screen."""
        self.page.evaluate(_DRAWN)

    def until(self, expression: str, wanted: Any) -> None:
        """Wait until an expression has a value; the policy forbids what Playwright has for that."""
        found = None
        for _ in range(WAIT // 20):
            found = self.page.evaluate(expression)
            if found == wanted:
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"{expression} is {found!r}, not {wanted!r}")

    def focused(self, place: str) -> None:
        """Wait until an element has the focus."""
        self.until("document.activeElement.id", place)

    def rows(self, table: str) -> int:
        """The number of rows of a table, in sight or not."""
        return int(self.page.get_attribute(f"#{table}", "aria-rowcount") or 0) - 1

    def choose(self, table: str, row: int) -> None:
        """Go to a row of a table by its keyboard, from the top or the end."""
        self.settled()
        self.page.focus(f"#{table}")
        self.page.keyboard.press("Home")
        for _ in range(row):
            self.page.keyboard.press("ArrowDown")
        self.page.wait_for_selector(f"#{table}-{row}[aria-selected=true]")
        self.settled()

    def edit(self, field: str, text: str) -> str:
        """Click the value of a field of the tree, and write another; return what was there."""
        line = self.page.locator("#tree .field", has=self.page.locator(f".id:text-is('{field}')"))
        line.locator(".value").click()
        was = self.page.input_value("#edit")
        self.page.fill("#edit", text)
        self.page.press("#edit", "Enter")
        return was

    def saved(self) -> str:
        """All records of the file, as the page saves them."""
        with self.page.expect_download() as waiting:
            self.page.click("#save-json")
        path = waiting.value.path()
        text = path.read_text(encoding="utf-8")
        waiting.value.delete()
        return text

    def batch_json(self) -> str:
        """The records of the batch, as the page shows them."""
        self.page.click("#show-json")
        self.page.wait_for_selector("dialog[open] #json")
        text = self.page.inner_text("#json")
        self.page.keyboard.press("Escape")
        self.page.wait_for_selector("#json", state="detached")
        return text

    def close(self) -> None:
        """Close the tab; whatever went wrong is an error."""
        self.page.close()
        assert self.wrong == []


@contextmanager
def explorer(
    browser: Browser, address: str = "", delay: int = DELAY, **options: Any
) -> Iterator[Explorer]:
    """The page in a browser of its own: other cookies, other storage."""
    options.setdefault("viewport", {"width": 1440, "height": 900})
    context = browser.new_context(**options)
    try:
        made = Explorer(context, address, delay)
        yield made
        made.close()
    finally:
        with suppress(Error):  # the browser is gone, and a better error is on its way
            context.close()
