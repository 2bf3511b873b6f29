"""An extension made from other code is refused; C that does not compile is an error."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kafkaspec.extension import fingerprint
from tests.codecs.compilers import unoptimised

pytest.importorskip("kafkaspec._native", reason="the extension was not built")

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
IGNORED = shutil.ignore_patterns("__pycache__", "build")
USE = "import kafkaspec as ks; print(ks.encode([ks.Record(0, 1, None, b'v')])[:8].hex())"
NOT_USED = """
import kafkaspec as ks
from kafkaspec import checksum, compression
data = ks.encode([ks.Record(0, 1, None, b"v" * 999)], compression="lz4")
assert ks.decode(data)[0].value == b"v" * 999
print(checksum._native, compression.native, type(checksum._castagnoli).__name__[:7])
"""
GENERATE = ("tools/codegen.py", "--only", "layout", "--only", "native")
_ONLY_WRITE = """
from pathlib import Path
from tools.specgen import driver
def write(fresh): return len(driver.write(fresh, Path("generated"), TARGETS))
driver.run_in_temporary(Path("spec"), TARGETS, write)
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of this checkout, with its extension."""
    for name in ("kafkaspec", "generated", "spec", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=IGNORED)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def run(checkout: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Python in the copy, whose modules come first; without what says that this is CI."""
    environment = {key: value for key, value in os.environ.items() if key != "CI"}
    environment.pop("KAFKASPEC_CODEC", None)
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=checkout,
        env=environment | {"PYTHONPATH": str(checkout)} | variables,
        capture_output=True,
        text=True,
    )


def append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def hashes(text: str) -> list[str]:
    return re.findall(r"\b[0-9a-f]{64}\b", text)


def specification(checkout: Path) -> str:
    """The hash in a header of the generated layout."""
    (found,) = hashes((checkout / "generated/layout/__init__.py").read_text().split("\n")[2])
    return found


def need_a_compiler() -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")


@pytest.mark.parametrize("targets", [("layout",), ("layout", "native")], ids="+".join)
def test_an_extension_of_another_specification(checkout: Path, targets: tuple[str, ...]) -> None:
    before = specification(checkout)
    append(checkout / "spec" / "varint.ksy", "# edited\n")
    done = run(checkout, "-c", _ONLY_WRITE.replace("TARGETS", repr(targets)))
    assert specification(checkout) != before, done.stderr
    used = run(checkout, "-c", USE)
    assert used.returncode == 1
    assert "StaleExtensionError: kafkaspec._native is stale" in used.stderr
    assert hashes(used.stderr) == [before, specification(checkout)]
    assert "make generate" in used.stderr


def test_an_extension_of_other_c(checkout: Path) -> None:
    core = checkout / "generated" / "native"
    before = fingerprint(core)  # of the copy: paths do not count
    append(checkout / "kafkaspec" / "codecs" / "native" / "module.c", "/* edited */\n")
    used = run(checkout, "-c", USE)
    assert used.returncode == 1
    assert "built from the C sources" in used.stderr
    assert hashes(used.stderr)[0] == before
    # The command says so in one line; other codecs are as good as before, with PyPI's libraries.
    segment = next((ROOT / "tests/golden").glob("*/logs/*/*.log"))
    shown = run(checkout, "-m", "kafkaspec.cli.main", "verify", str(segment))
    assert shown.returncode == 2
    assert shown.stderr.startswith("kafkaspec: kafkaspec._native is stale")
    assert run(checkout, "-c", USE, KAFKASPEC_CODEC="python").stdout == f"{0:016x}\n"
    other = run(checkout, "-c", NOT_USED, KAFKASPEC_CODEC="python")
    assert other.stdout == "None None builtin\n", other.stderr
    version = run(checkout, "-m", "kafkaspec", "--version")
    assert version.returncode == 0
    assert "the native codec is stale" in version.stdout
    assert "lz4 by lz4" in version.stdout


@pytest.mark.slow
def test_generating_rebuilds_the_extension(checkout: Path) -> None:
    need_a_compiler()
    append(checkout / "spec" / "varint.ksy", "# edited\n")
    done = run(checkout, *GENERATE, CC=unoptimised(checkout))
    assert done.returncode == 0, done.stderr
    assert "rebuilt the extension" in done.stdout
    assert run(checkout, "-c", USE).stdout == f"{0:016x}\n"
    again = run(checkout, *GENERATE)
    assert again.stdout == "unchanged\n"


def test_generated_c_that_does_not_compile(checkout: Path) -> None:
    need_a_compiler()
    append(checkout / "tools/specgen/native/c/abi.h", "#error the generator is broken\n")
    done = run(checkout, *GENERATE)
    assert done.returncode == 1
    assert "the generator is broken" in done.stderr
    assert "generated/native does not compile" in done.stderr
    # The extension of before is still there, and is refused.
    assert "is stale" in run(checkout, "-c", USE).stderr


def test_generating_without_a_compiler(checkout: Path) -> None:
    append(checkout / "spec" / "varint.ksy", "# edited\n")
    done = run(checkout, *GENERATE, CC="/no/such/compiler")
    assert done.returncode == 0
    assert "the extension kafkaspec._native is not rebuilt" in done.stderr
    assert "is stale" in run(checkout, "-c", USE).stderr
    done = run(checkout, *GENERATE, CC="/no/such/compiler", CI="true")
    assert done.returncode == 1


EDITABLE = "from setuptools.build_meta import build_editable; build_editable('.')"
WHEEL = "from setuptools.build_meta import build_wheel; build_wheel('.')"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "variables", "fails"),
    [
        (EDITABLE, {}, True),
        (EDITABLE, {"CC": "/no/such/compiler"}, False),
        (EDITABLE, {"CC": "/no/such/compiler", "CI": "true"}, True),
        (WHEEL, {}, False),
        (WHEEL, {"CI": "true"}, True),
        (WHEEL, {"KAFKASPEC_NATIVE": "required"}, True),
    ],
)
def test_who_may_install_without_the_extension(
    checkout: Path, build: str, variables: dict[str, str], fails: bool
) -> None:
    """Whoever has no compiler, and users; neither developers nor CI."""
    pytest.importorskip("setuptools", minversion="77")
    need_a_compiler()
    append(checkout / "generated/native/arrays.c", "#error the C is broken\n")
    done = run(checkout, "-c", build, **variables)
    assert (done.returncode != 0) is fails, done.stderr
    if fails and "CC" not in variables:
        assert "the C is broken" in done.stderr
