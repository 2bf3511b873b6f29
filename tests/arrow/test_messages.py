"""Kafka's messages as columns: the engine in C, the Python codec, and bytes agree."""

from __future__ import annotations

import json
import random
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kafkaspec as ks
from kafkaspec._generated.layout.topics import Topic
from kafkaspec.arrow.messages.arrays import (
    array_type,
    decode_array,
    decode_with,
    encode_array,
    encode_with,
    message_table,
)
from kafkaspec.arrow.messages.reference import message_value
from kafkaspec.arrow.messages.topics import (
    decode_layouts,
    kind_of_record,
    record_types,
    type_of_layouts,
)
from kafkaspec.codecs import codec_names, get_codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import MessageLayout, Role
from kafkaspec.messages.decoding import record_type
from kafkaspec.messages.lookup import HEADS, MESSAGES, in_topic
from tests import extent, goldens
from tests.arrow.random_messages import RandomMessages

NAMES = [message.id for message in MESSAGES]
NEWEST = [message for message in MESSAGES if message.releases is None]
RECORDS = {
    m.name.removesuffix("Value").removesuffix("Record"): m.topic
    for m in MESSAGES
    if m.role in (Role.VALUE, Role.RECORD)
}
"""The topic of each type of record."""


def message_type(name: str) -> pa.DataType:
    return message_table(name).type


def decode_messages(name: str, data: pa.Array, codec: str | None = None, **options: Any) -> Any:
    return decode_with(get_codec(codec), message_table(name), data, **options)


def encode_messages(name: str, values: pa.Array, codec: str | None = None) -> pa.BinaryArray:
    return encode_with(get_codec(codec), message_table(name), values)


def decoded(name: str, data: Sequence[bytes | None], codec: str) -> tuple[pa.Array, dict[int, str]]:
    errors: dict[int, str] = {}

    def note(row: int, error: KafkaSpecError) -> None:
        errors[row] = str(error)

    found = decode_messages(name, pa.array(data, pa.binary()), codec=codec, on_error=note)
    found.validate(full=True)
    return found, errors


def check(name: str, data: Sequence[bytes | None]) -> tuple[pa.Array, dict[int, str]]:
    """Check that both codecs say the same about some messages; return what they say."""
    found, errors = decoded(name, data, "native")
    wanted, reasons = decoded(name, data, "python")
    assert errors == reasons, name
    if not found.equals(wanted):
        for row, (ours, theirs) in enumerate(zip(found, wanted, strict=True)):
            assert same(ours.as_py(), theirs.as_py()), (name, data[row])
    assert found.type == message_type(name)
    return found, errors


@cache
def golden() -> dict[str, list[bytes | None]]:
    """The keys and values in the internal topics of the golden logs, by the message they are."""
    found: dict[str, list[bytes | None]] = defaultdict(list)
    for item in goldens.files(".log", ".checkpoint"):
        topic = item.path.parent.name.rpartition("-")[0]
        kinds = {(m.topic, m.number, m.role): m.key.partition(".")[0] for m in NEWEST}
        if topic not in {m.topic for m in NEWEST}:
            continue
        for record in ks.open(item.path).records():
            if record.key is None:
                assert record.value is not None
                name = kinds.get((topic, record.value[1], Role.RECORD))
                if name is not None:
                    found[name].append(record.value)
                continue
            number = int.from_bytes(record.key[:2], "big")
            for role, content in ((Role.KEY, record.key), (Role.VALUE, record.value)):
                name = kinds.get((topic, number, role))
                if name is not None:
                    found[name].append(content)
    assert found
    return found


@pytest.mark.core
def test_golden_messages_decode_alike_and_encode_to_the_same_bytes() -> None:
    for name, data in golden().items():
        found, errors = check(name, data)
        expected = [None if row in errors else content for row, content in enumerate(data)]
        for codec in ("native", "python"):
            made = encode_messages(name, found, codec=codec).to_pylist()
            assert made == expected, (name, codec)


