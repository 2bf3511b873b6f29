"""Find bytes that the codec of one specification writes and that of the other does not read alike.

The bytes are vectors, which the writer's specification gives for a structure. Its own generated
codec has to accept them; then the other codec reads them, and what both say is compared field by
field. The shortest bytes that differ are the witness.
"""

from __future__ import annotations

import importlib
import itertools
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kafkaspec.codecs.python import PythonCodec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout.names import SCHEMA_VERSION
from tools.specgen import driver
from tools.specgen.facts.ranges import allowed_values
from tools.specgen.house import house_of
from tools.specgen.loader import load
from tools.specgen.messages.sections import Section
from tools.specgen.model import Model, SwitchType, Type, TypeReference
from tools.specgen.vectors.emit import vectors_of

HOUSE = house_of(Path(__file__).resolve().parents[2] / "spec")
"""The house of both sides, whose codecs the library runs."""
_numbers = itertools.count()


@dataclass(frozen=True)
class Witness:
    """Bytes that one side writes and the other refuses or misreads.

    Attributes:
        type: key of the structure that the bytes are, in the writer's specification.
        hex: the bytes.
        parameters: what the structure is given: numbers, or structures by type, hex, parameters.
        read: what the reader makes of them.
        path: where in the structure.
        others: the number of other fields that the reader misreads there, too.
    """

    type: str
    hex: str
    parameters: Sequence[Any]
    read: str
    path: str
    others: int = 0


@dataclass
class Side:
    """A specification with its generated codec, and the keys that the other side has for its own.

    Attributes:
        newer: whether it is the specification as it is, not as it was.
        types: by key of a type here, its key on the other side.
        fields: by key of a type and id of a field here, its id on the other side.
    """

    model: Model
    codec: PythonCodec
    newer: bool = False
    types: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def cases(self, key: str, values: Mapping[str, Sequence[int]]) -> list[dict[str, Any]]:
        """Return what a writer could write of a structure, with some values of its fields."""
        type_ = self.model.type(key)
        versions = {
            place: known
            for place, parameter in enumerate(type_.parameters)
            if (known := self._versions(type_, parameter.id))
        }
        return [
            vector
            for vector in vectors_of(self.model, type_, values)
            if vector.get("canonical")
            and all(vector["parameters"][place] in known for place, known in versions.items())
        ]

    def _versions(self, type_: Type, parameter: str) -> frozenset[int] | None:
        """Return the versions that a file may have and hands over; vectors also have others."""
        root = self.model.spec(type_.spec_id).root.field_by_id
        item = root.get(parameter) or root.get(SCHEMA_VERSION)
        return allowed_values(item.valid) if item is not None and "version" in parameter else None

    def parse(
        self, key: str, data: str, parameters: Sequence[Any], types: Mapping[str, str]
    ) -> tuple[Any, int]:
        """Return the value of bytes and where it ends."""
        given = self.given(parameters, types)
        return self.codec.parse(key, bytes.fromhex(data), parameters=given)

    def given(self, parameters: Sequence[Any], types: Mapping[str, str]) -> list[Any]:
        """Return the parameters of a vector: numbers, and structures parsed from their bytes."""
        return [
            self.parse(
                types.get(item["type"], item["type"]), item["hex"], item["parameters"], types
            )[0]
            if isinstance(item, dict)
            else item
            for item in parameters
        ]

    @cached_property
    def sections(self) -> dict[str, Section]:
        """Sections of tagged fields, by key of the section, of an item, and of its content."""
        found: dict[str, Section] = {}
        for type_ in self.model.all_types():
            section = Section.of(self.model, type_)
            if section is not None:
                found[type_.key] = section
                for item in (section.items, section.content):
                    if isinstance(item.type, TypeReference):
                        found[self.model.type(item.type).key] = section
        return found

    def is_content(self, key: str) -> bool:
        """Return whether a structure is the content of a tagged field, by the tag."""
        return key in self.sections and self.model.type(key).is_choice

    def has(self, key: str) -> bool:
        """Return whether there is such a structure."""
        return any(type_.key == key for type_ in self.model.all_types())

    def referrers(self, key: str) -> list[str]:
        """Return the structures that contain one, directly or not, the nearest first."""
        found: list[str] = []
        wanted = [key]
        while wanted:
            inner = wanted.pop(0)
            for type_ in self.model.all_types():
                if inner in _references(type_) and type_.key not in [*found, key]:
                    found.append(type_.key)
                    wanted.append(type_.key)
        return found


def _references(type_: Type) -> Iterator[str]:
    for item in type_.fields:
        parts = [item.type]
        if isinstance(item.type, SwitchType):
            parts = [reference for _, reference in item.type.cases]
        for part in parts:
            if isinstance(part, TypeReference):
                yield f"{part.spec_id}.{part.name}"


