"""Laws of everything that is written, by any rules."""

from __future__ import annotations

import tempfile
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kafkaspec as ks
from kafkaspec.analysis.reasons import FindingReason
from kafkaspec.broker.profiles import PROFILES, get_profile
from kafkaspec.codecs import codec_names, get_codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.arrays import serialize_array
from kafkaspec.files.indexes import LARGEST_RELATIVE_OFFSET
from kafkaspec.model import Record
from kafkaspec.writing.comparison import Comparison
from tests.extent import examples

VERSIONS = [row.since for row in PROFILES]
SETTINGS = settings(
    deadline=None, max_examples=examples(50), suppress_health_check=[HealthCheck.too_slow]
)


@contextmanager
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name) / "law-0"


@st.composite
def appends(draw: st.DrawFn, magic: int) -> list[list[Record]]:
    """Batches with rising offsets; times go forth and back."""
    offset = draw(st.sampled_from([0, 100, 1 << 40]))
    found = []
    for _ in range(draw(st.integers(0, 12))):
        batch = []
        for _ in range(draw(st.integers(1, 4))):
            time = draw(st.integers(0, 5000)) if magic else -1
            batch.append(Record(offset, time, draw(st.binary(max_size=3)), b"x" * 40))
            offset += draw(st.sampled_from([1, 1, 1, 3, 1 << 31]))
        found.append(batch)
    return found


@pytest.mark.slow
@SETTINGS
@given(st.data())
def test_appended_records_can_be_read_and_no_check_finds_anything(data: st.DataObject) -> None:
    version = data.draw(st.sampled_from(VERSIONS))
    profile = get_profile(version)
    magic = data.draw(st.integers(0, profile.magic))
    batches = data.draw(appends(magic))
    codec = data.draw(st.sampled_from(["none", "gzip", "lz4"]))
    limit, interval = data.draw(st.sampled_from([1, 300, 1 << 30])), data.draw(st.integers(0, 400))
    segment_ms = data.draw(st.sampled_from([1000, 1 << 40]))
    base = batches[0][0].offset if batches else 0
    with directory() as out:
        with ks.SegmentWriter(
            out,
            base,
            version,
            segment_bytes=limit,
            segment_ms=segment_ms,
            index_interval_bytes=interval,
            sync=False,
        ) as writer:
            for batch in batches:
                if batch[-1].offset - batch[0].offset > LARGEST_RELATIVE_OFFSET:
                    with pytest.raises(KafkaSpecError):
                        writer.append_records(batch, magic=magic, compression=codec)
                    continue
                writer.append_records(batch, magic=magic, compression=codec)
                assert writer.next_offset == batch[-1].offset + 1
            written = writer.segments
        kept = [
            record
            for batch in batches
            if batch[-1].offset - batch[0].offset <= LARGEST_RELATIVE_OFFSET
            for record in batch
        ]
        with ks.Partition(out) as partition:
            assert list(partition.records()) == kept
            assert [item.base_offset for item in partition.segments] == [
                item.base_offset for item in written
            ]
            for segment in partition.segments:
                check_segment(segment, limit, segment_ms, profile.timestamp_roll)
        # Nothing tells offsets that nobody wrote between two segments from a lost segment.
        offsets = [record.offset for record in kept]
        ends = {item.base_offset: bisect_left(offsets, item.base_offset) for item in written}
        skipped = {
            offsets[at - 1] + 1 if at else base
            for item, at in ends.items()
            if item > (offsets[at - 1] + 1 if at else base)
        }
        for finding in ks.verify(out).findings:
            assert finding.reason == FindingReason.MISSING_OFFSETS
            assert finding.offset in skipped


def check_segment(segment: ks.Segment, limit: int, segment_ms: int, by_time: bool) -> None:
    """A segment is within its limits."""
    batches = list(segment.batches())
    base = segment.base_offset
    assert base is not None
    for batch in batches:
        assert 0 <= batch.last_offset - base <= LARGEST_RELATIVE_OFFSET
    if by_time and batches and all(batch.magic == 2 for batch in batches):
        assert max(b.max_timestamp for b in batches) - batches[0].max_timestamp <= segment_ms
    if all(batch.magic == 2 for batch in batches) and len(batches) > 1:
        assert segment.size <= limit


