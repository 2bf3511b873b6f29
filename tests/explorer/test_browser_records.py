"""The explorer for people who look for records: overview, partitions, searches, transactions."""

from __future__ import annotations

import csv
import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

import kafkaspec as ks
from kafkaspec.explore.server import Explorer as Server
from kafkaspec.explore.server import served
from kafkaspec.explore.tree import Tree
from tests.cli.helpers import golden, run
from tests.explorer.browser import Explorer, explorer, needs_chromium, started
from tools.explorer.samples import samples

pytestmark = [pytest.mark.slow, needs_chromium]

NEWEST = "4.4.0"
NAME = f"{0:020d}"
LOGS = golden(NEWEST, "segments-0").parent


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as made:
        yield made


@pytest.fixture
def page(browser: Browser) -> Iterator[Explorer]:
    with explorer(browser) as made:
        yield made


def _folder(page: Explorer, folder: Path) -> None:
    page.page.set_input_files("#folder-input", folder)


def _overview(page: Explorer) -> None:
    page.page.wait_for_selector("#checked >> text=all files checked")


def _open(page: Explorer, partition: str) -> None:
    """Click a partition of the overview; its records are listed."""
    page.page.fill("#filter", partition)
    page.page.locator("#folders .sizer .row", has_text=partition).first.click()
    page.page.wait_for_selector("#all .sizer .row")


def _texts(page: Explorer, selector: str) -> list[str]:
    return [text.strip() for text in page.page.locator(selector).all_inner_texts()]


def test_a_log_directory_begins_with_its_overview(page: Explorer, tmp_path: Path) -> None:
    """Damage, torn ends and zeros of files that nobody opened; each leads to its place."""
    home = tmp_path / "logs"
    for name in ("codec-none-0", "plain-0", "segments-0"):
        shutil.copytree(LOGS / name, home / name)
    bad = home / "codec-none-0" / f"{NAME}.log"
    data = bytearray(bad.read_bytes())
    data[-1] ^= 1
    bad.write_bytes(data)
    torn = home / "plain-0" / f"{NAME}.log"
    torn.write_bytes(torn.read_bytes()[:-9])
    _folder(page, home)
    _overview(page)
    assert page.rows("folders") == 3
    state = page.page.inner_text("#checked")
    assert "1 damaged place" in state
    found = _texts(page, "#wrong li")
    assert any("checksum_mismatch" in text and "codec-none-0" in text for text in found)
    assert any("torn_tail" in text and "plain-0" in text for text in found)
    row = page.page.locator("#folders .sizer .row", has_text="plain-0")
    assert "■ torn tail" in row.inner_text()
    page.page.locator("#wrong li", has_text="checksum_mismatch").locator("button").click()
    page.page.wait_for_selector("#batches .damaged[aria-selected=true]")
    page.page.click("#overview-button")
    page.page.wait_for_selector("#overview")
    page.page.fill("#filter", "plain 0000")
    page.until("document.getElementById('folders').ariaRowCount", "2")


def test_files_of_two_log_directories_are_told_apart(page: Explorer, tmp_path: Path) -> None:
    for disk in ("disk-1", "disk-2"):
        shutil.copytree(LOGS / "plain-0", tmp_path / "data" / disk / "plain-0")
    _folder(page, tmp_path / "data")
    _overview(page)
    shown = [one.inner_text() for one in page.page.locator("#folders .name").all()]
    assert [name for name in shown if "disk-1" in name] != [
        name for name in shown if "disk-2" in name
    ]
    assert page.rows("folders") == 2


