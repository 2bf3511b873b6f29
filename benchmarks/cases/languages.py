"""Columns by our readers in Rust and Go against the core in C, over the same segments."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from benchmarks.core import records_of_batches
from benchmarks.data import KIB, MIB, Shape, segment
from benchmarks.java import MissingError, touched
from benchmarks.languages import BUILDERS, Reader, build
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number
from benchmarks.timing import Candidate, measure

_CORE, *_OTHERS = BUILDERS
_SIZES = {"none": 64 * MIB, "lz4": 48 * MIB}
_GATE = 1.5


def run(settings: Settings) -> Outcome:
    """Not compressed, and lz4; 16 KiB batches."""
    table = Table(
        "Columns by our readers in C, Rust and Go, 100 B, ns a record",
        ("records", _CORE, *(name for each in _OTHERS for name in (each, f"{each} ÷ {_CORE}"))),
        notes=[
            "Each is a program that has the segment in memory: what `make c`, `make rust` and"
            " `make go` make, by `-O2`, `--release` and the defaults of Go. Columns of offset,"
            " timestamp, key and value, with checksums; offset, timestamp, first byte and size of"
            " key and value are touched. CPU time of all threads, Go's collector included."
        ],
    )  # fmt: skip
    outcome = Outcome([table])
    programs, missing = _programs(settings)
    for compression, size in _SIZES.items():
        shape = Shape(100, compression=compression)
        _compare(shape, settings, settings.size(size), programs, missing, outcome)
    return outcome


def _programs(settings: Settings) -> tuple[dict[str, Path], dict[str, str]]:
    """Programs by language, and why there is none in the others."""
    programs, missing = {}, {}
    for language in BUILDERS:
        work = settings.work / language
        work.mkdir()
        try:
            programs[language] = build(language, work, settings.quick)
        except MissingError as error:
            missing[language] = str(error)
    return programs, missing


def _compare(
    shape: Shape,
    settings: Settings,
    size: int,
    programs: dict[str, Path],
    missing: dict[str, str],
    outcome: Outcome,
) -> None:
    missing = missing | _check_equal(shape, settings.work, programs)
    data = segment(shape, size)
    path = settings.work / f"{shape.compression}.log"
    path.write_bytes(data.data)
    with ExitStack() as stack:
        readers = {
            language: stack.enter_context(Reader(program, path))
            for language, program in programs.items()
            if language not in missing
        }
        found = measure(
            [_candidate(*item, data.records) for item in readers.items()], settings.rounds(15)
        )
    times = {language: number(found.median(language)) for language in readers}
    cells = [times.get(_CORE, "-")]
    for other in _OTHERS:
        why = missing.get(other) or missing.get(_CORE)
        ratio = None if why else found.ratio(other, _CORE)
        cells += [times.get(other, "-"), "-" if ratio is None else number(ratio)]
        what = f"columns in {other}, time ÷ {_CORE}, {shape.name}"
        outcome.figures.append(Figure(what, ratio, _GATE, True, "", why or ""))
    outcome.tables[0].rows.append((shape.name, *cells))
    path.unlink()


def _candidate(language: str, reader: Reader, records: int) -> Candidate:
    return Candidate(language, reader.read, records, lambda: reader.seconds)


def _check_equal(shape: Shape, work: Path, programs: dict[str, Path]) -> dict[str, str]:
    """Every program has to touch the same; why some cannot."""
    small = segment(shape, 64 * KIB).data
    path, missing = work / "small.log", {}
    path.write_bytes(small)
    expected = touched(records_of_batches(small))
    for language, program in programs.items():
        with Reader(program, path) as reader:
            try:
                reader.read()
            except MissingError as error:
                missing[language] = str(error)
                continue
            if reader.sum != expected:
                raise AssertionError(f"the reader in {language} saw other records: {shape.name}")
    return missing


CASE = Case("languages", "Our readers in other languages", run)
