"""What is wrong with a built site is found; the whole site builds, where its tools are there."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest

from tests.pages import ROOT
from tests.serving import served
from tools.document.pages import PDF
from tools.site.check import check, external, unreachable

GOOD = {
    "index.html": '<h1 id="top">A</h1><a href="guide/find.html#by-time">x</a><a href="guide/">y',
    "guide/index.html": '<a href="../index.html#top">x</a><a href="#here">y</a><p id="here">z</p>',
    "guide/find.html": '<a name="by-time"></a><img src="../a%20b.png"><a href="https://a.org/b#c">',
    "404.html": '<a href="/nowhere.html">x</a>',
}


def site(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "a b.png").write_bytes(b"")
    return folder


def test_a_good_site_has_no_findings(tmp_path: Path) -> None:
    folder = site(tmp_path, GOOD)
    assert list(check(folder)) == []
    assert external(folder) == ["https://a.org/b"]


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        ('<a href="nowhere.html">x</a>', "is not there"),
        ('<a href="../../up.html">x</a>', "is not there"),
        ('<a href="guide/find.html#never">x</a>', "has no such anchor"),
        ('<a href="#never">x</a>', "has no such anchor"),
        ('<a href="http://a.org/">x</a>', "is not an https address"),
        ('<a href="https:///b">x</a>', "is not an https address"),
        ('<script src="https://cdn.example.org/x.js"></script>', "is loaded from another host"),
        ('<link rel="stylesheet" href="//fonts.example.org/x.css">', "is loaded from another host"),
        ('<img src="lost.png">', "is not there"),
        ('<iframe src="lost.html"></iframe>', "is not there"),
    ],
)
def test_a_bad_one_is_found(tmp_path: Path, part: str, problem: str) -> None:
    folder = site(tmp_path, GOOD | {"index.html": GOOD["index.html"] + part})
    (found,) = check(folder)
    assert found.startswith("index.html: <")
    assert found.endswith(problem)


@pytest.mark.slow
def test_hosts_are_asked_for_what_the_site_links() -> None:
    answers = {"/there": "200 OK", "/closed": "403 Forbidden", "/gone": "404 Not Found"}

    def application(asked: WSGIEnvironment, start: StartResponse) -> list[bytes]:
        start(answers[asked["PATH_INFO"]], [])
        return [b""]

    with served(application) as port:
        here = [f"http://127.0.0.1:{port}{path}" for path in answers]
        assert unreachable(here) == [f"{here[2]}: 404"]
    (problem,) = unreachable([here[0]])
    assert "refused" in problem


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    for module in ("mkdocs", "material", "typst"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"make docs installs {module}")
    if shutil.which("npm") is None:
        pytest.skip("make docs needs npm")
    done = subprocess.run(
        [sys.executable, "-m", "tools.site", "--into", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "formats" / "recordbatch.html").is_file()
    assert (tmp_path / "site" / "format" / PDF).read_bytes().startswith(b"%PDF-")