def test_long_names_show_both_of_their_ends(browser: Browser, tmp_path: Path) -> None:
    """On a narrow screen, names that differ at their beginning or at their end look different."""
    middle = "payments.settlement.events.of.all.regions"
    names = [f"{home}.{middle}-{number}" for home in ("eu", "us") for number in (0, 1)]
    for name in names:
        shutil.copytree(LOGS / "plain-0", tmp_path / "logs" / name)
    with explorer(browser, viewport={"width": 400, "height": 800}) as page:
        _folder(page, tmp_path / "logs")
        _overview(page)
        rows = page.page.locator("#folders .sizer .row .name")
        assert [text.replace("\n", "").split("/")[-1] for text in rows.all_text_contents()] == names
        cells = {row.screenshot() for row in rows.all()}
        assert len(cells) == len(names)
        for part in rows.locator(".stem").all():
            assert part.evaluate("node => node.clientWidth > 40")


@pytest.mark.parametrize("name", ["sound", "damaged"])
def test_a_sample_opens_at_once(page: Explorer, tmp_path: Path, name: str) -> None:
    page.page.click(f"#sample-{name}")
    page.ready()
    files = samples()[name]
    assert page.rows("files") == len(files) + 1
    damaged = name == "damaged"
    if damaged:
        page.page.wait_for_selector("#files .damaged")
        page.page.wait_for_selector("#files .warned")
    else:
        page.page.click("#overview-button")
        _overview(page)
        assert "nothing wrong" in page.page.inner_text("#checked")


def test_a_partition_is_one_list(page: Explorer) -> None:
    """All records of all segments in their order, by the keyboard too, and where the log starts."""
    _folder(page, LOGS)
    _overview(page)
    _open(page, "deleted-records-0")
    with ks.open(LOGS / "deleted-records-0") as partition:
        assert isinstance(partition, ks.Partition)
        records = [record for segment in partition for record in segment.records()]
        segments = len(partition)
    page.until("document.getElementById('all').ariaRowCount", str(1 + segments + len(records)))
    first = page.page.locator("#all .sizer .row:not(.segment)").first
    assert "before" in (first.get_attribute("class") or "")
    page.page.wait_for_selector("#all >> text=⊢")
    start = page.page.locator("#all .row", has_text="⊢").first
    assert start.locator("span").first.inner_text() == "25"
    assert "log start 25, by log-start-offset-checkpoint" in page.page.inner_text(
        ".panel .facts >> nth=0"
    )
    page.page.focus("#all")
    page.page.keyboard.press("End")
    page.page.wait_for_selector(f"#record h2 >> text=Record {records[-1].offset}")
    seen = [records[-1].offset]
    for record in reversed(records[:-1]):
        page.page.click("#before")
        page.page.wait_for_selector(f"#record h2 >> text=Record {record.offset}")
        seen.append(record.offset)
    assert seen == [record.offset for record in reversed(records)]


def test_an_offset_of_another_segment(page: Explorer) -> None:
    page.open(*sorted((LOGS / "segments-0").iterdir()))
    page.page.fill("#place", "30")
    page.page.press("#place", "Enter")
    page.page.wait_for_selector("#steps li")
    steps = _texts(page, "#steps li")
    assert "00000000000000000024.log is the last of 4 segments" in steps[0]
    page.page.wait_for_selector("#record h2 >> text=Record 30")
    assert "00000000000000000024.log" in page.page.inner_text(".summary h2")


def _find(page: Explorer, what: str, how: str, text: str) -> None:
    page.page.select_option("#what", what)
    page.page.select_option("#how", how)
    page.page.fill("#key", text)
    page.page.press("#key", "Enter")


