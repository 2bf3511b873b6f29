"""Build the extension with sanitizers, and run tests on it.

    python -m tools.native.sanitize                      quick tests of what uses the extension
    python -m tools.native.sanitize tests [OPTION ...]   the whole suite, or what else pytest takes
    python -m tools.native.sanitize --thread             two threads on one segment

Without ``--thread`` the sanitizers are those of addresses and undefined behaviour. ThreadSanitizer
sees the core in a program without Python (``threads.c``), and the extension in a Python that was
not built for it: it follows the locks of the GIL, and reports races in what the extension does
without it.

The whole suite takes more than 25 minutes of a core under the sanitizers, most of it in tests of
the other codecs, so CI runs what ``make quick`` has of them without those of the codec in Python,
and what is marked ``core``. Segments of all releases go through the core under the same sanitizers
as seeds of ``make fuzz``.

The sanitized extension lies in a copy of the package in a temporary directory; nothing that is
installed changes. Needs gcc with libasan and libtsan (Linux).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kafkaspec.extension import GLUE
from tests import goldens
from tools.native.build import NAME, build

ROOT = Path(__file__).resolve().parents[2]
PLACES = (
    *("codecs", "columns", "arrow", "log", "writing/test_columns.py", "conversion", "analysis"),
    "values/protobuf/test_hostile.py",
)
"""What uses the extension; the rest of ``writing`` is in Python, above what these try."""
TESTS = ("--quick", "--core", *(f"tests/{name}" for name in PLACES))
LEFT_OUT = "not kafka and not memory"
"""Marks: Kafka's own readers have separate tests, and a sanitizer takes terabytes of address
space, and keeps memory that was freed."""
IGNORED = shutil.ignore_patterns(
    "__pycache__", "*.so", ".git", ".*_cache", ".hypothesis", ".venv*", "build"
)
OPTIONS = ("-O1", "-g", "-fno-omit-frame-pointer")
ADDRESS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
THREAD = ("-fsanitize=thread",)
THREAD_TESTS = ("tests/codecs/test_native_threads.py",)


def runtime(library: str) -> str:
    """Return the library that must be loaded before Python."""
    done = subprocess.run(
        ["gcc", f"-print-file-name={library}"], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def fixed_addresses() -> list[str]:
    """Return the start of a command whose addresses are not random, which libtsan may not bear."""
    command = ["setarch", "-R"]
    allowed = shutil.which("setarch") and not subprocess.run([*command, "true"]).returncode
    return command if allowed else []


def race() -> int:
    """Run the core on two threads without Python, over the segments of the last release."""
    segments = sorted(
        path
        for path in (goldens.GOLDEN / goldens.VERSIONS[-1]).glob("logs/*/*.log")
        if path.stat().st_size
    )
    core = ROOT / "generated" / "native"
    files = [ROOT / "tools/native/threads.c", *core.glob("*.c"), GLUE / "crc.c"]
    with tempfile.TemporaryDirectory(prefix="kafkaspec-race-") as directory:
        program = Path(directory) / "threads"
        command = ["gcc", "-std=gnu99", *OPTIONS, *THREAD, "-pthread", f"-I{core}"]
        subprocess.run([*command, *map(str, files), "-o", str(program)], check=True)
        return subprocess.run([*fixed_addresses(), str(program), *map(str, segments)]).returncode


def main(arguments: list[str]) -> int:
    """Copy, build, test."""
    if arguments == ["--thread"]:
        return race() or run(THREAD, "libtsan.so", THREAD_TESTS, fixed_addresses())
    return run(ADDRESS, "libasan.so", arguments or TESTS, [])


def run(sanitizer: Sequence[str], library: str, tests: Sequence[str], before: Sequence[str]) -> int:
    """Run tests on a copy whose extension is built with a sanitizer."""
    with tempfile.TemporaryDirectory(prefix="kafkaspec-sanitize-") as directory:
        copy = Path(directory)
        shutil.copytree(ROOT, copy, symlinks=True, dirs_exist_ok=True, ignore=IGNORED)
        os.environ["CC"] = "gcc"  # whose runtime is loaded below
        build(copy / "generated", copy / "kafkaspec" / NAME, (*OPTIONS, *sanitizer))
        environment = os.environ | {
            "LD_PRELOAD": runtime(library),
            # Python keeps memory for good, and mimics of malloc confuse the leak check.
            "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",
            "PYTHONMALLOC": "malloc",
            "PYTHONPATH": str(copy),
        }
        loaded = subprocess.run(
            [*before, sys.executable, "-c", "import kafkaspec._native as n; print(n.__file__)"],
            cwd=copy, env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        if Path(loaded.stdout.strip()).parent.resolve() != (copy / "kafkaspec").resolve():
            raise SystemExit(f"another extension is loaded: {loaded.stdout.strip()}")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", LEFT_OUT]
        command += ["-k", "not PyPI"]  # other libraries than those that the extension calls
        return subprocess.run(
            [*before, *command, *tests], cwd=copy, env=environment, check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
