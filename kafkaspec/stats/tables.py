"""The tables that a measurement consists of, and how two of them become one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkaspec.stats.distinct import joined

_AT_ONCE: Final = 64
"""Measurements that wait to be merged."""
_LOOSE: Final = 1024
"""Rows that are kept as they are until all are merged: grouping few costs more than it saves."""
LOG: Final = ("directory", "topic", "partition")
"""Columns that say which log a row is about; topic and partition may be null."""

_PLACE: Final = "place"
"""Column with the number of a log, in place of those that say which."""
_TEXT, _LONG, _DIGEST = pa.string(), pa.int64(), pa.uint64()
_LOG_TYPES: Final = (_TEXT, _TEXT, pa.int32())

MINUTE: Final = 60_000
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
WIDTHS: Final = (MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, *(DAY << 3 * n for n in range(1, 12)))
"""Widths of the buckets of time, ms: each is a multiple of those before it."""
MOST_BUCKETS: Final = 4096
"""Most buckets of a log: with more, they become wider."""


@dataclass(frozen=True)
class TableShape:
    """The columns of a table: keys tell its rows apart, of others it says how two become one."""

    keys: Mapping[str, pa.DataType]
    values: Mapping[str, tuple[str, pa.DataType]]

    @cached_property
    def schema(self) -> pa.Schema:
        """All columns."""
        values = {name: kind for name, (_, kind) in self.values.items()}
        log = dict(zip(LOG, _LOG_TYPES, strict=True))
        return pa.schema({**log, **self.keys, **values})


def _columns(how: str, names: str) -> dict[str, tuple[str, pa.DataType]]:
    return dict.fromkeys(names.split(), (how, _LONG))


_COUNTED: Final = _columns("sum", "batches records bytes")
_OFFSETS: Final = _columns("min", "first_offset") | _columns("max", "last_offset")
_TIMES: Final = _columns("min", "first_timestamp") | _columns("max", "last_timestamp")

TABLES: Final = {
    "logs": TableShape(
        {}, _columns("max", "start_offset end_offset stable_offset") | _columns("sum", "errors")
    ),
    "segments": TableShape(
        {"file": _TEXT, "start": _LONG},
        _columns("max", "base_offset")
        | _columns("sum", "file_bytes index_bytes")
        | _COUNTED
        | _columns("sum", "control_batches transactional_batches")
        | _OFFSETS
        | _TIMES
        | _columns("max", "begins ends step_back")
        | _columns("sum", "steps null_keys tombstones null_values keys slack errors"),
    ),
    "codecs": TableShape(
        {"magic": pa.int32(), "compression": _TEXT, "timestamp_type": _TEXT},
        _COUNTED | _columns("sum", "payload uncompressed"),
    ),
    "producers": TableShape(
        {"producer_id": _LONG, "producer_epoch": _LONG},
        _COUNTED
        | _columns("sum", "markers")
        | _OFFSETS
        | _columns("max", "last_sequence")
        | _TIMES,
    ),
    "times": TableShape({"time": _LONG, "width": _LONG}, _COUNTED),
    "sizes": TableShape({"what": _TEXT, "size_from": _LONG}, _columns("sum", "count bytes")),
    "extents": TableShape(
        {"what": _TEXT},
        _columns("sum", "count bytes") | _columns("min", "smallest") | _columns("max", "largest"),
    ),
    "transactions": TableShape(
        {"outcome": _TEXT},
        _columns("sum", "transactions batches records")
        | _columns("max", "longest_ms")
        | _columns("min", "first_offset"),
    ),
    "gaps": TableShape(
        {"kind": _TEXT, "why": _TEXT},
        _columns("sum", "ranges missing") | _columns("max", "largest"),
    ),
    "heaviest": TableShape(
        {"digest": _DIGEST},
        _columns("sum", "count credit") | {"key": ("one", pa.binary())} | _columns("max", "size"),
    ),
    "distinct": TableShape({}, {"hashes": ("join", pa.binary())}),
    "errors": TableShape(
        {"file": _TEXT, "position": _LONG, "reason": _TEXT, "message": _TEXT},
        _columns("sum", "count"),
    ),
}
"""The tables by name. Times are ms since 1970, null for none.

