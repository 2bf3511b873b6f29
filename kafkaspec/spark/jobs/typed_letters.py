"""Typed keys and values of dead letters: planned on the driver, decoded in the tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from kafkaspec.forensics.dead_letters.contents import (
    CONTENTS,
    LETTER,
    ROW,
    SOURCE,
    TypedTopics,
    there,
)
from kafkaspec.forensics.dead_letters.joined import places_of
from kafkaspec.forensics.dead_letters.sources import SourceLog, SourcePlace
from kafkaspec.log.options import TypedOptions
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.spark.parsing import OptionError
from kafkaspec.spark.typed import TypedRead
from kafkaspec.values.framing.frames import SIDES
from kafkaspec.values.options import BYTES

_READ: Final = ("offset", ROW)


class TypedLetters:
    """The typed contents of letters about one topic, and of their records.

    Attributes:
        fields: the columns that it adds.
    """

    def __init__(
        self, topic: str, logs: Sequence[Partition | Segment], sources: Sequence[Partition],
        options: TypedOptions,
    ) -> None:  # fmt: skip
        """Plan how they are read; see ``TypedTopics``.

        Raises:
            OptionError: an option cannot be followed.
            KafkaSpecError: something cannot be read.
        """
        places = {(log.topic, log.partition): SourceLog(log) for log in sources}
        known = {
            (name, number): each
            for (name, number), each in places.items()
            if name is not None and number is not None
        }
        typed = TypedTopics(known, {}, logs, options)
        try:
            found = typed.planned(topic)
            if found.undecoded:
                raise OptionError(f"{'; '.join(found.undecoded)}; auto leaves them")
            plans = {side: plan for side, plan in found.plans.items() if plan.format != BYTES}
            registry = None if typed.schemas is None else typed.schemas.path
            self._read = TypedRead(topic, plans, found.on_value_error, registry)
        except ValueError as error:
            raise OptionError(f"{topic}: {error}") from None
        own = {name: column.arrow for name, column in self._read.columns.items()}
        kinds = {side: own.get(side, pa.binary()) for side in SIDES if side not in own} | own
        kind = pa.struct(list(kinds.items()))
        self.fields = [pa.field(LETTER, kind), pa.field(SOURCE, kind)]

    def contents(
        self,
        letters: pa.RecordBatch,
        records: pa.RecordBatch,
        opened: Mapping[SourcePlace, SourceLog],
    ) -> list[pa.Array]:
        """Return the columns that ``fields`` names.

        Args:
            letters: as ``LETTERS`` has them.
            records: their offsets, keys, values and headers.
            opened: the logs of their records.

        Raises:
            KafkaSpecError: a row has no value, and that is to be raised.
        """
        count = letters.num_rows
        columns = {ROW: pa.array(np.arange(count)), **{n: records[n] for n in CONTENTS.names[1:]}}
        arrays = [columns[field.name].cast(field.type) for field in CONTENTS]
        own = [("", pa.RecordBatch.from_arrays(arrays, schema=CONTENTS))]
        offsets = letters["source_offset"].to_numpy(zero_copy_only=False)
        theirs = [
            (str(opened[place].log.path), batch)
            for place, rows in places_of(letters).items()
            if place in opened
            for batch in there(opened[place], offsets[rows], rows)
        ]
        return [self._aligned(batches, count) for batches in (own, theirs)]

    def _aligned(self, batches: Iterable[tuple[str, pa.RecordBatch]], count: int) -> pa.Array:
        kind = self.fields[0].type
        names = [field.name for field in kind]
        parts, rows = [pa.array([], kind)], [np.zeros(0, np.int64)]
        for path, batch in batches:
            made = self._read.decoded(batch, [*_READ, *names], path)
            columns = [made[field.name].cast(field.type) for field in kind]
            parts.append(pa.StructArray.from_arrays(columns, fields=list(kind)))
            rows.append(made[ROW].to_numpy())
        at = np.full(count, -1, np.int64)
        found = np.concatenate(rows)
        at[found] = np.arange(len(found))
        return pa.concat_arrays(parts).take(pa.array(at, mask=at < 0))
