"""The extension is optional; ``tests/test_packages.py`` has the wheel with it."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kafkaspec.extension import GLUE, WITHOUT
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


def _build(place: Path, wanted: str) -> list[str]:
    """Build an extension in a copy of the package; the libraries that it is linked with."""
    if shutil.which("cc") is None or shutil.which("ldd") is None:
        pytest.skip("no C compiler, or no ldd")
    for name in ("kafkaspec", "generated"):
        shutil.copytree(ROOT / name, place / "installed" / name, ignore=_WITHOUT_BUILD)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(WITHOUT, wanted)
        made = build(ROOT / "generated", place / "installed" / "kafkaspec" / NAME, ["-O0"])
        found = libraries(["cc"])
    assert not (wanted and found)
    linked = subprocess.run(["ldd", made], capture_output=True, text=True, check=True).stdout
    for library in LIBRARIES:
        assert (f"lib{library.name}." in linked) == (library in found)
    return [library.name for library in found]


@pytest.fixture(scope="module")
def unlinked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package whose extension was built as on a machine without headers."""
    place = tmp_path_factory.mktemp("unlinked")
    assert not _build(place, "none")
    return place


def test_libraries_are_linked_where_their_headers_are(tmp_path: Path) -> None:
    found = _build(tmp_path, "")
    done = _run(tmp_path, _CODECS)
    assert not done.stderr
    names, served = done.stdout.splitlines()
    assert len(names.split()) == served.count("1") >= len(found)


def test_libraries_are_loaded_where_there_are_no_headers(
    unlinked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = _run(unlinked, _CODECS)
    assert not done.stderr
    names, served = done.stdout.splitlines()
    installed = [name for name, file in _FILES.items() if _is_installed(file)]
    assert names.split() == installed
    assert served.count("1") == len(installed)
    monkeypatch.setenv(WITHOUT, "none")
    done = _run(unlinked, _CODECS + "print(open('/proc/self/maps').read())")
    names, _, *maps = done.stdout.splitlines()
    assert not names
    assert not [file for file in _FILES.values() if any(f"/{file}" in line for line in maps)]


_FILES = {
    "gzip": "libdeflate.so.0",
    "snappy": "libsnappy.so.1",
    "lz4": "liblz4.so.1",
    "zstd": "libzstd.so.1",
}


def _is_installed(file: str) -> bool:
    try:
        ctypes.CDLL(file)
    except OSError:
        return False
    return True


def _library(place: Path, file: str, text: str, *options: str) -> None:
    (place / "library.c").write_text(text)
    command = ["cc", "-shared", "-fPIC", "library.c", f"-Wl,-soname,{file}", "-o", file, *options]
    subprocess.run(command, cwd=place, check=True)


def test_libraries_that_are_not_as_expected_are_named_and_not_used(
    unlinked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old one, one of another ABI, one without a call, and one that is not all there."""
    calls = (GLUE / "libraries.h").read_text(encoding="utf-8")
    for file, prefix, number in (("liblz4.so.1", "LZ4", 10803), ("libzstd.so.1", "ZSTD", 20001)):
        names = set(re.findall(rf"call\([\w *]+, ({prefix}_\w+),", calls))
        others = names - {f"{prefix}_versionNumber"}
        assert len(others) == len(names) - 1 > 2
        text = f"unsigned {prefix}_versionNumber(void) {{ return {number}; }}\n"
        text += "".join(f"void {name}(void) {{ __builtin_trap(); }}\n" for name in others)
        _library(tmp_path, file, text)
    _library(tmp_path, "libsnappy.so.1", "void snappy_uncompress(void) { __builtin_trap(); }\n")
    _library(tmp_path, "libgone.so", "int gone;\n")
    _library(tmp_path, "libdeflate.so.0", "extern int gone; int *at = &gone;\n", "-L.", "-lgone")
    (tmp_path / "libgone.so").unlink()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    done = _run(unlinked, _VERSION)
    assert done.returncode == 0, done.stderr
    first, decompression, missing = done.stdout.splitlines()
    assert first.endswith(", codec native")
    assert re.search("snappy by cramjam, lz4 by lz4, zstd by zstandard$", decompression)
    assert missing.startswith("slower without libraries in C: libdeflate (not installed), ")
    assert "libsnappy (it has no snappy_uncompressed_length)" in missing
    assert "liblz4 (1.8.3 is not from 1.9.2 on and before 2.0.0)" in missing
    assert "libzstd (2.0.1 is not from 1.4.0 on and before 2.0.0)" in missing
    if shutil.which("apt-get"):
        assert missing.endswith("; to mend it: apt-get install libdeflate0")
    assert _run(unlinked, _CODECS).stdout.splitlines() == ["", "00000"]


@pytest.mark.parametrize("start", ["", "a"])
def test_a_library_in_a_directory_with_any_name_is_named(
    unlinked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    """One of the two reasons is cut inside a letter."""
    place = tmp_path / (start + "é" * 100)
    place.mkdir()
    (place / "libsnappy.so.1").write_text("not a library")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(place))
    done = _run(unlinked, _VERSION)
    assert done.stdout.splitlines()[0].endswith(", codec native")
    assert "libsnappy (/" in done.stdout


def test_the_core_does_not_know_python() -> None:
    for path in (ROOT / "generated" / "native").glob("*.[ch]"):
        assert "Python.h" not in path.read_text(encoding="utf-8"), path
