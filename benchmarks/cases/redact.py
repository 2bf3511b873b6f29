"""``redact`` of all values, against aiokafka, which reads and writes the same records."""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import Any

from aiokafka.record import MemoryRecords as AioRecords  # type: ignore[import-untyped]

from benchmarks.data import MIB, SMALL_BATCH, Shape, at_offset, segment_file
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number, times
from benchmarks.peers import aiokafka_builder
from benchmarks.timing import Candidate, measure
from kafkaspec.files.names import LOG, segment_name
from kafkaspec.forensics.redaction.choices import Changes, Chosen, Part, Way
from kafkaspec.forensics.redaction.running import redact

_SECRET = b"s" * 32
_GATES = {Way.FILL: 3.0, Way.HASH: 1.5}
_SHAPES = (Shape(100), Shape(1024))


def _ours(log: Path, out: Path, way: Way) -> int:
    rmtree(out, ignore_errors=True)
    changes = Changes({Part.VALUE: way}, None, _SECRET)
    return redact(log, out, Chosen(every=True), changes, sync=False).records


def _theirs(log: Path, out: Path, way: Way) -> int:
    """Every record read, and appended to a builder with another value."""
    seen = first = 0
    new: Any = (lambda value: b"x" * len(value)) if way is Way.FILL else _hashed
    source = AioRecords(next(log.glob("*.log")).read_bytes())
    with out.open("wb") as file:
        builder = aiokafka_builder(SMALL_BATCH)
        while source.has_next():
            batch = source.next_batch()
            if not batch.validate_crc():
                raise AssertionError("checksum")
            for record in batch:
                row = (record.timestamp, record.key, new(record.value), record.headers)
                if builder.append(seen - first, *row) is None:
                    file.write(at_offset(bytes(builder.build()), first))
                    builder, first = aiokafka_builder(SMALL_BATCH), seen
                    builder.append(0, *row)
                seen += 1
        file.write(at_offset(bytes(builder.build()), first))
    return seen


def _hashed(value: bytes) -> bytes:
    return sha256(_SECRET + value).digest()


def run(settings: Settings) -> Outcome:
    """Values filled, and hashed, one thread."""
    table = Table(
        "Redacting all values, ns a record, one thread",
        ("records", "way", "`redact`", "aiokafka", "ratio"),
        notes=[
            "aiokafka: every record is read and put into new batches with another value; for hashes"
            " it has one SHA-256 of secret and value, where ours is HMAC, of two. Ours writes"
            " indexes too."
        ],
    )
    outcome = Outcome([table])
    log = settings.work / "orders-0"
    for shape in _SHAPES:
        log.mkdir()
        path, data = segment_file(settings.work, shape, settings.size(16 * MIB))
        path.rename(log / segment_name(0, LOG))
        out, file = settings.work / "redacted", settings.work / "redacted.log"
        for way, gate in _GATES.items():
            own, peer = f"`redact` {way}", f"aiokafka {way}"
            theirs = partial(_theirs, log, file, way)
            found = measure(
                [
                    Candidate(own, partial(_ours, log, out, way), data.records),
                    Candidate(peer, theirs, data.records),
                ],
                settings.rounds(5),
            )
            ratio = found.ratio(peer, own)
            shown = (number(found.median(own)), number(found.median(peer)), times(ratio))
            table.rows.append((shape.name, way.value, *shown))
            if shape is _SHAPES[0]:
                figure = Figure(f"`redact`, values by {way}, aiokafka ÷ ours", ratio, gate)
                outcome.figures.append(figure)
        rmtree(log)
        rmtree(out)
        file.unlink()
    return outcome


CASE = Case("redact", "Redaction", run)
