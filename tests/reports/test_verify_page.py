"""The page of ``verify``: its findings, the pictures of files, and hostile names in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("numpy")
pytest.importorskip("pyarrow")

import kafkaspec as ks
from tests.cli.helpers import golden, lines, run
from tests.reports.html import Page

HOSTILE = "<b onclick=x>\u202e&-0"


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A log directory with two wrong bytes, and a name that means harm."""
    place = tmp_path / "logs"
    shutil.copytree(golden("2.8.2", "plain-0"), place / HOSTILE)
    shutil.copytree(golden("2.8.2", "segments-0"), place / "segments-0")
    (place / "other.txt").write_bytes(b"not Kafka's")
    (path,) = (place / HOSTILE).glob("*.log")
    data = bytearray(path.read_bytes())
    data[9150] ^= 1
    data[12150] ^= 1
    path.write_bytes(data)
    return place


@pytest.mark.slow
def test_the_page_has_findings_and_pictures(damaged: Path, tmp_path: Path) -> None:
    report = tmp_path / "verify.html"
    plain, result = run("verify", damaged), run("verify", damaged, "--html", report)
    assert (result.exit_code, result.stdout) == (plain.exit_code, plain.stdout) == (1, plain.stdout)
    page = Page(report.read_bytes())
    found = ks.verify(damaged)
    for finding in found.findings:
        assert finding.message in page.text
        assert finding.reader in page.text
        assert finding.broker in page.text
    assert "Verification: not clean" in page.texts
    assert str(damaged) in page.texts  # where it comes from
    assert any(each.startswith("kafkaspec verify ") for each in page.texts)
    assert f"{found.totals.records:,}" in page.texts
    assert "other.txt" in page.text
    assert "\u202e" not in page.text
    assert "<b onclick=x>\\u202e&-0" in page.text
    cut = next(f.entry for f in found.findings if f.action == "cuts_log")
    size = next((damaged / HOSTILE).glob("*.log")).stat().st_size
    titles = {text for text in page.texts if text.startswith("cut off from byte")}
    assert titles == {f"cut off from byte {cut:,} on"}
    striped = [tag for _, tag in page.tags if str(tag.get("fill", "")).startswith("url(#")]
    (area,) = striped
    assert float(area["x"] or 0) == pytest.approx(640 * (cut or 0) / size, abs=0.01)
    assert float(area["x"] or 0) + float(area["width"] or 0) == pytest.approx(640)


@pytest.mark.slow
def test_json_and_quiet_stay_what_they_are(damaged: Path, tmp_path: Path) -> None:
    for options in (["--format", "json"], ["-q"], ["-q", "--format", "json"]):
        report = tmp_path / "verify.html"
        plain = run("verify", damaged, *options)
        result = run("verify", damaged, *options, "--html", report, "--force")
        assert (result.exit_code, result.stdout) == (1, plain.stdout), options
        page = Page(report.read_bytes())
        assert "segments-0" in page.text  # a file without a finding


@pytest.mark.slow
def test_a_clean_log_and_one_that_is_not_there(tmp_path: Path) -> None:
    report = tmp_path / "verify.html"
    place = golden("2.8.2", "segments-0")
    assert run("verify", place, "--html", report).exit_code == 0
    page = Page(report.read_bytes())
    assert "Neither errors nor warnings." in page.texts
    assert "svg" not in {tag for tag, _ in page.tags}
    result = run("verify", place, tmp_path / "<gone>", "--html", report, "--force")
    assert result.exit_code == 2
    assert "Verification: not clean" in Page(report.read_bytes()).texts
    assert "<gone>" in Page(report.read_bytes()).text
    assert run("verify", place, "--html", place / "r.html").exit_code == 2
    assert not (place / "r.html").exists()


@pytest.mark.slow
def test_many_findings_are_counted(tmp_path: Path) -> None:
    place = tmp_path / "x-0"
    records = [ks.Record(0, 1000, b"k", b"v")]
    with ks.SegmentWriter(place, sync=False) as writer:
        for _ in range(400):
            writer.append_records(records, offsets="assign")
    (path,) = place.glob("*.log")
    data = bytearray(path.read_bytes())
    size = len(data) // 400
    for number in range(0, 400, 2):
        data[number * size + size - 1] ^= 1
    path.write_bytes(data)
    report = tmp_path / "verify.html"
    result = run("verify", place, "--html", report, "--format", "json")
    counts = [row for row in lines(result) if row.get("reason") == "checksum_mismatch"]
    page = Page(report.read_bytes())
    assert f"{len(counts) - 1} of this kind in the same file" in page.text
    marks = [tag for name, tag in page.tags if name == "rect" and tag.get("class") == "bad"]
    assert len(marks) <= 202
