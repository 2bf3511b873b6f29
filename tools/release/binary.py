"""Build the command as one file with its interpreter and libraries, and judge it: ``make binary``.

    python -m tools.release.binary [DIRECTORY]

PyInstaller packs what this environment has: its Python, the libraries in C of this machine, and
kafkaspec with its extension and data, without extras. Judged are its answers on golden segments,
which have to be those of the installed command. Printed are its size, the time that it takes to
start, and the glibc that its parts ask for: it runs where that one or a newer one is. ``--bare``
tries it in the smallest Debian, without Python (needs root and debootstrap).
"""

from __future__ import annotations

import argparse
import ast
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
GOLDEN: Final = ROOT / "tests" / "golden"
SUITES: Final = ("bookworm",)
"""Releases of Debian that ``--bare`` tries, the oldest glibc first."""
_NATIVE: Final = ("BINARY", "EXTENSION")
_GLIBC: Final = re.compile(rb"\bGLIBC_2\.(\d+)(?:\.\d+)?\x00")
_STARTS: Final = 5

COMMANDS: Final = (
    ("--help",),
    ("verify", "4.4.0/logs"),
    ("verify", "--jobs", "2", "--codec", "all", "2.8.2/logs"),
    ("verify", "4.3.1/unclean/logs"),
    ("dump", "--format", "json", "4.3.1/logs/headers-0"),
    ("dump", "4.3.1/logs/codec-mixed-0"),
    ("dump", "--format", "kafka", "0.8.2.2/logs/plain-0"),
    ("dump", "--format", "json", "4.4.0/logs/__consumer_offsets-0"),
    ("explain", "2.8.2/logs/headers-0/00000000000000000000.log", "--offset", "1"),
    ("doctor", "4.3.1/unclean/logs"),
    ("find", "--offset", "12", "4.3.1/logs/segments-0"),
    ("nothing",),
)
"""Commands that answer as the installed command does; paths are below GOLDEN."""


def main() -> None:
    """Build and judge; the first failure ends it."""
    parser = argparse.ArgumentParser(prog="python -m tools.release.binary")
    parser.add_argument("into", type=Path, nargs="?", default=ROOT / "dist")
    parser.add_argument("--bare", action="store_true", help="try it in the smallest Debian")
    arguments = parser.parse_args()
    if sys.platform == "linux" and not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        sys.exit(
            f"{sys.executable} has no shared library, which PyInstaller needs: take another "
            "Python, such as that of Debian (libpython3.11) or of uv (make binary PYTHON=...)"
        )
    into = arguments.into.resolve()
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        site = _installed(Path(folder) / "site")
        made = _packed(Path(folder), site)
        name = f"kafkaspec-{_version(made)}-{sys.platform}-{platform.machine()}"
        binary = Path(shutil.copy2(made, into / name))
        _judge(binary, site)
        print(f"{binary.stat().st_size:,} B  {binary}")
        print(f"needs glibc 2.{_glibc(Path(folder) / 'work')} or newer")
        print(f"starts in {_start(binary, 'tmp'):.2f} s: --version, best of {_STARTS}")
        if arguments.bare:
            for suite in SUITES:
                _bare(binary, suite, Path(folder) / suite)


def _say(text: str) -> None:
    print(f"== {text}", flush=True)


def _run(*command: str | Path, **options: object) -> None:
    done = subprocess.run([str(part) for part in command], **options)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"failed with {done.returncode}: {' '.join(map(str, command))}")


def _installed(site: Path) -> Path:
    """Install kafkaspec alone into a folder: PyInstaller does not read an editable installation."""
    _say("kafkaspec, with its extension")
    _run(
        sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
        "--no-deps", "--no-build-isolation", "--target", site, ROOT,
        env=os.environ | {"KAFKASPEC_NATIVE": "required"},
    )  # fmt: skip
    return site


def _packed(folder: Path, site: Path) -> Path:
    """Return the file that PyInstaller makes."""
    _say("PyInstaller")
    # Of a program inside a package, PyInstaller takes all modules from the checkout around it.
    program = shutil.copy2(Path(__file__).with_name("frozen.py"), folder)
    _run(
        sys.executable, "-m", "PyInstaller", "--onefile", "--noconfirm", "--log-level", "ERROR",
        "--name", "kafkaspec", "--distpath", folder / "made", "--workpath", folder / "work",
        "--specpath", folder, "--collect-data", "kafkaspec", "--copy-metadata", "kafkaspec",
        *(part for name in _modules(site) for part in ("--hidden-import", name)),
        *(part for name in _LEFT_OUT for part in ("--exclude-module", name)),
        program,
        cwd=folder, env=os.environ | {"PYTHONPATH": str(site)},
    )  # fmt: skip
    return folder / "made" / "kafkaspec"


