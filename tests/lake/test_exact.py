"""Which entries the tables give again: what Kafka wrote, and what differs from what it writes."""

from __future__ import annotations

from itertools import chain

import pytest

import kafkaspec as ks
from tests import goldens
from tests.log import forge
from tests.loops import each

pytest.importorskip("pyarrow")

from kafkaspec.codecs import get_codec
from kafkaspec.lake import entries
from kafkaspec.lake.exact import exact_entries
from kafkaspec.lake.rows import attributes
from kafkaspec.log.headers import read_headers
from tests.lake.plain_tables import header_rows, raw_rows


def exact(data: bytes, *, compressed: bool = True) -> list[bool]:
    segment = ks.Segment(data)
    rows = raw_rows(segment)
    found: list[bool] = exact_entries(
        header_rows(segment), rows, data, compressed=compressed
    ).tolist()
    return found


@pytest.mark.slow
@each("golden", [golden for golden in goldens.distinct(".log") if golden.path.stat().st_size])
def test_all_that_brokers_did_not_compress(golden: goldens.Golden) -> None:
    """Batches without compression, with LogAppendTime and without records too; messages too."""
    data = golden.path.read_bytes()
    batches = list(ks.Segment(data).batches())
    plain = [not batch.is_compressed and not batch.is_control for batch in batches]
    assert exact(data, compressed=False) == plain
    for batch, same in zip(batches, exact(data), strict=True):
        assert same or batch.is_compressed or batch.is_control


@pytest.mark.slow
@each("golden", [golden for golden in goldens.distinct(".log") if golden.path.stat().st_size])
def test_attributes_are_those_of_the_bytes(golden: goldens.Golden) -> None:
    with ks.Segment(golden.path) as segment:
        expected = header_rows(segment)["attributes"].to_pylist()
        found = [attributes(table).tolist() for table in read_headers(segment)]
    assert list(chain(*found)) == expected


RECORD = forge.record(0, b"v", key=b"k", timestamp_delta=5, headers=[(b"h", b"1")])
BODY = RECORD[1:]


def test_what_is_not_as_kafka_writes_it_is_not_exact() -> None:
    """Each of these is read as the record before it, and a writer has one way to write that."""
    others = {
        "the plain one": RECORD,
        "a longer varint": bytes([len(RECORD) * 2]) + BODY[:1] + b"\x8a\x00" + BODY[2:],
        "another null": forge.record(0, None).replace(b"\x01\x01", b"\x01\x03"),
        "attributes of a record": RECORD[:1] + b"\x01" + RECORD[2:],
        "a key that is not UTF-8": forge.record(0, b"v", headers=[(b"\xff", b"")]),
    }
    made = [forge.batch(number, [record]) for number, record in enumerate(others.values())]
    assert dict(zip(others, exact(b"".join(made)), strict=True)) == {
        name: name == "the plain one" for name in others
    }


def test_unusual_headers_are_exact() -> None:
    """The table has all of their bits and numbers."""
    records = [forge.record(3, b"v", timestamp_delta=-7), forge.record(8, b"w")]
    made = [
        forge.batch(0, records, last_offset_delta=9, attributes=0x7F80, base_timestamp=77),
        forge.batch(
            10, records, last_offset_delta=9, attributes=0x8048 - 0x10000, base_timestamp=-5
        ),
        forge.batch(20, [], last_offset_delta=9, attributes=0x10, producer=(7, 3, 11)),
        forge.batch(30, records, last_offset_delta=9, max_timestamp=-1, leader_epoch=-1),
        forge.batch(40, records, crc=0),
    ]
    table = ks.Segment(b"".join(made), crc="ignore")
    found = exact_entries(header_rows(table), raw_rows(table), b"".join(made))
    assert found.tolist() == [True, True, True, True, False]


def test_messages() -> None:
    made = [
        forge.legacy(0, b"v", magic=0, key=b"k"),
        forge.legacy(1, b"v", key=b"k", attributes=forge.LOG_APPEND_TIME),
        forge.legacy(2, None, attributes=0x70),
        forge.legacy(3, b"v", slack=b"more"),
    ]
    assert exact(b"".join(made)) == [True, True, True, False]


def test_own_timestamps_under_append_time() -> None:
    records = [ks.Record(0, 1000, b"k", b"v"), ks.Record(1, 3000, b"k", None)]
    data = ks.encode(records, timestamp_type="LogAppendTime", max_timestamp=9000)
    data += ks.encode(
        [record._replace(offset=record.offset + 2) for record in records],
        delete_horizon=5000, compression="zstd",
    )  # fmt: skip
    assert exact(data) == [True, True]
    assert exact(data, compressed=False) == [True, False]


def test_a_part_of_a_segment() -> None:
    first, second = (forge.batch(number, [RECORD]) for number in (0, 1))
    segment = ks.Segment(first + second)
    headers, rows = header_rows(segment).slice(1), raw_rows(segment).slice(1)
    assert exact_entries(headers, rows, second, len(first)).tolist() == [True]
    assert exact_entries(headers.slice(1), rows.slice(1), b"").tolist() == []


@pytest.mark.slow
def test_a_codec_without_a_core_proves_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = [golden.path.read_bytes() for golden in goldens.distinct(".log", version="4.4.0")]
    expected = [exact(data, compressed=False) for data in logs if data]
    monkeypatch.setattr(entries, "get_codec", lambda: get_codec("python"))
    assert [exact(data, compressed=False) for data in logs if data] == expected
    assert any(map(any, expected))
