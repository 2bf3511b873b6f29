"""Packages for formats that are not Kafka's: what is in them, and the command that makes them."""

from __future__ import annotations

import ast
import importlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.specgen.edits import SPEC
from tests.specgen.formats.samples import FILES, FORMATS, NAMES
from tools.specgen import driver
from tools.specgen.python import checksum

pytestmark = pytest.mark.slow
ROOT = SPEC.parent


@pytest.mark.parametrize("name", NAMES)
def test_no_word_of_the_house(home: Path, name: str) -> None:
    """Nothing of Kafka or of this library is in any file, and no import leads to it."""
    files = [path for path in (home / f"{name}_codec").rglob("*") if path.is_file()]
    assert len(files) > 25
    for path in files:
        assert b"kafka" not in path.read_bytes().lower(), path
        assert b"(quirk" not in path.read_bytes(), path
        if path.suffix == ".c":
            assert b"left to Python" not in path.read_bytes()
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom):
                    root = (node.module or "").partition(".")[0]
                    assert node.level or root in {*sys.stdlib_module_names, "construct"}, path
                elif isinstance(node, ast.Import):
                    roots = {alias.name.partition(".")[0] for alias in node.names}
                    assert roots <= {*sys.stdlib_module_names, "construct"}, path


def test_checksums(package: Any, home: Path) -> None:
    """The check value of CRC catalogues, in C and in Python."""
    fast = package("telemetry").import_module("telemetry_codec.python.checksum")
    assert checksum.crc32c(b"123456789") == fast.crc32c(b"123456789") == 0xE3069283
    assert fast.crc32c is fast.import_module("telemetry_codec.native._core").crc32c
    assert checksum.crc32c is not fast.crc32c
    assert fast.crc32(b"123456789") == 0xCBF43926


def test_check_names_the_command(home: Path, tmp_path: Path) -> None:
    """--check takes the same folders, and says how to repair them."""
    out = tmp_path / "copy"
    shutil.copytree(home / "atlas_codec", out)  # the extension in it is not stale
    command: list[str | Path] = [sys.executable, ROOT / "tools" / "codegen.py", "--check"]
    command += ["--spec", FORMATS / "atlas", "--out", out]
    assert subprocess.run(command).returncode == 0
    (out / "docs" / "atlas.md").write_text("", encoding="utf-8")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "copy/docs/atlas.md: differs",
        "copy/ does not match atlas/; repair it with: "
        f"python tools/codegen.py --spec {FORMATS / 'atlas'} --out {out}",
    ]


@pytest.mark.parametrize(
    ("target", "module"),
    [("docs", ""), ("native", ".native"), ("construct", ".construct.atlas"), ("python", ".python")],
)
def test_one_target_alone(tmp_path: Path, target: str, module: str) -> None:
    driver.generate(FORMATS / "atlas", tmp_path / "only_codec", (target,))
    folders = {path.name for path in (tmp_path / "only_codec").iterdir() if path.is_dir()}
    assert folders == {target, *(["python"] if target in ("native", "construct") else [])}
    command = [sys.executable, "-c", f"import only_codec{module}"]
    subprocess.run(command, check=True, cwd=tmp_path)


def test_files_of_others_stay(tmp_path: Path) -> None:
    """What is stale goes, so a folder with files of somebody else is refused."""
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "__init__.py").write_text("", encoding="utf-8")
    command: list[str | Path] = [sys.executable, ROOT / "tools" / "codegen.py"]
    command += ["--spec", FORMATS / "atlas", "--out", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    said = f"{tmp_path} has files that the generator did not make; name an empty folder\n"
    assert (done.returncode, done.stderr) == (1, said)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["__init__.py", "notes.txt"]


def test_an_extension_of_other_sources(home: Path, tmp_path: Path) -> None:
    """After a change of the specification, an old extension is refused and not used."""
    out = tmp_path / "atlas_codec"
    shutil.copytree(home / "atlas_codec", out)
    spec = Path(shutil.copytree(FORMATS / "atlas", tmp_path / "spec"))
    text = (spec / "atlas.ksy").read_text(encoding="utf-8")
    (spec / "atlas.ksy").write_text(text.replace("type: f8le", "type: u8le"), encoding="utf-8")
    codegen = [sys.executable, str(ROOT / "tools" / "codegen.py"), "--spec", str(spec)]
    subprocess.run([*codegen, "--out", str(out)], check=True)
    program = [
        sys.executable, "-c",
        "import atlas_codec, sys; print(atlas_codec.columns('atlas', bytes.fromhex(sys.argv[1])))",
        FILES["atlas"][1].hex(),
    ]  # fmt: skip
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True)
    advice = "compiled from other sources; run: python -m atlas_codec.native.build"
    assert advice in done.stderr.splitlines()[-1]
    subprocess.run([sys.executable, "-m", "atlas_codec.native.build"], check=True, cwd=tmp_path)
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "'header.scale': array('Q', [" in done.stdout


def test_runs_without_the_library(home: Path) -> None:
    program = (
        "import sys, telemetry_codec as codec\n"
        "value = codec.parse('telemetry', bytes.fromhex(sys.argv[1]))\n"
        "assert codec.serialize('telemetry', value).hex() == sys.argv[1]\n"
        "print(value.version, any('kafka' in name for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program, FILES["telemetry"][0].hex()],
        capture_output=True, text=True, env={"PYTHONPATH": str(home)}, cwd=home,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("2 False\n", "")


def test_typed(home: Path) -> None:
    """A value says what is wrong with it, by its path."""
    codec = importlib.import_module("atlas_codec")
    value = codec.parse("atlas", FILES["atlas"][0])
    value.tiles[2].size = 1 << 25
    with pytest.raises(codec.FormatError, match=r"/tiles/2/size: 33554432 does not fit"):
        codec.serialize("atlas", value)
    assert value.tiles[1].end == (1 << 40) + 1
    with pytest.raises(KeyError, match=r"no type atlas\.gone"):
        codec.parse("atlas.gone", b"")
