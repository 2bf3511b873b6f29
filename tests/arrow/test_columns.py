"""Columns are the records: on golden segments, in all layouts, with and without the extension."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.codecs import codec_names
from kafkaspec.log.batch import Batch
from kafkaspec.log.default import DefaultBatch
from kafkaspec.log.legacy import LegacyBatch
from kafkaspec.log.options import ByteLayout
from tests import goldens
from tests.arrow import forge
from tests.loops import each

pa = pytest.importorskip("pyarrow")

from kafkaspec.arrow.schema import COLUMNS, DEFAULT_COLUMNS  # noqa: E402

CODECS = [name for name in codec_names() if name in ("native", "python")]
LAYOUTS: list[ByteLayout] = ["view", "binary"]
GOLDENS = [golden for golden in goldens.files(".log") if golden.path.stat().st_size]


def directories(codec: str) -> list[goldens.Directory]:
    """What a codec reads here: the slower one what has all scenarios."""
    among = goldens.VERSIONS if codec == "native" else goldens.FULL
    return goldens.directories(of=goldens.distinct(".log", among=among))


NO_TIMESTAMP = -1


def milliseconds(column: Any) -> list[int]:
    return [
        NO_TIMESTAMP if value is None else value
        for value in column.cast(pa.timestamp("ms")).cast(pa.int64()).to_pylist()
    ]


def records(table: Any) -> list[ks.Record]:
    """The default columns as records."""
    table.validate(full=True)
    pairs = (
        tuple((pair["key"], pair["value"]) for pair in headers)
        for headers in table["headers"].to_pylist()
    )
    columns = (table["key"].to_pylist(), table["value"].to_pylist(), pairs)
    rows = zip(table["offset"].to_pylist(), milliseconds(table["timestamp"]), *columns, strict=True)
    return [ks.Record(*row) for row in rows]


def stored_timestamps(batch: Batch) -> list[int]:
    """The timestamps in the bytes of an entry, whatever its header says."""
    if isinstance(batch, DefaultBatch):
        base = batch.message.base_timestamp
        return [base + item.timestamp_delta for item in batch.record_set().records]
    assert isinstance(batch, LegacyBatch)
    inner = [item.message for item in batch.inner_messages()] or [batch.message]
    return [NO_TIMESTAMP if item.timestamp is None else item.timestamp for item in inner]


def rows_of(segment: ks.Segment, control: bool) -> Iterator[dict[str, Any]]:
    """The values of every column, from batches and records."""
    for batch in segment.batches():
        if batch.is_control and not control:
            continue
        names = [item.type_name for item in batch.control_records()] or None
        stored = stored_timestamps(batch)
        for number, record in enumerate(batch.records()):
            yield {
                "offset": record.offset,
                "timestamp": record.timestamp,
                "timestamp_type": batch.timestamp_type,
                "key": record.key,
                "value": record.value,
                "headers": [{"key": key, "value": value} for key, value in record.headers],
                "topic": None,
                "partition": None,
                "leader_epoch": batch.partition_leader_epoch,
                "magic": batch.magic,
                "compression": batch.compression_name,
                "producer_id": batch.producer_id,
                "producer_epoch": batch.producer_epoch,
                "sequence": batch.sequence(record.offset),
                "transactional": batch.is_transactional,
                "control_type": names[number] if names else None,
                "batch_position": batch.position,
                "batch_base_offset": batch.base_offset,
                "own_timestamp": stored[number],
            }


def plain(table: Any) -> list[dict[str, Any]]:
    for name in {"timestamp", "own_timestamp"} & set(table.column_names):
        stamps = pa.array(milliseconds(table[name]))
        table = table.set_column(table.schema.get_field_index(name), name, stamps)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


@pytest.mark.core
@each(
    "codec,directory",
    [(codec, item) for codec in CODECS for item in directories(codec)],
)
def test_golden_segments(codec: str, directory: goldens.Directory) -> None:
    for golden in directory.files:
        if golden.path.stat().st_size:
            check_golden(golden, codec)


def check_golden(golden: goldens.Golden, codec: str) -> None:
    """Records and columns are the same."""
    with ks.Segment(golden.path, codec=codec) as segment:
        expected = list(segment.records())
        for layout in LAYOUTS:
            assert records(segment.to_arrow(layout=layout)) == expected
        data = ks.Segment(golden.path.read_bytes(), codec=codec)
        for control in (False, True):
            table = data.to_arrow(COLUMNS, include_control=control)
            assert plain(table) == list(rows_of(data, control))


@pytest.mark.core
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("max_bytes", [1, 500, 20_000])
def test_small_chunks_of_mixed_entries(
    tmp_path: Path, codec: str, layout: ByteLayout, max_bytes: int
) -> None:
    parts, expected = [], []
    for number, (magic, compression) in enumerate(
        [(2, "none"), (2, "zstd"), (1, "none"), (1, "gzip"), (0, "none"), (0, "snappy"), (2, "lz4")]
        * 3
    ):
        made = forge.records(20, 20 * number, seed=number)
        if magic < 2:
            made = [
                record._replace(headers=(), timestamp=-1 if magic == 0 else record.timestamp)
                for record in made
            ]
        parts.append(ks.encode(made, magic=magic, compression=compression))
        expected += made
    path = forge.segment(tmp_path, parts)
    for mapped in (True, False):
        with ks.Segment(path, codec=codec, mapped=mapped) as segment:
            reader = segment.to_batches(layout=layout, max_bytes=max_bytes)
            batches = list(reader)
            assert all(batch.num_rows for batch in batches)
            if max_bytes < 20_000:
                assert max(batch.num_rows for batch in batches) <= 40
            assert records(pa.Table.from_batches(batches)) == expected
            assert records(segment.to_arrow(layout=layout)) == expected


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("compression", ["none", "lz4"])
def test_ranges(tmp_path: Path, codec: str, layout: ByteLayout, compression: str) -> None:
    made = forge.records(200)
    stamps = [forge.START + (offset * 7919) % 200 for offset in range(200)]  # in no order
    made = [r._replace(timestamp=t) for r, t in zip(made, stamps, strict=True)]
    made[50] = made[50]._replace(timestamp=-1)
    parts = [ks.encode(made[i : i + 23], compression=compression) for i in range(0, 200, 23)]
    segment = ks.Segment(b"".join(parts), codec=codec)
    for low, high in [(None, None), (0, 200), (5, 6), (22, 24), (50, 150), (199, None), (7, 7)]:
        expected = [
            record
            for record in made
            if (low is None or record.offset >= low) and (high is None or record.offset < high)
        ]
        table = segment.to_arrow(start_offset=low, end_offset=high, layout=layout)
        assert records(table) == expected
        stamped = [
            record
            for record in expected
            if record.timestamp != -1 and forge.START + 20 <= record.timestamp < forge.START + 90
        ]
        table = segment.to_arrow(
            start_offset=low,
            end_offset=high,
            start_timestamp=forge.START + 20,
            end_timestamp=forge.START + 90,
            layout=layout,
        )
        assert records(table) == stamped
    keys = segment.to_arrow(["key"], end_timestamp=forge.START + 90, layout=layout)
    assert keys["key"].to_pylist() == [
        record.key for record in made if -1 < record.timestamp < forge.START + 90
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_only_wanted_columns_in_the_wanted_order(codec: str) -> None:
    segment = ks.Segment(ks.encode(forge.records(10)), codec=codec)
    for names in (["value", "offset"], ["partition"], ["headers"], ["sequence", "magic"]):
        table = segment.to_arrow(names)
        assert table.column_names == names
        assert table.num_rows == 10
    assert tuple(segment.schema.names) == DEFAULT_COLUMNS
    assert segment.to_batches().schema == segment.schema
    assert ks.Segment(b"", codec=codec).to_arrow().num_rows == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"columns": ["offsets"]}, "no column 'offsets'; there are offset"),
        ({"columns": []}, "at least one"),
        ({"columns": ["key", "key"]}, "twice"),
        ({"columns": "key"}, "list of names"),
        ({"layout": "rows"}, "layout must be one of view, binary"),
        ({"header_keys": "text"}, "header_keys must be one of"),
        ({"max_bytes": 0}, "max_bytes"),
    ],
)
def test_invalid_requests(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        ks.Segment(b"").to_batches(**options)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_header_keys_that_are_not_utf_8(codec: str, layout: ByteLayout) -> None:
    made = forge.records(3)
    made[1] = made[1]._replace(headers=(("a\udcff\udc80b", b"1"), ("gr\u00fc\u00dfe", None)))
    segment = ks.Segment(ks.encode(made), codec=codec, name="the file")
    table = segment.to_arrow(["headers"], layout=layout)
    table.validate(full=True)
    assert table["headers"].to_pylist()[1] == [
        {"key": "a\ufffd\ufffdb", "value": b"1"},
        {"key": "gr\u00fc\u00dfe", "value": None},
    ]
    exact = segment.to_arrow(["headers"], layout=layout, header_keys="binary")
    assert [pair["key"] for pair in exact["headers"].to_pylist()[1]] == [
        b"a\xff\x80b",
        "gr\u00fc\u00dfe".encode(),
    ]
    # As new String(key, UTF_8) of Java: an encoded surrogate is one, whole or cut.
    for key, text in {
        b"a\xed\xa0\x80b": "a\ufffdb",
        b"\xed\xb0\x80\xed\xa0": "\ufffd\ufffd",
        b"\xed\xa0a\xe0\x80\x80": "\ufffda\ufffd\ufffd\ufffd",
        b"\xf4\x90\x80\x80": "\ufffd\ufffd\ufffd\ufffd",
    }.items():
        one = forge.records(1)[0]._replace(
            headers=((key.decode("utf-8", "surrogateescape"), None),)
        )
        found = ks.Segment(ks.encode([one]), codec=codec).to_arrow(["headers"], layout=layout)
        assert found["headers"].to_pylist()[0][0]["key"] == text
    with pytest.raises(ks.KafkaSpecError, match="is not UTF-8") as caught:
        segment.to_arrow(["headers"], layout=layout, header_keys="strict")
    assert caught.value.file == "the file"


def test_views_point_into_the_file(tmp_path: Path) -> None:
    pytest.importorskip("kafkaspec._native")
    made = forge.records(500, size=1000)
    path = forge.segment(tmp_path, [ks.encode(made)])
    size = path.stat().st_size
    with ks.Segment(path, codec="native") as segment:
        before = pa.total_allocated_bytes()
        (batch,) = segment.to_batches(["value"])
        assert pa.total_allocated_bytes() - before < size // 4
        data = batch["value"].buffers()[2]
        assert data.size == size
    # The file is closed; the views keep the map.
    assert batch["value"].to_pylist() == [record.value for record in made]


@pytest.mark.core
@each("golden", GOLDENS[:: max(1, len(GOLDENS) // 40)])
def test_tables_of_headers(golden: goldens.Golden) -> None:
    for codec in CODECS:
        with ks.Segment(golden.path, codec=codec) as segment:
            rows = segment.batch_table().to_pylist()
            batches = list(segment.batches())
        assert [row["position"] for row in rows] == [batch.position for batch in batches]
        for row, batch in zip(rows, batches, strict=True):
            wrapper = batch.magic < 2 and batch.is_compressed
            assert row["base_offset"] == (None if wrapper else batch.base_offset)
            assert row["num_records"] == (None if wrapper else batch.num_records)
            for name in ("size", "last_offset", "magic", "timestamp_type", "producer_id", "crc"):
                assert row[name] == getattr(batch, name), name
            assert row["compression"] == batch.compression_name
            assert row["leader_epoch"] == batch.partition_leader_epoch
            assert row["base_sequence"] == batch.base_sequence
            assert row["last_sequence"] == batch.last_sequence
            assert row["transactional"] == batch.is_transactional
            assert row["control"] == batch.is_control
            stamp = row["max_timestamp"]
            assert (NO_TIMESTAMP if stamp is None else round(stamp.timestamp() * 1000)) == (
                batch.max_timestamp
            )
            horizon = row["delete_horizon"]
            assert (horizon is None) == (batch.delete_horizon is None)
