"""The sdist holds what git keeps, and can be tested; its wheel works alone in an environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from kafkaspec.libraries import libraries
from tests.codecs.compilers import unoptimised

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
_BUILD = "import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])('.')"
_USE = """
import sys
import kafkaspec as ks, kafkaspec._generated.layout as layout
from importlib.resources import files
from pathlib import Path
print(ks.__version__)
print(*ks.spec_files())
print(ks.decode(ks.encode([ks.Record(0, 1, None, b"v")], codec="native"), codec="native")[0].value)
print(len(list(files("kafkaspec._generated.vectors").iterdir())))
for module in (ks, layout): print(module.__file__)
# The libraries in the wheel serve, and no others of the same name.
names = [path.name.split("-")[0] for path in Path(ks.__file__).parents[1].glob("kafkaspec.libs/*")]
mapped = {line.split()[-1] for line in open("/proc/self/maps")} if names else set()
loaded = [path for path in mapped if path.split("/")[-1].startswith(tuple(names))]
assert len(loaded) == len(names), (names, mapped)
for path in loaded: print(path)
for path in ks.spec_files().values(): print(path)
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Return what a command prints; without what belongs to this process."""
    hidden = ("CI", "PYTHONPATH", "KAFKASPEC_CODEC")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tracked() -> list[str]:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("no checkout of git")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    names = listed.stdout.decode().rstrip("\0").split("\0")
    return [name for name in names if (ROOT / name).exists()]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked sdist of the files that git keeps."""
    pytest.importorskip("setuptools", minversion="77")
    place = tmp_path_factory.mktemp("sdist")
    for name in tracked():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, place / name)
    run(sys.executable, "-c", _BUILD, "build_sdist", cwd=place)
    (archive,) = place.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(place / "unpacked", filter="data")
    (unpacked,) = (place / "unpacked").iterdir()
    return unpacked


def test_the_sdist_holds_what_git_keeps(source: Path) -> None:
    held = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    made = {name for name in held if name.startswith("kafkaspec.egg-info/")}
    assert held - made - set(tracked()) == {"PKG-INFO", "setup.cfg"}
    assert set(tracked()) - held == set()


def test_the_tests_of_the_sdist_start(source: Path) -> None:
    """On the sources beside them."""
    code = (
        "import kafkaspec as ks, tests.goldens; print(ks.__file__); print(tests.goldens.__file__)"
    )
    for line in run(sys.executable, "-c", code, cwd=source).splitlines():
        assert Path(line).is_relative_to(source)
    some = (
        "tests/structure/test_generated.py",
        "tests/files/test_names.py",
        "tests/agreement/test_sidecars.py",
    )
    said = run(
        sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--quick", *some, cwd=source
    )
    assert " passed" in said


def test_the_wheel_works_in_an_environment_of_its_own(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the libraries that it is linked with, where ``auditwheel`` can put them in.

    One wheel is for every Python from 3.11 on.
    """
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    pytest.importorskip("pip")
    monkeypatch.setenv("CC", unoptimised(tmp_path))
    run(source / "tools" / "setup" / "wheel.sh", sys.executable, tmp_path / "dist", cwd=source)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert "-cp311-abi3-" in wheel.name
    venv.create(tmp_path / "venv", with_pip=False)
    (place,) = (tmp_path / "venv").glob("[Ll]ib/**/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
        names = archive.namelist()
    assert [name for name in names if Path(name).name.startswith("_native.abi3")]
    folders = {name.split("/")[0] for name in names}
    assert {name for name in folders if not name.endswith((".dist-info", ".libs"))} == {
        "kafkaspec", "pyspark_kafkasegment",
    }  # fmt: skip
    # What it brings is named, with its licences.
    assert [name for name in names if name.endswith(".dist-info/licenses/licenses/BUNDLED.txt")]
    brought = {name.split("/")[1].split("-")[0] for name in names if ".libs/lib" in name}
    if sys.platform == "linux":
        assert brought == {f"lib{library.name}" for library in libraries(["cc"])}
    lists = [name for name in names if ".dist-info/sboms/" in name]
    assert bool(lists) == bool(brought)
    # What it depends on comes from this environment, but no .pth file: not the checkout.
    (place / "base.pth").write_text("\n".join(p for p in sys.path if "site-packages" in p))
    (python,) = (tmp_path / "venv").glob("*/python")
    printed = run(python, "-c", _USE, cwd=tmp_path).splitlines()
    spec = ROOT / "spec"
    files = [path.relative_to(spec).as_posix() for path in spec.rglob("*.ksy")]
    assert sorted(printed[1].split()) == sorted(files)
    assert printed[2] == "b'v'"
    assert int(printed[3]) == len(list((ROOT / "generated" / "vectors").glob("*.json")))
    for line in printed[4:]:
        assert Path(line).is_relative_to(place)
    assert printed[0] in run(python, "-m", "kafkaspec", "--version", cwd=tmp_path)
