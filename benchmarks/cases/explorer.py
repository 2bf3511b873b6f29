"""The explorer in headless Chromium against reading the same file there, and nothing else."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.data import MIB, Shape, segment_file
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_SIZE: Final = 300 * MIB
_PAGE: Final = Path(__file__).resolve().parents[2] / "generated" / "explorer" / "explorer.html"
_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
_WAIT: Final = 600_000
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_READ: Final = """async (size) => {
  const file = document.querySelector('input').files[0];
  let seen = 0;
  for (let at = 0; at < file.size; at += size) {
    seen += (await file.slice(at, at + size).arrayBuffer()).byteLength;
  }
  return seen;
}"""
_NOWHERE: Final = """() => { window.showSaveFilePicker = async () => ({
  createWritable: async () => ({ write: async () => {}, close: async () => {} }),
}); }"""
"""A file that takes everything, where the page asks the browser for one."""
_GATES: Final = {
    "checksums and records": 6.0,
    "a key": 2.0,
    "JSON": 30.0,
}
"""Most CPU time of each, as a multiple of that of reading."""


class _Spent(NamedTuple):
    """Seconds on the clock, and of all processes of the browser."""

    wall: float
    cpu: float


def _cpu() -> float:
    """Return the seconds that the processes of browsers below this one have computed for."""
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text("utf-8", "replace").rpartition(")")
        except OSError:
            continue  # it has just ended
        words = rest.split()
        own = int(path.parent.name)
        children.setdefault(int(words[1]), []).append(own)
        ticks[own] = sum(map(int, words[11:15])) if "chrom" in name else 0
    found, left = 0, [os.getpid()]
    while left:
        for child in children.get(left.pop(), ()):
            found += ticks[child]
            left.append(child)
    return found / _TICKS


def _spent(work: Callable[[], object]) -> _Spent:
    wall, cpu = time.perf_counter(), _cpu()
    work()
    return _Spent(time.perf_counter() - wall, _cpu() - cpu)


@contextmanager
def _browser() -> Iterator[Browser]:
    """Start a browser without a window.

    Raises:
        LookupError: this machine has none.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise LookupError("Playwright is not installed") from None
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if path is None or not Path("/proc/self/stat").exists():
        raise LookupError("there is no Chromium (tools/setup/chromium.sh)")
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


def _read(browser: Browser, log: Path) -> _Spent:
    page = browser.new_page()
    page.set_default_timeout(_WAIT)
    page.set_content("<input type=file>")
    page.set_input_files("input", log)
    seen = 0

    def read() -> None:
        nonlocal seen
        seen = page.evaluate(_READ, 8 * MIB)

    spent = _spent(read)
    page.close()
    if seen != log.stat().st_size:
        raise AssertionError(f"the browser read {seen} bytes")
    return spent


def _explore(browser: Browser, log: Path, records: int) -> dict[str, _Spent]:
    """Open the file, wait until all of it is checked, find a key, and save the records."""
    page = browser.new_page()
    page.set_default_timeout(_WAIT)
    page.goto(_PAGE.as_uri())
    page.evaluate(_NOWHERE)
    found: dict[str, _Spent] = {}

    def checked() -> None:
        page.set_input_files("#file-input", log)
        found["first picture"] = _spent(
            lambda: page.wait_for_selector("#tree .field:not(.none)", state="attached")
        )
        page.wait_for_selector(f".summary:not(.busy) >> text={records:,} records")

    def key() -> None:
        page.fill("#key", "no such key")
        page.press("#key", "Enter")
        _says(page, "0 records found")

    def saved() -> None:
        page.click("#save-json")
        _says(page, "JSON lines saved")

    for name, work in (("checksums and records", checked), ("a key", key), ("JSON", saved)):
        found[name] = _spent(work)
    page.close()
    return found


def _says(page: Page, text: str) -> None:
    page.wait_for_selector(f".top .state:has-text('{text}')", state="attached")


def run(settings: Settings) -> Outcome:
    """CPU time of all processes of the browser; reading and the page in turns, median of ratios."""
    outcome = Outcome()
    table = Table(
        f"The explorer: {_SIZE // MIB} MiB of records of 100 B in headless Chromium",
        ("what", "on the clock, s", "CPU, s", "CPU ÷ reading"),
        notes=[
            "Reading is `Blob.slice` of 8 MiB after 8 MiB, in the same browser. CPU time of all its"
            " processes; the page shares the work among a worker for each core."
        ],
    )
    log, data = segment_file(settings.work, Shape(100), settings.size(_SIZE))
    rounds: list[dict[str, _Spent]] = []
    try:
        with _browser() as browser:
            for _ in range(settings.rounds(3)):
                read = {"reading": _read(browser, log)}
                rounds.append(read | _explore(browser, log, data.records))
    except LookupError as error:
        table.rows.append((str(error), "", "", ""))
        outcome.figures += [
            Figure(_what(name), None, gate, at_most=True, why=str(error))
            for name, gate in _GATES.items()
        ]
        outcome.tables.append(table)
        return outcome
    finally:
        log.unlink()
    for name in rounds[0]:
        ratio = median(each[name].cpu / max(each["reading"].cpu, 1 / _TICKS) for each in rounds)
        wall = median(each[name].wall for each in rounds)
        cpu = median(each[name].cpu for each in rounds)
        table.rows.append((name, number(wall), number(cpu), f"{number(ratio)} x"))
        if name in _GATES:
            outcome.figures.append(Figure(_what(name), ratio, _GATES[name], at_most=True))
    outcome.tables.append(table)
    return outcome


def _what(name: str) -> str:
    return f"the explorer: {name} ÷ reading"


CASE = Case("explorer", "The explorer", run)