def test_records_are_found_and_saved(page: Explorer, tmp_path: Path) -> None:
    """In all segments of a partition; what is saved are the lines that dump prints of them."""
    _folder(page, LOGS / "segments-0")
    page.ready()
    page.page.locator("#files .row:not(.folder)", has_text=".log").first.click()
    page.ready()
    dumped = [
        json.loads(line)
        for line in run("dump", "--format", "json", LOGS / "segments-0").stdout.splitlines()
    ]
    pattern = "[05]$"
    wanted = [one for one in dumped if str(one["key"])[-1:] in ("0", "5")]
    _find(page, "key", "regex", pattern)
    page.page.wait_for_selector("#hits .right")
    assert _texts(page, "#hits li button") == [f"offset {one['offset']}" for one in wanted]
    for name in ("json", "csv"):
        with page.page.expect_download() as waiting:
            page.page.click(f"#found-{name}")
        text = waiting.value.path().read_text("utf-8")
        rows: list[Any] = (
            [json.loads(line) for line in text.splitlines()]
            if name == "json"
            else list(csv.DictReader(text.splitlines()))
        )
        assert [int(row["offset"]) for row in rows] == [one["offset"] for one in wanted]
    page.page.click("#hits li button >> nth=-1")
    page.page.wait_for_selector(f"#record h2 >> text=Record {wanted[-1]['offset']}")
    _find(page, "key", "regex", "(")
    page.page.wait_for_selector(".trouble:has-text('no regular expression')")


HANGS = "(a+)+$"
"""An expression that takes for ever on some texts."""


def _hostile(path: Path, *keys: bytes) -> Path:
    """A segment with a record for each key, in batches of two."""
    records = [ks.Record(number, 0, key, b"v") for number, key in enumerate(keys)]
    pairs = [records[number : number + 2] for number in range(0, len(records), 2)]
    path.write_bytes(b"".join(map(ks.encode, pairs)))
    return path


def test_a_record_on_which_an_expression_hangs_is_left_out_and_named(
    page: Explorer, tmp_path: Path
) -> None:
    """Records after it are searched, and what was found is saved; of an edited file too."""
    keys = (b"aaa", b"b", b"a" * 64 + b"!", b"ba", b"b", b"a")
    page.open(_hostile(tmp_path / f"{NAME}.log", *keys))
    page.page.wait_for_selector("#batches .sizer .row")
    for edited in (False, True):
        if edited:
            page.choose("batches", 0)
            page.edit("partition_leader_epoch", "7")
            page.page.wait_for_selector("#save-file")
        _find(page, "key", "regex", HANGS)
        page.page.wait_for_selector("#not-searched")
        assert _texts(page, "#hits li button") == ["offset 0", "offset 3", "offset 5"]
        assert _texts(page, "#not-searched button") == ["offset 2"]
        assert "1 record not searched" in page.page.inner_text("#not-searched")
        with page.page.expect_download() as waiting:
            page.page.click("#found-json")
        lines = waiting.value.path().read_text("utf-8").splitlines()
        assert [json.loads(line)["offset"] for line in lines] == [0, 3, 5]
    page.page.click("#not-searched button")
    page.page.wait_for_selector("#record h2 >> text=Record 2")


def test_a_search_is_stopped_or_ends_by_itself(page: Explorer, tmp_path: Path) -> None:
    """It says which records it did not come to, in this file and after it."""
    keys = [b"a"] + [b"a" * 64 + b"!"] * 9
    for name in ("a-0", "b-0"):
        (tmp_path / "logs" / name).mkdir(parents=True)
        _hostile(tmp_path / "logs" / name / f"{NAME}.log", *keys)
    _folder(page, tmp_path / "logs")
    _overview(page)
    _find(page, "key", "regex", HANGS)
    page.page.click("#stop")
    page.page.wait_for_selector("#not-searched >> text=The search was stopped")
    text = page.page.inner_text("#not-searched")
    assert "10 records from offset 0 on" in text or "9 records from offset 1 on" in text
    assert "1 more file not searched" in text
    _find(page, "key", "regex", HANGS)
    page.page.wait_for_selector("#not-searched >> text=The search ended there")
    text = page.page.inner_text("#not-searched")
    slow = [f"offset {number}" for number in range(1, 6)]
    assert _texts(page, "#not-searched button") == slow
    assert "4 records from offset 6 on" in text
    assert "1 more file not searched" in text
    assert _texts(page, "#hits li button") == ["offset 0"]
    _find(page, "key", "equals", "a")
    page.page.wait_for_selector("#hits .right")
    assert _texts(page, "#hits li button") == ["offset 0", "offset 0"]
    assert page.page.locator("#not-searched").count() == 0


