"""What notebooks show of logs, batches and reports is what ``dump`` prints, and is harmless."""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys
from collections import defaultdict
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jinja2")

import kafkaspec as ks
from kafkaspec.columns.value_text import bytes_text
from kafkaspec.provider import InNotebook
from kafkaspec.reports.notebook import MOST_SHOWN
from kafkaspec.reports.page import time_of
from tests.cli.helpers import golden, lines, run
from tests.goldens import GOLDEN

_DUMP = "dump", "--no-decode", "--log-start", "ignore", "--format", "json"
_HOSTILE = "<script>alert(1)</script>\u202e"


class _Tables(HTMLParser):
    """The tables of some HTML, each a list of rows by column, and all other text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[dict[str, str]] = []
        self.others = ""
        self.tags: set[str] = set()
        self._columns: list[str] = []
        self._cells: list[str] = []
        self._in = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag in ("th", "td"):
            self._in = tag
            self._cells.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("th", "td"):
            self._in = ""
        if tag == "tr":
            if self._columns:
                self.rows.append(dict(zip(self._columns, self._cells, strict=True)))
            else:
                self._columns = self._cells
            self._cells = []

    def handle_data(self, data: str) -> None:
        if self._in:
            self._cells[-1] += data
        else:
            self.others += data


def _shown(shown: Any) -> _Tables:
    assert isinstance(shown, InNotebook)
    text = shown._repr_html_()
    assert text is not None
    found = _Tables(text)
    assert not found.tags & {"script", "style", "link", "img", "iframe"}
    return found


def _cell(name: str, value: Any) -> str:
    """What a table shows of a value in a line of ``dump``."""
    if name.endswith("timestamp"):
        return time_of(value)
    if name in ("key", "value"):
        if isinstance(value, dict):
            return bytes_text(base64.b64decode(value["base64"]))
        return bytes_text(None if value is None else value.encode())
    return "-" if value is None else str(value)


@pytest.mark.slow
def test_segments_and_batches_are_those_of_dump() -> None:
    """Compares 100 golden segments and more, of each magic."""
    compared = 0
    for version in ("0.8.2.2", "0.10.2.2", "2.8.2", "4.4.0"):
        logs = GOLDEN / version / "logs"
        batches, records = defaultdict(list), defaultdict(list)
        for line in lines(run(*_DUMP, "--batches", logs)):
            batches[line.get("file")].append(line)
        for line in lines(run(*_DUMP, logs)):
            records[line.get("file")].append(line)
        for file, wanted in batches.items():
            if file is None:
                continue  # the summary
            with ks.Segment(file) as segment:
                found = _shown(segment)
                assert len(found.rows) == min(len(wanted), MOST_SHOWN), file
                for row, line in zip(found.rows, wanted, strict=False):
                    assert row == {name: _cell(name, line[name]) for name in row}, file
                assert ("and more" in found.others) == (len(wanted) > MOST_SHOWN)
                for batch in islice(segment, 3):
                    rows = [each for each in records[file] if each["position"] == batch.position]
                    shown = _shown(batch).rows
                    assert len(shown) == min(len(rows), MOST_SHOWN)
                    for row, line in zip(shown, rows, strict=False):
                        del row["headers"]
                        assert row == {name: _cell(name, line[name]) for name in row}, file
            compared += 1
    assert compared >= 100


@pytest.mark.slow
def test_partitions_directories_and_reports_are_shown() -> None:
    logs = golden("4.4.0", "segments-0").parent
    with ks.LogDirectory(logs) as directory:
        found = _shown(directory)
        assert len(found.rows) == min(len(directory.partitions), MOST_SHOWN)
        left = len(directory.partitions) - MOST_SHOWN
        assert f"... and {left} more" in found.others
        partition = next(item for item in directory.partitions if item.path.name == "segments-0")
        names = [row["file"] for row in _shown(partition).rows]
        assert names == [path.name for path in partition.segment_paths]
    report = ks.verify(logs)
    found = _shown(report)
    assert f"{report.totals.records:,} records" in found.others
    assert len(found.rows) == min(len(report.findings), MOST_SHOWN)


def test_hostile_text_is_text(tmp_path: Path) -> None:
    made = ks.encode([ks.Record(0, 0, _HOSTILE.encode(), b"<img src=x>", ((_HOSTILE, b"<b>"),))])
    place = tmp_path / "<b onclick=x>\u202e-0"
    place.mkdir()
    path = place / f"{0:020d}.log"
    path.write_bytes(made)
    with ks.open(place) as log:
        for shown in (log, next(log.batches()), ks.verify(place)):
            found = _shown(shown)
            assert "\u202e" not in found.others
            assert not any("\u202e" in cell for row in found.rows for cell in row.values())
    with ks.Segment(path) as segment:
        (row,) = _shown(next(segment.batches())).rows
    assert row["key"] == bytes_text(_HOSTILE.encode())
    assert "<script>" in row["key"]


def test_damage_is_said_and_not_raised(tmp_path: Path) -> None:
    (source,) = golden("4.4.0", "plain-0").glob("*.log")
    path = Path(shutil.copy(source, tmp_path / f"{0:020d}.log"))
    data = bytearray(path.read_bytes())
    with ks.Segment(path) as segment:
        batches = list(segment)
    data[batches[1].position + 8 : batches[1].position + 12] = b"\xff\xff\xff\xff"
    data[batches[0].position + 70] ^= 0xFF
    path.write_bytes(data)
    with ks.Segment(path, tail="raise") as segment:
        found = _shown(segment)
        assert len(found.rows) == 1
        assert "Not read:" in found.others
        assert f"at byte {batches[1].position + 8} " in found.others
        assert "Not read:" in _shown(next(segment.batches())).others


@pytest.mark.slow
def test_without_the_extra_it_is_text() -> None:
    program = """
import sys
sys.modules["jinja2"] = None
import kafkaspec as ks
assert ks.Segment(b"")._repr_html_() is None
"""
    subprocess.run([sys.executable, "-c", program], check=True)
