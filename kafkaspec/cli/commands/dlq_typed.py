"""Typed keys and values of dead letters in ``dlq``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from kafkaspec.cli.commands.dump_typed import errors_of, shown_column
from kafkaspec.forensics.dead_letters import DeadLetters, SourceState
from kafkaspec.forensics.dead_letters.contents import CONTENTS, LETTER, ROW, SOURCE, read_contents
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.tables.json_values import json_values
from kafkaspec.values.framing.frames import SIDES

_HIDDEN: Final = frozenset(CONTENTS.names) - {*SIDES}
_WORDS: Final = {LETTER: "letter", SOURCE: "source"}


def letters_with_contents(
    dead: DeadLetters, logs: Sequence[Partition | Segment], options: dict[str, Any]
) -> Iterator[tuple[dict[str, Any], dict[str, Any], list[str]]]:
    """Yield each letter, the members of JSON with typed contents, and lines of text with these.

    Args:
        dead: the letters.
        logs: those in which they were found.
        options: of ``Columnar.to_typed``, as ``taken`` returns them.
    """
    for rows, contents in read_contents(dead, logs, **options):
        members: dict[tuple[str, int], Any] = {}
        texts: dict[tuple[str, int], str] = {}
        for whose, batch in contents:
            places = [(whose, row) for row in batch[ROW].to_pylist()]
            kept = [name for name in batch.schema.names if name not in _HIDDEN]
            shown = json_values(batch.select(kept).to_struct_array())
            members |= zip(places, shown, strict=True)
            texts |= zip(places, _texts(whose, batch), strict=True)
        for row, letter in enumerate(rows.to_pylist()):
            said = [LETTER, SOURCE]
            if letter["source"] in (SourceState.SAME, SourceState.REFERENCE):
                said.remove(LETTER)
            found = {whose: members.get((whose, row)) for whose in _WORDS}
            yield letter, found, [texts[each, row] for each in said if (each, row) in texts]


def _texts(whose: str, batch: pa.RecordBatch) -> Iterator[str]:
    columns = [*(shown_column(batch[side]) for side in SIDES)]
    errors = [errors_of(batch, side) for side in SIDES]
    for key, value, *wrong in zip(*columns, *errors, strict=True):
        reasons = "".join(f"  ({error})" for error in wrong if error is not None)
        yield f"    {_WORDS[whose]}: {key}  {value}{reasons}"
