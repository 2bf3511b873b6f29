"""Build the extension with address and undefined-behaviour sanitizers, and run tests on it.

    python -m tools.native.sanitize                      what uses the extension most, for CI
    python -m tools.native.sanitize tests [OPTION ...]   the whole suite, or what else pytest takes

The whole suite takes some 25 minutes of a core under the sanitizers, most of it in tests of the
other codecs, and all of tests/arrow and tests/log more than the five that CI has for it, so CI
runs those of the native codec and of columns.

The sanitized extension lies in a copy of the package in a temporary directory; nothing that is
installed changes. Needs gcc with libasan (Linux).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.native.build import NAME, build

ROOT = Path(__file__).resolve().parents[2]
TESTS = (
    "tests/codecs/test_native_codec.py",
    "tests/codecs/test_native_columns.py",
    "tests/codecs/test_native_differential.py",
    "tests/codecs/test_native_select.py",
    "tests/codecs/test_headers.py",
    "tests/columns",
    "tests/arrow/test_columns.py",
    "tests/arrow/test_wrappers.py",
)
LEFT_OUT = "not kafka and not address_space"
"""Marks: Kafka's own readers have tests of their own, and no limit on the address space leaves a
sanitizer the terabytes that it takes."""
IGNORED = shutil.ignore_patterns("__pycache__", "*.so", ".git", ".*_cache", ".venv*", "build")
OPTIONS = (
    "-O1", "-g", "-fno-omit-frame-pointer",
    "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined",
)  # fmt: skip


def runtime() -> str:
    """Return the library that must be loaded before Python."""
    done = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def main(arguments: list[str]) -> int:
    """Copy, build, test."""
    with tempfile.TemporaryDirectory(prefix="kafkaspec-sanitize-") as directory:
        copy = Path(directory)
        shutil.copytree(ROOT, copy, symlinks=True, dirs_exist_ok=True, ignore=IGNORED)
        os.environ["CC"] = "gcc"  # whose runtime is loaded below
        build(copy / "generated", copy / "kafkaspec" / NAME, OPTIONS)
        environment = os.environ | {
            "LD_PRELOAD": runtime(),
            # Python keeps memory for good, and mimics of malloc confuse the leak check.
            "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",
            "PYTHONMALLOC": "malloc",
            "PYTHONPATH": str(copy),
        }
        loaded = subprocess.run(
            [sys.executable, "-c", "import kafkaspec._native as n; print(n.__file__)"],
            cwd=copy, env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        if Path(loaded.stdout.strip()).parent.resolve() != (copy / "kafkaspec").resolve():
            raise SystemExit(f"another extension is loaded: {loaded.stdout.strip()}")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", LEFT_OUT]
        return subprocess.run(
            [*command, *(arguments or TESTS)], cwd=copy, env=environment, check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
