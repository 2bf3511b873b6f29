"""The command as a process: pipes, terminals, start-up."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path

import pytest

from kafkaspec.codecs import DEFAULT_CODEC
from tests.cli.helpers import COMMAND, ROOT, golden, process
from tests.log.forge import batch, record


@pytest.mark.slow
def test_verify_and_its_exit_codes(tmp_path: Path) -> None:
    assert process("verify", golden("3.9.2", "plain-0")).returncode == 0
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(batch(0, [record(0, b"x")], crc=1))
    assert process("verify", path).returncode == 1
    missing = process("verify", tmp_path / "nope")
    assert missing.returncode == 2
    assert missing.stderr == f"kafkaspec: {tmp_path / 'nope'}: there is no such file or " + (
        "directory [unreadable]\n"
    )


@pytest.mark.slow
def test_nothing_but_the_result_in_a_pipe() -> None:
    result = process("verify", golden("3.9.2", "plain-0"))
    assert result.stderr == ""
    assert "\x1b" not in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "text"])
def test_a_reader_that_leaves_is_no_error(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(b"".join(batch(i, [record(0, b"x" * 1000)]) for i in range(5000)))
    with subprocess.Popen(
        [*COMMAND, "dump", str(path), "--format", form],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    ) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        assert command.stdout.readline()
        command.stdout.close()
        assert command.stderr.read() == b""
        assert command.wait(timeout=300) == 0


@pytest.mark.slow
def test_a_reader_of_a_table_that_leaves_is_no_error(tmp_path: Path) -> None:
    """Tables are written in another way than lines."""
    reader, writer = os.pipe()
    os.close(reader)
    arguments = ["index", str(golden("3.9.2", "segments-0")), "-o", str(tmp_path / "out")]
    done = subprocess.run([*COMMAND, *arguments], stdout=writer, stderr=subprocess.PIPE, cwd=ROOT)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    "command", [["--help"], ["--version"], ["dump"], ["dump", "--help"]], ids=str
)
def test_output_that_cannot_be_written(command: list[str]) -> None:
    if command == ["dump"]:
        command = ["dump", str(golden("3.9.2", "segments-0"))]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, *command], stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT
        )
    assert done.returncode == 2
    assert done.stderr == "kafkaspec: standard output: No space left on device\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_colour_and_progress_on_a_terminal() -> None:
    import pty

    leader, follower = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "verify", str(golden("3.9.2", "segments-0"))],
        stdout=follower,
        stderr=follower,
        stdin=follower,
        cwd=ROOT,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"},
    ) as command:
        os.close(follower)
        shown = bytearray()
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # the other side is gone
                break
            if not piece:
                break
            shown += piece
        assert command.wait(timeout=300) == 0
    os.close(leader)
    assert b"\x1b[" in shown
    assert b"verify" in shown
    assert b"clean" in shown


@pytest.mark.slow
def test_commands_do_not_load_pandas() -> None:
    """PyArrow would, at its first array; that takes longer than most commands."""
    assert find_spec("pandas") is not None, "without it this says nothing"
    log = golden("4.3.1", "plain-0")
    for words in (("stats", log), ("gaps", log), ("sql", log, 'SELECT count(*) FROM "plain"')):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "kafkaspec", *map(str, words)],
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, words
        assert "pyarrow" in done.stderr, words
        assert "pandas.core" not in done.stderr, words


def imported_by(*arguments: str) -> set[str]:
    """Modules that a run of the command has imported."""
    code = (
        "import sys\n"
        "from kafkaspec.__main__ import main\n"
        f"sys.argv = {['kafkaspec', *arguments]!r}\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('\\n' + ' '.join(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(result.stdout.splitlines()[-1].split())


@pytest.mark.slow
def test_the_version_needs_next_to_nothing() -> None:
    heavy = {"rich", "kafkaspec.log", "kafkaspec.analysis", "kafkaspec.compression"}
    libraries = {"kaitaistruct", "construct", "pyarrow", "numpy"}
    assert imported_by("--version").isdisjoint(heavy | libraries)


BROKEN_ONLY = ("kafkaspec.intact", "kafkaspec.broker.index_rules")
"""Modules for damaged logs and for writers of indexes."""
SELDOM = (
    "http", "google", "fastavro", "cryptography", "fsspec", "asyncio", "pandas", "kaitaistruct",
    "construct", "kafkaspec.codecs.references", "kafkaspec.tiered", "kafkaspec.libraries",
    "kafkaspec.conversion.choices", "kafkaspec.messages.text_plans",
)  # fmt: skip
"""Modules that none of these commands needs for a small log of this release."""
RULES = ("kafkaspec.analysis", "kafkaspec.broker.loading", "kafkaspec.values")
PLAIN = (*SELDOM, *BROKEN_ONLY, *RULES, "numpy", "pyarrow", "rich")
ARROW = (*SELDOM, *RULES, "duckdb", "kafkaspec.arrow.where")
QUERY = 'SELECT count(*) FROM "plain"'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "absent", "most"),
    [
        (("dump", "plain-0"), PLAIN, 165),
        (("dump", "plain-0", "--format", "json"), PLAIN, 165),
        (("find", "plain-0", "--offset", "1"), PLAIN, 140),
        (("verify", "plain-0"), (*SELDOM, "numpy", "pyarrow", "kafkaspec.intact"), 190),
        (("groups", "__consumer_offsets-0"), (*ARROW, *BROKEN_ONLY), 175),
        (("gaps", "plain-0"), (*ARROW, "rich", "pyarrow.dataset"), 165),
        (("stats", "plain-0"), ARROW, 190),
        (("transactions", "transactions-0"), (*ARROW, *BROKEN_ONLY), 180),
        (("sql", "plain-0", QUERY), (*SELDOM, *BROKEN_ONLY, "kafkaspec.values.reading"), 185),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) and len(value) < 5 else None,
)
def test_commands_import_what_they_use(
    words: tuple[str, ...], absent: Collection[str], most: int
) -> None:
    """On a small log: what takes longer to import than the work takes is not there.

    ``most`` of our own modules are a tenth more than there were, at most.
    """
    name, log, *options = words
    modules = imported_by(name, str(golden("4.3.1", log)), *options)
    assert f"kafkaspec.cli.commands.{name}" in modules
    assert "kafkaspec.log.segment" in modules
    needless = {each for each in modules for none in absent if f"{each}.".startswith(f"{none}.")}
    assert needless == set()
    ours = sorted(each for each in modules if each.startswith("kafkaspec"))
    assert len(ours) <= most, ours


@pytest.mark.slow
def test_version() -> None:
    result = process("--version")
    assert result.returncode == 0
    assert result.stdout.startswith("kafkaspec ")
    assert f", codec {DEFAULT_CODEC}\n" in result.stdout


@pytest.mark.slow
def test_help_names_the_commands() -> None:
    result = process("--help")
    assert result.returncode == 0
    for name in ("verify", "dump", "find", "explain"):
        assert f"\n  {name} " in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["größe-0", "a b-0", "emoji\N{GRINNING FACE}-0"])
def test_names_of_all_kinds(tmp_path: Path, name: str) -> None:
    directory = tmp_path / name
    directory.mkdir()
    (directory / f"{0:020}.log").write_bytes(batch(0, [record(0, b"x")]))
    for command in (["verify"], ["dump"], ["dump", "--format", "json"], ["find", "--offset", "0"]):
        assert process(*command, directory).returncode == 0
