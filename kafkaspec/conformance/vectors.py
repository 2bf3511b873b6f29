"""Cases from the vectors that are generated from the specification, which every wheel holds.

Each vector is a separate case, for testees that parse types of the specification. Vectors of
records and of legacy messages are also put into a log, with a valid header around them, for testees
that only read logs. Verdicts and values come from the vectors, never from a codec.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.checksum import crc32
from kafkaspec.codecs import get_codec
from kafkaspec.conformance.cases import Case, CaseValue, Items, Refusal, reasons_of
from kafkaspec.conformance.protocol import RequestKind, encode_bytes
from kafkaspec.errors import Reason
from kafkaspec.layout import EntryKind, FieldLayout
from kafkaspec.layout import Kind as FieldKind
from kafkaspec.layout.framing import ENTRY, LEGACY_MESSAGE, MINIMUM_MESSAGE, field_of
from kafkaspec.layout.kinds import CURRENT, KINDS, new_entry
from kafkaspec.layout.names import HEADERS

_OFFSET: Final = 100
"""Of the legacy messages. The offset of a record follows from the header that its vector names."""

_CASE: Final = re.compile(r"_-?\d+$")
_CUTS: Final = (".cut", ".last")
"""Names of vectors that end early end like this: the refused field says what they test."""

_CODEC: Final = get_codec("python")
"""Writes the bytes around a vector; any codec would do."""


def vector_cases() -> Iterator[Case]:
    """Yield the cases of all vectors, in order."""
    vectors = _vectors()
    for vector in vectors:
        yield _structure(vector)
    wrappers = _wrappers({vector["type"]: vector for vector in reversed(vectors)})
    for vector in vectors:
        wrapped = _wrapped(vector, wrappers)
        if wrapped is not None:
            yield wrapped


def _vectors() -> list[dict[str, Any]]:
    folder = files("kafkaspec._generated.vectors")
    texts = {
        item.name: item.read_text(encoding="utf-8")
        for item in folder.iterdir()
        if item.name.endswith(".json")
    }
    return [vector for name in sorted(texts) for vector in json.loads(texts[name])["vectors"]]


def _structure(vector: dict[str, Any]) -> Case:
    expected: Refusal | CaseValue
    if vector["verdict"] == "reject":
        reasons = frozenset({vector["reason"]})
        expected = Refusal(reasons, vector["path"], vector["offset"])
    else:
        members = dict(vector.get("instances", {}))
        if "field" in vector:
            members[vector["field"]] = _plain(vector)
        expected = CaseValue(vector["end"], members)
    return Case(
        f"structure/{vector['type']}/{vector['name']}",
        RequestKind.TYPE,
        bytes.fromhex(vector["hex"]),
        expected,
        vector["why"],
        {
            "type": vector["type"],
            "parameters": [_parameter(item) for item in vector["parameters"]],
        },
        covers=(*_covered(vector), *_bound(vector)),
    )


def _covered(vector: dict[str, Any]) -> Iterator[str]:
    """Yield what a vector is the first of its file to cover."""
    own = vector["type"].partition(".")[0]
    for goal in vector.get("covers", ()):
        yield goal.replace(" .", f" {own}.", 1)


def _bound(vector: dict[str, Any]) -> Iterator[str]:
    """Yield the rule that a vector tests: its name, without the case of a switch before it."""
    key, name = vector["type"], vector["name"]
    first, _, rest = name.partition(".")
    layout = LAYOUTS[key]
    own = {field.id for field in layout.fields} | {peek.id for peek in layout.peeks}
    if rest and first not in own and _CASE.search(first):
        name = rest
    if name != "nothing" and not name.endswith(_CUTS):
        yield f"bound {key}/{name}"


def _plain(vector: dict[str, Any]) -> int | str | None:
    """Return the value of the field; vectors have bytes in hexadecimal, the protocol in base64."""
    value: int | str | None = vector["value"]
    return encode_bytes(bytes.fromhex(value)) if isinstance(value, str) else value


def _parameter(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    return {
        "type": item["type"],
        "parameters": [_parameter(inner) for inner in item["parameters"]],
        "data": encode_bytes(bytes.fromhex(item["hex"])),
    }


# -- in a log ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Wrapper:
    """How a vector of a type becomes a log: a kind of batch, and the bytes around the vector.

    Attributes:
        kind: the kind; one of messages for a message.
        part: what the vector is: ``message``, ``set``, ``framed``, ``record`` or ``header``.
        header: the header of the batch of a record, as a parameter of its vector.
        around: bytes of a record before and after a header in it.
    """

    kind: EntryKind
    part: str
    header: dict[str, Any]
    around: tuple[bytes, bytes] = (b"", b"")


def _wrappers(first: Mapping[str, dict[str, Any]]) -> dict[str, _Wrapper]:
    """Return the wrapper of each type of which there is one, from the first vector of each."""
    found: dict[str, _Wrapper] = {}
    for kind in sorted(KINDS.values(), key=lambda kind: kind.magic != CURRENT):
        if not kind.has_record_sets:
            found.setdefault(kind.key, _Wrapper(kind, "message", {}))
            continue
        base = first[kind.record]
        header = base["parameters"][0]
        framed = _only(kind.record_set).type
        for key, part in ((kind.record_set, "set"), (framed, "framed"), (kind.record, "record")):
            found.setdefault(key, _Wrapper(kind, part, header))
        of_headers = next((i for i in LAYOUTS[kind.record].fields if i.id == HEADERS), None)
        if of_headers is not None:
            inner = bytes.fromhex(first[of_headers.type]["hex"])
            before, _, after = bytes.fromhex(base["hex"]).partition(inner)
            wrapper = _Wrapper(kind, "header", header, (before, after))
            found.setdefault(of_headers.type, wrapper)
    return found


def _only(type_key: str) -> FieldLayout:
    """Return the field that repeats."""
    return next(item for item in LAYOUTS[type_key].fields if item.repeated)


def _wrapped(vector: dict[str, Any], wrappers: Mapping[str, _Wrapper]) -> Case | None:
    """Return the vector in a log, None if it says nothing about logs."""
    data = bytes.fromhex(vector["hex"])
    if vector["verdict"] == "accept" and vector["end"] not in (len(data), 0):
        return None  # in a log, what follows would be refused
    wrapper = wrappers.get(vector["type"])
    if wrapper is None:
        return None
    items: list[dict[str, Any]] = [{}]
    kind, header = wrapper.kind, wrapper.header
    match wrapper.part:
        case "message":
            if not _sound(vector, data):
                return None
            log = _framing(len(data)) + data
            items = [{"offset": _OFFSET} | _members(vector, ("timestamp", "key", "value"))]
        case "set":
            header = vector["parameters"][0]
            log = _log(kind, header, data)
            items = [{}] * getattr(_batch(kind, header), kind.count)
        case "framed":
            log = _log(kind, header, data)
        case "record":
            log = _log(kind, header, _framed(kind, data))
            if vector["verdict"] == "accept":
                said = vector["instances"]
                items = [{name: said[name] for name in ("offset", "timestamp") if name in said}]
                items[0] |= _members(vector, ("key", "value"))
        case _:
            before, after = wrapper.around
            log = _log(kind, header, _framed(kind, before + data + after))
    expected: Refusal | Items = Items(items)
    if vector["verdict"] == "reject":
        expected = Refusal(reasons_of(vector["reason"]) | _also(vector, wrapper))
    return Case(
        f"record/{vector['type']}/{vector['name']}", RequestKind.LOG, log, expected, vector["why"]
    )


def _also(vector: dict[str, Any], wrapper: _Wrapper) -> frozenset[str]:
    """Return other reasons, for bytes that also break another rule inside a record."""
    if wrapper.part != "header":
        return frozenset()
    if wrapper.around[1]:  # a header that is cut, or ends early, takes what follows or leaves it
        return frozenset({Reason.INVALID_VALUE, *reasons_of(Reason.TRUNCATED)})
    return (
        frozenset({Reason.INVALID_VALUE}) if vector["reason"] == Reason.TRUNCATED else frozenset()
    )


def _sound(vector: dict[str, Any], data: bytes) -> bool:
    """Return whether all readers accept a legacy message: not compressed, right checksum."""
    if len(data) < MINIMUM_MESSAGE or "compression" in vector["name"]:
        return False
    if vector["path"] == "/magic":  # it would be another layout
        return False
    checksum = LAYOUTS[LEGACY_MESSAGE].checksum
    assert checksum is not None
    end = checksum.position + field_of(LEGACY_MESSAGE, checksum.field).size
    return int.from_bytes(data[checksum.position : end], "big") == crc32(data[checksum.start :])


def _members(vector: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {vector["field"]: _plain(vector)} if vector.get("field") in names else {}


def _framing(size: int) -> bytes:
    """Return the bytes of an entry before its message."""
    offset, length = (item for item in LAYOUTS[ENTRY].fields if item.kind is FieldKind.INTEGER)
    return _OFFSET.to_bytes(offset.size, "big", signed=offset.signed) + size.to_bytes(
        length.size, "big", signed=length.signed
    )


def _batch(kind: EntryKind, parameter: dict[str, Any]) -> Any:
    """Return the header that belongs to the records of a vector."""
    data = bytes.fromhex(parameter["hex"])
    return _CODEC.parse(kind.key, data, parameters=parameter["parameters"])[0]


def _log(kind: EntryKind, header: dict[str, Any], records: bytes) -> bytes:
    """Return a log of one batch with these records, and with the right checksum and sizes."""
    batch = _batch(kind, header)
    setattr(batch, kind.payload, records)
    return _CODEC.serialize(ENTRY, new_entry(batch, batch.base_offset))


def _framed(kind: EntryKind, record: bytes) -> bytes:
    """Return a record after its size."""
    size, _ = LAYOUTS[_only(kind.record_set).type].fields
    number = len(record) + size.derive_plus
    if size.kind is FieldKind.INTEGER:
        return number.to_bytes(size.size, "big", signed=size.signed) + record
    return _CODEC.serialize(size.type, number) + record
