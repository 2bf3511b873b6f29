"""Compressed columns on a machine without headers of libraries, and on one without libraries."""

from __future__ import annotations

from typing import Final

from benchmarks.cases.columns import check_equal
from benchmarks.core import PLAIN, record_batches
from benchmarks.data import MIB, SMALL_BATCH, Shape, segment
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number, times
from benchmarks.peers import AIOKAFKA, read_aiokafka
from benchmarks.timing import Candidate, Times, measure
from kafkaspec import compression

_LINKED: Final = "linked"
_LOADED: Final = "loaded at run time"
_PACKAGES: Final = "packages of PyPI"
_GATES: Final = {"lz4": 5.0, "zstd": 2.6}
"""Of what is loaded: those of ``compressed``, for the libraries that slim images have."""


def run(settings: Settings) -> Outcome:
    """Each compression, by the libraries linked, loaded by their names, and not at all."""
    outcome = Outcome()
    table = Table(
        "Columns of compressed records of 100 B as a fresh machine reads them, ns a record",
        ("compression", _LINKED, _LOADED, _PACKAGES, AIOKAFKA, f"against {_LOADED}",
         f"against {_PACKAGES}"),
        notes=["Linked: built with headers. Loaded: built without them, the libraries are there."],
    )  # fmt: skip
    native = compression.native
    if native is None or not native.CODECS:
        for name, gate in _GATES.items():
            figure = Figure(_title(name), None, gate, why="no library in C is here")
            outcome.figures.append(figure)
        return outcome
    for name in ("lz4", "zstd", "snappy", "gzip"):
        found = _found(Shape(100, batch=SMALL_BATCH, compression=name), settings)
        table.rows.append(
            (
                name,
                *(number(found.median(way)) for way in (_LINKED, _LOADED, _PACKAGES, AIOKAFKA)),
                times(found.ratio(AIOKAFKA, _LOADED)),
                times(found.ratio(AIOKAFKA, _PACKAGES)),
            )
        )
        if name in _GATES:
            ratio = found.ratio(AIOKAFKA, _LOADED)
            outcome.figures.append(Figure(_title(name), ratio, _GATES[name]))
    outcome.tables.append(table)
    return outcome


def _title(name: str) -> str:
    return f"compressed against aiokafka, {name}, library loaded at run time"


def _found(shape: Shape, settings: Settings) -> Times:
    check_equal(shape)
    data = segment(shape, settings.size(48 * MIB))
    small = segment(shape, settings.size(2 * MIB))
    native = compression.native
    assert native is not None

    def read(which: int, in_c: bool) -> int:
        native.find_libraries(which)
        before, compression.in_c = compression.in_c, in_c
        try:
            return record_batches(data.data, PLAIN)
        finally:
            compression.in_c = before
            native.find_libraries(native.USE_ALL)

    return measure(
        [
            Candidate(_LINKED, lambda: read(native.USE_ALL, True), data.records),
            Candidate(_LOADED, lambda: read(native.USE_LOADED, True), data.records),
            Candidate(_PACKAGES, lambda: read(native.USE_ALL, False), data.records),
            Candidate(AIOKAFKA, lambda: read_aiokafka(small.data), small.records),
        ],
        settings.rounds(5),
    )


CASE = Case("fresh", "Compressed columns on a fresh machine", run)
"""The result of a case, and its gates."""
