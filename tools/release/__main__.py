"""Build what a release publishes with the tools of this machine, and judge it: ``make wheels``.

    python -m tools.release DIRECTORY

An sdist, twice; from the unpacked sdist a wheel, twice; the SBOMs. Judged are equal bytes, texts,
the ABI, the version of glibc, the libraries in the wheel, an installation in a separate
environment, and with ``--bare`` one in the smallest Debian (needs root and debootstrap).

Zig's compiler builds for the glibc of the policy manylinux_2_28. Libraries of this machine that
need no newer one are put into the wheel; the extension loads others where it is used. The workflow
makes wheels for other systems with the same scripts.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafkaspec.libraries import LIBRARIES
from tools.release.normal import normalise

ROOT = Path(__file__).parents[2]
GOLDEN = "tests/golden/4.4.0"
_LOCK = ROOT / "requirements" / "construct.txt"
_QUIET = ("--quiet", "--disable-pip-version-check")
_SUITE = "bookworm"  # Debian 12, whose Python is 3.11
_GLIBC = 28  # 2.28, of RHEL 8; Ubuntu 20.04 has 2.31
_HEADERS = Path("/usr/include")


def main() -> None:
    """Build and judge; the first failure ends it."""
    parser = argparse.ArgumentParser(prog="python -m tools.release")
    parser.add_argument("into", type=Path, nargs="?", default=ROOT / "dist")
    parser.add_argument("--bare", action="store_true", help="try it in the smallest Debian")
    arguments = parser.parse_args()
    os.environ.setdefault("SOURCE_DATE_EPOCH", _epoch())
    os.environ["KAFKASPEC_NATIVE"] = "required"
    into = arguments.into.resolve()
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(_compiler(Path(folder) / "found"))
        sdist, wheel = _build(Path(folder), into)
        _judge(sdist, wheel)
        _sboms(into, wheel)
        _install(wheel, Path(folder))
        if arguments.bare:
            _bare(wheel, Path(folder) / "debian")
    _say("made")
    for path in sorted(into.iterdir()):
        print(f"{path.stat().st_size:>12,} B  {path.name}")
    print("Left to the workflow: musl, aarch64, macOS, Windows.")


def _epoch() -> str:
    """Return the time of the last commit; in an sdist, that of its files."""
    done = _output("git", "log", "-1", "--format=%ct") if (ROOT / ".git").exists() else ""
    return done.strip() or str(int((ROOT / "pyproject.toml").stat().st_mtime))


def _say(text: str) -> None:
    print(f"== {text}", flush=True)


def _run(*command: str | Path, **options: object) -> None:
    done = subprocess.run([str(part) for part in command], **options)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"failed with {done.returncode}: {' '.join(map(str, command))}")


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout


def _tool(name: str) -> str:
    """Return a command of the environment that runs this."""
    return str(Path(sys.executable).parent / name)


def _compiler(found: Path) -> dict[str, str]:
    """Return the environment of a build for an older glibc.

    Args:
        found: a directory for headers and libraries of this machine, without those of its glibc.
    """
    found.mkdir()
    for library in LIBRARIES:
        for header in _HEADERS.glob(f"*{library.name}*.h"):
            shutil.copy(header, found)
        file = f"lib{library.name}.so"
        place = Path(_output("cc", f"-print-file-name={file}").strip())
        if place.is_absolute():
            (found / file).symlink_to(place)
    target = f"{platform.machine()}-linux-gnu.2.{_GLIBC}"
    return {
        "CC": f"{sys.executable} -m ziglang cc -target {target}",
        "CFLAGS": f"-g0 -I{found} -L{found}",
        # The features of the CPU, which Zig's own library does not tell.
        "LDFLAGS": _output("cc", "-print-libgcc-file-name").strip(),
    }


def _build(folder: Path, into: Path) -> tuple[Path, Path]:
    """Build twice, in folders of different names, and keep what is equal."""
    sdists, wheels = [], []
    origin, kept = ROOT, _kept()
    for name in ("first", "a second folder"):
        place = folder / name
        _say(f"sdist and wheel, in {name!r}")
        source = place / "source"
        for file in kept:
            (source / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(origin / file, source / file)
        origin = source  # somebody may go on to edit
        made = place / "dist"
        _run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", made, source,
             stdout=subprocess.DEVNULL)  # fmt: skip
        (sdist,) = made.glob("*.tar.gz")
        normalise(sdist, int(os.environ["SOURCE_DATE_EPOCH"]))
        with tarfile.open(sdist) as archive:
            archive.extractall(place, filter="data")
        (unpacked,) = place.glob("kafkaspec-*")
        _run("sh", "tools/setup/wheel.sh", sys.executable, made, cwd=unpacked,
             stderr=subprocess.DEVNULL)  # fmt: skip
        (wheel,) = made.glob("*.whl")
        sdists.append(sdist)
        wheels.append(wheel)
    for first, second in (sdists, wheels):
        if first.read_bytes() != second.read_bytes() or first.name != second.name:
            sys.exit(f"two builds differ: {first} {second}")
        shutil.copy(first, into)
    print("both builds have the same bytes")
    return into / sdists[0].name, into / wheels[0].name


def _kept() -> list[str]:
    """Return the files that git keeps; in an sdist, all."""
    if (ROOT / ".git").exists():
        names = _output("git", "ls-files", "-z").rstrip("\0").split("\0")
        return [name for name in names if (ROOT / name).exists()]
    listed = (ROOT / "kafkaspec.egg-info" / "SOURCES.txt").read_text(encoding="utf-8").splitlines()
    return [name for name in listed if ".egg-info/" not in name]


def _judge(sdist: Path, wheel: Path) -> None:
    _say("twine check, abi3audit, auditwheel show")
    _run(_tool("twine"), "check", "--strict", sdist, wheel)
    _run(_tool("abi3audit"), "--strict", "--summary", wheel)
    _run(sys.executable, "-m", "auditwheel", "show", wheel)
    needs = re.search(r"-manylinux_2_(\d+)_", wheel.name)
    if not needs or int(needs[1]) > _GLIBC:
        sys.exit(f"{wheel.name} is not for glibc 2.{_GLIBC}")


def _sboms(into: Path, wheel: Path) -> None:
    _say("SBOM of what it depends on; that of the libraries in the wheel is in the wheel")
    _run(_tool("cyclonedx-py"), "requirements", _LOCK, "--pyproject",
         ROOT / "pyproject.toml", "--output-reproducible", "--validate", "--output-file",
         into / f"{wheel.name.rsplit('-', 3)[0]}.cdx.json")  # fmt: skip


@contextmanager
def _segments(folder: Path) -> Iterator[Path]:
    """The program that tries an installation, and what it reads, outside of the checkout."""
    shutil.copy(ROOT / "tools" / "release" / "trial.py", folder)
    shutil.copytree(ROOT / GOLDEN / "logs", folder / "logs")
    yield folder


def _install(wheel: Path, folder: Path) -> None:
    _say("a separate environment")
    place = folder / "alone"
    _run(sys.executable, "-m", "venv", place)
    python = place / "bin" / "python"
    for what in (("--require-hashes", "-r", _LOCK), ("--no-deps", wheel)):
        _run(python, "-m", "pip", "install", *_QUIET, *what)
    inner = folder / "trial"
    inner.mkdir()
    with _segments(inner):
        _run(python, "-I", inner / "trial.py", inner / "logs", env={}, cwd=inner)


def _bare(wheel: Path, root: Path) -> None:
    """Try it on a system with Python and nothing else, as nobody, who can write nothing."""
    if shutil.which("debootstrap") is None or os.geteuid():
        sys.exit("--bare needs root and debootstrap (Debian, Ubuntu)")
    _say(f"Debian {_SUITE}, the smallest, with Python")
    _run("debootstrap", "--variant=minbase", "--include=python3,ca-certificates", _SUITE, root,
         stdout=subprocess.DEVNULL)  # fmt: skip
    target = root / "opt"
    for what in (("--require-hashes", "-r", _LOCK), ("--no-deps", wheel)):
        _run(sys.executable, "-m", "pip", "install", *_QUIET, "--target", target / "site",
             "--no-deps", "--only-binary=:all:", "--python-version=3.11", *what)  # fmt: skip
    with _segments(target):
        _run("chroot", "--userspec=65534:65534", root, "/usr/bin/env", "-i", "PYTHONPATH=/opt/site",
             "/usr/bin/python3", "/opt/trial.py", "/opt/logs")  # fmt: skip


if __name__ == "__main__":
    main()
