"""The output of ``salvage``: end of the log, transactions, missing segments, unproven records."""

from __future__ import annotations

import json
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec._generated.python.model.control_record import ControlRecordType
from kafkaspec.checksum import CHECKSUMS
from kafkaspec.files.snapshots import new_producer_entry
from kafkaspec.forensics.salvage import Fate, SalvagedPartition, salvage
from kafkaspec.forensics.salvage.additions import decided_by
from kafkaspec.intact import heads
from kafkaspec.log.missing import MissingWhy
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.results import Finding
from tests import extent
from tests.cli.helpers import fingerprint, run
from tests.goldens import GOLDEN
from tests.loops import each
from tools.brokers.versions import VERSIONS
from tools.golden.accidents import happen
from tools.golden.corpus import corpus

_LOGS = GOLDEN / "4.3.1" / "logs"
_FIRST = f"{0:020}.log"
_PRODUCER = 77


def _salvaged(source: Path, target: Path, **options: object) -> SalvagedPartition:
    report = salvage(source, target, sync=False, **options)  # type: ignore[arg-type]
    (partition,) = report.partitions
    assert partition.cut == "", "a broker takes it as it is"
    assert sum(partition.bytes.values()) == partition.size
    return partition


def _copy(name: str, tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir(exist_ok=True)
    return Path(shutil.copytree(_LOGS / name, tmp_path / "logs" / name))


def _places(path: Path) -> list[int]:
    return [batch.position for batch in Segment(path).batches()]


@pytest.mark.parametrize("fill", ["none", "tail", "all"])
def test_no_offset_is_given_out_again(tmp_path: Path, fill: str) -> None:
    """As brokers: an empty batch at the end keeps the end of the log."""
    source = _copy("segments-0", tmp_path)
    end = Partition(source).log_end_offset
    first, *_, last = sorted(source.glob("*.log"))
    for path, accident in ((first, "zeros for an entry"), (last, "cut in the last entry")):
        data = path.read_bytes()
        path.write_bytes(happen(accident, data, [*_places(path), len(data)]))
    before = fingerprint(source)
    found = _salvaged(source, tmp_path / "out", fill=fill)
    assert fingerprint(source) == before
    with Partition(tmp_path / "out") as log:
        assert log.log_end_offset == found.new_end
        empty = [batch for batch in log.batches() if not batch.num_records]
        assert log.topic_id == Partition(source).topic_id
    assert found.old_end == end
    assert (found.new_end == end) == (fill != "none")
    assert len(empty) == {"none": 0, "tail": 1, "all": 2}[fill]
    assert [(batch.base_offset, batch.last_offset) for batch in empty] == [
        (item.first_offset, item.last_offset) for item in found.added
    ]


@pytest.mark.slow
def test_an_intact_log_directory_stays_as_it_is(tmp_path: Path) -> None:
    report = salvage(_LOGS, tmp_path / "out", sync=False)
    assert report.is_sound
    for partition in report.partitions:
        for segment in partition.segments:
            path = Path(partition.target) / Path(segment.path).name
            assert path.read_bytes() == Path(segment.path).read_bytes()[: path.stat().st_size]
            assert path.stat().st_size == segment.bytes[Fate.KEPT]


def test_a_missing_segment_is_named_by_its_offsets(tmp_path: Path) -> None:
    source = _copy("segments-0", tmp_path)
    bases = Partition(source).base_offsets
    (source / f"{bases[1]:020}.log").unlink()
    found = _salvaged(source, tmp_path / "out")
    (lost,) = found.lost
    assert isinstance(lost, Finding)
    assert (lost.reason, lost.offsets) == (MissingWhy.CUT, (bases[1], bases[2]))
    assert (lost.first_offset, lost.last_offset) == (bases[1], bases[2] - 1)
    assert lost.segment is lost.file is None
    assert lost.why == lost.message


# -- transactions -----------------------------------------------------------------------------


def _marker(offset: int, kind: int) -> bytes:
    record = ks.Record(offset, offset, struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 0))
    return ks.encode(
        [record], control=True, transactional=True, producer_id=_PRODUCER, producer_epoch=0
    )


