"""The public way, file to record batches, against the reader of columns that it is built on."""

from __future__ import annotations

from benchmarks.core import names_of, read_columns, record_batches
from benchmarks.data import MIB, Shape, segment_file
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number
from benchmarks.timing import Candidate, measure
from kafkaspec.columns.memory import Layout
from kafkaspec.log.options import ByteLayout as PublicLayout

_GATE = 1.15
_COLUMNS, _PUBLIC = "columns", "`to_batches`"
_SHAPES = (Shape(20), Shape(100), Shape(1024), Shape(100, headers=3))
_WHAT = "public API (file to record batches) ÷ columns"


def run(settings: Settings) -> Outcome:
    """Views and copies; the file is mapped again on both sides."""
    table = Table(
        "File to record batches, ns a record",
        ("records", "layout", "columns", "`to_batches`", "ratio"),
        notes=[
            "Columns: the reader of `to_batches` without Arrow's arrays. `to_batches`:"
            " `Segment(path).to_batches(...)`, each batch dropped."
        ],
    )
    outcome = Outcome([table])
    for shape in _SHAPES:
        path, data = segment_file(settings.work, shape, settings.size(64 * MIB))
        names = list(names_of(shape.headers))
        for layout in (Layout.VIEW, Layout.BINARY):
            text: PublicLayout = "view" if layout is Layout.VIEW else "binary"

            def public(names: list[str] = names, text: PublicLayout = text) -> int:
                return record_batches(path, names, text)  # noqa: B023

            def bare(names: list[str] = names, layout: Layout = layout) -> int:
                return read_columns(path, names, layout)  # noqa: B023

            found = measure(
                [Candidate(_COLUMNS, bare, data.records), Candidate(_PUBLIC, public, data.records)],
                settings.rounds(11),
            )
            ratio = found.ratio(_PUBLIC, _COLUMNS)
            table.rows.append(
                (
                    shape.name, text, number(found.median(_COLUMNS)), number(found.median(_PUBLIC)),
                    number(ratio),
                )
            )  # fmt: skip
            if layout is Layout.VIEW:
                what = f"{_WHAT}, {shape.name}"
                outcome.figures.append(Figure(what, ratio, _GATE, at_most=True, unit=""))
        path.unlink()
    return outcome


CASE = Case("public", "File to record batches", run)