@pytest.mark.core
def test_every_vector_of_a_message() -> None:
    for name in NAMES:
        text = (files("kafkaspec._generated.vectors") / f"{name}.json").read_text("utf-8")
        vectors = [v for v in json.loads(text)["vectors"] if v["type"] == f"{name}.{name}"]
        assert vectors, name
        _, errors = check(name, [bytes.fromhex(vector["hex"]) for vector in vectors])
        for row, vector in enumerate(vectors):
            whole = vector["verdict"] == "accept" and vector["end"] == len(vector["hex"]) // 2
            assert (row not in errors) == whole, (name, vector["name"])


def made(name: str, count: int, seed: int = 0) -> list[dict[str, Any]]:
    source = RandomMessages(message_table(name).layout, seed)
    return [source.message() for _ in range(count)]


@pytest.mark.core
def test_random_messages_survive() -> None:
    codec = get_codec("python")
    for name in NAMES:
        values = pa.array(made(name, 30), message_type(name))
        data = encode_messages(name, values)
        assert data.equals(encode_messages(name, values, codec="python")), name
        found, errors = check(name, data.to_pylist())
        assert errors == {}, name
        assert found.equals(values), name
        for content in data.to_pylist():
            value, end = codec.parse(f"{name}.{name}", content)
            assert end == len(content)
            assert codec.serialize(f"{name}.{name}", value) == content, name


def damaged(data: bytes, rng: random.Random) -> Iterable[bytes]:
    yield from (data[:end] for end in range(min(len(data), 60)))
    for _ in range(30):
        changed = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 3))):
            changed[rng.randrange(len(data))] = rng.choice((0, 1, 2, 127, 128, 255))
        yield bytes(changed)
    yield data + b"\0"


@pytest.mark.core
def test_damaged_messages_have_the_same_errors() -> None:
    rng = random.Random(5)
    for name in NAMES:
        values = pa.array(made(name, 4, 7), message_type(name))
        data = [
            item for one in encode_messages(name, values).to_pylist() for item in damaged(one, rng)
        ]
        found, _ = check(name, data)
        again = encode_messages(name, found)
        again = decode_messages(name, again)
        assert again.equals(found) or same(again.to_pylist(), found.to_pylist()), name


def same(ours: object, theirs: object) -> bool:
    """Whether values are the same; a number that is none equals itself here."""
    return repr(ours) == repr(theirs)


@pytest.mark.core
def test_a_slice_and_large_offsets_are_read_alike() -> None:
    name = "group_metadata_value"
    values = pa.array([None, *made(name, 30), None], message_type(name))
    data = encode_messages(name, values)
    for start, size in ((0, 0), (1, 9), (3, 20), (31, 1)):
        part = data.slice(start, size)
        for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
            assert decode_messages(name, part.cast(kind)).equals(values.slice(start, size))
        assert encode_messages(name, values.slice(start, size)).equals(part)


@pytest.mark.core
def test_what_does_not_fit_a_version_is_refused_alike() -> None:
    rng, refused = random.Random(3), 0
    for name in NAMES:
        for value in made(name, 12, 11):
            spoil(value, rng)
            try:
                values = pa.array([value], message_type(name))
            except (pa.ArrowInvalid, OverflowError):
                continue
            said = [written(name, values, codec) for codec in ("native", "python")]
            assert said[0] == said[1], (name, value)
            refused += isinstance(said[0], str)
    assert refused > 100


def written(name: str, values: pa.Array, codec: str) -> list[bytes] | str:
    """Return the bytes, or why there are none."""
    try:
        return list(encode_messages(name, values, codec=codec).to_pylist())
    except KafkaSpecError as error:
        return str(error)


def spoil(value: dict[str, Any], rng: random.Random) -> None:
    """Make a field null, or a version another."""
    name = rng.choice(list(value))
    inner = value[name]
    if isinstance(inner, dict):
        spoil(inner, rng)
    elif isinstance(inner, int) and not isinstance(inner, bool):
        value[name] = rng.choice((-1, 0, 1, 2, 3, 4, 5, 9))
    elif isinstance(inner, list) and inner and isinstance(inner[0], dict):
        spoil(inner[0], rng)
    else:
        value[name] = None