@contextmanager
def sides(old: Path, new: Path, changed: Iterable[str]) -> Iterator[tuple[Side, Side]]:
    """Generate the codecs of two specifications, for as long as the context lasts.

    Args:
        old: folder of the one.
        new: folder of the other.
        changed: ids of the files to generate, with those that import them or are imported.
    """
    wanted = set(changed)
    packages = [f"specification_{next(_numbers)}_{name}" for name in ("old", "new")]
    with tempfile.TemporaryDirectory(prefix="kafkaspec-spec-diff-") as home:
        folders = [
            _part(spec, Path(home) / f"spec_{package}", wanted)
            for package, spec in zip(packages, (old, new), strict=True)
        ]
        for package, folder in zip(packages, folders, strict=True):
            if any(folder.iterdir()):
                driver.generate(folder, Path(home) / package, ("python",), HOUSE)
        sys.path.insert(0, home)
        importlib.invalidate_caches()
        try:
            first, second = (
                Side(
                    load(folder, HOUSE) if any(folder.iterdir()) else Model(()),
                    PythonCodec(package),
                    newer,
                )
                for package, folder, newer in zip(packages, folders, (False, True), strict=True)
            )
            yield first, second
        finally:
            sys.path.remove(home)
            for name in [name for name in sys.modules if name.split(".")[0] in packages]:
                del sys.modules[name]


def _part(spec: Path, into: Path, wanted: set[str]) -> Path:
    """Copy the files that import one of those wanted, and all that they import."""
    model = load(spec, HOUSE)
    closures = [model.closure(one.id) for one in model.specs]
    files = {
        found.file_name
        for closure in closures
        if wanted & {found.id for found in closure}
        for found in closure
    }
    for name in sorted(files):
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(spec / name, into / name)
    into.mkdir(parents=True, exist_ok=True)
    return into


def compare_readers(
    writer: Side, reader: Side, key: str, values: Mapping[str, Sequence[int]]
) -> tuple[list[Witness], int]:
    """Return what the reader does not read as the writer means it, shortest first.

    Args:
        writer: the side whose vectors are read.
        reader: the other side.
        key: the structure, by its key on the writer's side.
        values: by id of a field, numbers to write beside those that the rules give.

    Returns:
        The witnesses, one for each field that a case shows, and how many cases both sides read.
    """
    other = writer.types.get(key, key)
    if not reader.has(other):
        return [], 0
    mine, theirs = writer.model.type(key), reader.model.type(other)
    found, compared = [], 0
    if len(mine.parameters) != len(theirs.parameters):
        return [], 0
    for case in writer.cases(key, values):
        given = (case["hex"], case["parameters"])
        written, end = writer.parse(key, *given, {})
        try:
            read, stop = reader.parse(other, *given, writer.types)
        except KafkaSpecError as error:
            if _is_new_tag(writer, written, error.path):
                continue  # nobody writes a tag that has no meaning yet (KIP-482)
            compared += 1
            text = f"refused: {error.reason.value} at {error.path or '/'}, byte {error.position}"
            found.append(Witness(key, case["hex"], case["parameters"], text, error.path))
            continue
        compared += 1
        differences = dict(_differences(writer, reader, written, read, "")) or _checksum(
            reader, other, theirs, mine, read, case, writer.types
        )
        if not differences and end != stop:
            differences = {"": f"misread: {stop} of {end} bytes are read"}
        others = len({path.rpartition("/")[2] for path in differences}) - 1
        for path, text in differences.items():
            found.append(Witness(key, case["hex"], case["parameters"], text, path, others))
    return sorted(found, key=lambda witness: (len(witness.hex), witness.hex)), compared


def _is_new_tag(side: Side, value: Any, path: str) -> bool:
    """Return whether a path leads into a tagged field that a side does not know."""
    for part in path.split("/")[1:]:
        section = side.sections.get(_key_of(side.model, value))
        if section is not None and part == section.content.id:
            return getattr(value, section.number.id) not in dict(section.cases)
        if isinstance(value, list):
            value = next((item for place, item in enumerate(value) if str(place) == part), None)
        else:
            value = getattr(value, part, None)
    return False


def _checksum(
    reader: Side,
    key: str,
    theirs: Type,
    mine: Type,
    read: Any,
    case: Mapping[str, Any],
    types: Mapping[str, str],
) -> dict[str, str]:
    """Return the difference of the checksum that the reader computes of what it has read."""
    for item in theirs.fields:
        derive = item.derive
        before = mine.field_by_id.get(item.id)
        if derive is None or not derive.function.is_checksum:
            continue
        if before is not None and before.derive == derive:
            continue
        given = reader.given(case["parameters"], types)
        again = reader.codec.serialize(key, read, parameters=given)
        computed = getattr(reader.codec.parse(key, again, parameters=given)[0], item.id)
        if computed != getattr(read, item.id):
            text = f"misread: {item.id} is {getattr(read, item.id)}, not {computed} as computed"
            return {f"/{item.id}": text}
    return {}


