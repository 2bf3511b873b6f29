"""The extension is optional, and its wheel is for every Python from 3.11 on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools.native.build import NoCompilerError, build

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def _wheel(tmp_path: Path, compiler: str) -> tuple[str, list[str]]:
    """Name and files of a wheel that is built as pip does it, from a copy of the sources."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    source = tmp_path / "source"
    source.mkdir()
    ignore = shutil.ignore_patterns("__pycache__", "*.so", "build")
    for name in ("kafkaspec", "generated", "spec"):
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=ignore)
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, source / name)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), "."]
    # As a user has it: CI=true would make the extension required.
    environment = {key: value for key, value in os.environ.items() if key != "CI"}
    environment |= {"CC": compiler} if compiler else {}
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True)
    if "No matching distribution" in done.stderr or "No module named pip" in done.stderr:
        pytest.skip("pip cannot fetch setuptools")
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return wheel.name, archive.namelist()


# The extension of an editable installation of the same project would be found as well.
_FORGET_THE_PROJECT = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in repr(finder).lower()]
"""
_VERSION = """
from kafkaspec.cli.main import main
main(["--version"])
"""
_ENCODE_AND_DECODE = """
import kafkaspec as ks
print(ks.decode(ks.encode([ks.Record(0, 1, None, b"v")]))[0].value)
"""


def _run(tmp_path: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Python with the unpacked wheel before everything else on its path."""
    environment = {key: value for key, value in os.environ.items() if key != "KAFKASPEC_CODEC"}
    environment["PYTHONPATH"] = str(tmp_path / "installed")
    command = [sys.executable, "-c", _FORGET_THE_PROJECT + code]
    return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)


def test_without_a_compiler_the_installation_succeeds(tmp_path: Path) -> None:
    _, files = _wheel(tmp_path, "/bin/false")
    assert "kafkaspec/codecs/native/codec.py" in files
    assert not [name for name in files if Path(name).name.startswith("_native.abi3")]
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as archive:
        archive.extractall(tmp_path / "installed")
    version = _run(tmp_path, _VERSION)
    assert ", codec python\n" in version.stdout
    assert "the native codec was not built" in version.stdout
    used = _run(tmp_path, _ENCODE_AND_DECODE)
    assert used.stdout == "b'v'\n"
    assert used.stderr.count("RuntimeWarning: the native codec was not built") == 1


def test_one_wheel_serves_every_python_from_3_11_on(tmp_path: Path) -> None:
    name, files = _wheel(tmp_path, "")
    assert "-cp311-abi3-" in name
    assert [name for name in files if Path(name).name.startswith("_native.abi3")]


def test_a_compiler_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/no/such/compiler")
    with pytest.raises(NoCompilerError, match="cannot run"):
        build(ROOT / "generated", tmp_path / "out.so")


def test_no_codec_library_is_linked() -> None:
    native = pytest.importorskip("kafkaspec._native")
    if shutil.which("ldd") is None:
        pytest.skip("no ldd")
    text = subprocess.run(["ldd", native.__file__], capture_output=True, text=True).stdout
    for library in ("libz", "liblz4", "libzstd", "libsnappy", "libisal"):
        assert library not in text


def test_the_core_does_not_know_python() -> None:
    for path in (ROOT / "generated" / "native").glob("*.[ch]"):
        assert "Python.h" not in path.read_text(encoding="utf-8"), path