def test_from_a_record_to_its_marker(page: Explorer) -> None:
    _folder(page, LOGS / "transactions-0")
    page.ready()
    page.page.locator("#files .row:not(.folder)", has_text=".log").first.click()
    page.ready()
    page.page.click("#show-records")
    lines = [
        json.loads(line)
        for line in run("dump", "--format", "json", LOGS / "transactions-0").stdout.splitlines()
    ]
    for record in (one for one in lines if one["transactional"] and not one["control"]):
        page.page.fill("#place", str(record["offset"]))
        page.page.press("#place", "Enter")
        page.page.wait_for_selector(f"#record h2 >> text=Record {record['offset']}")
        marker = next(
            one
            for one in lines
            if one["control"]
            and one["offset"] > record["offset"]
            and one["producer_id"] == record["producer_id"]
        )
        kind = marker["control"]["type"]
        page.page.wait_for_selector(f"#marker >> text={kind} at offset {marker['offset']}")
    page.page.click("#marker")
    page.page.wait_for_selector(f"#record h2 >> text=Record {marker['offset']}")
    page.page.click("#transaction-first")
    page.page.wait_for_selector("#record h2")


def test_an_open_transaction_says_so(page: Explorer) -> None:
    _folder(page, LOGS / "transactions-open-0")
    page.ready()
    page.page.locator("#files .row:not(.folder)", has_text=".log").first.click()
    page.ready()
    page.page.click("#show-records")
    page.page.fill("#place", "8")
    page.page.press("#place", "Enter")
    page.page.wait_for_selector("#transaction >> text=open: no marker follows")


def test_a_legend_has_every_mark_of_the_lists(page: Explorer) -> None:
    page.open(LOGS / "plain-0" / f"{NAME}.log")
    legend = page.page.inner_text("#legend")
    page.page.keyboard.press("?")
    page.page.wait_for_selector("dialog[open] #marks")
    marks = page.page.inner_text("#marks")
    for mark in "TCA✓▲■⊢":
        assert mark in legend
        assert mark in marks


def test_a_file_that_becomes_shorter_is_said_so(browser: Browser, tmp_path: Path) -> None:
    """Not the number of an answer."""
    path = tmp_path / "plain-0" / f"{NAME}.log"
    shutil.copytree(LOGS / "plain-0", path.parent)
    with Server(Tree.of(path.parent), 0, served()) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            with explorer(browser, server.address) as page:
                page.ready()
                page.page.locator("#files .row:not(.folder)", has_text=".log").first.click()
                page.ready()
                last = page.rows("batches") - 1
                path.write_bytes(path.read_bytes()[:100])
                page.page.focus("#batches")
                page.page.keyboard.press("End")
                page.page.wait_for_selector(f"#batches-{last}[aria-selected=true]")
                page.page.wait_for_selector(".trouble >> text=The file became shorter")
                assert "416" not in page.page.inner_text("#app")
                page.wrong.clear()  # browsers print such an answer too
        finally:
            server.shutdown()
            thread.join()


def test_values_of_a_registry_are_decoded(page: Explorer) -> None:
    logs = Path(__file__).parents[1] / "values" / "data" / "confluent" / "logs"
    _folder(page, logs)
    _overview(page)
    _open(page, "people-copy-0")
    page.page.wait_for_selector("#all .message")
    _find(page, "value", "json", "age = 4")
    page.page.wait_for_selector("#looked >> text=6 keys and values as they are decoded")
    assert _texts(page, "#hits li button") == ["offset 4"]
    page.page.click("#raw")
    page.page.press("#key", "Enter")
    page.page.wait_for_selector("#looked >> text=as bytes")
    assert _texts(page, "#hits li button") == []
