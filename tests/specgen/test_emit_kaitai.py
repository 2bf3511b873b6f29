"""The official compiler: found, or its absence is said; its output is what is checked in."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tools.specgen import driver
from tools.specgen.document import SpecError
from tools.specgen.kaitai import emit as emit_kaitai
from tools.specgen.loader import load
from tools.specgen.output import Output

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "spec"

_SMALL = """\
meta:
  id: small
  ks-version: '0.11'
  endian: be
params:
  - id: base
    type: s8
seq:
  - id: {size}
    type: s4
    valid:
      min: 0
  - id: body
    size: {size}
"""


def compiler_or_skip() -> None:
    """Skip where the compiler cannot be had, except in CI, which must not skip."""
    try:
        emit_kaitai.java_command()
        emit_kaitai.compiler_jars()
    except emit_kaitai.CompilerMissing as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def outputs() -> list[Output]:
    compiler_or_skip()
    return emit_kaitai.emit(load(SPEC), SPEC)


def test_every_specification_gives_a_module(outputs: list[Output]) -> None:
    expected = {f"kaitai/{path.stem}.py" for path in SPEC.rglob("*.ksy")} | {"kaitai/__init__.py"}
    assert {output.path for output in outputs} == expected


def test_checked_in_classes_are_what_the_compiler_makes(outputs: list[Output]) -> None:
    model = load(SPEC)
    hashes = driver.spec_hashes(SPEC, model)
    for output in outputs:
        text = "\n".join(f"# {line}" for line in driver.header(output, model, hashes))
        expected = f"{text}\n\n{output.text}"
        assert (ROOT / "generated" / output.path).read_text(encoding="utf-8") == expected


def test_a_second_run_gives_the_same_bytes(outputs: list[Output]) -> None:
    assert emit_kaitai.emit(load(SPEC), SPEC) == outputs


def test_modules_import_one_another_relatively(outputs: list[Output]) -> None:
    texts = {output.path: output.text for output in outputs}
    assert "\nfrom . import varint\n" in texts["kaitai/recordbatch.py"]
    assert not any("kafkaspec" in text for text in texts.values())


def test_no_path_of_a_machine_and_no_blank_at_the_end_of_a_line(outputs: list[Output]) -> None:
    for output in outputs:
        assert str(ROOT) not in output.text
        assert "/tmp/" not in output.text
        assert [line for line in output.text.split("\n") if line != line.rstrip()] == []


def test_read_write_classes_with_positions(outputs: list[Output]) -> None:
    text = next(output.text for output in outputs if output.path == "kaitai/recordbatch.py")
    assert "ReadWriteKaitaiStruct" in text
    assert "_debug" in text


def test_a_warning_of_the_compiler_is_an_error(tmp_path: Path) -> None:
    compiler_or_skip()
    directory = tmp_path / "spec"
    directory.mkdir()
    path = directory / "small.ksy"
    path.write_text(_SMALL.format(size="len_body"), encoding="utf-8")
    emit_kaitai.compile_specs(directory, tmp_path / "good")
    assert (tmp_path / "good" / "small.py").exists()
    path.write_text(_SMALL.format(size="weight"), encoding="utf-8")
    with pytest.raises(SpecError, match=r"small\.ksy: /seq/0/id:\s+warning: use `len_body`"):
        emit_kaitai.compile_specs(directory, tmp_path / "bad")


def test_a_mistake_in_the_specification_is_an_error(tmp_path: Path) -> None:
    compiler_or_skip()
    directory = tmp_path / "spec"
    directory.mkdir()
    text = _SMALL.format(size="len_body").replace("type: s4", "type: s5")
    (directory / "small.ksy").write_text(text, encoding="utf-8")
    with pytest.raises(SpecError, match="unable to find type 's5'"):
        emit_kaitai.compile_specs(directory, tmp_path / "out")


def test_no_java_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(emit_kaitai.CompilerMissing, match="install a Java runtime"):
        emit_kaitai.emit(load(SPEC), SPEC)


def test_java_home_comes_before_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text("#!/bin/sh\n", encoding="utf-8")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert emit_kaitai.java_command() == str(java)


def test_no_maven_is_said_when_the_cache_is_empty(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KAFKASPEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(emit_kaitai.CompilerMissing, match="install Apache Maven"):
        emit_kaitai.compiler_jars()


def test_no_maven_is_needed_when_the_cache_is_full(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KAFKASPEC_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    home = tmp_path / f"kaitai-struct-compiler-{emit_kaitai.COMPILER_VERSION}"
    home.mkdir()
    (home / "compiler.jar").touch()
    assert emit_kaitai.compiler_jars() == [home / "compiler.jar"]


def test_a_failed_fetch_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    tools = tmp_path / "bin"
    tools.mkdir()
    maven = tools / "mvn"
    maven.write_text("#!/bin/sh\necho '[ERROR] no route to host'\nexit 1\n", encoding="utf-8")
    maven.chmod(0o755)
    monkeypatch.setenv("KAFKASPEC_CACHE", str(cache))
    monkeypatch.setenv("PATH", str(tools))
    with pytest.raises(emit_kaitai.CompilerMissing, match="no route to host"):
        emit_kaitai.compiler_jars()
    assert list(cache.iterdir()) == []


def test_four_that_need_the_compiler_at_once_fetch_it_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls, maven = tmp_path / "calls", tmp_path / "bin" / "mvn"
    maven.parent.mkdir()
    maven.write_text(
        f"#!/bin/sh\necho called >>{calls}\nsleep 0.3\n"
        "for argument; do home=${argument#-DoutputDirectory=}; done\n"
        'mkdir "$home"\ntouch "$home/kaitai-struct-compiler_2.13-0.jar"\n',
        encoding="utf-8",
    )
    maven.chmod(0o755)
    monkeypatch.setenv("KAFKASPEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{maven.parent}{os.pathsep}{os.environ['PATH']}")
    with ThreadPoolExecutor(4) as four:
        found = [four.submit(emit_kaitai.compiler_jars) for _ in range(4)]
    assert {len(each.result()) for each in found} == {1}
    assert calls.read_text(encoding="utf-8") == "called\n"


def test_arguments_that_the_adapter_cannot_compute_are_refused(tmp_path: Path) -> None:
    text = _SMALL.format(size="len_body") + (
        "  - id: inner\n    type: inner(base + 1)\n"
        "types:\n  inner:\n    params:\n      - id: base\n        type: s8\n"
    )
    (tmp_path / "small.ksy").write_text(text, encoding="utf-8")
    compiler_or_skip()
    with pytest.raises(SpecError, match=r"small\.ksy#/seq/2: an argument or switch-on must be"):
        emit_kaitai.emit(load(tmp_path), tmp_path)
