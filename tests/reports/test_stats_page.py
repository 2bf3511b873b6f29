"""The page of ``stats``: one file that asks for nothing, and hostile names in it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("datasketches")
pytest.importorskip("jinja2")

import kafkaspec as ks
from kafkaspec.stats.charts import Bar, Chart
from tests.cli.helpers import golden, lines, run
from tests.reports.html import Page

HOSTILE = "<script>alert(1)<"
"""A folder cannot have a slash; the text is not closed."""


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log directory with damage, and names and keys of somebody who means harm."""
    place = tmp_path / "logs"
    for name in (f"{HOSTILE}-0", "a\u202eb\x1b[31m&amp;'\"-1"):
        shutil.copytree(golden("4.3.1", "codec-mixed-0"), place / name)
    with ks.SegmentWriter(place / "keys-0", sync=False) as writer:
        record = ks.Record(0, 1_700_000_000_000, b"<img src=x onerror=alert(2)>", b"v")
        writer.append_records([record] * 3, offsets="assign")
    damaged = next((place / f"{HOSTILE}-0").glob("*.log"))
    data = bytearray(damaged.read_bytes())
    data[-1] ^= 1
    damaged.write_bytes(data)
    return place


@pytest.mark.slow
def test_the_page_shows_the_figures_and_asks_for_nothing(logs: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    result = run("stats", logs, "--html", report, "--format", "json")
    assert result.exit_code == 1
    page = Page(report.read_bytes())
    total = lines(result)[-2]
    assert f"{total['records']:,}" in page.texts
    assert f"{total['errors']} could not be read." in page.text
    assert "checksum_mismatch" in page.text
    assert str(logs) in page.texts  # where it comes from
    assert any(each.startswith("kafkaspec stats ") and str(report) in each for each in page.texts)
    assert "onerror" not in page.text  # a key
    assert HOSTILE in page.text  # as text
    assert "\u202e" not in page.text
    assert "\\u202eb\\x1b[31m&amp;'\"-1" in page.text
    tables = [tag for tag, _ in page.tags].count("table")
    pictures = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert tables > len(pictures) > 5
    assert all(item["role"] == "img" and item["aria-label"] for item in pictures)
    result = run("stats", logs, "--html", report, "--show-keys", "--force")
    assert "<img src=x onerror=alert(2)>" in Page(report.read_bytes()).text


def test_a_report_appears_whole_or_not_at_all(logs: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    report.write_bytes(b"mine")
    assert run("stats", logs, "--html", report).exit_code == 2
    assert report.read_bytes() == b"mine"
    inside = logs / "keys-0" / "report.html"
    assert run("stats", logs, "--html", inside).exit_code == 2
    assert not inside.exists()
    assert run("stats", tmp_path / "nothing", "--html", tmp_path / "new.html").exit_code == 2


@pytest.mark.slow
def test_pictures_are_written_all_or_none(logs: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    place = tmp_path / "plots"
    assert run("stats", logs, "--plots", place).exit_code == 1
    names = {path.name for path in place.iterdir()}
    assert {"topics.png", "topics.svg", "growth.png", "record-sizes.svg"} <= names
    for path in place.iterdir():
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG")
        else:
            root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
            assert root.tag.endswith("svg")
            assert not [e for e in root.iter() if e.tag.endswith(("script", "image"))]
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    assert run("stats", logs, "--plots", place).exit_code == 2
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before


@pytest.mark.slow
def test_figures_of_charts_have_the_numbers_of_the_charts() -> None:
    pytest.importorskip("matplotlib")
    from kafkaspec.reports.drawing import drawn
    from kafkaspec.reports.plots import figure

    values = [0, 1, 5, 1024, 70_000]
    for is_series in (True, False):
        bars = tuple(Bar(f"$_{n}^", value, f"{value}") for n, value in enumerate(values))
        chart = Chart("c", "Title", "axis", "bytes", bars, is_series=is_series)
        axes = figure(chart).axes[0]
        sizes = [
            patch.get_height() if is_series else patch.get_width()  # type: ignore[attr-defined]
            for patch in axes.patches
        ]
        assert sizes == values
        drawing = drawn(chart)
        lengths = [mark.height if is_series else mark.width for mark in drawing.marks]
        assert lengths == sorted(lengths)
        assert all(0 <= mark.x <= mark.x + mark.width <= drawing.width for mark in drawing.marks)
        assert all(0 <= mark.y <= mark.y + mark.height <= drawing.height for mark in drawing.marks)


def test_axes_say_what_their_ticks_leave_out() -> None:
    """Ticks of one day have its hours, of one year its days; what they share is in the title."""
    from kafkaspec.reports.drawing import drawn

    def chart(*labels: str) -> Chart:
        bars = tuple(Bar(label, 1, "1") for label in labels)
        return Chart("records-rate", "Records a minute", "time (UTC)", "records a minute", bars)

    for labels, ticks, title in (
        (("2026-11-21 16:20", "2026-11-21 16:21"), ["16:20", "16:21"], "time (UTC), 2026-11-21"),
        (("2026-11-21 23:59", "2026-11-22 00:00"), ["11-21 23:59", "11-22 00:00"],
         "time (UTC), 2026"),
        (("2025-12-31 23:59", "2026-01-01 00:00"), ["2025-12-31 23:59", "2026-01-01 00:00"],
         "time (UTC)"),
        (("2026-01-01", "2026-01-02"), ["2026-01-01", "2026-01-02"], "time (UTC)"),
    ):  # fmt: skip
        drawing = drawn(chart(*labels))
        assert [tick.text for tick in drawing.x_ticks] == ticks
        assert (drawing.x_title, drawing.y_title) == (title, "records a minute")


def test_rates_are_by_a_time_in_which_something_happens() -> None:
    from kafkaspec.stats.charts import rate_unit

    for count, per, unit in ((3, 1000, "a second"), (3, 60_000, "a minute"),
                             (3, 3_600_000, "an hour"), (3, 86_400_000, "a day"),
                             (1, 10 * 86_400_000, "a day"), (0, 1, "a day")):  # fmt: skip
        assert rate_unit(count / per)[1] == unit


@pytest.mark.slow
def test_pages_without_the_extra_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    place = golden("4.3.1", "plain-0")
    result = run("stats", place, "--html", tmp_path / "report.html")
    assert result.exit_code == 2
    assert "pip install 'kafkaspec[html]'" in result.output
    assert not (tmp_path / "report.html").exists()
    assert run("stats", place).exit_code == 0
