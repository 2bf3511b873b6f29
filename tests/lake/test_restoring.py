"""Logs from the tables again: byte for byte, or what differs is said."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from deltalake import DeltaTable

import kafkaspec as ks
from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.checkpoints import kafka_uuid, partition_metadata
from kafkaspec.lake.base import Lake
from kafkaspec.lake.manifest import Mark
from kafkaspec.lake.restored import LakeRestore, LakeSegment
from kafkaspec.lake.restoring import restore_logs
from kafkaspec.lake.tables import open_lake
from kafkaspec.lake.units import LakeSettings, write_units
from kafkaspec.log.encoding import encode_marker
from tests import goldens
from tests.lake.logs import put, put_progress, units_of
from tests.log import forge
from tests.loops import each

pytestmark = pytest.mark.slow  # ``test_tables.py`` and ``test_units.py`` are for make quick

TOPIC_ID = "9nMQ3rrnTuKKQzYHAYqRbA"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def restored(lake: Lake, out: Path) -> LakeRestore:
    return restore_logs(lake, out, sync=False)


def one(result: LakeRestore) -> LakeSegment:
    (segment,) = result.segments
    return segment


def written(tmp_path: Path, data: bytes, *, exact: bool = True) -> tuple[LakeSegment, bytes]:
    """What comes back of a segment."""
    directory = tmp_path / "orders-3"
    directory.mkdir()
    name = f"{0:020}.log"
    (directory / name).write_bytes(data)
    lake = open_lake(str(tmp_path / "lake"), "delta", create=True)
    put(lake, units_of(directory, topic_id=TOPIC_ID), exact=exact)
    segment = one(restored(lake, tmp_path / "out"))
    return segment, (tmp_path / "out" / "orders-3" / name).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False])
@each("version", goldens.VERSIONS)
def test_golden_logs_come_back(version: str, exact: bool, tmp_path: Path) -> None:
    """With exact, all bytes; without, what brokers did not compress, and the same records."""
    new = {golden.path.parent for golden in goldens.distinct(".log", version=version)}
    found = sorted(path for path in new if names.parse_partition(path.name))
    if not found:
        return
    place = tmp_path / version
    lake = open_lake(str(place / "lake"), "delta", create=True)
    units = [unit for path in found for unit in units_of(path)]
    put(lake, units, exact=exact)
    result = restored(lake, place / "out")
    segments = {
        (log.topic, log.partition, segment.file): segment
        for log in result.logs
        for segment in log.segments
    }
    for unit in units:
        source = Path(unit.path)
        target = place / "out" / f"{unit.topic}-{unit.partition}" / source.name
        segment = segments[unit.topic, unit.partition, source.name]
        assert segment.is_identical == (digest(source) == digest(target))
        assert segment.is_identical or not exact
        with ks.Segment(source) as log, ks.Segment(target) as again:
            if exact or not any(batch.is_compressed for batch in log.batches()):
                assert segment.is_identical
                continue
            columns = [*log.schema.names, "own_timestamp", "sequence", "leader_epoch"]
            assert again.to_arrow(columns).equals(log.to_arrow(columns))
            assert {"crc"} <= {*segment.fields} <= {"crc", "length"} or segment.is_identical
            dropped = ["position", "size", "crc"]
            assert again.batch_table().drop(dropped).equals(log.batch_table().drop(dropped))
    shutil.rmtree(place)


RECORD = forge.record(0, b"v", key=b"k", timestamp_delta=5, headers=[(b"h", b"1")])
LONGER = bytes([len(RECORD) * 2]) + RECORD[1:2] + b"\x8a\x00" + RECORD[3:]
"""The same record, with a varint that is longer than it has to be."""


def test_entries_that_kafka_does_not_write(tmp_path: Path) -> None:
    """Their bytes are kept, and with them control batches, and those of unknown compression."""
    records = [forge.record(3, b"v", timestamp_delta=-7), forge.record(8, b"w")]
    entries = [
        forge.legacy(0, b"v", magic=0, slack=b"more"),
        forge.legacy(1, b"v", attributes=forge.LOG_APPEND_TIME),
        forge.wrapper(3, [forge.legacy(0, b"a"), forge.legacy(1, b"b")]),
        forge.batch(4, [RECORD]),
        forge.batch(5, [LONGER]),
        forge.batch(6, [forge.record(0, None).replace(b"\x01\x01", b"\x01\x03")]),
        forge.batch(10, records, last_offset_delta=9, attributes=0x7F80, base_timestamp=77),
        forge.batch(20, records, last_offset_delta=9, attributes=0x48, base_timestamp=-5),
        forge.batch(30, [], last_offset_delta=9, attributes=0x10, producer=(7, 3, 11)),
        encode_marker(ControlRecordType.COMMIT, 40, 9, producer_id=7, producer_epoch=3),
        ks.encode([ks.Record(41, 1, None, b"z" * 500)], compression="gzip", level=1),
    ]
    data = b"".join(entries)
    segment, made = written(tmp_path, data)
    assert made == data
    assert segment.is_identical
    assert (segment.entries, segment.records, segment.changed) == (11, 12, 0)
    log = tmp_path / "out" / "orders-3"
    identity = kafka_uuid.from_text(TOPIC_ID)
    assert identity is not None
    metadata = (log / names.PARTITION_METADATA).read_bytes()
    assert metadata == partition_metadata.serialize(identity)
    assert {path.suffix for path in log.glob("0*")} >= {".log", ".index", ".timeindex"}


@pytest.mark.parametrize("cut", [1, 30, 60])
def test_a_torn_end_comes_back(tmp_path: Path, cut: int) -> None:
    """It is in the table of what cannot be read; a broker cuts it as it did before."""
    data = forge.batch(0, [RECORD]) + forge.batch(1, [RECORD])[:-cut]
    segment, made = written(tmp_path, data)
    assert made == data
    assert (segment.entries, segment.damaged, segment.is_identical) == (1, 1, True)


def test_damage_in_the_middle_comes_back(tmp_path: Path) -> None:
    """A batch with a wrong checksum, and bytes that are none."""
    entries = [forge.batch(0, [RECORD]), forge.batch(1, [RECORD], crc=7), forge.batch(2, [RECORD])]
    segment, made = written(tmp_path, b"".join(entries))
    assert made == b"".join(entries)
    assert (segment.entries, segment.damaged, segment.is_identical) == (2, 1, True)


def test_a_preallocated_end_comes_back(tmp_path: Path) -> None:
    data = forge.batch(0, [RECORD]) + bytes(1000)
    segment, made = written(tmp_path, data)
    assert made == data
    assert (segment.entries, segment.damaged, segment.is_identical) == (1, 1, True)


def test_a_log_that_is_compressed_again(tmp_path: Path) -> None:
    records = [ks.Record(number, number, b"k", b"value " * number) for number in range(40)]
    data = ks.encode(records, compression="gzip", level=1)
    segment, made = written(tmp_path, data, exact=False)
    assert made != data
    assert ks.decode(made) == ks.decode(data) == records
    assert (segment.changed, segment.fields) == (1, ("crc", "length"))


# -- several increments --------------------------------------------------------------------------


def log_of(tmp_path: Path, name: str, *bases: int) -> Path:
    """A partition with segments of two batches each, the last one empty."""
    directory = tmp_path / name
    with ks.SegmentWriter(directory, bases[0], sync=False) as writer:
        for base, following in pairwise(bases):
            for offset in range(base, following):
                writer.append_records([ks.Record(offset, offset, b"k", bytes([offset]) * 300)])
            writer.roll()
    return directory


def test_increments_make_one_log(lake: Lake, tmp_path: Path) -> None:
    """Segments, parts of segments, and one that is still empty, in both formats."""
    source = log_of(tmp_path, "orders-0", 0, 4, 9, 12)
    first, second, third, last = units_of(source)
    with ks.Segment(second.path) as segment:
        middle = [batch.position for batch in segment.batches()][2]
    put(lake, [first, replace(second, end=middle)], exact=True)
    put(lake, [replace(second, start=middle)], exact=True, epoch=2)
    put(lake, [third, last], exact=True, epoch=3)
    result = restored(lake, tmp_path / "out")
    assert result.identical == len(result.segments) == 4
    for path in source.glob("*.log"):
        assert digest(path) == digest(tmp_path / "out" / "orders-0" / path.name)
    with ks.Partition(tmp_path / "out" / "orders-0") as log:
        assert (log.log_end_offset, len(log.leader_epochs)) == (12, 0)


def test_a_topic_that_was_created_again_has_its_newest_log(tmp_path: Path) -> None:
    lake = open_lake(str(tmp_path / "lake"), "delta", create=True)
    old, new = (
        log_of(tmp_path, "orders-0", 0, 4, 9),
        log_of(tmp_path / "orders-0", "orders-0", 2, 5),
    )
    put(lake, units_of(old, topic_id=TOPIC_ID), exact=True)
    units = units_of(new, topic_id="Xl5mVkqkSJ2Ax0qzpOqXbg")
    put(lake, [replace(unit, generation=1) for unit in units], exact=True, epoch=2)
    result = restored(lake, tmp_path / "out")
    assert [log.generation for log in result.logs] == [1]
    with ks.Partition(tmp_path / "out" / "orders-0") as log:
        assert [record.offset for record in log.records()] == [2, 3, 4]


def test_a_log_that_was_read_from_the_middle(tmp_path: Path) -> None:
    """The bytes before the first offset are not there, and the segment is not called identical."""
    lake = open_lake(str(tmp_path / "lake"), "delta", create=True)
    (unit, _) = units_of(log_of(tmp_path, "orders-0", 0, 6))
    put(lake, [replace(unit, start_offset=3)], exact=True)
    segment = one(restored(lake, tmp_path / "out"))
    assert (segment.entries, segment.is_identical) == (3, False)
    assert segment.start == Path(unit.path).stat().st_size - segment.size


def test_a_cleaned_segment_is_not_called_identical(tmp_path: Path) -> None:
    """A broker cleaned it after the first increment: positions of the second are others."""
    lake = open_lake(str(tmp_path / "lake"), "delta", create=True)
    (unit, _) = units_of(log_of(tmp_path, "orders-0", 0, 6))
    with ks.Segment(unit.path) as segment:
        batches = list(segment.batches())
        data = Path(unit.path).read_bytes()
    put(lake, [replace(unit, end=batches[3].position)], exact=True)
    kept = [data[batch.position : batch.position + batch.size] for batch in batches[2:]]
    Path(unit.path).write_bytes(b"".join(kept))
    put(lake, [replace(unit, start=len(kept[0]))], exact=True, epoch=2)
    segment_made = one(restored(lake, tmp_path / "out"))
    assert (segment_made.entries, segment_made.gaps, segment_made.is_identical) == (6, 1, False)
    with ks.Partition(tmp_path / "out" / "orders-0") as log:
        assert [record.offset for record in log.records()] == [*range(6)]


# -- what a lake lacks ---------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["raw", "batches"])
def test_rows_that_are_gone_are_missed(tmp_path: Path, table: str) -> None:
    """Somebody deleted some: no log without them is made."""
    lake = open_lake(str(tmp_path / "lake"), "delta", create=True)
    put(lake, units_of(log_of(tmp_path, "orders-0", 0, 6)), exact=True)
    column = "offset" if table == "raw" else "base_offset"
    DeltaTable(lake.table(table).place).delete(f"{column} = 3")
    with pytest.raises(
        KafkaSpecError, match=r"rows?, and 0 are there|belong to no batch|6 entries were"
    ):
        restored(lake, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert not [path for path in tmp_path.iterdir() if "delete" in path.name]


def test_changed_rows_are_noticed(tmp_path: Path) -> None:
    lake = open_lake(str(tmp_path / "lake"), "delta", create=True)
    put(lake, units_of(log_of(tmp_path, "orders-0", 0, 6)), exact=True)
    table = DeltaTable(lake.table("raw").place)
    table.update(updates={"own_timestamp": "7000"}, predicate="offset = 3")
    with pytest.raises(KafkaSpecError, match=r"exact, and it differs in .*crc"):
        restored(lake, tmp_path / "out")


def test_refusals(tmp_path: Path) -> None:
    lake = open_lake(str(tmp_path / "lake"), "delta", create=True)
    put(lake, units_of(log_of(tmp_path, "orders-0", 0, 6)), exact=True)
    with pytest.raises(ValueError, match="no topic payments; there are orders"):
        restore_logs(lake, tmp_path / "out", topics=["payments"])
    for target, why in (("lake", "must not change"), ("orders-0", "not an empty directory")):
        with pytest.raises(KafkaSpecError, match=why):
            restored(lake, tmp_path / target)
    mark = Mark.new(2)
    results = write_units(units_of(tmp_path / "orders-0"), LakeSettings(place=lake.place), mark)
    files = [file for result in results for file in result.files]
    put_progress(lake, mark, [result.progress for result in results], files, only=True)
    with pytest.raises(KafkaSpecError, match="not in all tables yet"):
        restored(lake, tmp_path / "out")
