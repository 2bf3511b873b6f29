"""The Python codec against kafka-python: plain Python on both sides."""

from __future__ import annotations

from benchmarks import records
from benchmarks.outcome import Case, Outcome, Settings, Table, number, times
from kafkaspec.codecs import get_codec


def run(settings: Settings) -> Outcome:
    """The shapes of ``python -m benchmarks.records``."""
    codec = get_codec("python")
    table = Table(
        "Plain Python: codec `python` against kafka-python, ns a record",
        ("records", "python", "kafka-python", "kafka-python against us"),
        notes=["`python -m benchmarks.records --codec NAME` does the same with another codec."],
    )
    for shape in records.SHAPES:
        batches = 2 if settings.quick else 40
        ours, theirs, ratio = records.compare(shape, codec, batches, settings.rounds(9))
        table.rows.append((shape.name, number(ours), number(theirs), times(ratio)))
    return Outcome([table])


CASE = Case("records", "Plain Python", run)
