"""Record objects, one by one, through every codec of ours and both peers."""

from __future__ import annotations

from functools import partial

from benchmarks.core import read_objects
from benchmarks.data import KIB, LARGE_BATCH, MIB, Shape, segment
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number, times
from benchmarks.peers import (
    AIOKAFKA,
    KAFKA_PYTHON,
    read_aiokafka,
    read_codec,
    read_kafka_python,
    read_parts,
    records_aiokafka,
    records_kafka_python,
)
from benchmarks.timing import Candidate, Times, measure
from kafkaspec.codecs import codec_names
from kafkaspec.codecs.native import NativeCodec
from kafkaspec.log.segment import Segment

_CORE, _NATIVE, _PARTS = "C core", "native", "parts"
_SHAPES = (
    Shape(20),
    Shape(100),
    Shape(1024),
    Shape(20, headers=3),
    Shape(100, headers=3),
    Shape(1024, headers=3),
    Shape(100, batch=LARGE_BATCH),
    Shape(100, headers=3, batch=LARGE_BATCH),
)
_GATES = {Shape(100): 1.9, Shape(100, headers=3): 1.4}
_READ, _READ_GATE = Shape(100), 1.8
_SLOW = ("kaitai", "construct")


def run(settings: Settings) -> Outcome:
    """All shapes, uncompressed."""
    codec = NativeCodec()
    ours = [name for name in (_NATIVE, "python", *_SLOW) if name in codec_names()]
    outcome = Outcome()
    table = Table(
        "Record objects, ns a record",
        (
            "records", "C core alone", *(f"`{name}`" for name in ours), "`native`, parts read",
            AIOKAFKA, KAFKA_PYTHON, "aiokafka against `native`", "with parts read",
            "kafka-python against `native`",
        ),
        notes=[
            "`native`, `python`, `kaitai` and `construct` are `for record in"
            " Segment(...).records()` with that codec: each record is a tuple with offset,"
            " timestamp, key, value and headers in it. Records of the peers make these when they"
            " are read, so they are read there. Parts read: ours read once more by their names."
        ],
    )  # fmt: skip
    for shape in _GATES if settings.quick else _SHAPES:
        fast = segment(shape, settings.size(4 * MIB))
        medium = segment(shape, settings.size(max(MIB, shape.batch)))
        slow = segment(shape, settings.size(128 * KIB))
        _check_equal(shape, ours)
        candidates = [
            Candidate(_CORE, partial(read_objects, codec, fast.data), fast.records),
            Candidate(AIOKAFKA, partial(read_aiokafka, fast.data), fast.records),
            Candidate(KAFKA_PYTHON, partial(read_kafka_python, medium.data), medium.records),
        ]
        patient: list[Candidate] = []
        for name in ours:
            data = slow if name in _SLOW else medium if name == "python" else fast
            candidate = Candidate(name, partial(read_codec, data.data, name), data.records)
            (patient if name in _SLOW else candidates).append(candidate)
        candidates.append(Candidate(_PARTS, partial(read_parts, fast.data, _NATIVE), fast.records))
        found = measure(candidates, settings.rounds(9))
        found = Times(found.rounds | measure(patient, settings.rounds(2)).rounds)
        against = found.ratio(AIOKAFKA, _NATIVE)
        table.rows.append(
            (
                shape.name,
                *(
                    number(found.median(name))
                    for name in (_CORE, *ours, _PARTS, AIOKAFKA, KAFKA_PYTHON)
                ),
                times(against),
                times(found.ratio(AIOKAFKA, _PARTS)),
                times(found.ratio(KAFKA_PYTHON, _NATIVE)),
            )
        )
        if shape in _GATES:
            what = f"record objects against aiokafka, {shape.headers} headers"
            outcome.figures.append(Figure(what, against, _GATES[shape]))
        if shape == _READ:
            what = "record objects with five parts read, against aiokafka"
            outcome.figures.append(Figure(what, found.ratio(AIOKAFKA, _PARTS), _READ_GATE))
    outcome.tables.append(table)
    return outcome


def _check_equal(shape: Shape, ours: list[str]) -> None:
    data = segment(shape, 64 * KIB).data
    expected = records_aiokafka(data)
    found = {name: list(Segment(data, codec=name).records()) for name in ours}
    found[KAFKA_PYTHON] = records_kafka_python(data)
    different = [name for name, records in found.items() if records != expected]
    if different:
        raise AssertionError(f"{', '.join(different)} differ from aiokafka: {shape.name}")


CASE = Case("objects", "Record objects", run)