@pytest.mark.core
def test_the_engine_takes_no_table_that_is_none() -> None:
    """Numbers of tables are changed at random: each is refused, or decodes without harm."""
    core, rng, accepted = get_codec("native").core, random.Random(9), 0
    assert core is not None
    for name in (
        "group_metadata_value",
        "partition_change_record",
        "consumer_group_member_metadata_value",
    ):
        table = message_table(name)
        data = encode_messages(name, pa.array(made(name, 10), message_type(name)))
        _, offsets, content = data.buffers()
        for _ in range(2000):
            numbers = [array("q", part) for part in table.engine]
            part = rng.choice(numbers)
            part[rng.randrange(len(part))] = rng.choice((-2, -1, 0, 1, 2, 3, 4, 8, 12, 40, 1 << 40))
            try:
                core.module.messages_decode(*numbers, len(data), 0, 0, None, offsets, (content,))
                accepted += 1
            except ValueError:
                continue
    assert accepted > 100


def test_offsets_that_are_not_in_order_are_refused() -> None:
    core = get_codec("native").core
    assert core is not None
    columns, lines = message_table("offset_commit_key").engine
    data = b"\0\1\0\1g\0\1t\0\0\0\0"
    for ends in ((0, 13), (5, 3), (-1, 4)):
        with pytest.raises(ValueError, match="not in order"):
            core.module.messages_decode(columns, lines, 1, 0, 0, None, array("i", ends), (data,))
    for view in ((13, 0, 0, 1), (13, 0, 1, 0), (13, 0, -1, 0), (-1, 0, 0, 0), (13, 0, 0, -1)):
        with pytest.raises(ValueError, match="not in order"):
            core.module.messages_decode(columns, lines, 1, 0, 2, None, array("i", view), (data,))
    for rows, first in ((-1, 0), (1, -1), (1 << 62, 0), (1, 5)):
        with pytest.raises(ValueError, match=r"range|bytes and needs"):
            core.module.messages_decode(
                columns, lines, rows, first, 0, None, array("i", (0, 12)), (data,)
            )


def test_text_that_is_not_utf_8_is_shown_as_java_shows_it() -> None:
    data = pa.array([b"\0\1\0\1\xff\0\1t\0\0\0\0", b"\0\1\0\1g\0\1t\0\0\0\0"])
    for codec in ("native", "python"):
        found = decode_messages("offset_commit_key", data, codec=codec)
        assert found.field("group").to_pylist() == ["\ufffd", "g"]


def test_messages_by_the_names_of_kafka() -> None:
    key = pa.array([b"\0\1\0\1g\0\1t\0\0\0\0", None])
    found = decode_array("OffsetCommitKey", key)
    assert found.to_pylist() == [{"group": "g", "topic": "t", "partition": 0, "unused": b""}, None]
    assert found.type == array_type("OffsetCommitKey", release="2.8")
    assert encode_array("OffsetCommitKey", found).equals(key)
    with pytest.raises(KafkaSpecError, match="record_type"):
        decode_array("OffsetCommitKey", pa.array([b"\0\2"]))
    for name in ("OffsetCommit_Key", "Record", ""):
        with pytest.raises(KeyError, match="no message"):
            array_type(name)


def test_there_is_no_other_message() -> None:
    for name in ("no_such", "../secret", "recordbatch", ""):
        with pytest.raises(KeyError):
            message_type(name)


# -- topics ---------------------------------------------------------------------------------


def logs_of(version: str) -> ks.LogDirectory:
    found = ks.open(goldens.GOLDEN / version / "logs")
    assert isinstance(found, ks.LogDirectory)
    return found


