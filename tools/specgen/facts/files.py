"""Find the kinds of files in the model: which type reads a file with an extension, and its entries.

A file of the specification describes files with the extensions in its ``meta``. Its root reads them
whole, but for an extension that another of its types claims by ``-suffix``. A type that only wraps
another stands for that.
"""

from __future__ import annotations

from kafkaspec.layout import EntrySource, FileLayout
from tools.specgen.facts.fields import fills_stream
from tools.specgen.model import Field, Model, Type, TypeReference


def files(model: Model) -> tuple[FileLayout, ...]:
    """Return the kinds of files in the order of the specification."""
    return tuple(
        _file(model, f".{extension}", spec.reader_of(extension))
        for spec in model.specs
        for extension in spec.file_extensions
    )


def _file(model: Model, suffix: str, type_: Type) -> FileLayout:
    only = _only(type_)
    while only is not None and only.repeat is None:
        type_ = model.inner(only)
        only = _only(type_)
    entry = model.inner(only) if only is not None and fills_stream(only) else None
    return FileLayout(
        suffix=suffix,
        type=type_.key,
        entry="" if entry is None else entry.key,
        sources=() if entry is None else sources(entry),
    )


def sources(entry: Type) -> tuple[EntrySource, ...]:
    """Return what the fields of an entry of an index are made from."""
    return tuple(
        EntrySource(field.id, field.made_from.name, field.made_from.largest)
        for field in entry.fields
        if field.made_from is not None
    )


def _only(type_: Type) -> Field | None:
    """Return the structure that is all of a type, or the array of structures."""
    fields = [field for field in type_.fields if not field.is_guard]
    return fields[0] if len(fields) == 1 and isinstance(fields[0].type, TypeReference) else None
