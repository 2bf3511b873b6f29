"""Missing offsets of a log, from the headers of its batches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from kafkaspec.forensics.gaps.ranges import KIND_NUMBERS, GapKind
from kafkaspec.forensics.headers import Column
from kafkaspec.layout import names
from kafkaspec.log.batch import NO_TIMESTAMP, NONE
from kafkaspec.log.header_table import POSITION, HeaderTable
from kafkaspec.log.transactions import AbortedTransactions

Columns = dict[str, Column]
_NONE: Final = np.empty(0, np.int64)
_OFFSETS: Final = (names.BASE_OFFSET, names.LAST_OFFSET, names.NUM_RECORDS)


@dataclass
class GapWalk:
    """Missing offsets of a log, table by table.

    Attributes:
        found: columns of the ranges in each table.
        end: the offset after the last batch; None without one.
        cleaned: whether a batch has fewer records than offsets, as only a cleaner leaves it.
    """

    found: list[Columns] = field(default_factory=list)
    end: int | None = None
    cleaned: bool = False
    data: list[Columns] = field(default_factory=list)
    """Runs of records of transactions of one producer."""
    _before: tuple[int, int] = (NONE, 0)
    """File of the batch before a table, and whether it is data in a transaction."""

    def take(self, table: HeaderTable, base: int | None) -> None:
        """Take the next headers.

        Args:
            table: the headers.
            base: the offset that the log begins with by its name, None if it says none.
        """
        first, last, count = map(table.numpy, _OFFSETS)
        producer, control = table.numpy(names.PRODUCER_ID), table.numpy(names.IS_CONTROL) != 0
        transactional = (table.numpy(names.IS_TRANSACTIONAL) != 0) & ~control
        previous = np.empty_like(first)
        previous[1:] = last[:-1] + 1
        same_file = table.file == self._before[0]
        start = first[0] if self.end is None else self.end
        if self.end is None and base is not None:
            start = min(base, int(start)) if start >= 0 else base
        previous[0] = start
        # Damaged logs repeat offsets: what was there before is not missing.
        previous = np.maximum.accumulate(previous)
        known = first >= 0
        rows = np.flatnonzero(known & (first > previous))
        if len(rows):
            data = transactional.astype(np.int64)
            before = np.append(np.int64(self._before[1]), data[:-1])[rows]
            at_start = rows == 0
            self._add(
                GapKind.BETWEEN, table, rows, previous[rows], first[rows] - 1,
                transactional=before,
                boundary=(at_start & (not same_file)).astype(np.int64),
            )  # fmt: skip
        span = last - first + 1
        rows = np.flatnonzero(known & (count >= 0) & (count < span))
        if len(rows):
            emptied = count[rows] == 0
            filled = emptied & (producer[rows] == NONE)
            filled &= table.numpy(names.MAX_TIMESTAMP)[rows] == NO_TIMESTAMP
            self.cleaned |= not filled.all()
            for kind, which in ((GapKind.EMPTIED, emptied), (GapKind.INSIDE, ~emptied)):
                chosen = rows[which]
                if len(chosen):
                    less = span[chosen] - count[chosen]
                    self._add(
                        kind, table, chosen, first[chosen], last[chosen], missing=less,
                        filled=filled[which].astype(np.int64),
                    )  # fmt: skip
        rows = np.flatnonzero(control & (count > 0))
        if len(rows):
            self._add(GapKind.WITHHELD, table, rows, first[rows], last[rows])
        self._note_data(first, last, count, producer, transactional)
        self.end = max(int(last.max()) + 1, self.end or 0)
        is_data = bool(transactional[-1]) and producer[-1] >= 0
        self._before = table.file, int(is_data)

    def _add(
        self, kind: GapKind, table: HeaderTable, rows: Column, first: Column, last: Column,
        **more: Column,
    ) -> None:  # fmt: skip
        nothing = np.zeros(len(rows), np.int64)
        columns = {
            "first_offset": first,
            "last_offset": last,
            "missing": last - first + 1,
            "kind": np.full(len(rows), KIND_NUMBERS[kind], np.int64),
            "file": np.full(len(rows), table.file, np.int64),
            "position": table.numpy(POSITION)[rows],
            "transactional": nothing,
            "boundary": nothing,
            "filled": nothing,
        }
        self.found.append(columns | more)

    def _note_data(
        self, first: Column, last: Column, count: Column, producer: Column, chosen: Column
    ) -> None:
        """Note the batches of transactions, one row for those that follow each other."""
        rows = np.flatnonzero(chosen & (count > 0))
        if not len(rows):
            return
        first, last, count, producer = first[rows], last[rows], count[rows], producer[rows]
        whole = count == last - first + 1
        begins = np.ones(len(rows), bool)
        begins[1:] = (first[1:] != last[:-1] + 1) | (producer[1:] != producer[:-1])
        begins[1:] |= ~whole[1:] | ~whole[:-1]
        starts = np.flatnonzero(begins)
        ends = np.append(starts[1:], len(rows)) - 1
        self.data.append(
            {
                "first_offset": first[starts],
                "last_offset": last[ends],
                "missing": np.add.reduceat(count, starts),
                "aborted": producer[starts],
            }
        )

    def _withheld(self, aborted: AbortedTransactions) -> Columns:
        """Return the records of aborted transactions: ranges of one producer each."""
        wanted = ("first_offset", "last_offset", "missing", "aborted")
        columns = {
            name: np.concatenate([part[name] for part in self.data] or [_NONE]) for name in wanted
        }
        kept = aborted.among(columns["aborted"], columns["first_offset"])
        return {name: column[kept] for name, column in columns.items()}

    def joined(self, aborted: AbortedTransactions) -> Columns:
        """Return all that was found, and the ranges of aborted transactions."""
        wanted = (
            "first_offset", "last_offset", "missing", "kind", "file", "position", "transactional",
            "boundary", "filled",
        )  # fmt: skip
        withheld = self._withheld(aborted)
        count = len(withheld["aborted"])
        nothing, none = np.zeros(count, np.int64), np.full(count, NONE, np.int64)
        producers = withheld.pop("aborted")
        withheld |= {
            "kind": np.full(count, KIND_NUMBERS[GapKind.WITHHELD], np.int64),
            "file": none,
            "position": none,
        }
        found = {
            name: np.concatenate(
                [*(part[name] for part in self.found), withheld.get(name, nothing)]
            )
            for name in wanted
        }
        others = np.full(len(found["kind"]) - count, NONE, np.int64)
        return found | {"aborted": np.concatenate([others, producers])}
