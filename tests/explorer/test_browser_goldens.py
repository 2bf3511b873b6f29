"""The page on golden segments and on large ones: its records are those of ``dump --format json``.

EXPLORER_VERSIONS takes the goldens of these versions, or "all" (``make explorer-check``), and a
segment of one gibibyte.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.cli.helpers import run
from tests.explorer import samples
from tests.explorer.browser import Explorer, explorer, needs_chromium, started
from tests.goldens import GOLDEN, VERSIONS, files

pytestmark = [pytest.mark.slow, needs_chromium]

ASKED = os.environ.get("EXPLORER_VERSIONS", "").replace("all", " ".join(VERSIONS)).split()
FEW = {
    "0.9.0.1": ("codec-snappy", "codec-lz4"),
    "0.10.2.2": ("codec-gzip", "codec-lz4"),
    VERSIONS[-1]: ("codec-", "transactions-0", "__consumer_offsets"),
}
"""A release of each magic, and some of its partitions."""
LIMIT = 300 << 20
"""Bytes that a renderer may take for a segment of any size."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as made:
        yield made


def show(page: Explorer, path: str) -> None:
    """Follow a link to a file."""
    page.page.evaluate("file => { location.hash = new URLSearchParams({file}) }", path)
    page.until("document.querySelector('.summary h2')?.title", path)
    page.ready()


@pytest.mark.parametrize("version", ASKED or FEW)
def test_records_are_those_of_dump(browser: Browser, version: str) -> None:
    logs = GOLDEN / version / "logs"
    chosen = [
        golden.path
        for golden in files(".log", ".checkpoint", version=version)
        if ASKED or golden.path.parent.name.startswith(FEW[version])
    ]
    assert chosen
    with explorer(browser) as page:
        page.page.set_input_files("#folder-input", logs)
        page.page.wait_for_selector("#folders .sizer .row")
        for path in chosen:
            name = f"logs/{path.relative_to(logs).as_posix()}"
            show(page, name)
            wanted = run("dump", "--format", "json", path).stdout
            wanted = wanted.replace(json.dumps(str(path)), json.dumps(name))
            assert page.saved() == wanted, name


def anonymous(browser: Browser) -> int:
    """The memory of the largest renderer of a browser, without what it shares with others."""
    session = browser.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    sizes = [0]
    for process in found:
        status = Path(f"/proc/{process['id']}/status")
        if process["type"] == "renderer" and status.exists():
            line = next(line for line in status.read_text().splitlines() if "RssAnon" in line)
            sizes.append(int(line.split()[1]) << 10)
    return max(sizes)


@pytest.mark.memory
@pytest.mark.skipif(sys.platform != "linux", reason="/proc says how much memory a process has")
def test_a_large_segment(browser: Browser, disk_path: Path) -> None:
    """All of it is in the list, in bounded memory; the keyboard goes to its end and back."""
    path = disk_path / samples.NAME
    batches = 65_000 if ASKED else 8_000
    samples.large(path, 1 << 30 if ASKED else 16 << 20, batches)
    most = 0
    with explorer(browser) as page:
        page.page.set_input_files("#file-input", path)
        page.page.wait_for_selector("#batches .sizer .row")
        while page.page.locator(".summary.busy").count():
            most = max(most, anonymous(browser))
            page.page.wait_for_timeout(50)
        assert page.rows("batches") == batches
        page.page.focus("#batches")
        page.page.keyboard.press("End")
        page.page.wait_for_selector(f"#batches-{batches - 1}[aria-selected=true]")
        page.page.wait_for_selector("#records-0")
        assert page.page.inner_text("#records-0 .number") == str(4 * (batches - 1))
        page.page.fill("#place", str(2 * batches))
        page.page.focus("#place")
        page.page.keyboard.press("Enter")
        page.page.wait_for_selector(f"#batches-{batches // 2}[aria-selected=true]")
        most = max(most, anonymous(browser))
        assert page.page.locator("#damage, .row.damaged").count() == 0
    assert 0 < most < LIMIT
    print(f"{path.stat().st_size >> 20} MiB, {batches} batches: {most >> 20} MiB")
