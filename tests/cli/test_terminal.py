"""Every command over names and values that would control a terminal; JSON stays JSON."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.cli.console import Escaped
from kafkaspec.cli.main import main
from tests.cli.helpers import COMMAND, run
from tests.goldens import GOLDEN
from tests.values.registry.topics import schema, write

ESCAPES = "\x1b]0;t\x07\x1b[2J\u009b31m\u202e\u2028\x7f"
"""Sets a title, clears the screen, colours (ESC and C1), turns text around, ends a line."""
FORGED = "\r\nclean: 1\n"
"""Begins a line that looks like a result."""
NAME = ESCAPES + FORGED
"""As a value of an option, and as a name that nothing has."""

DATA = ("transactions-0", "transactions-open-0", "idempotent-0", "compacted-0", "headers-0")
INTERNAL = ("__consumer_offsets-0", "__transaction_state-0", "__share_group_state-0",
            "__cluster_metadata-0")  # fmt: skip
_WORD = re.compile(rb"[A-Za-z][-_.A-Za-z0-9]{4,}")
_KEPT = re.compile(rb"__[a-z_]+|consumer|range")
"""Words by which decoders know what they read."""


def hostile(name: str, forged: str = "") -> str:
    """A name of the same number of bytes as UTF-8."""
    text = ESCAPES[:6] + forged + ESCAPES * 20
    while len(text.encode()) > len(name):
        text = text[:-1]
    return text + "a" * (len(name) - len(text.encode()))


def _replaced(data: bytes | None) -> bytes | None:
    def other(match: re.Match[bytes]) -> bytes:
        word = match[0]
        if _KEPT.fullmatch(word):
            return word
        is_topic = f"{word.decode()}-0" in DATA
        return hostile(word.decode(), "" if is_topic else FORGED).encode()

    return None if data is None else _WORD.sub(other, bytes(data))


def _rewrite(source: Path, target: Path) -> None:
    """Write a partition again, with hostile names in its records."""
    with ks.open(source) as log:
        assert isinstance(log, ks.Partition)
        for path in log.segment_paths:
            with log.open_segment(path) as segment:
                data = b"".join(map(_entry, segment.batches()))
            target.mkdir(parents=True, exist_ok=True)
            (target / path.name).write_bytes(data)


def _entry(batch: ks.Batch) -> bytes:
    records = batch.records()
    if not batch.is_control:
        records = [
            item._replace(key=_replaced(item.key), value=_replaced(item.value))
            for item in batch.records()
        ]
    return ks.encode(
        records,
        magic=batch.magic,
        base_offset=batch.base_offset,
        last_offset=batch.last_offset,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        transactional=batch.is_transactional,
        control=batch.is_control,
        partition_leader_epoch=batch.partition_leader_epoch,
    )


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory in which every name and value is hostile, and some files are damaged."""
    home = tmp_path_factory.mktemp("terminal")
    top = home / f"{ESCAPES}{FORGED}-logs"
    golden = GOLDEN / "4.3.1" / "logs"
    try:
        top.mkdir()
        for name in DATA:
            topic, number = name.rsplit("-", 1)
            shutil.copytree(golden / name, top / f"{hostile(topic)}-{number}")
    except OSError:
        pytest.skip("the file system has no such names")
    for name in INTERNAL:
        _rewrite(golden / name, top / name)
    _rewrite(GOLDEN / "4.3.1" / "tiered" / "logs" / "__remote_log_metadata-0",
             top / "__remote_log_metadata-0")  # fmt: skip
    shutil.copy(golden / "meta.properties", top)
    texts = [b"a", *(f"{NAME}{number % 3}".encode() for number in range(9))]
    records = [
        ks.Record(number, 1_700_000_000_000 + number, text, text, ((NAME, text),))
        for number, text in enumerate(texts)
    ]
    for topic in (ESCAPES, f"{ESCAPES}broken"):
        values = top / f"{topic}-0"
        values.mkdir()
        data = b"".join(ks.encode(records[at : at + 2]) for at in range(0, len(records), 2))
        if "broken" in topic:
            data = data[:100] + b"?" + data[101:]
        (values / f"{0:020d}.log").write_bytes(data)
        (values / f"{ESCAPES}{FORGED}.txt").write_bytes(b"?")
        (values / f"{0:020d}.snapshot").write_bytes(b"?")
        (values / "leader-epoch-checkpoint").write_text(f"0\n1\n{ESCAPES}\n")
    names = [f"{ESCAPES}{FORGED}{number}" for number in range(2)]
    subjects = [schema(name, 1, number, f'"int" // {name}') for number, name in enumerate(names)]
    write(top, subjects)
    return top


