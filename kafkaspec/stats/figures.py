"""The figures of a measurement, by log, by topic and in total."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafkaspec.stats.distinct import number_of
from kafkaspec.stats.tables import LOG, TABLES, StatsTables, grouped, rolled

TOPIC: Final = ("topic",)
TOTAL: Final = ()
_SECOND: Final = 1000
SHOWN_KEYS: Final = 20
"""Heaviest keys of a log that are shown."""

_KINDS: Final = {
    "directory": pa.string(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "magics": pa.list_(pa.int32()),
    "codecs": pa.list_(pa.string()),
    "timestamp_types": pa.list_(pa.string()),
    **dict.fromkeys(("ratio", "records_per_second", "bytes_per_second"), pa.float64()),
}
"""Types of columns that are not numbers of 64 bits."""

StatsRow = dict[str, Any]
StatsName = tuple[Any, ...]


LINES: Final = ("producer", "transaction", "gap", "size", "time", "error")
"""Tables whose rows are shown as they are; their names are in the plural."""


def members() -> dict[str, pa.Schema]:
    """Return the columns of what is shown as a row of JSON, by its kind."""
    nothing = Figures({name: shape.schema.empty_table() for name, shape in TABLES.items()})
    sums = list(nothing.total)
    ratio = [name for name in _ratio({}) if name not in TABLES["codecs"].schema.names]
    found = {kind: TABLES[f"{kind}s"].schema for kind in LINES}
    found["codec"] = pa.schema([*TABLES["codecs"].schema, *_schema(ratio)])
    own = "first_offset", "last_offset", "stable_offset"
    found["partition"] = _schema([*LOG, *(name for name in sums if name != "partitions"), *own])
    return found | {"topic": _schema([*TOPIC, *sums]), "total": _schema(sums)}


def _schema(names: Iterable[str]) -> pa.Schema:
    return pa.schema([(name, _KINDS.get(name, pa.int64())) for name in names])


class Figures:
    """A measurement, to be looked at."""

    def __init__(self, part: StatsTables) -> None:
        self.part = part

    @cached_property
    def partitions(self) -> list[StatsRow]:
        """A row for each log; see ``summaries``."""
        return list(self._summaries(LOG))

    @property
    def partition_table(self) -> pa.Table:
        """The rows of logs as a table."""
        rows = self.partitions
        names = list(rows[0]) if rows else list(LOG)
        return pa.Table.from_pylist(rows, _schema(names))

    @cached_property
    def topics(self) -> list[StatsRow]:
        """A row for each topic; logs without one are together."""
        return list(self._summaries(TOPIC))

    @cached_property
    def total(self) -> StatsRow:
        """The row of all logs."""
        return next(self._summaries(TOTAL))

    def rows(self, name: str, place: Sequence[str] = LOG) -> list[StatsRow]:
        """Return the rows of a table, by log, by topic or in total."""
        found: list[StatsRow] = rolled(self.part, name, place).to_pylist()
        return found

    def codecs(self, place: Sequence[str] = LOG) -> list[StatsRow]:
        """Return batches by magic, compression and timestamp type, with ratios."""
        return [row | _ratio(row) for row in self.rows("codecs", place)]

    def heaviest(self, place: Sequence[str] = LOG) -> list[StatsRow]:
        """Return the heaviest keys, at most ``SHOWN_KEYS`` of a log or topic, with bounds."""
        slack = {key: total["slack"] or 0 for key, total in self._by("segments", place).items()}
        found: defaultdict[StatsName, list[StatsRow]] = defaultdict(list)
        for row in self.rows("heaviest", place):
            at = tuple(row[name] for name in place)
            row["at_most"] = row["count"] + slack[at] - row.pop("credit")
            found[at].append(row)
        chosen = []
        for rows in found.values():
            rows.sort(key=lambda row: (-row["count"], row["digest"]))
            chosen += [row for row in rows[:SHOWN_KEYS] if row["count"] > 1]
        return chosen

    def _by(self, name: str, place: Sequence[str]) -> dict[StatsName, StatsRow]:
        """Return sums of a table over everything but the log, by log."""
        shape = TABLES[name]
        bare = type(shape)({}, shape.values)
        rows = grouped(self.part[name], bare, place).to_pylist()
        return {tuple(row[key] for key in place): row for row in rows}

    def _summaries(self, place: Sequence[str]) -> Iterator[StatsRow]:
        logs, segments, codecs = (self._by(name, place) for name in ("logs", "segments", "codecs"))
        gaps, moved = self._by("gaps", place), self._by("transactions", place)
        distinct = {
            tuple(row[key] for key in place): row["hashes"] for row in self.rows("distinct", place)
        }
        lists = self._lists(place)
        steps = self._steps(place)
        number = Counter(tuple(row[key] for key in place) for row in self.part["logs"].to_pylist())
        parts = self.part["segments"].select([*LOG, "start"]).to_pylist()
        files = Counter(tuple(row[key] for key in place) for row in parts if not row["start"])
        extents = {
            (*(row[key] for key in place), row["what"]): row for row in self.rows("extents", place)
        }
        if not place and () not in logs:
            logs = {(): {}}
        for at, log in logs.items():
            counted = segments.get(at, {})
            row: StatsRow = dict(zip(place, at, strict=True))
            if place != LOG:
                row["partitions"] = number[at]
            row["segments"] = files[at]
            for name in ("file_bytes", "index_bytes", "bytes", "batches", "control_batches",
                         "transactional_batches", "records"):  # fmt: skip
                row[name] = counted.get(name) or 0
            if place == LOG:
                for name in ("first_offset", "last_offset"):
                    row[name] = counted.get(name)
                row["stable_offset"] = log["stable_offset"]
            row["first_timestamp"] = counted.get("first_timestamp")
            row["last_timestamp"] = counted.get("last_timestamp")
            row |= lists[at]
            row |= _ratio(codecs.get(at, {}))
            row |= _rates(row)
            row["largest_batch"] = extents.get((*at, "batch"), {}).get("largest")
            row["missing_offsets"] = gaps.get(at, {}).get("missing") or 0
            row["transactions"] = moved.get(at, {}).get("transactions") or 0
            for name in ("keys", "null_keys", "tombstones", "null_values"):
                row[name] = counted.get(name)
            if at in distinct:
                keys = number_of(np.frombuffer(distinct[at], np.uint64))
                row |= {"distinct_keys": keys.estimate, "distinct_low": keys.low}
                row["distinct_high"] = keys.high
            else:
                row |= dict.fromkeys(("distinct_keys", "distinct_low", "distinct_high"))
            row |= steps.get(at, {"steps_back": None, "largest_step_back": None})
            row["errors"] = (counted.get("errors") or 0) + (log.get("errors") or 0)
            yield row

    def _lists(self, place: Sequence[str]) -> defaultdict[StatsName, StatsRow]:
        """Return magics, codecs, timestamp types and the number of producers."""
        found: defaultdict[StatsName, StatsRow] = defaultdict(
            lambda: {"magics": [], "codecs": [], "timestamp_types": [], "producers": 0}
        )
        for row in self.rows("codecs", place):
            lists = found[tuple(row[key] for key in place)]
            for name, value in (
                ("magics", row["magic"]),
                ("codecs", row["compression"]),
                ("timestamp_types", row["timestamp_type"]),
            ):
                lists[name] = sorted({*lists[name], value})
        ids = self.part["producers"].select([*place, "producer_id"])
        unique = pa.TableGroupBy(ids, ids.column_names, use_threads=False).aggregate([])
        for row in unique.to_pylist():
            found[tuple(row[key] for key in place)]["producers"] += 1
        return found

    def _steps(self, place: Sequence[str]) -> dict[StatsName, StatsRow]:
        """Return how often a timestamp is below that of the record before, and the largest step.

        Segments count in the order of their base offsets, parts in that of the file.
        """
        found: dict[StatsName, StatsRow] = {}
        ends: dict[StatsName, int] = {}
        for row in self.part["segments"].sort_by(
            [(name, "ascending") for name in (*LOG, "base_offset", "file", "start")]
        ).to_pylist():  # fmt: skip
            if row["steps"] is None:
                continue
            log = tuple(row[key] for key in LOG)
            at = tuple(row[key] for key in place)
            known = found.setdefault(at, {"steps_back": 0, "largest_step_back": 0})
            known["steps_back"] += row["steps"]
            largest = [known["largest_step_back"], row["step_back"]]
            if row["begins"] is None:
                continue_with = ends.get(log)
            else:
                if log in ends and row["begins"] < ends[log]:
                    known["steps_back"] += 1
                    largest.append(ends[log] - row["begins"])
                continue_with = row["ends"]
            if continue_with is not None:
                ends[log] = continue_with
            known["largest_step_back"] = max(largest)
        return found


def name_of(row: StatsRow) -> str:
    """Return the name of a partition, or its directory where that is none."""
    if row["topic"] is None:
        return str(row["directory"])
    return f"{row['topic']}-{row['partition']}"


def key_text(row: StatsRow) -> str:
    """Return a key as text, or in hex if it is none."""
    key: bytes = row["key"]
    more = "..." if row["size"] > len(key) else ""
    try:
        return key.decode() + more
    except UnicodeDecodeError:
        return f"0x{key.hex()}{more}"


def _ratio(row: Mapping[str, Any]) -> StatsRow:
    payload, whole = row.get("payload"), row.get("uncompressed")
    ratio = round(whole / payload, 4) if payload and whole else None
    return {"payload": payload, "uncompressed": whole, "ratio": ratio}


def _rates(row: StatsRow) -> StatsRow:
    """Return records and bytes for each second between the first and the last timestamp."""
    first, last = row["first_timestamp"], row["last_timestamp"]
    if first is None or last is None or last <= first:
        return {"records_per_second": None, "bytes_per_second": None}
    seconds = (last - first) / _SECOND
    return {
        "records_per_second": _shortened(row["records"] / seconds),
        "bytes_per_second": _shortened(row["bytes"] / seconds),
    }


def _shortened(rate: float) -> float:
    """Return a rate with three decimals, one below 1 with three digits: few are not none."""
    return round(rate, 3) if rate >= 1 else float(f"{rate:.3g}")
