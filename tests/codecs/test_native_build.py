"""The extension is optional; ``tests/test_packages.py`` has the wheel with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kafkaspec.extension import WITHOUT
from kafkaspec.libraries import LIBRARIES, libraries
from tools.native.build import NAME, NoCompilerError, build

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
_WITHOUT_BUILD = shutil.ignore_patterns("__pycache__", "*.so", "build")


def _wheel(tmp_path: Path, compiler: str) -> list[str]:
    """The files of a wheel that is built as pip does it, from a copy of the sources."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    source = tmp_path / "source"
    source.mkdir()
    for name in ("kafkaspec", "generated", "spec"):
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=_WITHOUT_BUILD)
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, source / name)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "."]
    command += ["-w", str(tmp_path)]
    # As a user has it: CI=true would make the extension required.
    environment = {key: value for key, value in os.environ.items() if key != "CI"}
    environment |= {"CC": compiler}
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True)
    if "No matching distribution" in done.stderr or "No module named pip" in done.stderr:
        pytest.skip("pip cannot fetch setuptools")
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


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
    files = _wheel(tmp_path, "/bin/false")
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


def test_a_compiler_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/no/such/compiler")
    with pytest.raises(NoCompilerError, match="cannot run"):
        build(ROOT / "generated", tmp_path / "out.so")


_CODECS = """
from kafkaspec import _native, compression
print(*(name for name, _, _ in _native.CODECS))
for codec in compression.CompressionType:
    forms = compression.forms(_native, (codec,), 2)
    print(int(forms[codec] is not None), end="")
    payload = compression.compress(codec, b"data " * 99, magic=2)
    assert compression.decompress(codec, payload, magic=2) == b"data " * 99
"""


@pytest.mark.parametrize("wanted", ["", "none"])
def test_libraries_are_linked_where_their_headers_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    monkeypatch.setenv(WITHOUT, wanted)
    compiler = shutil.which("cc")
    if compiler is None or shutil.which("ldd") is None:
        pytest.skip("no C compiler, or no ldd")
    shutil.copytree(ROOT / "kafkaspec", tmp_path / "installed" / "kafkaspec", ignore=_WITHOUT_BUILD)
    shutil.copytree(ROOT / "generated", tmp_path / "installed" / "generated", ignore=_WITHOUT_BUILD)
    made = build(ROOT / "generated", tmp_path / "installed" / "kafkaspec" / NAME, ["-O0"])
    linked = subprocess.run(["ldd", made], capture_output=True, text=True, check=True).stdout
    found = libraries([compiler])
    assert not (wanted and found)
    for library in LIBRARIES:
        assert (f"lib{library.name}." in linked) == (library in found)
    done = _run(tmp_path, _CODECS)
    assert not done.stderr
    names, served = done.stdout.splitlines()
    assert len(names.split()) == served.count("1") == len(found)


def test_the_core_does_not_know_python() -> None:
    for path in (ROOT / "generated" / "native").glob("*.[ch]"):
        assert "Python.h" not in path.read_text(encoding="utf-8"), path