def _places(logs: Path) -> Iterator[Path]:
    """The log directory, partitions, a segment, other files, and what is not there."""
    yield logs
    for name in (hostile("transactions"), hostile("transactions-open"), hostile("compacted"),
                 hostile("idempotent"), ESCAPES, f"{ESCAPES}broken"):  # fmt: skip
        yield logs / f"{name}-0"
    broken = logs / f"{ESCAPES}broken-0"
    yield from sorted(broken.iterdir())
    yield logs / "meta.properties"
    yield logs / f"nothing{ESCAPES}{FORGED}-0"


Commands = Callable[[Path, Path], Iterator[list[str | Path]]]


def _each(*commands: list[str | Path]) -> Commands:
    """Commands that take a path last; ``out`` stands for a new place."""

    def made(logs: Path, out: Path) -> Iterator[list[str | Path]]:
        for command in commands:
            for place in _places(logs):
                yield [*(out if part == "out" else part for part in command), place]

    return made


def _sql(logs: Path, out: Path) -> Iterator[list[str | Path]]:
    partition = logs / f"{ESCAPES}-0"
    for query in (f'SELECT * FROM "{ESCAPES}"', f'SELECT 1 AS "{NAME}"', NAME, f"SELECT '{NAME}'"):
        yield ["sql", partition, query]
    yield ["sql", logs, f'SELECT * FROM "{NAME}"']
    yield ["sql", logs, "SHOW TABLES"]
    yield ["sql", partition, f'SELECT * FROM "{ESCAPES}"', "--columns", NAME]
    yield ["sql", partition, f'SELECT * FROM "{ESCAPES}"', "--format", "csv", "-o", out]


def _diff(logs: Path, out: Path) -> Iterator[list[str | Path]]:
    for place in _places(logs):
        yield ["diff", place, logs / f"{ESCAPES}-0"]
        yield ["diff", logs / f"{ESCAPES}broken-0", place]


def _cluster(logs: Path, out: Path) -> Iterator[list[str | Path]]:
    yield from ([*parts, logs] for parts in (["cluster"], ["cluster", "--compare", logs]))
    yield ["cluster", logs, "--diff", "1", "300"]
    yield ["cluster", "--until-offset", "100", logs / "__cluster_metadata-0"]
    yield ["cluster", logs / f"{ESCAPES}-0"]


RUNS: dict[str, Commands] = {
    "verify": _each(["verify"], ["verify", "--quiet"], ["verify", "--codec", NAME]),
    "conform": _each(["conform"]),
    "dump": _each(["dump"], ["dump", "--batches"], ["dump", "--value", "text"],
                  ["dump", "--value", "text", "--format", "json"],
                  ["dump", "--where", f"key = '{NAME}'"], ["dump", "--where", NAME]),
    "find": _each(["find", "--offset", "0"], ["find", "--key", NAME],
                  ["find", "--key", NAME, "--all"], ["find", "--timestamp", NAME],
                  ["find", "--max-timestamp"]),
    "explain": _each(["explain"], ["explain", "--full"], ["explain", "--as", NAME],
                     ["explain", "--format", "assembly"]),
    "assemble": _each(["assemble", "-o", "out"]),
    "generate": _each(["generate", "--seed", NAME], ["generate", "--scenario", NAME],
                      ["generate", "--scenario", "legacy", "--profile", NAME]),
    "explore": _each(["explore", "--host", NAME], ["explore", "--port", NAME]),
    "export": _each(["export", "--to", "parquet", "-o", "out"],
                    ["export", "--to", NAME, "-o", "out"], ["export", "--to", "jsonl", "-o", "-"],
                    ["export", "--value", "decode", "--to", "jsonl", "-o", "-"],
                    ["export", "--to", "jsonl", "--columns", NAME, "-o", "out"]),
    "stats": _each(["stats"], ["stats", "--show-keys"]),
    "sql": _sql,
    "convert": _each(["convert", "-o", "out"], ["convert", "--compression", NAME, "-o", "out"],
                     ["convert", "--on-error", "skip", "-o", "out"]),
    "index": _each(["index", "-o", "out"]),
    "groups": _each(["groups"], ["groups", "--group", hostile("group-a", FORGED)],
                    ["groups", "--history", hostile("group-a", FORGED)],
                    ["groups", "--group", NAME]),
    "cluster": _cluster,
    "schemas": _each(["schemas"], ["schemas", "--id", "0"], ["schemas", "--subject", NAME],
                     ["schemas", "--topic", NAME], ["schemas", "-o", "out"]),
    "remote": _each(["remote"], ["remote", "--unfinished"]),
    "restore": _each(["restore"], ["restore", "--write", "-o", "out"],
                     ["restore", "--include", NAME],
                     ["restore", "--topic-config", f"{NAME}:a=b"], ["restore", "--exclude", NAME]),
    "salvage": _each(["salvage", "-o", "out"], ["salvage", "--repair", "headers", "-o", "out"]),
    "doctor": _each(["doctor"], ["doctor", "--profile", NAME]),
    "transactions": _each(["transactions"], ["transactions", "--history", NAME],
                          ["transactions", "--history", hostile("fenced", FORGED)]),
    "producers": _each(["producers"]),
    "gaps": _each(["gaps"]),
    "dlq": _each(["dlq", "--show-letters"]),
    "compaction": _each(["compaction", "--config", "cleanup.policy=compact", "--show-records"],
                        ["compaction", "--config", f"{NAME}=1"], ["compaction"]),
    "retention": _each(["retention"], ["retention", "--config", f"retention.ms={NAME}"]),
    "diff": _diff,
    "redact": _each(["redact", "--all-values", "-o", "out"], ["redact", "--key", NAME, "-o", "out"],
                    ["redact", "--all-values", "--on-error", "skip", "-o", "out"],
                    ["redact", "--match", f"key={NAME}(", "-o", "out"]),
    "partitions": _each(["partitions"], ["partitions", "--topic", NAME]),
    "spec": _each(["spec", NAME], ["spec", "diff", NAME]),
    "spark": _each(["spark", NAME], ["spark", "verify", "--conf", NAME],
                   ["spark", "lake", "-o", "out", "--topic", NAME],
                   ["spark", "lake", "-o", "out", "--catalog", NAME]),
}  # fmt: skip
_HAS_NO_JSON = {
    "assemble",
    "explore",
    "convert",
    "export",
    "index",
    "spec",
    "spark",
    "conform",
    "generate",
}


