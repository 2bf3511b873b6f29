"""``transactions``, ``producers`` and ``gaps`` against reading what they need of the same log."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import kafkaspec as ks
from benchmarks.cases.memory import peak
from benchmarks.data import MIB
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number
from benchmarks.timing import Candidate, measure
from kafkaspec.cli.commands.dump_columns import JsonMaker, read_lines
from kafkaspec.codecs.native.core import Core
from kafkaspec.files.names import LOG, segment_name
from kafkaspec.forensics.gaps import read_gaps
from kafkaspec.forensics.producers import read_producers
from kafkaspec.forensics.timeline import read_timeline
from kafkaspec.log.partition import Partition
from kafkaspec.log.selection import Selection

_SIZE = 256 * MIB
_GATE = 1.5
_PRODUCERS = 16
_BATCHES = 4
"""Data batches of a transaction."""
_SHAPES = {"16 KiB batches": (16, 1000), "1 KiB batches": (8, 100)}
"""Records of a batch, and bytes of a value."""
_GOLDEN = Path("tests/golden/4.3.1/logs/transactions-0")
_SEGMENT = 128 * MIB
_HEADERS = "headers, `batch_table()`"
_MARKERS = "headers, and markers by `batch_at()`"
_CHECKSUMS = "checksums too, `verify`"
_COLUMN, _LOOP = "column `control_type`", "a loop over batches"
_LINES = "lines of `dump --format json`"
_CONTROL_GATE, _LINES_GATE = 10.0, 5.0
_AGAINST = {"transactions": _MARKERS, "producers": _HEADERS, "gaps": _CHECKSUMS}
"""The input that each command needs: records of markers too for transactions; all bytes for gaps,
since a batch with a wrong checksum is a gap."""


def _write(directory: Path, records: int, value: int, size: int) -> int:
    """A partition with transactions of several producers; return the number of batches."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    markers = _markers()
    content = b"v" * value
    offset = batches = written = turn = 0
    sequences = [0] * _PRODUCERS
    file = None
    left = 0
    while written < size:
        if left <= 0:
            if file is not None:
                file.close()
            file = (directory / segment_name(offset, LOG)).open("wb")
            left = _SEGMENT
        assert file is not None
        producer = turn % _PRODUCERS
        entries = []
        for _ in range(_BATCHES):
            made = [
                ks.Record(offset + number, 1_700_000_000_000 + offset, b"key", content)
                for number in range(records)
            ]
            entries.append(
                ks.encode(
                    made, magic=2, producer_id=producer, producer_epoch=0, transactional=True,
                    base_sequence=sequences[producer],
                )
            )  # fmt: skip
            offset += records
            sequences[producer] += records
        marker = markers[turn % len(markers)]
        end = [ks.Record(offset, 1_700_000_000_000 + offset, marker.key, marker.value)]
        entries.append(
            ks.encode(
                end, magic=2, producer_id=producer, producer_epoch=0, transactional=True,
                control=True,
            )
        )  # fmt: skip
        offset += 1
        turn += 1
        batches += len(entries)
        for entry in entries:
            done = file.write(entry)
            written, left = written + done, left - done
    if file is not None:
        file.close()
    made_indexes = directory.with_name("indexes")
    ks.rebuild_indexes(directory, made_indexes, sync=False)
    for path in made_indexes.iterdir():
        path.rename(directory / path.name)
    made_indexes.rmdir()
    return batches


def _markers() -> list[ks.Record]:
    """The control records of a golden partition: ABORT and COMMIT."""
    return [
        record
        for batch in Partition(_GOLDEN).batches()
        if batch.is_control
        for record in batch.records()
    ]


def _headers(directory: Path) -> int:
    return int(Partition(directory).batch_table().num_rows)


def _verified(directory: Path) -> int:
    report = ks.verify(directory)
    assert not report.findings
    return report.totals.batches


def _with_markers(directory: Path) -> int:
    batches = 0
    for segment in Partition(directory).segments_from(None):
        table = segment.batch_table()
        control = table.filter(table["control"])
        for position in control["position"].to_pylist():
            assert segment.batch_at(position).marker() is not None
        batches += table.num_rows
    return batches


def _transactions(directory: Path, batches: int) -> int:
    timeline = read_timeline(Partition(directory))
    assert not timeline.open_transactions
    return len(timeline.transactions) * (_BATCHES + 1) or batches


