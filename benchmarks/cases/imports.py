"""CPU time of importing the package, each time in a new process."""

from __future__ import annotations

import subprocess
import sys
from statistics import median

from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number

_GATE = 20.0
_PROGRAM = """
import time
before = time.process_time()
{statement}
spent = time.process_time() - before
import sys
assert not {{"pyarrow", "numpy"}} & set(sys.modules)
print(spent * 1000)
"""
_STATEMENTS = (
    "import kafkaspec",
    "from kafkaspec import Segment",
    "from kafkaspec.codecs.native import NativeCodec; NativeCodec()",
)


def run(settings: Settings) -> Outcome:
    """Processes in turns; the time that Python itself takes to start does not count."""
    spent: dict[str, list[float]] = {statement: [] for statement in _STATEMENTS}
    for _ in range(settings.rounds(15)):
        for statement in _STATEMENTS:
            done = subprocess.run(
                [sys.executable, "-c", _PROGRAM.format(statement=statement)],
                capture_output=True,
                text=True,
                check=True,
            )
            spent[statement].append(float(done.stdout))
    table = Table("Import, ms of CPU time", ("statement", "ms"))
    table.notes.append("Neither pyarrow nor numpy is loaded by any of them.")
    table.rows = [(f"`{name}`", number(median(values))) for name, values in spent.items()]
    first = median(spent[_STATEMENTS[0]])
    figure = Figure(
        "import of `kafkaspec` without pyarrow, numpy", first, _GATE, at_most=True, unit="ms"
    )
    return Outcome([table], [figure])


CASE = Case("imports", "Import", run)
