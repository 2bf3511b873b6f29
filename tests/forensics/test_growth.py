"""Commands that explain or mend a log do as much for each transaction, however many there are."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kafkaspec.forensics.salvage import SalvageReport, salvage
from kafkaspec.log.segment import Segment
from tests.cli.helpers import run
from tests.log.test_isolation import Step, written
from tests.work import calls


def _without_markers(path: Path) -> None:
    """Break the checksum of each control batch."""
    (file,) = path.glob("*.log")
    data = bytearray(file.read_bytes())
    with Segment(bytes(data)) as log:
        for batch in log.batches():
            if batch.is_control:
                data[batch.end - 1] ^= 0xFF
    file.write_bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("together", "index", "options"),
    [
        (False, True, {"fill": "none"}),
        (False, False, {"fill": "all"}),
        (True, False, {"fill": "all", "markers": "abort"}),
    ],
    ids=["lost aborts", "fillers", "open transactions"],
)
def test_salvage_does_as_much_for_each_piece(
    tmp_path: Path, together: bool, index: bool, options: dict[str, Any]
) -> None:
    """Each second batch is broken: markers of one producer, or of as many as there are pieces."""
    work = []
    for pieces in (2000, 8000):
        path = tmp_path / f"{pieces}-0"
        ends: list[Step] = [
            (number * together, 1, action)
            for number in range(pieces)
            for action in ("data", "abort")
        ]
        written(path, ends, index=index)
        _without_markers(path)
        reports: list[SalvageReport] = []
        mend = partial(salvage, path, tmp_path / f"out-{pieces}", sync=False, **options)
        work.append(calls(lambda mend=mend, reports=reports: reports.append(mend())))  # type: ignore[misc]
        assert len(reports[0].partitions[0].added) == pieces, "what is counted takes part"
    assert work[1] < 4.5 * work[0], work


@pytest.mark.slow
def test_transactions_as_text_do_as_much_for_each(tmp_path: Path) -> None:
    work = []
    for number in (5000, 20000):
        path = tmp_path / f"{number}-0"
        ends = [("data", "commit"), ("data", "abort"), ("data",)]
        what: list[Step] = [(n, 1, action) for n in range(number) for action in ends[n % 3]]
        written(path, what)
        work.append(calls(partial(run, "transactions", path)))
        assert f"... and {number - 50:,} more" in run("transactions", path).stdout
    assert work[1] < 4.5 * work[0], work
