"""Convert and write a magic 3 beside magic 2, with fields that no conversion knows.

Run by test_public.py on a specification with ``magic_3_beside`` and ``color``, a field of the
header with a default. Each function is a check; the program says which failed and why.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.codecs import codec_names, get_codec
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.compare import compare
from kafkaspec.conversion.losses import Loss
from kafkaspec.conversion.partition import PartitionConversion
from kafkaspec.log.default import DefaultBatch
from tests.specgen.programs.checks import run

TOPIC_ID = bytes(range(16))
OWN: dict[str, Any] = {"topic_id": TOPIC_ID, "color": 777}
CODECS = codec_names()
FIELDS = [{"expiry_delta": 7}, {}, {"expiry_delta": -9, "attributes": 3}, {}]


def batch(offset: int, color: int = 777, fields: Any = FIELDS, **options: Any) -> bytes:
    records = [
        ks.Record(offset + n, 1_700_000_000_000 + n, b"k%d" % n, b"v" * 20, (("h", b"1"),))
        for n in range(4)
    ]
    header = OWN | {"color": color}
    return ks.encode(records, magic=3, header=header, fields=fields, **options)


def partition(root: Path, **options: Any) -> Path:
    path = root / "t-0"
    path.mkdir(parents=True)
    made = [batch(0, **options), batch(4, **options), batch(8, 5, **options)]
    (path / f"{0:020d}.log").write_bytes(b"".join(made))
    return path


def own(path: Path) -> list[tuple[Any, ...]]:
    """Of each record, all that no conversion knows, as the reference codec has it."""
    found = []
    for item in ks.Partition(path, codec="python").batches():
        assert isinstance(item, DefaultBatch)
        message: Any = item.message
        head = (message.topic_id, message.color, message.attributes.reserved)
        for record in item.record_set().records:
            found.append((*head, record.attributes, record.expiry_delta, record.key, record.value))
    return found


CHOICES: tuple[dict[str, Any], ...] = (
    {},
    {"magic": 3},
    {"compression": "gzip"},
    {"compression": "none"},
    {"batch_bytes": 1},
    {"batch_bytes": 150},
    {"batch_bytes": 1 << 20},
    {"batch_bytes": 1 << 20, "compression": "zstd"},
    {"offsets": "renumber", "base_offset": 5},
    {"offsets": "shift", "base_offset": 1 << 40},
    {"leader_epoch": 9},
    {"batch_bytes": 100, "leader_epoch": 9, "offsets": "shift", "base_offset": 3},
)


def every_option_keeps_every_field(root: Path) -> None:
    for codec in CODECS:
        for number, choices in enumerate(CHOICES):
            for compression in ("none", "lz4"):
                name = f"{codec}-{number}-{compression}"
                path = partition(root / name, compression=compression)
                report = ks.convert(path, root / f"{name}-out-0", codec=codec, **choices)
                assert report.clean, (name, choices, report.as_dict(), report.partitions)
                assert not report.losses.counts, (name, choices)
                assert own(root / f"{name}-out-0") == own(path), (name, choices)


def a_cut_in_mid_batch_keeps_every_field(root: Path) -> None:
    path = partition(root)
    for codec in CODECS:
        out = root / f"{codec}-0"
        report = ks.convert(path, out, codec=codec, start_offset=2, end_offset=11)
        assert own(out) == own(path)[2:11], codec
        assert report.clean, (codec, report.partitions)


def batches_with_other_headers_do_not_join(root: Path) -> None:
    path = partition(root)
    ks.convert(path, root / "out-0", batch_bytes=1 << 20)
    colors = [item.message.color for item in ks.Partition(root / "out-0").batches()]
    assert colors == [777, 5]


def what_magic_2_has_no_place_for_is_counted_by_name(root: Path) -> None:
    path = partition(root)
    for codec in CODECS:
        report = ks.convert(path, root / f"{codec}-0", magic=2, codec=codec)
        assert report.clean
        named = report.losses.as_dict()["fields"]["names"]
        assert named == {
            "header.color": {"batches": 3, "records": 12},
            "header.topic_id": {"batches": 3, "records": 12},
            "record.expiry_delta": {"batches": 3, "records": 6},
        }, named
        made = [
            b for b in ks.Partition(root / f"{codec}-0").batches() if isinstance(b, DefaultBatch)
        ]
        kept = [record.attributes for item in made for record in item.record_set().records]
        assert kept == [0, 0, 3, 0] * 3


def what_messages_have_no_place_for_is_counted_by_name(root: Path) -> None:
    path = partition(root)
    for magic in (0, 1):
        report = ks.convert(path, root / f"out-{magic}", magic=magic)
        assert set(report.losses.fields) == {
            "header.color", "header.topic_id", "record.attributes", "record.expiry_delta",
        }  # fmt: skip
        assert report.losses[Loss.FIELDS].batches == 12


def verified_says_no_to_any_field_that_changed(root: Path) -> None:
    changes: dict[str, Callable[[], bytes]] = {
        "color": lambda: batch(0, 778),
        "expiry_delta": lambda: batch(0, fields=[{"expiry_delta": 8}, *FIELDS[1:]]),
        "attributes": lambda: batch(0, fields=[*FIELDS[:3], {"attributes": 1}]),
        "topic_id": lambda: batch(0).replace(TOPIC_ID, bytes(16)),
    }
    for codec in CODECS:
        for name, change in changes.items():
            plans: tuple[dict[str, Any], ...] = ({}, {"batch_bytes": 1 << 20}, {"magic": 3})
            for number, choices in enumerate(plans):
                place = root / f"{codec}-{name}-{number}"
                path = partition(place)
                plan = Choices(**choices)
                conversion = PartitionConversion(
                    str(path), ks.Partition(path).segment_paths, place / "out-0", plan,
                    get_codec(codec),
                )  # fmt: skip
                conversion.run()
                same = compare(conversion, plan, get_codec(codec), low=None)
                assert same.records == 12, (place, same)
                assert not same.differences, (place, same.examples)
                (log,) = (place / "out-0").glob("*.log")
                first = change()
                rest = batch(4) + batch(8, 5)
                log.write_bytes(first + rest)
                other = compare(conversion, plan, get_codec(codec), low=None)
                assert other.differences, (place, name)
                assert name in other.examples[0], (name, other.examples)


def empty_batches_keep_their_header(root: Path) -> None:
    """Compaction leaves batches without records for the state of their producers."""
    state: dict[str, Any] = {"producer_id": 5, "producer_epoch": 1, "base_sequence": 3}
    place: dict[str, Any] = {"base_offset": 4, "last_offset": 7}
    path = partition(root)
    empty = ks.encode([], magic=3, header=OWN, **place, **state)
    (path / f"{0:020d}.log").write_bytes(batch(0) + empty + batch(8, 5))
    choices: tuple[dict[str, Any], ...] = (
        {}, {"magic": 3}, {"compression": "gzip"}, {"batch_bytes": 1 << 20}, {"leader_epoch": 2},
        {"offsets": "shift", "base_offset": 0}, {"magic": 2},
    )  # fmt: skip
    for codec in CODECS:
        for number, plan in enumerate(choices):
            out = root / f"{codec}-{number}-0"
            report = ks.convert(path, out, codec=codec, **plan)
            assert report.clean, (codec, plan, report.partitions)
            (made,) = (item for item in ks.Partition(out).batches() if not item.num_records)
            assert (made.base_offset, made.last_offset) == (4, 7), (codec, plan)
            assert {name: getattr(made, name) for name in state} == state, (codec, plan)
            if made.magic == 3:
                head = made.message
                assert (head.topic_id, head.color) == (TOPIC_ID, 777), (codec, plan)
            else:
                assert report.losses.fields["header.color"].batches == 3, report.losses
        without: tuple[dict[str, Any], ...] = ({"magic": 1}, {"offsets": "renumber"})
        for number, plan in enumerate(without):
            report = ks.convert(path, root / f"{codec}-without-{number}", codec=codec, **plan)
            assert report.losses[Loss.EMPTY_BATCHES].batches == 1, (codec, plan)
        older = root / f"{codec}-2" / "t-0"
        older.mkdir(parents=True)
        (older / f"{0:020d}.log").write_bytes(ks.encode([], magic=2, **place, **state))
        with pytest.raises(ks.KafkaSpecError, match="topic_id") as refused:
            ks.convert(older, root / f"{codec}-refused", magic=3, codec=codec)
        assert refused.value.reason == "unencodable"


def the_writer_and_indexes(root: Path) -> None:
    for codec in CODECS:
        where = root / f"{codec}-0"
        with ks.SegmentWriter(where, segment_bytes=2000, index_interval_bytes=100,
                              leader_epoch=7, codec=codec) as writer:  # fmt: skip
            for n in range(40):
                writer.append(batch(4 * n, compression=("none", "zstd")[n % 2]))
        assert ks.verify(where).findings == [], codec
        heads = [item.message for item in ks.Partition(where).batches()]
        assert {head.partition_leader_epoch for head in heads} == {7}
        assert {head.color for head in heads} == {777}
        again = root / f"{codec}-again"
        ks.rebuild_indexes(where, again, index_interval_bytes=100)
        for index in again.rglob("*.*index"):
            assert index.read_bytes() == (where / index.name).read_bytes(), index


CHECKS: tuple[Callable[[Path], None], ...] = (
    every_option_keeps_every_field,
    a_cut_in_mid_batch_keeps_every_field,
    batches_with_other_headers_do_not_join,
    what_magic_2_has_no_place_for_is_counted_by_name,
    what_messages_have_no_place_for_is_counted_by_name,
    verified_says_no_to_any_field_that_changed,
    empty_batches_keep_their_header,
    the_writer_and_indexes,
)

if __name__ == "__main__":
    run(CHECKS)
