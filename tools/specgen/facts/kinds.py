"""Derive the table of entry kinds: what each format of log entries has, by its magic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kafkaspec.layout import EntryFile, EntryKind
from tools.specgen.evaluate import UnknownNameError, evaluate
from tools.specgen.expression import Expression
from tools.specgen.facts.segments import Segment, resolved, segments
from tools.specgen.facts.sizes import fixed_size
from tools.specgen.model import Model, Type, TypeReference


def entry_kinds(model: Model) -> dict[str, dict[int, EntryKind]]:
    """Return the kinds of each type of entry by the number that chooses them."""
    return {
        segment.entry.key: {
            number: _kind(segment, number, model.type(reference))
            for number, reference in segment.switch.cases
            if number is not None
        }
        for segment in segments(model)
    }


def _kind(segment: Segment, number: int, type_: Type) -> EntryKind:
    model, chosen = segment.model, {segment.peek.id: number}
    header = frozenset(_names(model, type_, chosen))
    made = EntryKind(
        magic=number,
        key=type_.key,
        record_set="",
        record=type_.key,
        count="",
        payload="",
        header=header,
        fields=header,
    )
    for batch in segment.batches:
        if batch.type == type_:
            record = batch.record(model)
            known = {parameter.id: chosen for parameter in record.parameters}
            return replace(
                made,
                record_set=batch.record_set.key,
                record=record.key,
                count=batch.count.id,
                payload=batch.payload.id,
                fields=frozenset(_names(model, record, known)),
            )
    return made


def _names(model: Model, type_: Type, known: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of a structure's members, given the values in ``known``."""
    if not prefix:
        yield from (
            item.id for item in type_.parameters if not isinstance(item.type, TypeReference)
        )
    for field in type_.fields:
        if field.is_guard or _is_never(field.condition, known):
            continue
        yield prefix + field.id
        if isinstance(field.type, TypeReference):
            inner = resolved(model, field.type)
            if not inner.is_transparent:
                yield from _names(model, inner, {}, f"{prefix}{field.id}.")
    for instance in type_.value_instances:
        if not _is_never(instance.condition, known):
            yield prefix + instance.id


def _is_never(condition: Expression | None, known: dict[str, Any]) -> bool:
    """Return whether a condition is false whatever the other fields hold."""
    try:
        return condition is not None and not evaluate(condition, known)
    except UnknownNameError:
        return False


def entry_files(model: Model) -> dict[str, EntryFile]:
    """Return the files that hold entries up to their end, by the id of the specification."""
    entries = {segment.entry.key for segment in segments(model)}
    found = {}
    for spec in model.specs:
        *before, last = spec.root.fields or (None,)
        if last is None or last.repeat is None or not last.repeat.eos:
            continue
        entry = model.inner(last) if isinstance(last.type, TypeReference) else None
        sizes = [fixed_size(model, field) for field in before if field is not None]
        if entry is not None and entry.key in entries and None not in sizes:
            header = sum(size for size in sizes if size is not None)
            found[spec.id] = EntryFile(spec.root.key, entry.key, header, last.offsets is None)
    return found
