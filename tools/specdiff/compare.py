"""Find the changes between two specifications by their structure alone; no bytes are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import SequenceMatcher
from typing import Any, TypeVar

from kafkaspec.layout import TextFormat, TextLayout
from tools.specdiff.rules import RULES, Broken, Change
from tools.specdiff.witness import Witness
from tools.specgen.docs.text import expression_text
from tools.specgen.expression import Expression, Name, literal, rebuild
from tools.specgen.facts.ranges import allowed_values, value_range
from tools.specgen.model import (
    BitsType,
    BytesType,
    Default,
    Derive,
    Enum,
    Field,
    FloatType,
    IntegerType,
    Model,
    PeekInstance,
    Repeat,
    Scalar,
    Spec,
    SwitchType,
    Type,
    TypeReference,
    Valid,
    ValueInstance,
)
from tools.specgen.texts import FILE as TEXTS

T = TypeVar("T")


@dataclass
class Names:
    """Renamed types and fields: old key to new key."""

    types: dict[str, str]
    fields: dict[tuple[str, str], str]
    """By key of the type in the old specification and id there."""

    def type(self, key: str) -> str:
        """Return the key of a type in the new specification."""
        return self.types.get(key, key)

    def reference(self, spec_id: str, name: str) -> tuple[str, str]:
        """Return the parts of a reference in the new specification."""
        new_spec, _, new_name = self.type(f"{spec_id}.{name}").partition(".")
        return new_spec, new_name


def compare(old: Model, new: Model) -> tuple[list[Change], Names]:
    """Return the changes in the order of the files, and what has another name."""
    names = Names({}, {})
    changes: list[Change] = []
    paired = _matched(old.specs, new.specs, lambda spec: spec.id, _same_file)
    for before, after in paired:
        if before is not None and after is not None and before.id != after.id:
            for type_ in before.types:
                name = after.id if type_ is before.root else type_.name
                names.types[type_.key] = f"{after.id}.{name}"
    for before, after in paired:
        if before is not None and after is not None:
            _pair_types(before, after, names)
    for before, after in paired:
        if before is None:
            assert after is not None
            changes.append(_change("FILE_ADDED", after.file_name, after=after.title))
        elif after is None:
            changes.append(
                _change("FILE_REMOVED", before.file_name, before.title, type_=before.root.key)
            )
        else:
            changes += _Comparison(old, new, names).file(before, after)
    return [*changes, *_text_files(old, new)], names


def _text_files(old: Model, new: Model) -> Iterator[Change]:
    """Yield the changes of text files; a reader refuses the versions that it does not have."""
    for before, after in _matched(old.texts, new.texts, lambda text: text.name, lambda *_: False):
        if before == after:
            continue
        where = f"{TEXTS}#/{(after or before or TextLayout('', (), ())).name}"
        change = _change("TEXT_FILE", where, _text_said(before), _text_said(after))
        found = {
            Broken.READING_OLD: _refused(after, before),
            Broken.READING_NEW: _refused(before, after),
        }
        witnesses = {broken: each for broken, each in found.items() if each is not None}
        yield replace(change, breaks=change.breaks | witnesses.keys(), witnesses=witnesses)


def _text_said(text: TextLayout | None) -> str:
    if text is None:
        return ""
    keys = (
        f"{key.key} {key.type} in {key.versions}, needed in {key.required}"
        + "".join(f", {name}" for name in _MORE if getattr(key, name))
        for key in text.keys
    )
    return f"{text.format} of versions {text.versions}: {'; '.join(keys)}"


_MORE = ("item", "nullable", "nonzero")
"""What else a key can be."""


def _refused(reader: TextLayout | None, writer: TextLayout | None) -> Witness | None:
    """Return the shortest file of a writer that a reader refuses, None if it reads all.

    Only properties have keys that a reader can lack.
    """
    if reader is None or writer is None or writer.format is not TextFormat.PROPERTIES:
        return None
    for version in writer.versions:
        known = {key.key: key.type for key in reader.keys if version in key.versions}
        there = {key.key: key.type for key in writer.keys if version in key.versions}
        needed = {key.key for key in writer.keys if version in key.required}
        missing = {key.key for key in reader.keys if version in key.required} - needed
        other = {key for key in known.keys() & there.keys() if known[key] != there[key]}
        if version in reader.versions and not missing and not other:
            continue
        lines = (f"{key}={_SMALLEST[there[key]]}\n" for key in sorted(needed | other))
        text = f"{writer.key_of('version', version)}={version}\n{''.join(lines)}"
        why = (
            f"refused: no version {version}"
            if version not in reader.versions
            else f"refused: no {', '.join(sorted(missing))}"
            if missing
            else f"misread: another type of {', '.join(sorted(other))}"
        )
        return Witness(writer.name, text.encode().hex(), (), why, f"/{version}")
    return None


_SMALLEST = {
    "s2": "0",
    "s4": "0",
    "s8": "0",
    "str": "",
    "topic": "a",
    "uuid": "AAAAAAAAAAAAAAAAAAAAAA",
}
"""The shortest value of each type of a text file."""


def _change(
    rule: str, where: str, before: str = "", after: str = "", *, type_: str = "", field: str = ""
) -> Change:
    return Change(RULES[rule], where, before, after, type_, field, RULES[rule].breaks)


def _matched(
    old: Iterable[T], new: Iterable[T], key: Callable[[T], Any], same: Callable[[T, T], bool]
) -> list[tuple[T | None, T | None]]:
    """Pair things by key, then what is left by likeness in order; the rest stays alone."""
    olds, news = {key(item): item for item in old}, {key(item): item for item in new}
    pairs: list[tuple[T | None, T | None]] = []
    free = [item for name, item in news.items() if name not in olds]
    for name, item in olds.items():
        if name in news:
            pairs.append((item, news[name]))
            continue
        alike = next((other for other in free if same(item, other)), None)
        if alike is not None:
            free.remove(alike)
        pairs.append((item, alike))
    return pairs + [(None, item) for item in free]


def _same_file(old: Spec, new: Spec) -> bool:
    return [_shape(item) for item in old.root.fields] == [_shape(item) for item in new.root.fields]


def _pair_types(old: Spec, new: Spec, names: Names) -> None:
    def same(a: Type, b: Type) -> bool:
        return bool(a.fields) and [_shape(i) for i in a.fields] == [_shape(i) for i in b.fields]

    for a, b in _matched(old.types[1:], new.types[1:], lambda type_: type_.name, same):
        if a is not None and b is not None and a.key != b.key:
            names.types[a.key] = b.key


def _shape(item: Field) -> tuple[Any, ...]:
    """Return what stays when a field gets another name."""
    return (type(item.type), getattr(item.type, "size", None), item.original_id or item.id)


class _Comparison:
    """Comparison of two files of the specification."""

    def __init__(self, old: Model, new: Model, names: Names) -> None:
        self._old, self._new, self._names = old, new, names

    def file(self, old: Spec, new: Spec) -> Iterator[Change]:
        """Yield the changes of a file."""
        root = old.root.key
        for suffix in sorted({*new.file_extensions} - {*old.file_extensions}):
            yield _change("SUFFIX_ADDED", new.file_name, after=f".{suffix}", type_=root)
        for suffix in sorted({*old.file_extensions} - {*new.file_extensions}):
            yield _change("SUFFIX_REMOVED", new.file_name, f".{suffix}", type_=root)
        for suffix in sorted({*old.file_extensions} & {*new.file_extensions}):
            had, has = old.reader_of(suffix), new.reader_of(suffix)
            is_said = had.suffix is not None or len(old.file_extensions) == 1
            same = has is new.root if had is old.root else self._names.type(had.key) == has.key
            if is_said and not same:
                text = f".{suffix} by {had.key}", f"by {has.key}"
                yield _change("SUFFIX_MOVED", new.file_name, *text, type_=root)
        if (old.releases, old.since) != (new.releases, new.since):
            before, after = (
                "..".join(spec.releases or ()) or (f"since {spec.since}" if spec.since else "")
                for spec in (old, new)
            )
            yield _change("RELEASES", new.file_name, before, after)
        if old.identity != new.identity:
            before, after = (
                "" if s.identity is None else f"-identity: '{' '.join(s.identity)}'"
                for s in (old, new)
            )
            yield _change("IDENTITY", new.file_name, before, after)
        if _texts(old) != _texts(new):
            yield _change("TEXT", new.file_name)
        yield from self._types(old, new)
        yield from self._enums(old, new)

    def _types(self, old: Spec, new: Spec) -> Iterator[Change]:
        by_key = {type_.key: type_ for type_ in new.types}
        kept = {self._names.type(type_.key) for type_ in old.types}
        for type_ in old.types:
            key = self._names.type(type_.key)
            if key not in by_key:
                yield _change("TYPE_REMOVED", type_.location, type_.name, type_=type_.key)
                continue
            if key != type_.key:
                other = by_key[key]
                yield _change("TYPE_RENAMED", other.location, type_.key, other.key, type_=type_.key)
            yield from self._type(type_, by_key[key])
        for type_ in new.types:
            if type_.key not in kept:
                yield _change("TYPE_ADDED", type_.location, after=type_.name)

    def _type(self, old: Type, new: Type) -> Iterator[Change]:
        key = old.key
        if (old.scalar, new.scalar) != (None, None) and old.scalar != new.scalar:
            yield _change("SCALAR", new.location, *_both(old.scalar, new.scalar), type_=key)
        shapes = [
            [(p.id, self._kind(p.type, renamed=side is old)) for p in side.parameters]
            for side in (old, new)
        ]
        if shapes[0] != shapes[1]:
            before, after = (", ".join(name for name, _ in shape) for shape in shapes)
            yield _change("PARAMETERS", new.location, before, after, type_=key)
        if _texts(old) != _texts(new):
            yield _change("TEXT", new.location, type_=key)
        yield from self._fields(old, new)
        yield from self._instances(old, new)

    def _fields(self, old: Type, new: Type) -> Iterator[Change]:
        pairs = _paired_fields(old.fields, new.fields)
        for a, b in pairs:
            if a is not None and b is not None and a.id != b.id:
                self._names.fields[old.key, a.id] = b.id
        common = [(a, b) for a, b in pairs if a is not None and b is not None]
        order = {b.id: place for place, b in enumerate(new.fields)}
        moved = _out_of_order([order[b.id] for _, b in common])
        for place, (a, b) in enumerate(common):
            where = {"type_": old.key, "field": a.id}
            if a.id != b.id:
                yield _change("FIELD_RENAMED", b.location, a.id, b.id, **where)
            if place in moved:
                before = old.fields[old.fields.index(a) - 1].id if old.fields.index(a) else "start"
                after = new.fields[order[b.id] - 1].id if order[b.id] else "start"
                yield _change(
                    "FIELD_MOVED", b.location, f"after {before}", f"after {after}", **where
                )
            yield from self._field(old, a, b)
        for a, b in pairs:
            if b is None and a is not None:
                yield _change("FIELD_REMOVED", a.location, a.id, type_=old.key, field=a.id)
            elif a is None and b is not None:
                free = b.default is not None or b.derive is not None or b.constant is not None
                rule = "FIELD_ADDED" if free or b.is_guard else "FIELD_ADDED_REQUIRED"
                yield _change(rule, b.location, after=b.id, type_=old.key, field=b.id)

    def _field(
        self, holder: Type, old: Field | PeekInstance, new: Field | PeekInstance
    ) -> Iterator[Change]:
        def change(rule: str, before: object = "", after: object = "") -> Change:
            texts = (_said(before), _said(after))
            return _change(rule, new.location, *texts, type_=holder.key, field=old.id)

        if old.original_id != new.original_id:
            yield change("KAFKAS_NAME", old.original_id, new.original_id)
        if old.doc != new.doc:
            yield change("TEXT")
        yield from self._type_of_field(old.type, new.type, change)
        yield from self._valid(old, new, change)
        if old.enum != new.enum:
            yield change("ENUM_OF_FIELD", old.enum, new.enum)
        if isinstance(old, PeekInstance) or isinstance(new, PeekInstance):
            if getattr(old, "position", None) != getattr(new, "position", None):
                yield change("FIELD_MOVED")
            return
        for name, rule in (("condition", "CONDITION"), ("repeat", "REPEAT"), ("derive", "DERIVED")):
            before, after = self._as_new(holder, getattr(old, name)), getattr(new, name)
            if before != after:
                yield change(rule, getattr(old, name), after)
        if old.default != new.default:
            gone, came = old.default is None, new.default is None
            rule = "ADDED" if gone else "REMOVED" if came else "CHANGED"
            yield change(f"DEFAULT_{rule}", old.default, new.default)
        if old.known != new.known:
            yield change("MEANT", old.known, new.known)
        if old.made_from != new.made_from:
            rule = "INDEX_SOURCE_ADDED" if old.made_from is None else "INDEX_SOURCE"
            yield change(rule, old.made_from, new.made_from)
        for name in ("ascending", "offsets", "process"):
            if getattr(old, name) != getattr(new, name):
                yield change("OTHER_KEY", getattr(old, name), getattr(new, name))

    def _as_new(self, holder: Type, node: Any) -> Any:
        """Return a part of a field with the names of the new specification."""
        renamed = {a: b for (key, a), b in self._names.fields.items() if key == holder.key}
        if not renamed or node is None:
            return node
        if isinstance(node, Derive):
            last = renamed.get(node.last, node.last) if node.last else None
            return replace(node, first=renamed.get(node.first, node.first), last=last)
        if isinstance(node, Repeat):
            count, until = (_renamed(part, renamed) for part in (node.count, node.until))
            return replace(node, count=count, until=until)
        return _renamed(node, renamed)

    def _type_of_field(self, old: Any, new: Any, change: Callable[..., Change]) -> Iterator[Change]:
        match old, new:
            case (IntegerType(), IntegerType()) | (BitsType(), BitsType()):
                a, b = (getattr(t, "size", getattr(t, "width", 0)) for t in (old, new))
                if a != b:
                    yield change("WIDER" if b > a else "NARROWER", old, new)
                if getattr(old, "signed", None) != getattr(new, "signed", None):
                    yield change("SIGN", old, new)
                if _order(old) != _order(new) and min(a, b) > 1:
                    yield change("ENDIANNESS", old, new)
            case FloatType(), FloatType():
                if _order(old) != _order(new):
                    yield change("ENDIANNESS", old, new)
            case BytesType(), BytesType():
                if old != new:
                    yield change("SIZE_CHANGED", old, new)
            case SwitchType(), SwitchType():
                yield from self._cases(old, new, change)
                if (old.on, old.size, old.size_eos) != (new.on, new.size, new.size_eos):
                    yield change("SIZE_CHANGED", old, new)
            case TypeReference(), TypeReference():
                if self._names.reference(old.spec_id, old.name) != (new.spec_id, new.name):
                    yield change(self._scalars(old, new), old, new)
                elif (old.size, old.size_eos) != (new.size, new.size_eos):
                    yield change("SIZE_CHANGED", old, new)
            case _:
                if self._kind(old, renamed=True) != self._kind(new):
                    yield change("TYPE_CHANGED", old, new)

    def _scalars(self, old: TypeReference, new: TypeReference) -> str:
        """Return the rule for a field that refers to another type: integers may only be wider."""
        widths = []
        for model, reference in ((self._old, old), (self._new, new)):
            scalar = model.type(reference).scalar
            if scalar not in (Scalar.VARINT32, Scalar.VARINT64):
                return "TYPE_CHANGED"
            widths.append(scalar is Scalar.VARINT64)
        return "WIDER" if widths[1] else "NARROWER"

    def _cases(
        self, old: SwitchType, new: SwitchType, change: Callable[..., Change]
    ) -> Iterator[Change]:
        before, after = dict(old.cases), dict(new.cases)
        for case in [*before, *(case for case in after if case not in before)]:
            shown = "other" if case is None else case
            if case not in after:
                yield change("CASE_REMOVED", f"{shown}: {before[case].name}")
            elif case not in before:
                yield change("CASE_ADDED", "", f"{shown}: {after[case].name}")
            elif self._kind(before[case], renamed=True) != self._kind(after[case]):
                yield change(
                    "CASE_CHANGED", f"{shown}: {before[case].name}", f"{shown}: {after[case].name}"
                )

    def _kind(self, type_: Any, *, renamed: bool = False) -> Any:
        if not isinstance(type_, TypeReference):
            return type_
        if renamed:
            return self._names.reference(type_.spec_id, type_.name)
        return type_.spec_id, type_.name

    def _valid(
        self, old: Field | PeekInstance, new: Field | PeekInstance, change: Callable[..., Change]
    ) -> Iterator[Change]:
        if old.valid == new.valid:
            return
        if old.valid and new.valid and old.valid.equal and new.valid.equal:
            yield change("CONSTANT", old.valid, new.valid)
            return
        rule = "VALID_CHANGED"
        if new.valid is None or _is_part(self._new, old, new):
            rule = "VALID_RELAXED"
        elif old.valid is None or _is_part(self._new, new, old):
            rule = "VALID_TIGHTENED"
        yield change(rule, old.valid, new.valid)

    def _instances(self, old: Type, new: Type) -> Iterator[Change]:
        olds: dict[str, ValueInstance | PeekInstance]
        news: dict[str, ValueInstance | PeekInstance]
        olds = {i.id: i for i in old.peek_instances} | {i.id: i for i in old.value_instances}
        news = {i.id: i for i in new.peek_instances} | {i.id: i for i in new.value_instances}
        for name, a in olds.items():
            b = news.get(name)
            where = {"type_": old.key, "field": name}
            if b is None or type(a) is not type(b):
                yield _change("VALUE_REMOVED", a.location, name, **where)
            elif isinstance(a, PeekInstance) and isinstance(b, PeekInstance):
                yield from self._field(old, a, b)
            elif isinstance(a, ValueInstance) and isinstance(b, ValueInstance):
                if (self._as_new(old, a.value), self._as_new(old, a.condition)) != (
                    b.value,
                    b.condition,
                ):
                    yield _change("MEANING", b.location, _said(a.value), _said(b.value), **where)
                if a.doc != b.doc:
                    yield _change("TEXT", b.location, **where)
        for name, b in news.items():
            if name not in olds:
                yield _change("VALUE_ADDED", b.location, after=name, type_=old.key, field=name)

    def _enums(self, old: Spec, new: Spec) -> Iterator[Change]:
        news = {enum.id: enum for enum in new.enums}
        for enum in old.enums:
            if enum.id not in news:
                yield _change("ENUM_REMOVED", enum.location, enum.id)
            else:
                yield from self._values(enum, news[enum.id])
        for enum in new.enums:
            if enum.id not in {e.id for e in old.enums}:
                yield _change("ENUM_ADDED", enum.location, after=enum.id)

    def _values(self, old: Enum, new: Enum) -> Iterator[Change]:
        before = {value.value: value for value in old.values}
        after = {value.value: value for value in new.values}
        # A field that has the enumeration shows what a number means.
        held = next(
            ((t.key, f.id) for t in self._old.all_types() for f in t.fields if f.enum == old.key),
            ("", ""),
        )
        where = {"type_": held[0], "field": held[1]}
        ids = {value.id for value in old.values}
        for number in sorted(before.keys() | after.keys()):
            a, b = before.get(number), after.get(number)
            if a is None and b is not None:
                rule = "ENUM_VALUE_REUSED" if b.id in ids else "ENUM_VALUE_ADDED"
                yield _change(rule, b.location, "", f"{number}: {b.id}", **where)
            elif b is None and a is not None:
                yield _change("ENUM_VALUE_REMOVED", a.location, f"{number}: {a.id}", **where)
            elif a is not None and b is not None:
                if a.id != b.id:
                    reused = b.id in ids or a.id in {value.id for value in new.values}
                    rule = "ENUM_VALUE_REUSED" if reused else "ENUM_VALUE_RENAMED"
                    yield _change(
                        rule, b.location, f"{number}: {a.id}", f"{number}: {b.id}", **where
                    )
                if a.original_id != b.original_id:
                    yield _change("KAFKAS_NAME", b.location, *_both(a.original_id, b.original_id))
                if a.doc != b.doc:
                    yield _change("TEXT", b.location)


def _paired_fields(
    old: Sequence[Field], new: Sequence[Field]
) -> list[tuple[Field | None, Field | None]]:
    """Pair fields by id; what is left between the same neighbours and alike has another name."""
    ids = {item.id for item in new}
    kept = {item.id for item in old} & ids
    by_id = {item.id: item for item in new}
    pairs: list[tuple[Field | None, Field | None]] = []
    free = [item for item in new if item.id not in kept]
    for item in old:
        if item.id in kept:
            pairs.append((item, by_id[item.id]))
            continue
        before = next((i.id for i in reversed(old[: old.index(item)]) if i.id in kept), None)
        alike = next(
            (
                other
                for other in free
                if (item.type, item.repeat, item.condition)
                == (other.type, other.repeat, other.condition)
                and before
                == next((i.id for i in reversed(new[: new.index(other)]) if i.id in kept), None)
            ),
            None,
        )
        if alike is not None:
            free.remove(alike)
        pairs.append((item, alike))
    return pairs + [(None, item) for item in free]


def _out_of_order(places: Sequence[int]) -> set[int]:
    """Return the fewest indexes without which the places ascend."""
    matcher = SequenceMatcher(None, list(places), sorted(places), autojunk=False)
    kept = {
        index
        for block in matcher.get_matching_blocks()
        for index in range(block.a, block.a + block.size)
    }
    return set(range(len(places))) - kept


def _renamed(expression: Expression | None, renamed: Mapping[str, str]) -> Expression | None:
    if expression is None:
        return None
    if isinstance(expression, Name):
        return Name(renamed.get(expression.id, expression.id))
    return rebuild(expression, lambda part: _renamed(part, renamed) or part)


def _is_part(model: Model, old: Field | PeekInstance, new: Field | PeekInstance) -> bool | None:
    """Return whether every value that ``old`` allows is allowed by ``new``, None if unknown."""
    before, after = _allowed(model, old), _allowed(model, new)
    if before is None or after is None:
        return None
    if isinstance(before, range) and isinstance(after, range):
        return after.start <= before.start and before.stop <= after.stop
    return not isinstance(before, range) and all(value in after for value in before)


def _allowed(model: Model, item: Field | PeekInstance) -> range | frozenset[int] | None:
    """Return the integers that type and ``valid`` allow, None if an expression decides."""
    bounds = value_range(model, item)  # type: ignore[arg-type]  # a peek has a type too
    valid = item.valid
    if bounds is None or (valid is not None and valid.expression is not None):
        return None
    low, high = bounds
    if valid is None:
        return range(low, high + 1)
    listed = allowed_values(valid)
    if listed and (valid.equal is not None or valid.any_of):
        return frozenset(listed)
    ends = [literal(valid.minimum), literal(valid.maximum)]
    if (valid.minimum and ends[0] is None) or (valid.maximum and ends[1] is None):
        return None
    return range(low if ends[0] is None else ends[0], (high if ends[1] is None else ends[1]) + 1)


def _order(kind: Any) -> bool:
    """Return whether the low byte of a number is first."""
    return getattr(kind, "little", False)


def _texts(node: Any) -> tuple[Any, ...]:
    names = ("doc", "doc_refs", "title", "representation", "license", "ks_version", "original_id")
    return tuple(getattr(node, name, None) for name in names)


def _both(before: object, after: object) -> tuple[str, str]:
    return _said(before), _said(after)


def _said(part: object) -> str:
    """Return a part of a specification as its files say it."""
    match part:
        case None | "":
            return ""
        case IntegerType(size=size, signed=signed, little=little):
            return f"{'s' if signed else 'u'}{size}{'le' if little else ''}"
        case BitsType(width=width):
            return f"b{width}"
        case FloatType(size=size, little=little):
            return f"f{size}{'le' if little else ''}"
        case BytesType(size=None):
            return "bytes to the end"
        case BytesType(size=length):
            return f"bytes, size {_said(length)}"
        case TypeReference(name=name, size=length):
            return name if length is None else f"{name}, size {_said(length)}"
        case SwitchType(on=on, cases=cases):
            return f"by {_said(on)}: {', '.join(reference.name for _, reference in cases)}"
        case Derive(function=function, first=first, last=last, open_end=open_end, plus=plus):
            through = f"..{last or ''}" if last or open_end else ""
            return f"{function}({first}{through})" + (f" + {plus}" if plus else "")
        case Default(value=value):
            return "null" if value is None else "[]" if value == () else str(value)
        case Valid() | Repeat():
            given = ((f.name, getattr(part, f.name)) for f in fields(part))
            return ", ".join(
                name if value is True else f"{name} {_said(value)}"
                for name, value in given
                if value
            )
        case tuple():
            return ", ".join(_said(item) for item in part)
        case str() | int():
            return str(part)
        case _:
            return expression_text(part)  # type: ignore[arg-type]
