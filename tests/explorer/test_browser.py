"""The explorer's page: what a person sees and does, with the mouse and without."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext

import kafkaspec as ks
from kafkaspec.assembly import assemble, listing
from kafkaspec.explore.server import Explorer as Server
from kafkaspec.explore.server import served
from kafkaspec.explore.tree import Tree
from tests.cli.helpers import golden, run
from tests.explorer.browser import HTML, ROOT, Explorer, explorer, needs_chromium, started
from tests.explorer.samples import large
from tools.alone import alone_in
from tools.explorer.build import BUILT, packages

pytestmark = [pytest.mark.slow, needs_chromium]

NAME = f"{0:020d}"
NEWEST = "4.4.0"
AXE = ROOT / "explorer" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SIZES = {"320 px": (320, 640), "a desk": (1440, 900), "4K": (3840, 2160)}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as made:
        yield made


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    with closing(browser.new_context(viewport={"width": 1440, "height": 900})) as made:
        yield made


@pytest.fixture(scope="module")
def tab(context: BrowserContext) -> Iterator[Explorer]:
    made = Explorer(context)
    yield made
    made.close()


@pytest.fixture
def page(tab: Explorer) -> Iterator[Explorer]:
    """The page without files, in a tab that tests share: it takes a second to begin."""
    yield tab
    tab.page.keyboard.press("Escape")
    tab.page.click("#close-all")
    tab.page.wait_for_selector(".welcome")
    assert tab.wrong == []


def partition(name: str = "codec-gzip-0", version: str = NEWEST) -> list[Path]:
    return sorted(golden(version, name).iterdir())


def log(name: str = "codec-gzip-0", version: str = NEWEST) -> Path:
    return golden(version, name) / f"{NAME}.log"


def dumped(path: Path, *options: str) -> list[dict[str, Any]]:
    """What the command says of a file, under its name alone."""
    done = run("dump", "--format", "json", *options, path)
    return [{**json.loads(line), "file": path.name} for line in done.stdout.splitlines()]


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def names(page: Explorer, selector: str) -> list[str]:
    return [text.strip() for text in page.page.locator(selector).all_inner_texts()]


def test_a_partition_and_its_records(page: Explorer) -> None:
    page.open(*partition())
    assert page.rows("files") == len(partition())
    batches = dumped(log(), "--batches")
    assert page.rows("batches") == len(batches)
    records = dumped(log())
    for number, batch in enumerate(batches[:4]):
        page.choose("batches", number)
        wanted = [one for one in records if one["position"] == batch["position"]]
        page.until("document.getElementById('records').ariaRowCount", str(len(wanted) + 1))
        assert objects(page.batch_json()) == wanted
    assert objects(page.saved()) == records


def test_a_record_in_every_way(page: Explorer) -> None:
    page.open(log())
    page.choose("batches", 0)
    page.choose("records", 0)
    shown = page.page.locator("#record pre")
    assert shown.all_inner_texts() == ["single", "one record"]
    page.page.select_option("#mode", "hex")
    assert "73 69 6e 67 6c 65" in shown.nth(0).inner_text()
    page.page.select_option("#mode", "text")
    assert shown.nth(1).inner_text() == "one record"


def test_a_topic_of_kafkas_own_is_decoded(page: Explorer) -> None:
    page.page.set_input_files("#folder-input", golden(NEWEST, "__consumer_offsets-0"))
    page.ready()
    page.page.locator("#files .row:not(.folder)", has_text=".log").first.click()
    page.ready()
    page.choose("batches", 0)
    page.choose("records", 0)
    assert page.page.locator("#record .part b").count() == 2
    page.page.click(".switch >> text=Value")
    page.page.wait_for_selector("#tree .id")


def test_the_field_under_the_pointer(page: Explorer) -> None:
    page.open(log())
    byte = page.page.locator("#bytes .codes span[data-at='16']")
    byte.hover()
    page.page.wait_for_selector("#field .path")
    assert "magic" in page.page.inner_text("#field .path")
    assert page.page.locator("#bytes .codes .lit").count() == 1
    assert page.page.locator("#tree .lit .id").inner_text() == "magic"
    link = page.page.locator("#field a").get_attribute("href")
    assert link is not None
    assert link.startswith("../docs/recordbatch.md")
    page.page.locator("#tree .field", has_text="base_offset").first.hover()
    assert page.page.locator("#bytes .codes .lit").count() == 8


def test_look_ups_and_their_steps(page: Explorer) -> None:
    page.open(*partition())
    records = dumped(log())
    wanted = records[-3]
    page.page.fill("#place", str(wanted["offset"]))
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector("#steps li")
    page.page.wait_for_selector(f"#record h2 >> text=Record {wanted['offset']}")
    page.page.select_option("#where", "time")
    # Another record, whose title says when the look-up has ended.
    page.page.fill("#place", str(records[0]["timestamp"]))
    page.page.keyboard.press("Enter")
    first = next(one for one in records if one["timestamp"] >= records[0]["timestamp"])
    assert first["offset"] != wanted["offset"]
    page.page.wait_for_selector(f"#record h2 >> text=Record {first['offset']}")
    page.page.select_option("#where", "byte")
    page.page.fill("#place", hex(wanted["position"] + 16))
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector(f"#bytes .caret[data-at='{wanted['position'] + 16}']")
    page.page.fill("#place", "nonsense")
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector("[role=alert] >> text=nonsense")


def test_records_with_a_key(page: Explorer) -> None:
    page.open(log())
    page.page.fill("#key", "key")
    page.page.keyboard.press("Enter")
    wanted = [one["offset"] for one in dumped(log()) if one["key"] == "key"]
    page.page.wait_for_selector("#hits progress", state="detached")
    assert names(page, "#hits li button") == [f"offset {offset}" for offset in wanted]
    page.page.click("#hits li button >> nth=0")
    page.page.wait_for_selector(f"#record h2 >> text=Record {wanted[0]}")


def test_files_beside_a_log(page: Explorer) -> None:
    page.open(*partition("transactions-0"))
    for row in page.page.locator("#files .sizer .row").all():
        row.click()
        page.ready()
        assert page.page.locator("[role=alert]").count() == 0, row.inner_text()
    page.page.locator("#files .row", has_text=".index").first.click()
    page.ready()


def test_two_files_side_by_side(page: Explorer) -> None:
    data = log().read_bytes()
    other = bytearray(data)
    other[-1] ^= 1
    page.give({f"{NAME}.log": data, "replica.log": bytes(other)})
    page.page.select_option("#beside", label="replica.log")
    page.page.wait_for_selector("#compared .sides")
    page.page.click("#compared [aria-label^=Close]")
    page.page.wait_for_selector("#compared", state="detached")


def test_an_index_beside_its_log(page: Explorer) -> None:
    page.open(*partition())
    value = page.page.locator("#beside option", has_text=".timeindex").first.get_attribute("value")
    page.page.select_option("#beside", value)
    page.page.wait_for_selector("#compared p")
    page.page.wait_for_selector("#compared p >> text=Comparing", state="detached")


def test_damage_is_shown_where_it_is(page: Explorer, tmp_path: Path) -> None:
    data = bytearray(log().read_bytes())
    batches = dumped(log(), "--batches")
    position = batches[1]["position"]
    data[position + 30] ^= 0xFF
    bad = tmp_path / f"{NAME}.log"
    bad.write_bytes(data[:-5])
    page.open(bad)
    page.page.wait_for_selector("#damage li")
    found = run("verify", "--format", "json", bad)
    reasons = {
        (one["position"], one["reason"])
        for one in map(json.loads, found.stdout.splitlines())
        if one.get("type") == "finding" and one["severity"] == "error"
    }
    shown = page.page.locator("#damage li.error")
    places = set()
    for item in shown.all():
        text = item.inner_text()
        place = int(item.locator("button").inner_text().split()[-1])
        places.add((place, item.locator("b").first.inner_text()))
        assert "A reader" in text or "A broker" in text
    assert places == reasons
    page.page.focus("#batches")
    page.page.keyboard.press("Home")
    page.page.keyboard.press("]")
    page.page.wait_for_selector("#batches-1[aria-selected=true].damaged")


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "\u202egnp.exe\u2066",
    "a\0b\x1b[2J\r\n\u2028",
    "'\"><svg/onload=alert(1)>",
    "\ud7ff\ufffe\U0010ffff",
]


def test_hostile_names_and_values(browser: Browser) -> None:
    records = [
        ks.Record(
            number, 1_700_000_000_000, text.encode(), text.encode() * 2, ((text, text.encode()),)
        )
        for number, text in enumerate(HOSTILE)
    ]
    records.append(ks.Record(len(HOSTILE), 1, b"\xff" * (1 << 20), b"v" * (1 << 20)))
    data = ks.encode(records)
    first = f"{HTML.as_uri()}#file=%3Cimg%20src=x%20onerror=alert(1)%3E&at=1"
    with explorer(browser, first) as page:
        page.give({f"<img src=x onerror=alert(1)>\u202e{number}.log": data for number in range(2)})
        assert page.rows("files") == 2
        for number, text in enumerate(HOSTILE):
            page.choose("records", number)
            page.page.wait_for_selector(f"#record h2 >> text=Record {number}")
            page.page.select_option("#mode", ("json", "hex", "message", "auto", "text")[number % 5])
            assert "\u202e" not in page.page.inner_text("#app"), text
        page.choose("records", len(HOSTILE))
        page.page.click("#record .part button >> nth=0")
        page.page.wait_for_selector("#record .part small >> text=1.0 MiB")
        assert page.page.locator("script").count() == 1
        assert page.page.locator("img, svg, iframe, object").count() == 0
        for fragment in ("#file=0&at=9e9&record=-1", "#%%%", "#file=%00&beside=%00"):
            page.page.evaluate("hash => { location.hash = hash }", fragment)
        page.page.fill("#key", HOSTILE[0])
        page.page.keyboard.press("Enter")
        page.page.wait_for_selector("#hits li")
    assert [address for address in page.asked if not address.startswith(("file:", "blob:"))] == []


def test_nothing_but_the_page_is_asked_for(page: Explorer) -> None:
    page.open(*partition())
    page.choose("batches", 1)
    page.saved()
    asked = {address.split(":")[0] for address in page.asked}
    assert asked <= {"file", "blob"}
    assert [address for address in page.asked if address.startswith("file")] == [HTML.as_uri()]
    refused = page.page.evaluate(
        "fetch('http://127.0.0.1:9/').then(() => 'sent', error => String(error))"
    )
    assert refused.startswith("TypeError")
    page.page.evaluate("() => { setTimeout('document.title = \"evaluated\"', 0) }")
    page.page.wait_for_timeout(50)
    assert page.page.title() == "kafkaspec explorer"
    page.wrong.clear()  # both were violations


def test_a_link_restores_the_view(browser: Browser) -> None:
    with explorer(browser) as page:
        page.open(*partition())
        page.choose("batches", 2)
        page.choose("records", 1)
        page.page.select_option("#mode", "hex")
        page.until("location.hash.includes('mode=hex')", True)
        address = page.page.evaluate("location.href")
        record = page.page.inner_text("#record")
    assert "record=1" in address
    with explorer(browser, address) as page:
        page.open(*partition())
        page.page.wait_for_selector("#record")
        assert page.page.inner_text("#record") == record
        assert page.page.input_value("#mode") == "hex"


def test_the_served_page(browser: Browser) -> None:
    with Server(Tree.of(golden(NEWEST, "codec-lz4-0")), 0, served()) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            with explorer(browser, server.address) as page:
                page.ready()
                path = golden(NEWEST, "codec-lz4-0") / f"{NAME}.log"
                page.page.locator("#files .row", has_text=".log").first.click()
                page.ready()
                assert objects(page.saved()) == dumped(path)
                page.choose("records", 0)
                page.page.wait_for_selector("#record")
                page.page.reload()
                page.ready()
                page.page.wait_for_selector("#record")
            here = f"http://127.0.0.1:{server.server_port}/{server.token}/"
            assert {
                one for one in page.asked if not one.startswith((here, "blob:", "data:"))
            } == set()
        finally:
            server.shutdown()
            thread.join()


def focused(page: Explorer) -> str:
    return str(page.page.evaluate("document.activeElement.id"))


def test_the_keyboard_alone(page: Explorer) -> None:
    page.open(*partition())
    keys = page.page.keyboard

    def press(key: str) -> None:
        """Press a key as people do: after what the one before has changed is on the screen."""
        keys.press(key)
        page.drawn()
        page.settled()

    for key, place in {
        "b": "batches",
        "r": "records",
        "h": "bytes",
        "t": "tree",
        "m": "map",
    }.items():
        press(key)
        page.focused(place)
    press("b")
    press("End")
    press("Home")
    press("Enter")
    page.focused("records")
    press("ArrowDown")
    page.page.wait_for_selector("#record")
    press("Enter")
    page.focused("bytes")
    press("n")
    press("n")
    page.page.wait_for_selector("#field .path")
    press("t")
    press("Home")
    press("ArrowLeft")
    page.page.wait_for_selector("#field-0[aria-expanded=false]")
    press("ArrowRight")
    page.page.wait_for_selector("#field-0[aria-expanded=true]")
    press("g")
    page.focused("place")
    keys.type("3")
    press("Enter")
    page.page.wait_for_selector("#steps")
    press("Escape")
    page.page.wait_for_selector("#steps", state="detached")
    press("Escape")
    page.focused("batches")
    press("?")
    page.page.wait_for_selector("dialog[open]")
    press("Escape")
    page.page.wait_for_selector("dialog", state="detached")
    before = page.page.get_attribute("html", "data-theme")
    press("d")
    page.until("document.documentElement.dataset.theme", "light" if before == "dark" else "dark")


def test_every_control_can_be_reached(page: Explorer) -> None:
    """By Tab alone, and focus is never lost or caught."""
    page.open(*partition())
    reached = set()
    for _ in range(80):
        page.page.keyboard.press("Tab")
        reached.add(focused(page))
    assert {
        "open",
        "files",
        "map",
        "place",
        "key",
        "batches",
        "records",
        "tree",
        "bytes",
    } <= reached


VIEWS = [(size, scheme) for size in SIZES for scheme in ("light", "dark")]
FEW = [("320 px", "light"), ("a desk", "dark")]


@pytest.mark.parametrize(("size", "scheme"), VIEWS if os.environ.get("EXPLORER_VERSIONS") else FEW)
def test_axe_has_no_finding(browser: Browser, size: str, scheme: str, tmp_path: Path) -> None:
    if not AXE.exists():
        if shutil.which("npm") is None:
            pytest.skip("axe-core comes by npm")
        with alone_in(BUILT):
            packages()
    width, height = SIZES[size]
    data = bytearray(log().read_bytes())
    data[dumped(log(), "--batches")[1]["position"] + 30] ^= 0xFF
    (tmp_path / f"{NAME}.log").write_bytes(data)
    index = golden(NEWEST, "codec-gzip-0") / f"{NAME}.timeindex"
    options: dict[str, Any] = {
        "viewport": {"width": width, "height": height},
        "color_scheme": scheme,
        "bypass_csp": True,
    }
    with explorer(browser, **options) as page:
        page.page.add_script_tag(path=AXE)
        check(page, "nothing open")
        page.open(tmp_path / f"{NAME}.log", index)
        check(page, "a damaged log")
        page.page.keyboard.press("r")
        page.focused("records")
        page.choose("records", 0)
        page.page.wait_for_selector("#record")
        check(page, "a record")
        page.page.keyboard.press("h")
        page.focused("bytes")
        page.page.keyboard.press("n")
        check(page, "bytes")
        page.page.keyboard.press("?")
        page.page.wait_for_selector("dialog[open]")
        check(page, "help")
        page.page.keyboard.press("Escape")
        page.page.locator("#files .row", has_text=".timeindex").first.click()
        page.page.wait_for_selector("#entries")
        check(page, "an index")
        wide = page.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width


CUT = """() => [...document.querySelectorAll('.virtual')].flatMap(list => {
  const edge = list.getBoundingClientRect().right
  return [...list.querySelectorAll('.row.head > *')]
    .filter(cell => cell.clientWidth && cell.getBoundingClientRect().right > edge)
    .map(cell => `${list.id}: ${cell.textContent}`)
})"""
"""Columns of lists of which a part is beyond the edge."""


def test_every_column_that_is_shown_can_be_seen(browser: Browser) -> None:
    with explorer(browser) as page:
        page.open(log())
        for width in (320, 600, 820, 1100, 1280, 1440, 1920, 2399, 2400, 2560, 3840):
            page.page.set_viewport_size({"width": width, "height": 900})
            page.drawn()
            assert page.page.evaluate(CUT) == [], width


def check(page: Explorer, what: str) -> None:
    page.drawn()
    page.page.wait_for_timeout(150)  # what moves has come to rest
    found = page.page.evaluate(
        "rules => axe.run({runOnly: rules}).then(done => done.violations.map(one =>"
        " one.id + ': ' + one.nodes.map(node => node.html + node.failureSummary).join(' | ')))",
        RULES,
    )
    assert found == [], what


# -- edits -----------------------------------------------------------------------------------------


def _saved_file(page: Explorer) -> tuple[str, bytes]:
    with page.page.expect_download() as waiting:
        page.page.click("#save-file")
    return waiting.value.suggested_filename, waiting.value.path().read_bytes()


def test_an_edited_key_is_saved_as_assemble_writes_it(page: Explorer) -> None:
    """Lengths and the checksum follow; the file that was opened stays as it is."""
    source = log("codec-none-0")
    data = source.read_bytes()
    page.open(source)
    page.choose("records", 0)
    was = page.edit("key", '"another key"')
    assert was == '"single"'
    page.page.wait_for_selector("#save-file")
    text = "\n".join(listing(source))
    assert f"key: {was}" in text
    expected, _ = assemble(text.replace(f"key: {was}", 'key: "another key"', 1))
    assert _saved_file(page) == (source.name, expected)
    assert page.page.locator("#damage li").count() == 0
    assert "another key" in page.page.inner_text("#records")
    assert source.read_bytes() == data
    page.page.click("#undo")
    page.page.wait_for_selector("#save-file", state="detached")
    page.page.wait_for_selector("#records:has-text('single')")


def test_what_follows_is_edited_by_force(page: Explorer) -> None:
    """By the keyboard: a wrong checksum on purpose, which the page then finds."""
    source = log("codec-none-0")
    page.open(source)
    page.edit("crc", "7")
    page.page.wait_for_selector(".trouble:has-text('crc follows from the rest')")
    page.page.fill("#edit", "7 !")
    page.page.press("#edit", "Enter")
    page.page.wait_for_selector("#save-file")
    page.page.wait_for_selector("#damage li.error:has-text('checksum_mismatch')")
    text = "\n".join(listing(source)).split("\n")
    crc = next(number for number, line in enumerate(text) if line.strip().startswith("crc:"))
    text[crc] = text[crc].partition("crc:")[0] + "crc: 7 !"
    assert _saved_file(page)[1] == assemble("\n".join(text))[0]


def test_records_are_added_copied_and_removed(page: Explorer) -> None:
    """What is saved is what the commands read; the page shows where one is."""
    source = log("codec-none-0")
    with ks.open(source) as opened:
        first = next(iter(opened.batches())).num_records
    page.open(source)
    total = page.rows("records")
    assert total == first
    page.choose("records", 0)
    page.page.click("#duplicate-record")
    page.until("document.querySelector('#records').ariaRowCount", str(total + 2))
    page.page.wait_for_selector("#records-1[aria-selected=true]")
    page.page.click("#add-record")
    page.until("document.querySelector('#records').ariaRowCount", str(total + 3))
    page.page.wait_for_selector("#records-2[aria-selected=true]")
    page.choose("records", 0)
    page.page.click("#remove-record")
    page.until("document.querySelector('#records').ariaRowCount", str(total + 2))
    assert page.page.locator("#damage li").count() == 0
    data = _saved_file(page)[1]
    found = list(ks.decode(data))[: total + 1]
    assert [record.key for record in found[:2]] == [b"single", None]
    assert found[1].value is None


def test_what_is_still_read_is_not_said_to_be_none(browser: Browser) -> None:
    with explorer(browser, delay=500) as page:
        page.page.set_input_files("#file-input", log("codec-gzip-0"))
        page.page.wait_for_selector("#batches-0[aria-selected=true]")
        assert page.page.inner_text("#records .none") == "Reading …"
        assert page.page.inner_text("#tree .none") == "Reading …"
        page.settled()
        assert page.rows("records") > 0


def test_records_come_though_other_fields_were_asked_for_before_they_did(browser: Browser) -> None:
    file = log("transactions-0")
    second = [batch.position for batch in ks.Segment(file).batches()][1]
    view = f"{HTML.as_uri()}#file={NAME}.log&at={second}&record=0"
    with explorer(browser, view, delay=500) as page:
        page.page.set_input_files("#file-input", file)
        page.page.click("[aria-label='Fields of'] >> text=Batch")
        assert page.rows("records") == 0
        page.settled()
        assert page.rows("records") > 0


def test_an_answer_about_a_file_is_not_shown_with_the_next(
    browser: Browser, tmp_path: Path
) -> None:
    """A late answer is dropped: an empty log never shows the fields of the previous file."""
    empty = tmp_path / "empty.log"
    empty.touch()
    with explorer(browser, delay=500) as page:
        page.page.set_input_files("#file-input", [log("codec-gzip-0"), empty])
        page.page.wait_for_selector("#batches-0[aria-selected=true]")
        page.page.locator("#files .row", has_text="empty.log").click()
        page.settled()
        page.page.wait_for_timeout(1000)
        assert page.page.inner_text("#tree .none") == "No fields"
        assert page.rows("records") == 0


def test_records_of_a_compressed_batch_are_not_edited(page: Explorer) -> None:
    page.open(log("codec-gzip-0"))
    page.choose("records", 0)
    page.page.locator("#tree .field", has=page.page.locator(".id:text-is('key')")).locator(
        ".value"
    ).click()
    page.page.wait_for_selector(".trouble:has-text('kafkaspec assemble compresses them again')")
    assert page.page.locator("#edit").count() == 0
    page.page.click(".trouble .close")
    page.page.click("#duplicate-record")
    page.page.wait_for_selector(".trouble:has-text('kafkaspec assemble compresses them again')")


def test_an_edited_commit_is_what_groups_says(page: Explorer, tmp_path: Path) -> None:
    """A field of a message, which the folder of the log says that its records have."""
    home = tmp_path / "__consumer_offsets-0"
    shutil.copytree(golden("4.3.1", home.name), home)
    page.page.set_input_files("#folder-input", home)
    page.ready()
    page.page.locator("#files .row:not(.folder)", has_text=".log").first.click()
    page.ready()
    page.choose("batches", 9)
    page.page.wait_for_selector("#records-0")
    page.choose("records", 0)
    page.page.click(".switch >> text=Value")
    page.page.wait_for_selector("#tree .field .id:text-is('commit_timestamp')")
    assert page.edit("offset", "7") == "12"
    page.page.wait_for_selector("#save-file")
    name, data = _saved_file(page)
    (home / name).write_bytes(data)
    found = objects(run("groups", home, "--group", "group-b", "--format", "json").stdout)
    assert [line["offset"] for line in found if line["type"] == "offset"] == [7]
    assert run("verify", home / name).exit_code == 0


# -- large files -----------------------------------------------------------------------------------

_FILE = 70 << 20
"""Bytes from which on the page reads with helpers, and writes what it saves as it comes."""
_PICKER = """() => {
  window.parts = [];
  window.ended = '';
  window.showSaveFilePicker = async ({ suggestedName }) => {
    window.named = suggestedName;
    if (window.refuses) throw new DOMException('no', 'AbortError');
    return { createWritable: async () => ({
      write: async (data) => {
        if (window.full && window.parts.length) throw new Error('the disk is full');
        window.parts.push(new Blob([data]));
      },
      close: async () => { window.ended = 'closed'; },
      abort: async () => { window.ended = 'aborted'; },
    }) };
  };
}"""


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / f"{NAME}.log"
    large(path, _FILE, 700)
    return path


def _checked(page: Explorer) -> None:
    page.page.wait_for_selector(".summary.busy", state="detached")
    page.until("/batches/.test(document.querySelector('.summary .facts').textContent)", wanted=True)


def test_a_large_file_is_read_by_helpers(page: Explorer, big: Path, tmp_path: Path) -> None:
    """Damage, and keys, in the order of the file."""
    data = bytearray(big.read_bytes())
    size = len(data) // 700
    for batch in (650, 20, 300):
        data[batch * size + 5000] ^= 1
    path = tmp_path / big.name
    path.write_bytes(data)
    page.open(path)
    _checked(page)
    assert len(page.page.workers) == 1 + page.page.evaluate("navigator.hardwareConcurrency")
    expected = [
        f"{found.position} {found.reason}"
        for found in ks.verify(path).findings
        if found.reason == "checksum_mismatch" and found.position is not None
    ]
    assert len(expected) == 3
    found = [text.split(" at byte ")[1].split(" stored ")[0] for text in names(page, "#damage li")]
    assert found == expected
    page.page.fill("#key", "k1")
    page.page.select_option("#how", "prefix")
    page.page.click("text=Find")
    page.page.wait_for_selector("#hits progress", state="detached")
    wanted = [number for number in range(4 * 700) if str(number).startswith("1")]
    assert f"{len(wanted):,} records" in page.page.inner_text("#hits h2").replace("\u202f", ",")
    shown = [f"offset {number}" for number in wanted[:500]]
    assert names(page, "#hits li button") == shown


def test_helpers_read_from_the_server_too(browser: Browser, big: Path) -> None:
    with Server(Tree.of(big), 0, served()) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            with explorer(browser, server.address) as page:
                page.ready()
                _checked(page)
                assert len(page.page.workers) > 1
                page.page.fill("#key", "k1234")
                page.page.press("#key", "Enter")
                page.page.wait_for_selector("#hits progress", state="detached")
                assert names(page, "#hits li button") == ["offset 1234"]
        finally:
            server.shutdown()
            thread.join()


def test_json_of_a_large_file_is_written_as_it_comes(page: Explorer, big: Path) -> None:
    page.open(big)
    _checked(page)
    page.page.evaluate(_PICKER)
    page.page.click("#save-json")
    for _ in range(600):
        if page.page.evaluate("window.ended"):
            break
        page.page.wait_for_timeout(50)
    assert page.page.evaluate("[window.ended, window.named]") == ["closed", f"{big.name}.jsonl"]
    assert page.page.evaluate("window.parts.length") > 5
    digest = page.page.evaluate(
        "new Blob(window.parts).arrayBuffer().then((all) => crypto.subtle.digest('SHA-256', all))"
        ".then((made) => Array.from(new Uint8Array(made)))"
    )
    text = run("dump", "--format", "json", big).stdout.replace(str(big), big.name)
    assert bytes(digest) == hashlib.sha256(text.encode()).digest()


def test_a_file_that_cannot_be_written(page: Explorer, big: Path) -> None:
    page.open(big)
    _checked(page)
    page.page.evaluate(_PICKER)
    page.page.evaluate("window.refuses = true")
    page.page.click("#save-json")
    page.until("window.named", f"{big.name}.jsonl")
    page.until(
        "document.querySelector('.top .state').textContent.includes('Writing')", wanted=False
    )
    assert page.page.locator(".trouble").count() == 0
    page.page.evaluate("window.refuses = false; window.full = true")
    page.page.click("#save-json")
    page.page.wait_for_selector(".trouble:has-text('the disk is full')")
    assert page.page.evaluate("window.ended") == "aborted"
