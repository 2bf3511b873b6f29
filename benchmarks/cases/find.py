"""``find``: a pattern in values, and some fields of keys, against a loop over records."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import kafkaspec as ks
from benchmarks.cases.messages import write_log
from benchmarks.data import MIB, Shape, segment_file
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number, times
from benchmarks.timing import Candidate, measure
from kafkaspec.arrow.where.searching import find_where
from kafkaspec.cli.commands.find_key import find_key
from kafkaspec.files.names import LOG, segment_name
from kafkaspec.log.lookup import Found

_SIZE = 64 * MIB
_GATE = 10.0
_LOOP = "a loop over records"
_ABSENT = "nowhere at all"
_WHERE = f"--where \"value like '%{_ABSENT}%'\""
_FIELDS = f'--key \'{{"group": "{_ABSENT}"}}\''


def _searched(path: Path, records: int, look: Callable[[ks.Segment], list[Found]]) -> int:
    if look(ks.Segment(path)):
        raise AssertionError("no record has it")
    return records


def _where(segment: ks.Segment) -> list[Found]:
    return list(find_where(segment, f"value like '%{_ABSENT}%'", "native"))


def _key(segment: ks.Segment) -> list[Found]:
    return list(find_key(segment, f'{{"group": "{_ABSENT}"}}', "native"))


def _loop(path: Path, *, keys: bool) -> int:
    """Look for the bytes in each key or value; return the number of records."""
    wanted, count = _ABSENT.encode(), 0
    for record in ks.Segment(path).records():
        content = record.key if keys else record.value
        if content is not None and wanted in content:
            raise AssertionError("no record has it")
        count += 1
    return count


def run(settings: Settings) -> Outcome:
    """Search for a key and a text that no record has, so that each search reads the whole log."""
    table = Table(
        "Search for what no record has, one thread, ns a record",
        ("search", "`find`", "loop", "times as fast"),
        notes=[
            "The loop only asks whether the bytes are in a value or a key, as record objects have"
            " them; it decodes no key. Values have 100 B; keys are those of offset commits."
        ],
    )
    outcome = Outcome([table])
    values, data = segment_file(settings.work, Shape(100), settings.size(_SIZE))
    folder = settings.work / "__consumer_offsets-0"
    folder.mkdir()
    commits = folder / segment_name(0, LOG)
    counts = {values: data.records, commits: write_log(commits, settings.size(_SIZE))}
    for what, path, look in ((_WHERE, values, _where), (_FIELDS, commits, _key)):
        candidates = [
            Candidate(what, partial(_searched, path, counts[path], look), counts[path]),
            Candidate(_LOOP, partial(_loop, path, keys=path == commits), counts[path]),
        ]
        found = measure(candidates, settings.rounds(7))
        ratio = found.ratio(_LOOP, what)
        row = (f"`{what}`", number(found.median(what)), number(found.median(_LOOP)), times(ratio))
        table.rows.append(row)
        outcome.figures.append(Figure(f"`find {what}`, a loop over records ÷ ours", ratio, _GATE))
        path.unlink()
    return outcome


CASE = Case("find", "Searches", run)
