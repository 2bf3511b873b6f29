"""``dump --format json`` of Kafka's own topics from columns says what it says record by record."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest

import kafkaspec as ks
from kafkaspec.arrow.messages.arrays import encode_with, message_table
from kafkaspec.cli.commands.dump_messages import MessageLines, style_of
from kafkaspec.codecs import codec_names, get_codec
from kafkaspec.columns.messages import message_layout
from kafkaspec.layout import MessageLayout, Role
from kafkaspec.messages.lookup import HEADS, MESSAGES
from kafkaspec.messages.tables import MessageColumns
from kafkaspec.messages.text_plans import text_plan
from tests.arrow.random_messages import RandomMessages
from tests.cli.test_dump_columns import same
from tests.goldens import GOLDEN

pytestmark = pytest.mark.skipif("native" not in codec_names(), reason="the extension was not built")

EACH = 12
"""Records of each type, half of them damaged."""
INTERNAL = sorted(
    path for path in GOLDEN.glob("**/__*-0") if path.is_dir() and any(path.glob("*.log"))
)


class Tables(dict[str, MessageColumns]):
    def __missing__(self, name: str) -> MessageColumns:
        return message_layout(name)


def messages(layout: MessageLayout, rng: random.Random) -> list[bytes]:
    table = message_table(layout.id)
    source = RandomMessages(table.layout, rng.randrange(1 << 32))
    values = pa.array([source.message() for _ in range(EACH)], table.type)
    found: list[bytes] = encode_with(get_codec("native"), table, values).to_pylist()
    return found


def damaged(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    changed[rng.randrange(len(data))] = rng.choice((0x00, 0x22, 0x5C, 0x1F, 0x80, 0xED, 0xFF))
    return bytes(changed[: rng.choice((None, None, None, -1))])


def pairs(topic: str, rng: random.Random) -> Iterator[tuple[bytes | None, bytes | None]]:
    """Keys and values of all types of all releases, as they are and damaged; some not there."""
    yield from ((None, None), (None, b""), (b"", b""), (b"\x7f\x7f", b"\0\0"), (b"\0\1", None))
    there = [layout for layout in MESSAGES if layout.topic == topic]
    for layout in there:
        if layout.role is Role.RECORD:
            for value in messages(layout, rng):
                yield rng.choice((None, None, b"k")), rng.choice((value, damaged(value, rng)))
        elif layout.role is Role.VALUE:
            (key,) = (k for k in there if (k.role, k.number) == (Role.KEY, layout.number))
            for left, right in zip(messages(key, rng), messages(layout, rng), strict=True):
                chosen = rng.choice((right, right, damaged(right, rng), None))
                yield rng.choice((left, left, left, damaged(left, rng))), chosen


@contextmanager
def left_to_records() -> Iterator[list[int]]:
    """Numbers of records that are shown one by one."""
    found: list[int] = []
    show = MessageLines.show

    def counted(self: MessageLines, batch: Any, records: Any) -> Any:
        found.append(len(records))
        return show(self, batch, records)

    with mock.patch.object(MessageLines, "show", counted):
        yield found


@pytest.mark.slow
@pytest.mark.parametrize("topic", HEADS)
def test_all_types_as_they_are_and_damaged(topic: str, tmp_path: Path) -> None:
    rng = random.Random(f"lines of {topic}")
    rows = list(pairs(topic, rng))
    rng.shuffle(rows)
    log = tmp_path / f"{topic}-0"
    log.mkdir()
    records = [ks.Record(at, at, *row) for at, row in enumerate(rows)]
    batches = [records[at : at + 40] for at in range(0, len(records), 40)]
    codecs = ("none", "lz4", "gzip")
    data = (ks.encode(batch, compression=rng.choice(codecs)) for batch in batches)
    (log / f"{0:020}.log").write_bytes(b"".join(data))
    for options in ((), ("--bytes", "base64", "--from-time", "7"), ("--limit", "100")):
        lines, made = same(log, *options)
        assert made >= lines


@pytest.mark.slow
def test_golden_logs() -> None:
    """Those of all releases; few of their records are left to be shown one by one."""
    records = 0
    for log in INTERNAL[:: len(INTERNAL) // 4]:
        lines, made = same(log)
        assert made
        records += lines
    assert records > 300


@pytest.mark.slow
@pytest.mark.parametrize("log", INTERNAL, ids=lambda path: str(path.relative_to(GOLDEN)))
def test_all_golden_logs(log: Path) -> None:
    _, made = same(log)
    assert made


@pytest.mark.slow
def test_the_engine_shows_nearly_all_records() -> None:
    from tests.cli.helpers import run

    with left_to_records() as left:
        lines = [run("dump", "--format", "json", log).stdout for log in INTERNAL]
    records = sum(text.count('"control": null') for text in lines)
    assert records > 5000
    assert sum(left) < records // 50, (sum(left), records)


@pytest.mark.parametrize("layout", MESSAGES, ids=lambda layout: layout.id)
def test_each_message_has_a_plan(layout: MessageLayout) -> None:
    assert text_plan(layout, Tables(), style_of(layout)) is not None