_LEFT_OUT: Final = ("tkinter", "pyspark_kafkasegment", "kafkaspec.spark", "kafkaspec.cli.spark")
"""Modules that nothing in the file uses: Spark starts Python itself."""


def _modules(site: Path) -> list[str]:
    """Return all modules of kafkaspec, which imports many by name that PyInstaller cannot see."""
    found = ["kafkaspec._native"]
    for path in sorted((site / "kafkaspec").rglob("*.py")):
        name = ".".join(path.relative_to(site).with_suffix("").parts).removesuffix(".__init__")
        if not any(f"{name}.".startswith(f"{left}.") for left in _LEFT_OUT):
            found.append(name)
    return found


def _version(binary: Path) -> str:
    done = subprocess.run([binary, "--version"], capture_output=True, text=True)
    found = re.match(r"kafkaspec (\S+), codec native\n", done.stdout)
    if not found:
        sys.exit(f"it does not start with its native codec: {done.stdout}{done.stderr}")
    print(done.stdout, end="")
    return found[1]


def _judge(binary: Path, site: Path) -> None:
    """Compare the answers of the file with those of the installed command."""
    _say(f"{len(COMMANDS)} commands, here and as installed")
    installed = [sys.executable, "-c", "from kafkaspec.__main__ import main; main()"]
    for command in COMMANDS:
        ours, theirs = (
            subprocess.run(
                [*start, *command], cwd=GOLDEN, capture_output=True, env=environment, timeout=600
            )
            for start, environment in (
                ([str(binary)], {"LC_ALL": "C.UTF-8"}),
                (installed, {"LC_ALL": "C.UTF-8", "PYTHONPATH": str(site)}),
            )
        )
        if _said(ours) != _said(theirs):
            sys.exit(f"{' '.join(command)}: {_said(ours)!r:.2000}\nis not {_said(theirs)!r:.2000}")


def _said(done: subprocess.CompletedProcess[bytes]) -> tuple[int, bytes, bytes]:
    """Return the exit code and the output; click names the program by how it was started."""
    programs = re.compile(rb"^(Usage: |Try ')\S+(?: -c)?(?= )", re.MULTILINE)
    return done.returncode, programs.sub(rb"\1it", done.stdout), programs.sub(rb"\1it", done.stderr)


def _glibc(work: Path) -> int:
    """Return the newest minor version of glibc that the parts of the file ask for."""
    parts = [path for path in work.rglob("*") if path.name == "kafkaspec"]  # the part that starts
    for table in work.rglob("PKG-*.toc"):
        parts += [
            Path(item[1])
            for listed in ast.literal_eval(table.read_text(encoding="utf-8"))
            if isinstance(listed, list)
            for item in listed
            if len(item) == 3 and item[2] in _NATIVE
        ]
    asked = {
        int(number): path
        for path in parts
        if path.is_file()
        for number in _GLIBC.findall(path.read_bytes())
    }
    if not asked:
        sys.exit("no part of the file asks for a version of glibc")
    newest = max(asked)
    print(f"{asked[newest].name} asks for the newest glibc")
    return newest


def _start(binary: Path, _: str) -> float:
    """Return how long the file takes to print its version."""
    times = []
    for _number in range(_STARTS):
        begin = time.perf_counter()
        subprocess.run([binary, "--version"], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - begin)
    return min(times)


def _bare(binary: Path, suite: str, root: Path) -> None:
    """Try it on a system without Python, as nobody, who can write below /tmp alone."""
    if shutil.which("debootstrap") is None or os.geteuid():
        sys.exit("--bare needs root and debootstrap (Debian, Ubuntu)")
    _say(f"Debian {suite}, the smallest")
    _run("debootstrap", "--variant=minbase", suite, root, stdout=subprocess.DEVNULL)
    shutil.copy2(binary, root / "usr" / "local" / "bin" / "kafkaspec")
    for version in ("2.8.2", "4.3.1", "4.4.0"):
        shutil.copytree(GOLDEN / version, root / "golden" / version)
    for command, code in (("verify 4.4.0/logs", 0), ("doctor 4.3.1/unclean/logs", 1)):
        done = subprocess.run(
            ["chroot", "--userspec=65534:65534", str(root), "/usr/bin/env", "-i", "/bin/sh", "-c",
             f"cd /golden && exec /usr/local/bin/kafkaspec {command}"],
            capture_output=True, text=True,
        )  # fmt: skip
        print(f"{command}: {done.stdout.strip().splitlines()[-1:]}")
        if done.returncode != code:
            sys.exit(f"{suite}: {command}: {done.returncode}, not {code}: {done.stderr}")


if __name__ == "__main__":
    main()