@pytest.mark.core
def test_tables_of_all_types_have_all_records_of_a_topic() -> None:
    """Of all releases, without a word which one it is."""
    old = 0
    for version in goldens.VERSIONS:
        log = logs_of(version)
        records = Counter[str]()
        for partition in log.current:
            if partition.topic in HEADS:
                records[partition.topic] += sum(1 for _ in partition.records())
        wanted = {name: topic for name, topic in RECORDS.items() if records[topic]}
        tables = {
            name: log.topic_messages(name, on_value_error="column").read_all() for name in wanted
        }
        assert sum(table.num_rows for table in tables.values()) == records.total(), version
        for name, table in tables.items():
            assert table["error"].null_count == table.num_rows, (version, name)
            fields = table["value"].type
            kept = log.topic_messages(name, release=version).read_all() if table.num_rows else table
            if kept["value"].type != fields:
                old += table.num_rows
                fitted = [value and shown(value, fields) for value in kept["value"].to_pylist()]
                assert table["value"].to_pylist() == fitted, (version, name)
    assert old >= (1 if extent.quick else 16)  # a quick run has few releases
    offsets = tables["OffsetCommit"]
    assert offsets.num_rows
    assert offsets.column_names == ["partition", "offset", "timestamp", "key", "value", "error"]
    assert {row["group"] for row in offsets["key"].to_pylist()} >= {"group-a"}


def shown(value: Any, kind: pa.DataType) -> Any:
    """Return a value with the fields of a type, null where it does not have them."""
    if isinstance(value, dict):
        return {field.name: shown(value.get(field.name), field.type) for field in kind}
    if isinstance(value, list):
        return [shown(item, kind.value_type) for item in value]
    return value


@pytest.mark.core
def test_the_layout_of_each_message_is_that_of_the_reference() -> None:
    """Random messages in old layouts and new ones, and some with bytes after them."""
    rng, chosen = random.Random(4), Counter[bool]()
    for newest in NEWEST:
        layouts = in_topic(newest.topic, newest.role, newest.number or 0)
        if len(layouts) < 2:
            continue
        data: list[bytes | None] = [None]
        for layout in layouts:
            values = pa.array(made(layout.id, 12, 5), message_type(layout.id))
            data += encode_messages(layout.id, values).to_pylist()
        data += [(rng.choice(data) or b"") + b"\0" for _ in range(3)]
        rng.shuffle(data)
        kind = type_of_layouts(layouts)
        for codec in ("native", "python"):
            bad: set[int] = set()
            found = decode_layouts(
                get_codec(codec), layouts, pa.array(data, pa.binary_view()), kind,
                lambda row, _, bad=bad: bad.add(row),  # type: ignore[misc]
            )  # fmt: skip
            found.validate(full=True)
            for row, (content, value) in enumerate(zip(data, found.to_pylist(), strict=True)):
                read = None if content is None else reference(layouts, content)
                chosen[read is layouts[0]] += 1
                assert (row in bad) == (content is not None and read is None), (layouts, row)
                if content is None or read is None:
                    assert value is None
                    continue
                table = message_table(read.id)
                wanted = message_value(get_codec("python"), table.layout, content)
                assert value == shown(wanted, kind), (read.id, content)
    assert min(chosen.values()) > 100


def reference(layouts: Sequence[MessageLayout], data: bytes) -> MessageLayout | None:
    """The first layout that takes every byte, else the first that can be read."""
    found = None
    for layout in layouts:
        try:
            value, end = get_codec("python").parse(layout.key, data, complete=True)
        except KafkaSpecError:
            continue
        assert end == len(data)
        if not len(getattr(value, "unused", b"")):
            return layout
        found = found or layout
    return found


def test_a_segment_by_codecs_and_by_records() -> None:
    for item in goldens.files(".log", version=goldens.VERSIONS[-1]):
        if (
            not item.path.parent.name.startswith("__consumer_offsets")
            or not item.path.stat().st_size
        ):
            continue
        tables = [
            ks.Segment(item.path, codec=codec).topic_messages("OffsetCommit").read_all()
            for codec in ("native", "python")
        ]
        assert tables[0].equals(tables[1])
        assert tables[0].column_names == ["offset", "timestamp", "key", "value"]
        wanted = [
            record
            for record in ks.Segment(item.path).records()
            if record.key is not None and record.key[:2] == b"\0\1"
        ]
        assert tables[0]["offset"].to_pylist() == [record.offset for record in wanted]
        values = tables[0]["value"].to_pylist()
        assert [value is None for value in values] == [r.value is None for r in wanted]


