"""The programs of the guide in other languages print what our own reader reads."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import kafkaspec as ks
from tests.pages import ROOT
from tools.brokers.maven import ToolError, cache_root, resolve_artifacts
from tools.conformance.kaitai import JAVA_RUNTIME
from tools.specgen.kaitai.emit import CompilerMissing, compiler_jars, java_command

GUIDE = ROOT / "docs" / "guide" / "languages.md"
LOG = ROOT / "tests" / "golden" / "4.4.0" / "logs" / "headers-0" / "00000000000000000000.log"


class Language(NamedTuple):
    """How the guide shows a language.

    Attributes:
        fence: name of its blocks.
        file: its program.
        tools: what has to be there.
        runtime: a command that succeeds where the runtime is there that no command of the guide
            fetches.
    """

    fence: str
    file: str
    tools: tuple[str, ...]
    runtime: str = "true"


LANGUAGES = (
    Language("java", "Read.java", ("java", "javac", "mvn")),
    Language("javascript", "read.js", ("java", "node", "npm")),
    Language("go", "main.go", ("java", "go")),
    Language("ruby", "read.rb", ("java", "ruby"), "ruby -e 'require \"kaitai/struct/struct\"'"),
    Language(
        "cpp",
        "read.cpp",
        ("java", "g++"),
        "echo '#include <kaitai/kaitaistream.h>' | g++ -fsyntax-only -x c++ -",
    ),
    Language("csharp", "Read.cs", ("java", "mcs"), '[ -e "$MONO_PATH/Kaitai.Struct.Runtime.dll" ]'),
)


READERS = {"C": "cc", "Rust": "cargo"}
"""Headings of the readers that are made here, with the tool that each of them needs."""


def program(fence: str) -> tuple[str, str]:
    """Return the commands and the program that the guide shows."""
    text = GUIDE.read_text(encoding="utf-8")
    found = re.findall(rf"^```sh\n((?:[^`\n]+\n)+)```\n\n```{fence}\n(.*?)^```$", text, re.M | re.S)
    assert len(found) == 1, fence
    commands, source = found[0]
    return commands, source


def test_the_guide_has_no_other_program() -> None:
    fences = re.findall(r"^```(\w+)$", GUIDE.read_text(encoding="utf-8"), re.M)
    made = ["sh"] * (len(READERS) + 1)  # and Go
    assert fences == [*made, *(name for language in LANGUAGES for name in ("sh", language.fence))]


@pytest.mark.slow
@pytest.mark.parametrize(("heading", "tool"), READERS.items())
def test_the_commands_of_our_readers_print_the_records(
    heading: str, tool: str, tmp_path: Path
) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"there is no {tool}")
    text = GUIDE.read_text("utf-8")
    found = re.search(rf"^## {heading}\n.*?^```sh\n(.*?)^```$", text, re.M | re.S)
    assert found
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "OUT": str(tmp_path), "LOG": str(LOG)}
    environment["CARGO_TARGET_DIR"] = str(ROOT / "build" / "readers" / "rust")
    done = run(found[1], environment, ROOT)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if re.match(r"\d+ \d+ key=", line)]
    wanted = [f"{record.offset} {record.timestamp} key=" for record in ks.open(LOG).records()]
    assert [line[: len(start)] for line, start in zip(lines, wanted, strict=True)] == wanted


@pytest.mark.slow
def test_the_commands_for_go_test_the_module(tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("there is no go")
    found = re.search(r"^## Go\n.*?^```sh\n(.*?)^```$", GUIDE.read_text("utf-8"), re.M | re.S)
    assert found
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = run(found[1], os.environ | {"PATH": path, "OUT": str(tmp_path)}, ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return variables that the guide names, and a command as the compiler is called there."""
    folder = tmp_path_factory.mktemp("compiler")
    try:
        jars = os.pathsep.join(str(jar) for jar in compiler_jars())
        command = shlex.join([java_command(), "-cp", jars, "io.kaitai.struct.JavaMain"])
        runtime = resolve_artifacts(cache_root() / "kaitai-struct-runtime", [JAVA_RUNTIME])
    except (CompilerMissing, ToolError) as error:
        pytest.skip(str(error))
    compiler = folder / "kaitai-struct-compiler"
    compiler.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    compiler.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {
        "PATH": path,
        "SPEC": str(ROOT / "spec"),
        "LOG": str(LOG),
        "JARS": str(runtime),
    }


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.fence)
def test_the_program_prints_the_keys(
    language: Language, environment: dict[str, str], tmp_path: Path
) -> None:
    for tool in language.tools:
        if shutil.which(tool) is None:
            pytest.skip(f"there is no {tool}")
    if run(language.runtime, environment, tmp_path).returncode:
        pytest.skip(f"there is no runtime of Kaitai Struct for {language.fence}")
    commands, source = program(language.fence)
    (tmp_path / language.file).write_text(source, encoding="utf-8")
    done = run(commands, environment, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    printed = [line for line in done.stdout.splitlines() if re.match(r"\d+ ", line)]
    wanted = [
        f"{batch.base_offset} {(record.key or b'').decode()}"
        for batch in ks.open(LOG).batches()
        for record in batch.records()
    ]
    assert len(wanted) > 5
    assert printed == wanted


def run(
    commands: str, environment: dict[str, str], folder: Path
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-e", "-c", commands],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