Segments: a row for each part that was measured, from byte ``start`` on; ``begins`` and ``ends`` are
the first and the last timestamp of a record, ``steps`` the records with a timestamp below that of
the record before, ``step_back`` the largest such step; for ``slack`` and ``credit`` see
``kafkaspec.stats.heaviest``.
"""

StatsTables = dict[str, pa.Table]
"""What was measured: the tables by name; one that is not there has no rows."""


def summed(
    name: str, places: Sequence[Sequence[Any]], place: Any, columns: Mapping[str, Any]
) -> pa.Table:
    """Return rows of a table, of which ``merged`` makes one for each key of a log.

    Args:
        places: logs, each with the values of ``LOG``.
        place: the number of its log, for each row.
        columns: values by name; columns that are not given are null.
    """
    shape = TABLES[name]
    rows = len(place)
    made = {_PLACE: pa.array(place, pa.int64())}
    for field in list(shape.schema)[len(LOG) :]:
        values = columns.get(field.name)
        if values is None:
            made[field.name] = pa.nulls(rows, field.type)
        elif isinstance(values, (pa.Array, pa.ChunkedArray)):
            made[field.name] = values.cast(field.type)
        else:
            made[field.name] = pa.array(values, field.type)
    found = pa.table(made)
    if shape.keys and rows > _LOOSE:
        found = grouped(found, shape, (_PLACE,))
    at = found[_PLACE].combine_chunks()
    known = (
        pa.array([each[number] for each in places], kind).take(at)
        for number, kind in enumerate(_LOG_TYPES)
    )
    own = [found[field] for field in shape.schema.names[len(LOG) :]]
    return pa.Table.from_arrays([*known, *own], schema=shape.schema)


class StatsRows:
    """Few rows of many logs, of which tables are made at once: each table costs, however small.

    Attributes:
        places: the logs, by their numbers.
    """

    def __init__(self) -> None:
        self.places: list[Sequence[Any]] = []
        self._place: dict[str, list[int]] = {name: [] for name in TABLES}
        self._rows: dict[str, dict[str, list[Any]]] = {
            name: {field: [] for field in shape.schema.names[len(LOG) :]}
            for name, shape in TABLES.items()
        }

    def begin(self, place: Sequence[Any]) -> int:
        """Let the rows that come be about a log; return its number."""
        self.places.append(place)
        return len(self.places) - 1

    def add(self, name: str, rows: int, columns: Mapping[str, Any]) -> None:
        """Take rows of a table; columns that are not given are null."""
        if not rows:
            return
        self._place[name] += [len(self.places) - 1] * rows
        for field, known in self._rows[name].items():
            values = columns.get(field)
            if values is None:
                known += [None] * rows
            else:
                known += values if isinstance(values, list) else values.tolist()

    def tables(self) -> StatsTables:
        """Return all rows."""
        return {
            name: summed(name, self.places, place, self._rows[name])
            for name, place in self._place.items()
            if place
        }


def merged(parts: Iterable[StatsTables]) -> StatsTables:
    """Return several measurements as one, with one row for each key of a log.

    Their order does not matter, nor what is merged first.
    """
    found = gathered(parts)
    return {
        name: grouped(table, TABLES[name], LOG) if len(table) > 1 else table
        for name, table in found.items()
    }


def gathered(parts: Iterable[StatsTables]) -> StatsTables:
    """Return several measurements as one to be ``merged``: keys may have several rows.

    As many as come, few are kept, and each is grouped few times.
    """
    levels: list[list[StatsTables]] = [[]]
    for part in parts:
        levels[0].append(part)
        level = 0
        while len(levels[level]) == _AT_ONCE:
            if level + 1 == len(levels):
                levels.append([])
            levels[level + 1].append(_gathered(levels[level]))
            levels[level].clear()
            level += 1
    return _gathered([part for level in levels for part in level])


def _gathered(given: Sequence[StatsTables]) -> StatsTables:
    found = {}
    for name, shape in TABLES.items():
        tables = [part[name] for part in given if name in part and len(part[name])]
        # In one piece: many small ones take far more memory than their rows.
        table = pa.concat_tables(tables or [shape.schema.empty_table()]).combine_chunks()
        found[name] = grouped(table, shape, LOG) if len(table) > _LOOSE else table
    times = found["times"]
    if len(times) > MOST_BUCKETS or pc.count_distinct(times["width"]).as_py() > 1:
        found["times"] = _coarse(times)
    return found


def grouped(rows: pa.Table, shape: TableShape, place: Sequence[str]) -> pa.Table:
    """Return rows with one for each key, in their order; other columns of the log are left out."""
    keys = [*place, *shape.keys]
    how = [(name, how) for name, (how, _) in shape.values.items()]
    if how == [("hashes", "join")]:
        return _joined(rows, keys)
    kinds = rows.schema
    made = pa.TableGroupBy(rows, keys, use_threads=False).aggregate(how)
    columns = {name: made[name] for name in keys}
    columns |= {name: made[f"{name}_{kind}"].cast(kinds.field(name).type) for name, kind in how}
    found = pa.table(columns)
    return found.sort_by([(name, "ascending") for name in keys]) if keys else found


def _joined(rows: pa.Table, keys: list[str]) -> pa.Table:
    found: dict[tuple[Any, ...], list[Any]] = {}
    for *place, hashes in zip(*(rows[name].to_pylist() for name in (*keys, "hashes")), strict=True):
        found.setdefault(tuple(place), []).append(np.frombuffer(hashes, np.uint64))
    ordered = sorted(found, key=lambda key: [(item is not None, item) for item in key])
    columns = {
        name: pa.array([key[number] for key in ordered], rows.schema.field(name).type)
        for number, name in enumerate(keys)
    }
    hashes = [joined(found[key]).tobytes() for key in ordered]
    return pa.table(columns | {"hashes": pa.array(hashes, pa.binary())})


def _coarse(rows: pa.Table) -> pa.Table:
    """Return buckets of time that are as wide as those of each log must be, and no wider."""
    while True:
        logs = rows["directory"].combine_chunks().dictionary_encode()
        log = logs.indices.to_numpy()
        widths = np.zeros(len(logs.dictionary), np.int64)
        width = rows["width"].to_numpy()
        np.maximum.at(widths, log, width)
        if (width == widths[log]).all():  # not before that their number counts
            buckets = np.bincount(log, minlength=len(widths))
            many = (buckets > MOST_BUCKETS) & (widths < WIDTHS[-1])
            if not many.any():
                return rows
            widths[many] = np.array(WIDTHS)[np.searchsorted(WIDTHS, widths[many]) + 1]
        rows = grouped(_widened(rows, widths[log]), TABLES["times"], LOG)


def _widened(rows: pa.Table, width: NDArray[np.int64]) -> pa.Table:
    """Return rows of time in buckets of other widths."""
    time = rows["time"].to_numpy()
    for name, values in (("time", time - time % width), ("width", width)):
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(values))
    return rows


def rolled(part: StatsTables, name: str, place: Sequence[str]) -> pa.Table:
    """Return a table by fewer columns of the log: ``("topic",)``, or () for the sum over all."""
    rows = part[name]
    if name == "times" and len(rows):  # buckets of all logs as wide as the widest
        rows = _widened(rows, np.full(len(rows), pc.max(rows["width"]).as_py()))
    return grouped(rows, TABLES[name], place)