def forged(path: Path) -> Path:
    """Write a segment of offset commits, one of them cut, a tombstone, and other types."""
    key = b"\0\1\0\1g\0\1t\0\0\0\2"
    value = b"\0\1" + b"\0" * 7 + b"\5" + b"\0\0" + b"\0" * 16
    records = [
        ks.Record(0, 1, key, value),
        ks.Record(1, 2, key, None),
        ks.Record(2, 3, key, value[:-1]),
        ks.Record(3, 4, b"\0\2\0\1g", None),
        ks.Record(4, 5, None, b"x"),
        ks.Record(5, 6, b"\0", b""),
        ks.Record(6, 7, b"\x7f\xff", b""),
        ks.Record(7, 8, key[:-1], value),
        ks.Record(8, 9, key, value),
    ]
    folder = path / "__consumer_offsets-3"
    folder.mkdir()
    file = folder / "00000000000000000000.log"
    file.write_bytes(ks.encode(records, magic=2))
    return file


def test_records_that_do_not_decode_are_kept_or_raised(tmp_path: Path) -> None:
    file = forged(tmp_path)
    for log in (ks.Segment(file), ks.Segment(file, codec="python")):
        table = log.topic_messages("OffsetCommit", on_value_error="column").read_all()
        assert table["offset"].to_pylist() == [0, 1, 2, 7, 8]
        there = [table[name].is_valid().to_pylist() for name in ("key", "value", "error")]
        assert list(zip(*there, strict=True)) == [
            (True, True, False), (True, False, False), (True, False, True),
            (False, True, True), (True, True, False),
        ]  # fmt: skip
        errors = table["error"].drop_null().to_pylist()
        assert "record 2, byte " in errors[0]
        assert "[overrun]" in errors[0]
        assert "/key/partition" in errors[1]
        with pytest.raises(KafkaSpecError, match="record 2, byte 20 of its value") as caught:
            log.topic_messages("OffsetCommit").read_all()
        assert caught.value.path == "/value/body/body/expire_timestamp"
        assert caught.value.file == str(file)
    whole = ks.open(tmp_path)
    table = whole.topic_messages("OffsetCommit", on_value_error="column").read_all()
    assert table["partition"].to_pylist() == [3] * 5
    assert whole.topic_messages("TransactionLog").read_all().num_rows == 0


def test_names_and_options_that_are_wrong(tmp_path: Path) -> None:
    segment = ks.Segment(forged(tmp_path))
    with pytest.raises(ValueError, match=r"there are .*OffsetCommit"):
        segment.topic_messages("Offsets")
    with pytest.raises(ValueError, match="on_value_error must be one of raise, column"):
        segment.topic_messages("OffsetCommit", on_value_error="skip")  # type: ignore[arg-type]
    assert kind_of_record("PartitionRecord") is not kind_of_record("PartitionChange")
    assert kind_of_record("Partition").value[0].name == "PartitionRecord"


@pytest.mark.parametrize(
    ("topic", "data", "expected"),
    [
        (Topic.CONSUMER_OFFSETS, b"\0\1\0", 1),
        (Topic.TRANSACTION_STATE, b"\xff\xfe", -2),
        (Topic.SHARE_GROUP_STATE, b"\0", None),
        (Topic.CLUSTER_METADATA, b"\1\x14", 20),
        (Topic.CLUSTER_METADATA, b"\x81\0\x94\1", 148),
        (Topic.REMOTE_LOG_METADATA, b"\1\x80", None),
        (Topic.REMOTE_LOG_METADATA, b"", None),
    ],
)
def test_types_of_records(topic: Topic, data: bytes, expected: int | None) -> None:
    """Alone and in columns, with integers of any length before them."""
    column = pa.array([data, data, None], pa.binary())
    for name in codec_names():
        codec = get_codec(name)
        assert record_types(topic, column, codec).to_pylist() == [expected, expected, None]
        if expected is not None:
            assert record_type(topic, data, codec) == expected
        else:
            with pytest.raises(KafkaSpecError):
                record_type(topic, data, codec)
