"""Judge the changes between two specifications: whom each breaks, and bytes that show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tools.specdiff.compare import Names, compare
from tools.specdiff.rules import RULES, Broken, Change
from tools.specdiff.witness import HOUSE, Side, Witness, compare_readers, sides
from tools.specgen.facts.ranges import value_range
from tools.specgen.loader import load
from tools.specgen.model import BitsType, IntegerType, Model, Type
from tools.specgen.vectors.changes import around


def judge(old: Path, new: Path) -> list[Change]:
    """Return the changes from one specification to another, with verdicts and witnesses.

    Args:
        old: folder of the specification as it was.
        new: folder of the specification as it is.

    Returns:
        The changes in the order of the files. A change of bytes breaks readers where one of the
        two generated codecs refuses or misreads what the other writes; ``compared`` says how many
        cases were read if none does.

    Raises:
        SpecError: one of them cannot be read.
    """
    changes, names = compare(load(old, HOUSE), load(new, HOUSE))
    touched = {
        key.partition(".")[0]
        for change in changes
        if change.type and (change.rule.bytes or Broken.READING_OLD in change.breaks)
        for key in (change.type, names.type(change.type))
    }
    if not touched:
        return changes
    with sides(old, new, touched) as (before, after):
        before.types, before.fields = names.types, names.fields
        after.types = {b: a for a, b in names.types.items()}
        after.fields = {(names.type(key), b): a for (key, a), b in names.fields.items()}
        judge_ = _Judge(before, after, names)
        return [judge_.judged(change) for change in changes]


class _Judge:
    def __init__(self, before: Side, after: Side, names: Names) -> None:
        self._before, self._after, self._names = before, after, names
        self._found: dict[tuple[bool, str], tuple[list[Witness], int]] = {}

    def judged(self, change: Change) -> Change:
        """Return the change with what the readers of both sides say."""
        if change.rule is RULES["FILE_REMOVED"]:
            made = self._before.cases(change.type, {})
            shortest = min(made, key=lambda case: len(case["hex"]), default=None)
            if shortest is None:
                return change
            witness = Witness(
                change.type, shortest["hex"], shortest["parameters"], "refused: no such file", "/"
            )
            return replace(change, witnesses={Broken.READING_OLD: witness})
        if not change.rule.bytes:
            return change
        witnesses: dict[Broken, Witness] = {}
        compared = 0
        for broken, writer, reader, key in self._directions(change):
            found, count = self._witness(writer, reader, key, change.field)
            compared += count
            if found is not None:
                witnesses[broken] = found
        breaks = change.breaks | witnesses.keys()
        return replace(change, breaks=frozenset(breaks), witnesses=witnesses, compared=compared)

    def _directions(self, change: Change) -> Iterator[tuple[Broken, Side, Side, str]]:
        yield Broken.READING_OLD, self._before, self._after, change.type
        yield Broken.READING_NEW, self._after, self._before, self._names.type(change.type)

    def _witness(
        self, writer: Side, reader: Side, key: str, field: str
    ) -> tuple[Witness | None, int]:
        """Return the shortest witness of a structure, or of what holds it."""
        compared = 0
        if not writer.has(key):
            return None, 0
        # The content of a tag is read in its field, which has the tag.
        places = [p for p in (key, *writer.referrers(key)) if not writer.is_content(p)]
        for place in places:
            found, count = self._read(writer, reader, place)
            compared += count
            if found:
                names = (field, writer.fields.get((key, field), field))
                about = [w for w in found if w.path.rpartition("/")[2] in names]
                # The fewer other fields it is about, the better it shows this one.
                return min(about, key=lambda w: w.others, default=found[0]), compared
            if count and place == places[0]:
                # Both read it alike; what holds it differs by other changes, if at all.
                break
        return None, compared

    def _read(self, writer: Side, reader: Side, key: str) -> tuple[list[Witness], int]:
        given = (writer is self._before, key)
        if given not in self._found:
            other = writer.types.get(key, key)
            values = (
                _values(
                    writer.model.type(key), reader.model.type(other), writer.model, reader.model
                )
                if reader.has(other)
                else {}
            )
            self._found[given] = compare_readers(writer, reader, key, values)
        return self._found[given]


def _values(mine: Type, theirs: Type, writer: Model, reader: Model) -> dict[str, list[int]]:
    """Return numbers around which the two sides may differ, by id of the writer's field."""
    result: dict[str, list[int]] = {}
    for item in mine.fields:
        if item.derive is not None or not isinstance(item.type, IntegerType | BitsType):
            continue
        numbers = set()
        for model, type_ in ((writer, mine), (reader, theirs)):
            other = type_.field_by_id.get(item.id)
            if other is None:
                continue
            if other.enum is not None:
                numbers |= {value.value for value in model.enum(other.enum).values}
            if other.valid is not None:
                numbers |= set(around(other.valid))
        bounds = value_range(writer, item)
        if numbers and bounds is not None:
            low, high = bounds
            result[item.id] = sorted(number for number in numbers if low <= number <= high)
    return result
