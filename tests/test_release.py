"""Files of a release: workflows, forms, recipes of other package managers, equal bytes."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("packaging", reason="comes with pytest")
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import kafkaspec as ks
from tools.release.lint import CHECKS, Check, command, run
from tools.release.normal import normalise

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORM = ROOT / ".github" / "ISSUE_TEMPLATE" / "damaged-log.yml"
GOLDEN = ROOT / "tests" / "golden" / "4.4.0" / "logs"
_CONDA = {"xxhash": "python-xxhash", "isal": "python-isal"}


def text(path: Path | str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: " ".join((check.tool, *check.options)))
def test_linters(check: Check) -> None:
    found = command(check.tool)
    if found is None:
        pytest.skip(f"there is no {check.tool}: make check-release brings it")
    done = run(check, found)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_are_pinned_and_may_do_little(path: Path) -> None:
    used = re.findall(r"uses: (?!\./)(\S+)(.*)", text(path))
    assert [use for use, note in used if not re.search(r"@[0-9a-f]{40}$", use)] == []
    assert [use for use, note in used if not re.fullmatch(r" # v[0-9.]+", note)] == []
    assert "\npermissions: {}\n" in text(path)
    for folder, script in re.findall(r"(\.ci|tools/setup)/(\w+)", text(path)):
        assert list((ROOT / folder).glob(f"{script}*"))
    for target in re.findall(r"\bmake ([a-z-]+)", text(path)):
        assert f"\n{target}:" in text("Makefile")


def test_files_of_the_wheels_are_there() -> None:
    settings = text("pyproject.toml").partition("[tool.cibuildwheel]")[2].partition("[tool.tow")[0]
    named = re.findall(r"\{project\}/([\w./-]+)", settings)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.slow
def test_the_commands_of_the_form_about_damaged_logs(tmp_path: Path) -> None:
    """They run on a damaged log, and what they write has no key and no value."""
    (shown,) = re.findall(r"```sh\n(.*?)```", text(FORM), re.DOTALL)
    logs = tmp_path / "logs"
    shutil.copytree(GOLDEN / "plain-0", logs / "plain-0")
    segment = next((logs / "plain-0").glob("*.log"))
    data = bytearray(segment.read_bytes())
    contents = {
        part
        for record in ks.open(segment).records()
        for part in (record.key, record.value)
        if part and len(part) > 5  # not just a word
    }
    data[100] ^= 1
    segment.write_bytes(data)
    for line in shown.split("\n")[:-1]:
        words = line.strip().replace("kafkaspec", f"{sys.executable} -m kafkaspec", 1)
        words = words.replace("/path/to/kafka-logs", str(logs))
        done = subprocess.run(words, shell=True, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 1, done.stderr
    findings = (tmp_path / "findings.jsonl").read_text(encoding="utf-8")
    assert "checksum_mismatch" in findings
    made = [path for path in (tmp_path / "redacted").rglob("*") if path.is_file()]
    assert made
    for path in [tmp_path / "findings.jsonl", tmp_path / "doctor.jsonl", *made]:
        held = path.read_bytes()
        assert [part for part in contents if part in held] == [], path


def test_versions_agree() -> None:
    assert f"\nversion: {ks.__version__}\n" in text("CITATION.cff")
    assert f"kafkaspec-{ks.__version__}.tar.gz" in text("packaging/homebrew/kafkaspec.rb")
    assert f'version: "{ks.__version__}"' in text("packaging/conda/recipe.yaml")


def test_recipes_need_what_the_package_needs() -> None:
    wanted = {}
    for line in PROJECT["project"]["dependencies"]:
        requirement = Requirement(line)
        name = _CONDA.get(requirement.name, requirement.name)
        wanted[name] = requirement.specifier
    recipe = text("packaging/conda/recipe.yaml").partition("  run:\n")[2].partition("\ntests:")[0]
    conda = {
        name: SpecifierSet(versions)
        for name, versions in re.findall(r"(?:- |then: )([\w-]+) ([<>=][^\n]+)", recipe)
    }
    assert conda.pop("python") == SpecifierSet(PROJECT["project"]["requires-python"])
    assert conda == wanted
    listed = re.search(r"^  # (click.*)$", text("packaging/homebrew/kafkaspec.rb"), re.MULTILINE)
    assert listed
    assert [_CONDA.get(name, name) for name in listed[1].split(", ")] == list(wanted)
    copied = re.findall(r"^!(\S+)$", text(".dockerignore"), re.MULTILINE)
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_archives_are_equal_once_they_are_normal(tmp_path: Path) -> None:
    made: dict[str, set[bytes]] = {".whl": set(), ".tar.gz": set()}
    for number, order in enumerate(
        [("b", "a.dist-info/RECORD", "a"), ("a", "b", "a.dist-info/RECORD")]
    ):
        wheel, sdist = tmp_path / f"{number}.whl", tmp_path / f"{number}.tar.gz"
        with zipfile.ZipFile(wheel, "w") as archive, tarfile.open(sdist, "w:gz") as packed:
            for name in order:
                item = zipfile.ZipInfo(name, (2000 + number, 1, 1, 0, 0, 0))
                item.external_attr = (0o664, 0o644)[number] << 16
                archive.writestr(item, name)
                member = tarfile.TarInfo(name)
                member.size, member.mtime, member.uid, member.uname = (
                    len(name),
                    time.time(),
                    number,
                    str(number),
                )
                packed.addfile(member, io.BytesIO(name.encode()))
        for path in (wheel, sdist):
            normalise(path, 1_600_000_000)
            made[path.name.partition(".")[1] + path.name.partition(".")[2]].add(path.read_bytes())
        with zipfile.ZipFile(wheel) as archive:
            assert archive.namelist() == ["a", "b", "a.dist-info/RECORD"]
            assert archive.read("a") == b"a"
    assert {name: len(each) for name, each in made.items()} == {".whl": 1, ".tar.gz": 1}
