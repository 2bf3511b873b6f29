"""One table of headers: what it says is what the parsed entries say, whatever scanned them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from operator import attrgetter
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.codecs import codec_names
from kafkaspec.layout import names
from kafkaspec.layout.stand_ins import NONE, UNKNOWN
from kafkaspec.log.batch import TIMESTAMP_TYPES, Batch
from kafkaspec.log.header_table import CRC, POSITION, SIZE, HeaderTable
from kafkaspec.log.headers import read_headers, readable_headers
from tests import goldens

SEGMENTS = goldens.distinct(".log", ".checkpoint")
CODECS = sorted({"native", "python"} & set(codec_names()))


def or_none(name: str) -> Callable[[Batch], Any]:
    return lambda batch: NONE if getattr(batch, name) is None else getattr(batch, name)


def timestamp_type(batch: Batch) -> int:
    """Kafka's ``TimestampType.id``."""
    kind = batch.timestamp_type
    return TIMESTAMP_TYPES.index(kind) if kind in TIMESTAMP_TYPES else -1


SAID: dict[str, Callable[[Batch], Any]] = {
    POSITION: attrgetter("position"),
    SIZE: attrgetter("size"),
    CRC: attrgetter("crc"),
    names.MAGIC: attrgetter("magic"),
    names.BASE_OFFSET: lambda batch: UNKNOWN if batch.is_wrapper else batch.base_offset,
    names.LAST_OFFSET: attrgetter("last_offset"),
    names.NUM_RECORDS: lambda batch: UNKNOWN if batch.is_wrapper else batch.num_records,
    names.COMPRESSION: attrgetter("compression"),
    names.TIMESTAMP_TYPE: timestamp_type,
    names.BASE_TIMESTAMP: or_none("base_timestamp"),
    names.MAX_TIMESTAMP: attrgetter("max_timestamp"),
    names.DELETE_HORIZON: or_none("delete_horizon"),
    names.HAS_DELETE_HORIZON: lambda batch: batch.delete_horizon is not None,
    names.LEADER_EPOCH: attrgetter("partition_leader_epoch"),
    names.PRODUCER_ID: attrgetter("producer_id"),
    names.PRODUCER_EPOCH: attrgetter("producer_epoch"),
    names.BASE_SEQUENCE: attrgetter("base_sequence"),
    names.LAST_SEQUENCE: attrgetter("last_sequence"),
    names.IS_TRANSACTIONAL: attrgetter("is_transactional"),
    names.IS_CONTROL: attrgetter("is_control"),
}
"""What a parsed entry says in the place of each column."""


def check(tables: list[HeaderTable], batches: list[Batch]) -> None:
    assert sum(map(len, tables)) == len(batches)
    for name, said in SAID.items():
        assert [value for table in tables for value in table.list(name)] == [
            said(batch) for batch in batches
        ], name


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.slow
def test_columns_are_what_the_parsed_entries_say(codec: str) -> None:
    magics = set()
    for golden in SEGMENTS:
        with ks.Segment(golden.path, codec=codec) as segment:
            batches = list(segment.batches())
            found = [item for item in readable_headers(segment) if isinstance(item, HeaderTable)]
            check(found, batches)
            check(list(read_headers(segment)), batches)
            magics |= {(batch.magic, batch.is_wrapper) for batch in batches}
    assert len(magics) == 5  # batches, messages of magic 0 and 1, and wrappers of both


def alternating() -> bytes:
    """Entries of all magics and of wrappers of both, in turns, as a log has after an upgrade."""
    turns = [(0, "none", 1), (2, "none", 1), (1, "none", 1), (0, "gzip", 3), (2, "gzip", 1),
             (1, "gzip", 3)] * 2  # fmt: skip
    offsets = accumulate(count for _, _, count in [(0, "", 5), *turns])
    return b"".join(
        ks.encode(
            [ks.Record(offset + number, 7 if magic else -1, b"k", b"v") for number in range(count)],
            magic=magic,
            compression=compression,
        )
        for offset, (magic, compression, count) in zip(offsets, turns, strict=False)
    )


@pytest.mark.parametrize("codec", CODECS)
def test_each_entry_of_a_mixed_table_has_its_own(codec: str) -> None:
    with ks.Segment(alternating(), codec=codec) as segment:
        tables = list(read_headers(segment))
        check(tables, list(segment.batches()))


def test_lists_numpy_and_arrow_are_the_same_numbers() -> None:
    with ks.Segment(alternating()) as segment:
        for table in read_headers(segment):
            for name in SAID:
                numbers = list(table.list(name))
                assert table.numpy(name).tolist() == numbers
                unknown = name in (names.BASE_OFFSET, names.NUM_RECORDS)
                assert table.arrow(name).to_pylist() == [
                    None if unknown and value == UNKNOWN else value for value in numbers
                ]


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_in_a_wrapper_is_known_once_it_is_opened(codec: str) -> None:
    """As ``AbstractLegacyRecordBatch.baseOffset``, which is the offset of the first message."""
    wrappers = 0
    for golden in SEGMENTS:
        if golden.path.parent.name.startswith(("format-0", "format-1", "codec-")):
            with ks.Segment(golden.path, codec=codec) as segment:
                for table in read_headers(segment):
                    opened = table.opened()
                    held = [batch.records() for batch in map(table.batch, range(len(table)))]
                    sets = [
                        batch.kind.has_record_sets for batch in map(table.batch, range(len(table)))
                    ]
                    for row, (records, is_set) in enumerate(zip(held, sets, strict=True)):
                        if not is_set:
                            assert opened.first_offset[row] == records[0].offset
                            assert opened.list(names.NUM_RECORDS)[row] == len(records)
                            assert table.first_offset_of(row) == records[0].offset
                    wrappers += table.has_wrappers
                    assert (UNKNOWN in table.first_offset) == table.has_wrappers
    assert wrappers