def _transactional(tmp_path: Path, *, lost: bool) -> Path:
    """A log whose only transaction has lost its marker, an ABORT at offset 3."""
    source = tmp_path / "logs" / "t-0"
    source.mkdir(parents=True)
    records = [ks.Record(n, n, b"k", b"v") for n in range(8)]
    data = ks.encode(
        records[:3], transactional=True, producer_id=_PRODUCER, producer_epoch=0, base_sequence=0
    )
    marker = _marker(3, 0)
    if lost:
        marker = bytes(len(marker))
    (source / _FIRST).write_bytes(data + marker + ks.encode(records[4:]))
    return source


def test_a_lost_marker_leaves_a_transaction_open_unless_it_is_ended(tmp_path: Path) -> None:
    with Partition(_transactional(tmp_path / "truth", lost=False)) as truth:
        committed = list(truth.records(isolation="read_committed"))
        stable = truth.last_stable_offset
    source = _transactional(tmp_path, lost=True)
    none = _salvaged(source, tmp_path / "none")
    (transaction,) = none.open
    assert (transaction.producer_id, transaction.first_offset) == (_PRODUCER, 0)
    with Partition(tmp_path / "none") as log:
        assert log.last_stable_offset == 0
    aborted = _salvaged(source, tmp_path / "abort", markers="abort")
    assert not aborted.open
    assert aborted.new_end == none.new_end == 8
    with Partition(tmp_path / "abort") as log:
        assert log.last_stable_offset == stable
        assert list(log.records(isolation="read_committed")) == committed
        assert [batch.data.nbytes for batch in log.batches() if batch.is_control] == [78]


@pytest.mark.parametrize(
    ("state", "epoch", "version", "listed", "expected"),
    [
        ("PrepareCommit", 0, 0, True, ("COMMIT", "strong")),
        ("CompleteCommit", 0, 1, False, ("COMMIT", "likely")),
        # Version 2 raises the epoch at each end; otherwise the producer began again.
        ("PrepareCommit", 1, 2, True, ("COMMIT", "strong")),
        ("CompleteCommit", 1, 2, False, ("COMMIT", "likely")),
        ("PrepareCommit", 1, 1, True, ("ABORT", "likely")),
        ("PrepareAbort", 1, 0, True, ("ABORT", "strong")),
        ("PrepareEpochFence", 1, 0, True, ("ABORT", "strong")),
        ("CompleteCommit", 0, 2, True, None),
        ("PrepareCommit", 2, 2, True, None),
        ("Ongoing", 0, 0, True, None),
    ],
)
def test_no_state_of_a_coordinator_proves_how_a_transaction_ended(
    state: str, epoch: int, version: int, listed: bool, expected: tuple[str, str] | None
) -> None:
    """The marker that is lost may be that of a transaction before the one in the state."""
    row = {
        "transactional_id": "t", "state": state, "producer_id": _PRODUCER,
        "previous_producer_id": _PRODUCER, "next_producer_id": None, "producer_epoch": epoch,
        "client_transaction_version": version,
        "partitions": [{"topic": "t", "partition_ids": [0]}] if listed else [],
    }  # fmt: skip
    entry = new_producer_entry(
        producer_id=_PRODUCER, producer_epoch=0, last_sequence=2, last_offset=2, offset_delta=2,
        timestamp=2, coordinator_epoch=-1, current_txn_first_offset=0,
    )  # fmt: skip
    found = decided_by([row], "t", 0)(entry)
    assert (None if isinstance(found, str) else (found[0].name, str(found[1]))) == expected