def _differences(
    writer: Side, reader: Side, written: Any, read: Any, path: str
) -> Iterator[tuple[str, str]]:
    """Yield path and words of each difference."""
    if isinstance(written, list | tuple) and isinstance(read, list | tuple):
        for number, (a, b) in enumerate(zip(written, read, strict=False)):
            yield from _differences(writer, reader, a, b, f"{path}/{number}")
        if len(written) != len(read):
            yield path, f"misread: {len(read)} items, not {len(written)}"
    elif is_dataclass(written) and is_dataclass(read):
        yield from _of_structures(writer, reader, written, read, path)
    elif _plain(written) != _plain(read):
        yield path, f"misread: {_shown(read)}, not {_shown(written)}"


def _of_structures(
    writer: Side, reader: Side, written: Any, read: Any, path: str
) -> Iterator[tuple[str, str]]:
    key, other = _key_of(writer.model, written), _key_of(reader.model, read)
    if key in writer.sections and other in reader.sections:
        yield from _of_tags(
            writer, reader, writer.sections[key], reader.sections[other], written, read, path
        )
        return
    there = {f.name: f for f in fields(read)}
    known, alike = set(), True
    for item in fields(written):
        name = writer.fields.get((key, item.name), item.name)
        known.add(name)
        if name in there:
            ours, theirs = getattr(written, item.name), getattr(read, name)
            found = list(_differences(writer, reader, ours, theirs, f"{path}/{name}"))
            if not found and isinstance(ours, int):
                named = (_enum(writer, key, item.name), _enum(reader, other, name))
                found += _of_names(*named, ours, f"{path}/{name}")
            alike = alike and not found
            yield from found
    given = {p.id for p in reader.model.type(other).parameters} if reader.has(other) else set()
    for name, item in there.items():
        if name in given:
            continue
        value = getattr(read, name)
        default = item.default_factory() if item.default_factory is not MISSING else item.default
        if name not in known and value is not None and _plain(value) != _plain(default):
            alike = False
            yield f"{path}/{name}", f"misread: {_shown(value)}, which nobody wrote"
    # What is computed of fields that are misread shows nothing more.
    for instance in writer.model.type(key).value_instances if alike and writer.has(key) else ():
        if hasattr(type(read), instance.id):
            ours, theirs = getattr(written, instance.id), getattr(read, instance.id)
            if ours != theirs:
                text = f"misread: {_shown(theirs)}, not {_shown(ours)}"
                yield f"{path}/{instance.id}", text


def _of_tags(
    writer: Side, reader: Side, ours: Section, theirs: Section, written: Any, read: Any, path: str
) -> Iterator[tuple[str, str]]:
    """Yield the differences of sections of tagged fields, or of one such field.

    An older reader passes over what came after it (KIP-482); a newer one should know what was.
    """
    if hasattr(written, ours.items.id):
        mine, other = getattr(written, ours.items.id), getattr(read, theirs.items.id)
        yield from _differences(writer, reader, mine, other, f"{path}/{theirs.items.id}")
        return
    number, found = getattr(written, ours.number.id), getattr(read, theirs.number.id)
    if number != found:
        yield f"{path}/{theirs.number.id}", f"misread: {found}, not {number}"
    elif all(number in dict(section.cases) for section in (ours, theirs)):
        mine, other = getattr(written, ours.content.id), getattr(read, theirs.content.id)
        yield from _differences(writer, reader, mine, other, f"{path}/{theirs.content.id}")
    elif number in dict(ours.cases) and not writer.newer:
        yield f"{path}/{theirs.content.id}", f"not understood: tag {number}"


def _enum(side: Side, key: str, name: str) -> dict[int, str]:
    """Return the names of a field's numbers."""
    item = side.model.type(key).field_by_id.get(name) if side.has(key) else None
    values = side.model.enum(item.enum).values if item is not None and item.enum else ()
    return {value.value: value.id for value in values}


def _of_names(
    ours: Mapping[int, str], theirs: Mapping[int, str], number: int, path: str
) -> Iterator[tuple[str, str]]:
    """Yield the difference if the reader does not know what a number means, or takes another."""
    name, other = ours.get(number), theirs.get(number)
    if name is None or name == other or not theirs:
        return
    if name in theirs.values():
        yield path, f"misread: {number} is {other or 'nothing'}, not {name}"
    elif other is None:
        yield path, f"not understood: {number} is {name}"


def _key_of(model: Model, value: Any) -> str:
    spec_id, name = type(value).__module__.rpartition(".")[2], type(value).__name__
    return next(
        (t.key for t in model.all_types() if (t.spec_id, t.class_name) == (spec_id, name)), ""
    )


def _plain(value: Any) -> Any:
    if isinstance(value, memoryview | bytearray):
        return bytes(value)
    return repr(value) if isinstance(value, float) else value


def _shown(value: Any) -> str:
    plain = _plain(value)
    text = plain.hex() or '""' if isinstance(plain, bytes) else repr(plain)
    return text if len(text) <= 60 else f"{text[:57]}..."
