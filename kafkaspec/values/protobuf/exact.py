"""The exact way: each row by Google's own library, upb, then columns of what it has read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from kafkaspec.values.decoded import Code, Failure, PayloadError
from kafkaspec.values.options import Bounds
from kafkaspec.values.protobuf.arrays import (
    KEY,
    VALUE,
    JsonTexts,
    cases,
    enumeration,
    microseconds,
    record,
)
from kafkaspec.values.protobuf.plan import (
    Enumeration,
    Field,
    Meaning,
    ProtobufMessage,
    ProtobufNode,
    ProtobufRecord,
    ProtobufShape,
    Scalar,
    Special,
)
from kafkaspec.values.protobuf.schema import member, message_class

_Rows: TypeAlias = Sequence[int]

_PARSED = "upb does not read it"
_VALUE_NUMBER = 2


class Exact:
    """Decodes messages of one type, row by row; their bytes have been checked."""

    def __init__(self, root: ProtobufMessage, texts: JsonTexts, bounds: Bounds) -> None:
        self._root = root
        self._class = message_class(root.descriptor)
        self._json = texts
        self._bounds = bounds

    def decode(self, payloads: Sequence[bytes | None]) -> tuple[pa.Array, dict[int, Failure]]:
        """Return values, and failures by number of the row."""
        failures: dict[int, Failure] = {}
        messages: list[Any] = []
        for row, payload in enumerate(payloads):
            message = None
            if payload is not None:
                try:
                    message = self._class.FromString(payload)
                except DecodeError:
                    failures[row] = Failure(Code.MALFORMED, _PARSED)
                else:
                    if not message.IsInitialized():
                        failures[row] = _missing(message, self._root)
                        message = None
            messages.append(message)
        while True:
            columns = _Columns(self._json, self._bounds)
            values = columns.messages(self._root, messages, range(len(messages)), "")
            if not columns.failures:
                return values, failures
            for row, failure in columns.failures.items():
                failures[row] = failure
                messages[row] = None


class _Columns:
    """Columns of messages; each value has the number of its row."""

    def __init__(self, texts: JsonTexts, bounds: Bounds) -> None:
        self.failures: dict[int, Failure] = {}
        self._texts = texts
        self._room = bounds.output_bytes

    def fail(self, row: int, code: Code, reason: str, path: str) -> None:
        self.failures.setdefault(row, Failure(code, reason, None, path))

    def messages(
        self, node: ProtobufMessage, found: Sequence[Any], rows: _Rows, path: str
    ) -> pa.Array:
        """Return the column of messages, None of which is a null."""
        absent = np.fromiter((one is None for one in found), np.bool_, len(found))
        mask = absent if absent.any() else None
        if mask is not None:
            empty = message_class(node.descriptor)()
            found = [empty if one is None else one for one in found]
        if isinstance(node, ProtobufRecord):
            columns = [self.field(one, found, rows, path) for one in node.fields]
            if node.cases:
                columns += [_cases(one, found) for one in node.oneofs]
            if node.unknown:
                columns.append(pa.array(map(_unknown, found), pa.binary()))
            return record(node.type, columns, mask, len(found))
        match node.meaning:
            case Meaning.VALUE:
                values = [getattr(one, member(1)) for one in found]
                return _scalars(node.parts[0][2], values, mask)
            case Meaning.PATHS:
                lists = [getattr(one, member(1)) for one in found]
                return self.lists(node.type, node.parts[0][2], lists, mask, rows, path)
            case Meaning.JSON | Meaning.DEEPER:
                return self.texts(node, found, mask, rows, path)
        return self.times(node, found, mask, rows, path)

    def field(self, field: Field, found: Sequence[Any], rows: _Rows, path: str) -> pa.Array:
        path = f"{path}.{field.column.name}" if path else field.column.name
        if field.extension is not None:
            values = [one.Extensions[field.extension] for one in found]
        else:
            name = member(field.number)
            values = [getattr(one, name) for one in found]
        if field.shape is ProtobufShape.LIST:
            return self.lists(field.column.type, field.node, values, None, rows, path)
        if field.shape is ProtobufShape.MAP:
            return self.maps(field, values, rows, path)
        mask = None
        if field.shape is ProtobufShape.OPTIONAL and not field.default:
            if field.extension is not None:
                there = (one.HasExtension(field.extension) for one in found)
            else:
                there = (one.HasField(name) for one in found)
            mask = ~np.fromiter(there, np.bool_, len(found))
        return self.nodes(field.node, values, mask, rows, path)

    def nodes(
        self, node: ProtobufNode, values: Sequence[Any], mask: Any, rows: _Rows, path: str
    ) -> pa.Array:
        """Return the column of values; null where ``mask`` is true."""
        if isinstance(node, Scalar):
            return _scalars(node, values, mask)
        if isinstance(node, Enumeration):
            return enumeration(node, np.fromiter(values, np.int32, len(values)), mask)
        if mask is not None:
            values = [None if null else one for one, null in zip(values, mask, strict=True)]
        return self.messages(node, values, rows, path)

    def times(
        self, node: Special, found: Sequence[Any], mask: Any, rows: _Rows, path: str
    ) -> pa.Array:
        size = len(found)
        seconds = np.fromiter((getattr(one, member(1)) for one in found), np.int64, size)
        nanos = np.fromiter((getattr(one, member(2)) for one in found), np.int64, size)
        values, bad = microseconds(node.meaning, seconds, nanos)
        for place in np.flatnonzero(bad).tolist():
            reason = f"{seconds[place]} s and {nanos[place]} ns are no {node.meaning.value}"
            self.fail(rows[place], Code.RANGE, reason, path)
        return pa.array(values, pa.int64(), mask=mask).cast(node.type)

    def texts(
        self, node: Special, found: Sequence[Any], mask: Any, rows: _Rows, path: str
    ) -> pa.Array:
        values: list[str | None] = []
        for place, (row, one) in enumerate(zip(rows, found, strict=True)):
            text: str | None = None
            if mask is None or not mask[place]:
                try:
                    text = self._texts.text(node, one)
                except PayloadError as error:
                    self.fail(row, error.code, str(error), path)
                    text = ""
                self._room -= len(text)
                if self._room < 0:
                    self.fail(row, Code.BOUND, "JSON texts are too long", path)
                    self._room += len(text)
                    text = ""
            values.append(text)
        return pa.array(values, pa.string())

    def lists(
        self,
        type_: pa.DataType,
        node: ProtobufNode,
        lists: Sequence[Any],
        mask: Any,
        rows: _Rows,
        path: str,
    ) -> pa.Array:
        sizes = list(map(len, lists))
        inner = [row for row, size in zip(rows, sizes, strict=True) for _ in range(size)]
        items = [item for one, size in zip(lists, sizes, strict=True) if size for item in one]
        values = self.nodes(node, items, None, inner, path)
        return pa.ListArray.from_arrays(
            _offsets(sizes), values, type=type_, mask=None if mask is None else pa.array(mask)
        )

    def maps(self, field: Field, lists: Sequence[Any], rows: _Rows, path: str) -> pa.Array:
        """Return the column of maps: the last of the entries with one key stays."""
        assert field.key is not None
        keys: list[Any] = []
        items: list[Any] = []
        inner: list[int] = []
        sizes: list[int] = []
        for row, entries in zip(rows, lists, strict=True):
            found: dict[Any, Any] = {}
            for entry in _entries(field.node, entries):
                key = getattr(entry, KEY)
                found.pop(key, None)
                found[key] = getattr(entry, VALUE)
            keys.extend(found)
            items.extend(found.values())
            inner.extend([row] * len(found))
            sizes.append(len(found))
        return pa.MapArray.from_arrays(
            _offsets(sizes),
            _scalars(field.key, keys, None),
            self.nodes(field.node, items, None, inner, path),
            type=field.column.type,
        )


def _scalars(node: Scalar, values: Sequence[Any], mask: Any) -> pa.Array:
    if mask is not None:
        values = [None if null else one for one, null in zip(values, mask, strict=True)]
    return pa.array(values, node.type)


def _offsets(sizes: Sequence[int]) -> pa.Array:
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return pa.array(offsets, pa.int32())


def _entries(node: ProtobufNode, entries: Any) -> Iterator[Any]:
    """Yield entries of a map; one with an unknown value of a closed enumeration is none."""
    for entry in entries:
        closed = isinstance(node, Enumeration) and node.closed
        if closed and any(part.field_number == _VALUE_NUMBER for part in UnknownFieldSet(entry)):
            continue
        yield entry


def _cases(case: tuple[str, int, Any], found: Sequence[Any]) -> pa.Array:
    """Return the column of the members of a ``oneof`` that are set."""
    _, number, names = case
    name = f"oneof_{number}"
    places = {member(one): one for one in names}
    places[""] = 0
    numbers = (places[one.WhichOneof(name) or ""] for one in found)
    return cases(names, np.fromiter(numbers, np.int64, len(found)))


def _unknown(message: Any) -> bytes | None:
    """Return the bytes of a message's unknown fields; None if there are none."""
    left = type(message)()
    left.CopyFrom(message)
    for field, _ in left.ListFields():
        (left.ClearExtension if field.is_extension else left.ClearField)(
            field if field.is_extension else field.name
        )
    return left.SerializePartialToString() or None


def _missing(message: Any, root: ProtobufMessage) -> Failure:
    """Return the failure of a message without a field that has to be there."""
    path = next(iter(message.FindInitializationErrors()), "")
    names = []
    node: ProtobufNode = root
    for part in path.split("."):
        fields = node.fields if isinstance(node, ProtobufRecord) else ()
        numbered = {member(one.number): one for one in fields}
        field = numbered.get(part.partition("[")[0])
        if field is None:
            break
        names.append(field.column.name)
        node = field.node
    place = ".".join(names)
    return Failure(Code.MISSING_REQUIRED, f"{place or path} is not there", None, place)