@pytest.mark.parametrize(
    ("state", "epoch", "raised", "version", "expected"),
    [
        ("CompleteCommit", 32766, 0, 2, "COMMIT"),
        ("CompleteAbort", 32766, 0, 2, "ABORT"),
        ("CompleteCommit", 32765, 0, 2, None),  # there was another transaction after it
        ("CompleteCommit", 32766, 1, 2, None),
        ("CompleteCommit", 32766, 0, 1, None),
    ],
)
def test_the_end_that_uses_up_a_producer_id(
    state: str, epoch: int, raised: int, version: int, expected: str | None
) -> None:
    """The coordinator has given the client another id when it is complete (KIP-890)."""
    row = {
        "transactional_id": "t", "state": state, "producer_id": _PRODUCER + 1,
        "previous_producer_id": _PRODUCER, "next_producer_id": None, "producer_epoch": raised,
        "client_transaction_version": version, "partitions": [],
    }  # fmt: skip
    entry = new_producer_entry(
        producer_id=_PRODUCER, producer_epoch=epoch, last_sequence=2, last_offset=2,
        offset_delta=2, timestamp=2, coordinator_epoch=-1, current_txn_first_offset=0,
    )  # fmt: skip
    found = decided_by([row], "t", 0)(entry)
    assert (None if isinstance(found, str) else found[0].name) == expected


@pytest.mark.slow
def test_a_coordinator_says_how_a_transaction_ended(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    source = _copy("transactions-0", tmp_path)
    (path,) = source.glob("*.log")
    with Partition(source) as log:
        truth = list(log.records(isolation="read_committed"))
        batches = list(log.batches())
    last = max(n for n, batch in enumerate(batches) if batch.is_control)
    producer = batches[last].producer_id
    data = path.read_bytes()
    start, end = batches[last].position, batches[last].end
    path.write_bytes(data[:start] + bytes(end - start) + data[end:])
    result = run(
        "salvage", source, "-o", tmp_path / "out", "--markers", "state", "--state", _LOGS,
        "--format", "json",
    )  # fmt: skip
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    added = [line for line in lines if line["type"] == "added" and line["kind"] == "marker"]
    left = [line for line in lines if line["type"] == "open"]
    assert result.exit_code == 1
    assert {line["producer_id"] for line in (*added, *left)} >= {producer}
    with Partition(tmp_path / "out") as log:
        found = list(log.records(isolation="read_committed"))
    if added:
        assert found == truth
    else:
        assert found == truth[: len(found)]
    other = tmp_path / "__transaction_state-1"
    other.mkdir()
    (other / "00000000000000000000.log").touch()
    again = run(
        "salvage", source, "-o", tmp_path / "again", "--markers", "from", "--state", _LOGS,
        "--state", other, "--format", "json",
    )  # fmt: skip
    assert again.stdout.replace(str(tmp_path / "again"), str(tmp_path / "out")) == result.stdout
    assert "from is now state" in again.stderr  # the former word


_TRANSACTIONS = sorted(GOLDEN.glob("*/logs/transactions-0"))


@pytest.mark.slow
@each(
    "source, markers",
    [
        (source, markers)
        for source in _TRANSACTIONS[:: 9 if extent.quick else 1]
        for markers in ("none", "abort", "state")
    ],
    lambda case: f"{case[0].parts[-3]}: {case[1]}",
)
def test_the_transaction_index_tells_lost_markers(
    source: Path, markers: str, tmp_path: Path
) -> None:
    """As the broker's own index says: an abort stays one in every mode, whatever comes after it."""
    (original,) = source.glob("*.log")
    with Partition(source) as log:
        truth = list(log.records(isolation="read_committed"))
        batches = [batch for batch in log.batches() if batch.is_control]
    for number, batch in enumerate(batches):
        marker = batch.marker()
        assert marker is not None
        copy = Path(shutil.copytree(source, tmp_path / f"{number}" / source.name))
        data = bytearray(original.read_bytes())
        data[batch.end - 1] ^= 1
        (copy / original.name).write_bytes(data)
        found = _salvaged(copy, tmp_path / f"{number}" / "out", markers=markers)
        with Partition(tmp_path / f"{number}" / "out") as log:
            committed = list(log.records(isolation="read_committed"))
        assert committed == truth[: len(committed)] or markers == "abort"
        added = [item for item in found.added if item.kind == "marker"]
        if marker.key.type == ControlRecordType.ABORT:
            assert [(item.first_offset, str(item.strength)) for item in added] == [
                (batch.base_offset, "proof")
            ]
            assert not found.open
        if not (found.open or found.unknown or markers == "abort"):
            assert committed == truth


_ENDS = {"abort": 0, "commit": 1}


@pytest.mark.parametrize("markers", ["none", "abort", "state"])
@pytest.mark.parametrize("has_index", [True, False])
@pytest.mark.parametrize(("first", "second"), [("abort", "commit"), ("commit", "abort")])
def test_the_next_marker_of_a_producer_does_not_end_a_transaction_that_was_ended(
    first: str, second: str, has_index: bool, markers: str, tmp_path: Path
) -> None:
    whole = tmp_path / "logs" / "t-0"
    whole.mkdir(parents=True)
    records = [ks.Record(n, n, b"k", b"%d" % n) for n in range(8)]
    parts = [
        ks.encode(
            records[low:high], transactional=True, producer_id=_PRODUCER, producer_epoch=0,
            base_sequence=low,
        )
        for low, high in ((0, 3), (4, 7))
    ]  # fmt: skip
    lost = _marker(3, _ENDS[first])
    (whole / _FIRST).write_bytes(parts[0] + lost + parts[1] + _marker(7, _ENDS[second]))
    _salvaged(whole, tmp_path / "t-1")  # with the index that a broker makes
    source = tmp_path / "t-1"
    with Partition(source) as log:
        truth = list(log.records(isolation="read_committed"))
    assert [record.offset for record in truth] == ([4, 5, 6] if second == "commit" else [0, 1, 2])
    data = bytearray((source / _FIRST).read_bytes())
    data[len(parts[0]) + len(lost) - 1] ^= 1
    (source / _FIRST).write_bytes(data)
    (index,) = source.glob("*.txnindex")
    if not has_index:
        index.unlink()
    found = _salvaged(source, tmp_path / "out", markers=markers)
    with Partition(tmp_path / "out") as log:
        committed = list(log.records(isolation="read_committed"))
    if has_index:
        assert committed == truth
        assert [item.first_offset for item in found.added if item.kind == "marker"] == [3]
        assert not found.unknown
    else:
        assert [(item.producer_id, item.first_offset) for item in found.unknown] == [(_PRODUCER, 0)]
    result = run("salvage", source, "-o", tmp_path / "text", "--format", "json")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["first_offset"] for line in lines if line["type"] == "unknown"] == (
        [] if has_index else [0]
    )