def _producers(directory: Path, batches: int) -> int:
    found = read_producers(Partition(directory))
    assert not found.breaks
    return batches


def _gaps(directory: Path, batches: int) -> int:
    found = read_gaps(Partition(directory))
    assert not found.illegal
    return batches


_COMMANDS: dict[str, Callable[[Path, int], int]] = {
    "transactions": _transactions,
    "producers": _producers,
    "gaps": _gaps,
}


def _control_types(settings: Settings) -> Outcome:
    """The types of markers as a column and in lines, and a loop that decodes each."""
    markers, count = _markers(), 200 if settings.quick else 20_000
    data = b"".join(
        ks.encode(
            [markers[n % len(markers)]._replace(offset=n)], magic=2, producer_id=n % _PRODUCERS,
            producer_epoch=0, transactional=True, control=True,
        )
        for n in range(count)
    )  # fmt: skip

    def column() -> int:
        table = ks.Segment(data).to_arrow(columns=["control_type"], include_control=True)
        return int(table.num_rows - table["control_type"].null_count)

    def loop() -> int:
        batches = ks.Segment(data).batches()
        return sum(marker is not None for batch in batches for marker in batch.control_records())

    def lines() -> int:
        def maker(core: Core, segment: ks.Segment) -> JsonMaker:
            return JsonMaker(core, segment, base64=False)

        parts = read_lines(ks.Segment(data), Selection(), maker=maker, jobs=1)
        return sum(bytes(part).count(b"\n") for part in parts if isinstance(part, memoryview))

    candidates = [
        Candidate(_COLUMN, column, count),
        Candidate(_LINES, lines, count),
        Candidate(_LOOP, loop, count),
    ]
    found = measure(candidates, settings.rounds(5))
    table = Table("Markers, one in each batch", ("reader", "ns a marker"))
    table.rows += [(each.name, number(found.median(each.name))) for each in candidates]
    what = "{} of markers, a loop that decodes each ÷ ours"
    figures = [
        Figure(what.format(name), found.ratio(_LOOP, name), gate)
        for name, gate in ((_COLUMN, _CONTROL_GATE), (_LINES, _LINES_GATE))
    ]
    return Outcome([table], figures)


def run(settings: Settings) -> Outcome:
    """Each command on two sizes of batches; one thread; the file is in the page cache."""
    outcome = Outcome()
    table = Table(
        "History of 256 MiB: transactions of 4 batches and a marker, by 16 producers in turn",
        ("batches", "reader", "ns a batch", "to headers", "peak MiB"),
        notes=[
            "CPU time of one thread, in turns; ratios are medians of those within each round. The"
            " peak is the anonymous memory of the whole command."
        ],
    )
    for shape, (records, value) in _SHAPES.items():
        directory = settings.work / "history-0"
        batches = _write(directory, records, value, settings.size(_SIZE))
        candidates = [
            Candidate(_HEADERS, partial(_headers, directory), batches),
            Candidate(_MARKERS, partial(_with_markers, directory), batches),
            Candidate(_CHECKSUMS, partial(_verified, directory), batches),
        ]
        candidates += [
            Candidate(name, partial(run_one, directory, batches), batches)
            for name, run_one in _COMMANDS.items()
        ]
        found = measure(candidates, settings.rounds(5))
        for name in (_HEADERS, _MARKERS, _CHECKSUMS):
            table.rows.append((shape, name, number(found.median(name)), "", ""))
        for name in _COMMANDS:
            ratio = found.ratio(name, _HEADERS)
            command = [sys.executable, "-m", "kafkaspec", name, str(directory)]
            memory = peak(command)
            table.rows.append(
                (shape, name, number(found.median(name)), f"{ratio:.2f}",
                 "-" if memory is None else number(memory))
            )  # fmt: skip
            what = f"{name}, {shape}: what it has to read"
            outcome.figures.append(Figure(what, found.ratio(name, _AGAINST[name]), _GATE, True))
        shutil.rmtree(directory)
    outcome.tables.append(table)
    types = _control_types(settings)
    outcome.tables += types.tables
    outcome.figures += types.figures
    return outcome


CASE = Case("history", "Transactions, producers and gaps", run)