def test_every_command_is_here() -> None:
    assert set(main.list_commands(None)) == set(RUNS)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_no_command_lets_a_name_or_value_control_the_terminal(
    name: str, logs: Path, tmp_path: Path
) -> None:
    out = tmp_path / f"{NAME}.out"
    wrong = []
    for arguments in RUNS[name](logs, out):
        result = run(*arguments)
        assert result.exit_code in (0, 1, 2)
        _removed(out)
        for text in (result.stdout, result.stderr):
            # The text of a schema has lines of its own.
            forged = "--id" not in arguments and re.search(r"^clean: 1$", text, re.MULTILINE)
            if not _is_safe(text) or forged:
                wrong.append((arguments, text))
        if name not in _HAS_NO_JSON and "csv" not in arguments:
            result = run(*arguments, "--format", "json")
            _removed(out)
            if not _is_json(result.stdout) or not _is_safe(result.stderr):
                wrong.append(([*arguments, "--format", "json"], result.output))
    text = "\n\n".join(f"{arguments!a}\n{ascii(text)[:1500]}" for arguments, text in wrong[:5])
    assert not wrong, f"{len(wrong)}:\n{text}"


@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals")
@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [["producers"], ["dump"], ["dump", "--format", "%k %s %h\n"], ["verify"], ["groups"]],
    ids=" ".join,
)
def test_a_real_terminal_gets_colours_only(arguments: list[str], logs: Path) -> None:
    import pty

    main_end, other_end = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, *arguments, os.fsencode(logs)],
        stdout=other_end,
        stderr=other_end,
        cwd=GOLDEN.parents[1],
        env=os.environ | {"TERM": "xterm"},
    ) as command:
        os.close(other_end)
        shown = bytearray()
        with suppress(OSError):  # at its end
            while part := os.read(main_end, 65536):
                shown += part
        os.close(main_end)
        assert command.wait() in (0, 1)
    text = re.sub(r"\x1b\[[0-9;]*m|\r?\n|\x1b\[(2K|1A|\?25[lh])|\r", "", shown.decode())
    text = text.replace("\t", "")
    assert text.isprintable(), [ascii(c) for c in text if not c.isprintable()]


def test_parts_of_a_character_are_escaped_together() -> None:
    text = "a\u009b\u202eb\U000e0001\n\x1b\t\u00e4"
    data = text.encode()
    for step in range(1, len(data) + 1):
        out = io.BytesIO()
        with Escaped(out) as escaped:
            for at in range(0, len(data), step):
                escaped.write(data[at : at + step])
        expected = "a\\u009b\\u202eb\\udb40\\udc01\n\\u001b\t\u00e4"
        assert out.getvalue().decode() == expected


def _removed(out: Path) -> None:
    shutil.rmtree(out) if out.is_dir() else out.unlink(missing_ok=True)


def _is_safe(text: str) -> bool:
    return text.replace("\n", "").isprintable()


def _is_json(text: str) -> bool:
    lines: list[Any] = text.split("\n")[:-1]
    try:
        return all(line.isprintable() and json.loads(line) for line in lines)
    except ValueError:
        return False
