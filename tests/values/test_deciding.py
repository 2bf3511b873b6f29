"""By which context ids are looked up, and what is said of what cannot be decoded."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.values.definition import SchemaError
from kafkaspec.values.reading.request import ValueReport
from tests.cli.helpers import run
from tests.values.registry.topics import schema, write

ORDER = json.dumps(
    {"type": "record", "name": "Order", "fields": [
        {"name": "id", "type": "long"}, {"name": "note", "type": "string"}]}
)  # fmt: skip


def framed(number: int, payload: bytes) -> bytes:
    return b"\0" + struct.pack(">I", number) + payload


def order(number: int, note: str) -> bytes:
    """Return a record in Avro: a zigzag number below 64, and a text of less than 64 bytes."""
    return bytes([2 * number, 2 * len(note)]) + note.encode()


def topic(home: Path, name: str, values: list[bytes]) -> Path:
    with ks.SegmentWriter(home / f"{name}-0") as writer:
        writer.append_records([ks.Record(n, n, None, value) for n, value in enumerate(values)])
    return home / f"{name}-0"


def hundred(damaged: int = 1) -> list[bytes]:
    """Return framed orders; what is left of the damaged ones is no order, but bytes of any kind."""
    rows = [framed(1, order(n % 64, "x")) for n in range(100 - damaged)]
    return rows + [framed(1, b"\x02")] * damaged  # the long 1, and no text


@pytest.mark.slow
@pytest.mark.parametrize("own", ["orders-value", ":.shop:orders-value"])
@pytest.mark.parametrize("damaged", [0, 1, 60, 99])
def test_the_context_of_the_topics_own_subject_wins(tmp_path: Path, own: str, damaged: int) -> None:
    """The other context's schema takes the first byte or two of any row."""
    home = write(tmp_path, [schema(own, 1, 1, ORDER), schema(":.a:x-value", 1, 1, '"long"')])
    path = topic(home, "orders", hundred(damaged))
    report = ValueReport()
    with ks.open(path) as log:
        rows = log.to_typed(report=report).read_all()["value"].to_pylist()
    assert rows[: 100 - damaged] == [{"id": n % 64, "note": "x"} for n in range(100 - damaged)]
    assert rows[100 - damaged :] == [None] * damaged
    assert sum(report.failures.values()) == damaged
    where = ["--where", "value.note = 'x'", "--all"]
    commands: tuple[list[str | Path], ...] = (
        ["dump", path, "--value", "decode"],
        ["find", path, "--value", "decode", *where],
    )
    for command in commands:
        found = run(*command)
        assert found.exit_code == (1 if damaged else 0), found.stderr
    sql = run("sql", path, "--value", "decode", "SELECT count(value.note) FROM orders")
    assert str(100 - damaged) in sql.stdout, sql.stderr


def test_without_a_subject_of_its_own_the_default_context_wins(tmp_path: Path) -> None:
    home = write(
        tmp_path, [schema("other-value", 1, 1, ORDER), schema(":.a:x-value", 1, 1, '"long"')]
    )
    rows = ks.open(topic(home, "orders", hundred(40))).to_arrow(value="decode")["value"].to_pylist()
    assert rows[0] == {"id": 0, "note": "x"}
    assert rows[99] is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schemas", "value", "said"),
    [
        ([schema("x-value", 1, 7, ORDER)], framed(1, order(1, "x")), "no schema has the id 1"),
        ([schema("orders-value", 1, 1, '{"type": "no"}')], framed(1, order(1, "x")), "no"),
        ([schema("orders-value", 1, 1, ORDER)], b"plain text", "nothing says their schema"),
    ],
)
def test_what_was_to_be_decoded_and_is_not_is_named(
    tmp_path: Path, schemas: list[Any], value: bytes, said: str
) -> None:
    path = topic(write(tmp_path, schemas), "orders", [value] * 20)
    out = tmp_path / "out.jsonl"
    commands: tuple[list[str | Path], ...] = (
        ["export", path, "--value", "decode", "--to", "jsonl", "-o", out],
        ["dump", path, "--value", "decode"],
        ["find", path, "--value", "decode", "--where", "offset = 3"],
        ["sql", path, "--value", "decode", "SELECT value FROM orders"],
    )
    for command in commands:
        found = run(*command)
        assert found.exit_code == 1, f"{command[0]}: {found.stderr}"
        lines = [
            line for line in found.stderr.splitlines() if "orders: values are not decoded" in line
        ]
        assert len(lines) == 1, f"{command[0]}: {found.stderr}"
        assert said in lines[0]
        assert "decode;" not in found.stderr
    with ks.open(path) as log:
        with pytest.raises(SchemaError, match="orders: values are not decoded"):
            log.to_typed(on_value_error="raise")
        report = ValueReport()
        log.to_typed(report=report).read_all()
        assert list(report.undecoded)
        assert report.failed == 1
    plain = run("sql", path, "SELECT value FROM orders")  # nobody asked
    assert plain.exit_code == 0, plain.stderr


def test_an_empty_topic_has_nothing_to_decode(tmp_path: Path) -> None:
    home = write(tmp_path, [schema("orders-value", 1, 1, ORDER)])
    path = topic(home, "orders", [b""])
    for item in path.iterdir():
        item.unlink()
    (path / f"{0:020}.log").touch()
    found = run("dump", path, "--value", "decode")
    assert found.exit_code == 0, found.stderr