# -- unproven records -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_unproven_records_go_to_a_file_of_their_own(tmp_path: Path, compression: str) -> None:
    chance = random.Random(1)
    records = [ks.Record(n, n, b"key %d" % n, chance.randbytes(90)) for n in range(4000)]
    data = bytearray(ks.encode(records, compression=compression))
    data[len(data) * 3 // 4] ^= 0x55
    data[-20] ^= 1
    source = tmp_path / "t-0"
    source.mkdir()
    (source / _FIRST).write_bytes(bytes(data) + ks.encode([ks.Record(4000, 1, None, b"after")]))
    found = _salvaged(source, tmp_path / "out", unproven=tmp_path / "unproven")
    assert found.bytes[Fate.UNPROVEN] == len(data)
    with Partition(tmp_path / "out") as log:
        assert [record.offset for record in log.records()] == [4000]
    head, *lines = map(json.loads, (tmp_path / "unproven").read_text().splitlines())
    assert head["type"] == "unproven"
    right = [line for line in lines if line["key"] == f"key {line['offset']}"]
    assert len(lines) == found.segments[0].stretches[0].records
    assert len(right) > 1000
    assert right[0]["offset"] == 0
    if compression == "none":
        assert len(right) >= 3997, "all but those that were hit"


@pytest.mark.slow
def test_messages_in_a_broken_wrapper_have_checksums_of_their_own(tmp_path: Path) -> None:
    records = [ks.Record(n, n, b"key %d" % n, b"%d" % n * 20) for n in range(3000)]
    data = bytearray(ks.encode(records, magic=1, compression="snappy"))
    data[len(data) * 3 // 4] ^= 0x55
    data[-9] ^= 1
    source = tmp_path / "t-0"
    source.mkdir()
    (source / _FIRST).write_bytes(bytes(data))
    _salvaged(source, tmp_path / "out", unproven=tmp_path / "unproven", fill="none")
    lines = [json.loads(line) for line in (tmp_path / "unproven").read_text().splitlines()[1:]]
    valid = [line for line in lines if line["crc_valid"]]
    assert valid
    for line in valid:
        assert line["key"] == f"key {line['offset']}"
        assert line["value"] == f"{line['offset']}" * 20


# -- hostile input ----------------------------------------------------------------------------


@pytest.mark.parametrize("period", [61, 64, 97])
def test_crafted_sizes_cost_a_bounded_number_of_bytes(
    tmp_path: Path, period: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Headers that all reach to the end of the segment: by themselves they would be quadratic."""
    size, summed = 1 << 18, 0
    data = bytearray(size)
    for at in range(0, size - 100, period):
        numbers = (at, size - at - 12, 0, 2, 1, 0, 0, 0, 0, -1, -1, -1, 1)
        data[at : at + 61] = struct.pack(">qiibIhiqqqhii", *numbers)
    path = tmp_path / _FIRST
    path.write_bytes(bytes(data))

    def counted(compute: Callable[[bytes], int]) -> Callable[[bytes], int]:
        def count(part: bytes) -> int:
            nonlocal summed
            summed += memoryview(part).nbytes
            return compute(part)

        return count

    sums = {name: counted(compute) for name, compute in CHECKSUMS.items()}
    monkeypatch.setattr(heads, "CHECKSUMS", sums)
    found = _salvaged(path, tmp_path / "out", fill="none")
    assert found.bytes[Fate.LOST] == size
    assert summed < 40 * size, "a quadratic one takes 2,000 times the size"


def test_the_corpus_has_many_accidents_and_all_magics() -> None:
    magics = {Segment(log.data).batch_at(0).magic for log in corpus()}
    assert magics == {0, 1, 2}
    assert VERSIONS


@pytest.mark.slow
@each(
    "source",
    sorted(GOLDEN.glob("*/logs/*-0"))[:: 60 if extent.quick else 3],
    lambda path: str(path.relative_to(GOLDEN)),
)
def test_the_offsets_of_a_broken_last_entry_are_named(source: Path, tmp_path: Path) -> None:
    """In all magics: the header that is whole says the range, and the end of the log."""
    with Partition(source) as log:
        end = log.log_end_offset
    damaged = tmp_path / "in" / "x-0"
    damaged.mkdir(parents=True)
    for path in source.glob("*.log"):
        shutil.copy(path, damaged)
    last = max(damaged.glob("*.log"))
    data = bytearray(last.read_bytes())
    batches = list(Segment(bytes(data)).batches())
    if not batches:
        return
    data[-1] ^= 1
    last.write_bytes(data)
    found = _salvaged(damaged, tmp_path / "out")
    assert found.old_end == end
    assert found.lost[-1].last_offset == end - 1
    if batches[-1].magic == 2:
        assert found.new_end == end
        assert found.added[-1].kind == "filler"
    elif found.new_end < end and not found.added:
        (left_out,) = (item.why for item in found.assumptions if item.name == "filler")
        assert left_out == "messages of magic 0 and 1 have no empty batches"
    shown = run("salvage", damaged, "-o", tmp_path / "shown").stdout
    again = "the broker will give out the offsets between them again"
    assert (again in shown) == (found.new_end < end)


@pytest.mark.slow
@each("seed", range(extent.examples(300)))
def test_verify_finds_offsets_of_the_output_in_order(seed: int, tmp_path: Path) -> None:
    """Whatever blocks of other logs are in a segment, and wherever its halves are."""
    chance = random.Random(seed)
    log, other = chance.choice(corpus()), chance.choice(corpus())
    data = bytearray(log.data)
    if chance.random() < 0.7:
        first = chance.randrange(len(other.entries))
        block = b"".join(other.entries[first : first + chance.randint(1, 4)])
        place = chance.choice([0, 0, *log.places])
        data[place : place + chance.choice([0, len(block)])] = block
    else:
        half = chance.choice(log.places)
        data = data[half:] + data[:half]
    source = tmp_path / "in" / "x-0"
    source.mkdir(parents=True)
    (source / _FIRST).write_bytes(data)
    salvage(source, tmp_path / "out", fill=chance.choice(["none", "tail", "all"]), sync=False)
    report = ks.verify(tmp_path / "out")
    assert not [item for item in report.findings if item.severity == "error"], report.findings
