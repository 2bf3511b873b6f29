"""Run the blocks of README and docs/: each command, each line of its output, each program.

The commands of a page run in one directory, one after the other; what a page calls ``/tmp/`` is
that directory. The programs of a page share one process, so that Spark starts once, but no names:
each can be copied as it stands.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from click import Context

from kafkaspec.analysis.changes import SegmentChange
from kafkaspec.broker.actions import BrokerAction
from kafkaspec.cli.commands.spark import spark_command
from kafkaspec.cli.main import main
from tests.pages import LINKED, PAGES, README, ROOT, Block, blocks, name
from tools import api

pytestmark = pytest.mark.slow

_LATE = "failed to connect back"
_STARTS = 5
"""Spark gives the planner of a stream ten seconds to start, which a busy machine may not keep."""
_RUN = """
import json, sys
for page, line, text in json.load(sys.stdin):
    exec(compile("\\n" * (line - 1) + text, page, "exec"), {"__name__": "__main__"})
"""
_EXIT_CODE = re.compile(r"# exit code (\d+)")
_README_LINES = 150
_LINK = re.compile(r"\]\((?!https?://)([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def parameters(language: str) -> Iterator[object]:
    """Pages with such blocks; those that start Spark, apart and with its marker."""
    for page in PAGES:
        found = blocks(page, language)
        for needs_spark in (False, True):
            chosen = [block for block in found if block.needs_spark is needs_spark]
            marks = [pytest.mark.spark] if needs_spark else []
            if chosen:
                id_ = f"{name(page)}{' with Spark' if needs_spark else ''}"
                yield pytest.param(chosen, marks=marks, id=id_)


@pytest.fixture
def environment(request: pytest.FixtureRequest) -> dict[str, str]:
    if request.node.get_closest_marker("spark") and shutil.which("java") is None:
        pytest.skip("Spark needs Java 17 or newer")
    # The console script of the environment that runs the tests, whatever it is called.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "COLUMNS": "160", "SPARK_LOCAL_IP": "127.0.0.1"}


def steps(shown: Iterable[Block]) -> Iterator[tuple[str, str, list[str]]]:
    """Places, commands and the lines that the page shows of their output."""
    for block in shown:
        found: list[tuple[str, str, list[str]]] = []
        for number, line in enumerate(block.text.splitlines(), block.line):
            if line.startswith("$ "):
                found.append((f"{block.page}:{number}", line[2:], []))
            elif line != "...":
                found[-1][2].append(line)
        yield from found


@pytest.mark.parametrize("shown", list(parameters("console")))
def test_commands(shown: list[Block], environment: dict[str, str], tmp_path: Path) -> None:
    for place, command, lines in steps(shown):
        code = _EXIT_CODE.search(command)
        run = command.replace("/tmp/", f"{shlex.quote(str(tmp_path))}/")
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", run],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        printed = done.stdout.replace(str(tmp_path), "/tmp")
        said = f"{place}: {command}\n{printed}{done.stderr}"
        assert done.returncode == (int(code[1]) if code else 0), said
        missing = [line for line in lines if line.rstrip() not in printed]
        assert not missing, said


@pytest.mark.parametrize("shown", list(parameters("python")))
def test_programs(shown: list[Block], environment: dict[str, str], tmp_path: Path) -> None:
    programs = [
        (block.page, block.line, block.text.replace("/tmp/", f"{tmp_path}/")) for block in shown
    ]
    for _ in range(_STARTS):
        done = subprocess.run(
            [sys.executable, "-c", _RUN],
            input=json.dumps(programs),
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )
        if _LATE not in done.stderr:
            break
    assert done.returncode == 0, done.stderr


def test_readme_is_a_front_page() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= _README_LINES


def test_the_make_targets_exist() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in LINKED)
    targets = set(re.findall(r"^(?:\$ )?make ([a-z-]+)|`make ([a-z-]+)", text, re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets
    assert [a or b for a, b in targets if f"\n{a or b}:" not in makefile] == []


@pytest.mark.parametrize("page", LINKED, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    wrong = []
    for link in _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8"))):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(link)
    assert wrong == []


def anchors(page: Path) -> set[str]:
    """Names that a link to a page can have after ``#``, as GitHub makes them."""
    text = page.read_text(encoding="utf-8")
    found = set(re.findall(r'<a id="([^"]+)">', text))
    for heading in re.findall(r"^#+ +(.+)$", text, re.MULTILINE):
        words = re.sub(r"<[^>]*>|[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "]", heading).lower())
        found.add(words.strip().replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", [page for page in PAGES if page != README], ids=name)
def test_every_page_can_be_reached(page: Path) -> None:
    linked: set[Path] = set()
    todo = [README]
    while todo:
        here = todo.pop()
        if here in linked or here.suffix != ".md" or not here.is_file():
            continue
        linked.add(here)
        for link in _LINK.findall(here.read_text(encoding="utf-8")):
            todo.append(
                (here.parent / link.partition("#")[0]).resolve() if link[0] != "#" else here
            )
    assert page in linked


def test_the_pages_about_the_api_are_made_from_its_docstrings() -> None:
    made = api.pages()
    there = {path.relative_to(api.DOCS).as_posix() for path in (api.DOCS / "api").glob("*")}
    assert {"api.md", *there} == made.keys()
    for place, text in made.items():
        assert (api.DOCS / place).read_text(encoding="utf-8") == text, place
        assert len(text) < 40_000, f"nobody reads all of {place}"


def test_the_guide_lists_every_action_of_a_broker_and_change_of_a_segment() -> None:
    text = (ROOT / "docs" / "guide" / "verify.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert sorted(listed) == sorted([*BrokerAction, *SegmentChange])


def test_the_guide_shows_every_command() -> None:
    shown = "\n".join(
        block.text
        for page in PAGES
        for block in blocks(page, "console")
        if block.page.startswith("docs/guide/")
    )
    missing = [
        name for name in main.list_commands(Context(main)) if f"kafkaspec {name} " not in shown
    ]
    assert missing == []


def test_the_guide_lists_every_job_of_spark() -> None:
    text = (ROOT / "docs" / "guide" / "spark.md").read_text(encoding="utf-8")
    jobs = spark_command.list_commands(Context(spark_command))
    assert jobs
    assert [name for name in jobs if f"| `{name}" not in text] == []


def test_every_folder_of_the_library_is_described() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    folders = {path.parent.name for path in (ROOT / "kafkaspec").glob("[a-z]*/__init__.py")}
    assert [name for name in sorted(folders) if f"{name}/`" not in text] == []
