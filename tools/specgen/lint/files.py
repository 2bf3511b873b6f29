"""Check what the specification says about kinds of files, and what entries of indexes are made of.

An entry of an index is an offset relative to that of its segment, and numbers that a broker takes
from batches.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkaspec.layout import names
from tools.specgen.facts.fields import is_integer
from tools.specgen.facts.files import files, sources
from tools.specgen.facts.segments import members, segments
from tools.specgen.lint.problem import Messages, Problem, found
from tools.specgen.model import Model, Spec, Type


def check(model: Model) -> Iterator[Problem]:
    """Yield problems with the rule ``file``."""
    owners: dict[str, Spec] = {}
    for spec in model.specs:
        yield from found("file", f"{spec.file_name}#/meta/file-extension", _extensions(spec))
        for extension in spec.file_extensions:
            other = owners.setdefault(extension, spec)
            if other is not spec:
                text = f"{other.file_name} has files .{extension} too; leave it to one of them"
                yield Problem(f"{spec.file_name}#/meta/file-extension", "file", text)
        for type_ in spec.types:
            yield from found("file", type_, _suffix(spec, type_))
    indexes = {file.entry for file in files(model) if file.sources}
    numbers = {
        member.path
        for segment in segments(model)
        for kind in segment.kinds
        for member in members(model, kind)
    }
    for type_ in model.all_types():
        if type_.key in indexes:
            yield from found("file", type_, _index(type_))
        for field in type_.fields:
            source = field.made_from
            if source is None:
                continue
            if type_.key not in indexes or not is_integer(model, field):
                text = "-from is for numbers of the entries of an index, a file with an extension"
                yield Problem(field.location, "file", f"{text}; leave it out")
            elif source.largest and source.name not in numbers:
                text = f"no header has a number {source.name}; write the name of one"
                yield Problem(field.location, "file", text)
            elif not source.largest and source.name != names.POSITION:
                text = f"write {names.POSITION}, or largest(x) for a number x of headers"
                yield Problem(field.location, "file", text)


def _extensions(spec: Spec) -> Messages:
    free = [name for name in spec.file_extensions if spec.reader_of(name) is spec.root]
    if len(free) > 1:
        yield (
            f"{', '.join(free)}: the root reads one of them; say by -suffix which type reads each"
            " of the others"
        )


def _suffix(spec: Spec, type_: Type) -> Messages:
    if type_.suffix is None:
        return
    if type_.suffix not in spec.file_extensions:
        yield f"{type_.suffix} is not in meta/file-extension; write it there"
    if spec.reader_of(type_.suffix) is not type_:
        yield f"another type reads .{type_.suffix}; leave -suffix to one of them"


def _index(type_: Type) -> Messages:
    """Yield what the entries of an index lack."""
    offset = type_.field_by_id.get(names.RELATIVE_OFFSET)
    if offset is None or names.OFFSET not in {item.id for item in type_.value_instances}:
        yield (
            f"an entry has the offset that it stands for: write {names.RELATIVE_OFFSET}, and an"
            f" instance {names.OFFSET} that adds it to {names.BASE_OFFSET}"
        )
    if [item.id for item in type_.parameters] != [names.BASE_OFFSET]:
        yield f"the name of the file gives its base offset: write the parameter {names.BASE_OFFSET}"
    if any(source.largest for source in sources(type_)) and len(sources(type_)) > 1:
        yield "lookups go by the largest number so far; leave -from to one field"
    for field in type_.fields:
        if field.made_from is None and field.default is None and field.id != names.RELATIVE_OFFSET:
            yield field, "say what it is made of by -from, or what is written by -default"