@pytest.mark.slow
@SETTINGS
@given(st.data())
def test_rebuilding_gives_what_was_written(data: st.DataObject) -> None:
    """By the rule of a leader for every version, by that of recovery from 3.9.1 on."""
    version = data.draw(st.sampled_from(VERSIONS))
    rule = data.draw(st.sampled_from(["append", "recovery"] if version == "3.9.1" else ["append"]))
    magic = get_profile(version).magic
    batches = data.draw(appends(magic))
    interval = data.draw(st.integers(0, 400))
    base = batches[0][0].offset if batches else 0
    with directory() as out:
        with ks.SegmentWriter(
            out, base, version, segment_bytes=700, index_interval_bytes=interval, sync=False
        ) as writer:
            for batch in batches:
                for record in batch:
                    writer.append_records([record])
        report = ks.rebuild_indexes(
            out, rule=rule, profile=version, index_interval_bytes=interval, sync=False
        )
        wrong = [
            file
            for file in report.files
            if file.comparison is not Comparison.EQUAL and "before 2.8" not in file.why
        ]
        assert wrong == []
        assert report.is_sound


@pytest.mark.slow
@SETTINGS
@given(st.data())
def test_one_piece_or_many_is_the_same(data: st.DataObject) -> None:
    """Entries that are appends by themselves may come in any number of calls."""
    version = data.draw(st.sampled_from(VERSIONS))
    magic = get_profile(version).magic
    entries = [
        ks.encode([record], magic=magic) for batch in data.draw(appends(magic)) for record in batch
    ]
    cut = data.draw(st.integers(0, len(entries)))
    pieces = [b"".join(entries[:cut]), b"".join(entries[cut:])]
    options: dict[str, Any] = {
        "profile": version,
        "segment_bytes": data.draw(st.sampled_from([150, 500, 1 << 30])),
        "segment_ms": data.draw(st.sampled_from([100, 1 << 40])),
        "index_interval_bytes": data.draw(st.integers(0, 300)),
        "segment_index_bytes": data.draw(st.sampled_from([24, 60, 10 << 20])),
        "leader_epoch": data.draw(st.sampled_from([None, 3])),
        "sync": False,
    }
    results = []
    for parts, codec in ((entries, "native"), (pieces, "native"), (pieces, "python")):
        with directory() as out:
            with ks.SegmentWriter(out, codec=codec, **options) as writer:
                for part in parts:
                    writer.append(part)
            results.append({item.name: item.read_bytes() for item in out.iterdir()})
    assert results[0] == results[1] == results[2]


@SETTINGS
@given(
    st.lists(st.tuples(st.integers(0, (1 << 31) - 1), st.integers(0, (1 << 31) - 1)), max_size=5)
)
@pytest.mark.parametrize("codec", codec_names())
def test_index_bytes_are_those_of_the_codecs(codec: str, rows: list[tuple[int, int]]) -> None:
    from kafkaspec._generated.python.model.index import OffsetIndexEntry, TimeIndexEntry

    one = get_codec(codec)
    for key, names, kind in (
        ("index.offset_index_entry", ("relative_offset", "position"), OffsetIndexEntry),
        ("index.time_index_entry", ("timestamp", "relative_offset"), TimeIndexEntry),
    ):
        columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
        made = serialize_array(key, columns)
        objects = [kind(base_offset=0, **dict(zip(names, row, strict=True))) for row in rows]
        assert made == b"".join(one.serialize(key, item, parameters=(0,)) for item in objects)


def test_a_number_that_does_not_fit_its_field() -> None:
    with pytest.raises(KafkaSpecError) as caught:
        serialize_array("index.offset_index_entry", {"relative_offset": [1 << 31], "position": [0]})
    assert caught.value.reason == "unencodable"
    with pytest.raises(TypeError):
        serialize_array("recordbatch.entry", {})
