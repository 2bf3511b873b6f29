"""``--version``: the same by each way, and without loading what only commands need."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.extension import WITHOUT
from tests.cli.helpers import run

_LOADED = """
import sys
sys.argv = ["kafkaspec", "--version"]
from kafkaspec.__main__ import main
main()
assert not {"click", "rich", "json", "kafkaspec.layout", "kafkaspec.log"} & set(sys.modules)
"""


@pytest.mark.slow
def test_the_version_is_printed_without_what_commands_need() -> None:
    short = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True)
    assert short.returncode == 0, short.stderr
    assert short.stdout.startswith(f"kafkaspec {ks.__version__}, codec ")
    assert short.stdout == run("--version").stdout


def test_who_decompresses_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    native = pytest.importorskip("kafkaspec._native")
    said = run("--version").stdout
    for name, library, version in native.CODECS:
        assert f"{name} by {library} {version}".rstrip() in said
    monkeypatch.setenv(WITHOUT, "none")
    last = run("--version").stdout.splitlines()[-1]
    assert re.search("gzip by (isal|zlib), snappy by cramjam, lz4 by lz4, zstd by zstandard", last)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_said() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kafkaspec", "--version"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert "standard output: No space left on device" in done.stderr
