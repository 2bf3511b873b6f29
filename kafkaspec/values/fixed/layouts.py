"""Rows of fixed binary layouts: what the specification says of them, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.codecs import get_codec
from kafkaspec.errors import CorruptError, KafkaSpecError, Reason
from kafkaspec.layout import FieldLayout, Kind
from kafkaspec.values.decoded import Code, Decoded, Failure

MOMENT: Final = pa.timestamp("ms", "UTC")
"""Type of milliseconds since the Unix epoch."""

_INTEGERS: Final = {1: pa.int8(), 2: pa.int16(), 4: pa.int32(), 8: pa.int64()}
_CODEC: Final = get_codec("python")
_CODES: Final = {
    Reason.TRUNCATED: Code.TRUNCATED,
    Reason.OVERRUN: Code.TRUNCATED,
    Reason.TRAILING_BYTES: Code.TRAILING,
}


def failure_of(error: KafkaSpecError, base: int = 0) -> Failure:
    """Return why a row has no value, by the error of a codec at ``base`` in the row."""
    code = _CODES.get(error.reason, Code.MALFORMED)
    path = (error.path or "").strip("/").replace("/", ".")
    position = None if error.position is None else error.position + base
    return Failure(code, error.detail, position, path)


def parse(key: str, data: bytes) -> Any:
    """Return bytes as a type of the specification, all of them."""
    value, end = _CODEC.parse(key, data, complete=True)
    if end != len(data):
        left = f"{len(data) - end} bytes are left after the value"
        raise CorruptError(left, reason=Reason.TRAILING_BYTES, position=end)
    return value


@dataclass(frozen=True, slots=True)
class LayoutDecoder:
    """Decodes one type of the specification to a struct.

    Attributes:
        key: key of the type.
        hidden: fields that say how a row is written, not what.
        moments: fields that are milliseconds since the Unix epoch.
    """

    key: str
    hidden: frozenset[str] = frozenset({"version"})
    moments: frozenset[str] = frozenset({"timestamp"})

    @property
    def type(self) -> pa.DataType:
        """The type of the column."""
        return pa.struct([(each.id, self._kind(each)) for each in self._fields()])

    def decode(self, payloads: pa.Array) -> Decoded:
        """Decode payloads one by one."""
        failures: dict[int, Failure] = {}
        rows: list[dict[str, Any] | None] = []
        fields = self._fields()
        for number, data in enumerate(payloads.to_pylist()):
            row = None
            if data is not None:
                try:
                    parsed = parse(self.key, data)
                    row = {each.id: _plain(getattr(parsed, each.id), each) for each in fields}
                except KafkaSpecError as error:
                    failures[number] = failure_of(error)
                except UnicodeDecodeError as error:
                    failures[number] = Failure(Code.BAD_UTF8, error.reason)
            rows.append(row)
        return Decoded(pa.array(rows, self.type), failures)

    def _fields(self) -> list[FieldLayout]:
        return [each for each in LAYOUTS[self.key].fields if each.id not in self.hidden]

    def _kind(self, layout: FieldLayout) -> pa.DataType:
        if layout.id in self.moments:
            return MOMENT
        if layout.kind is Kind.INTEGER:
            return _INTEGERS[layout.size]
        return pa.string() if LAYOUTS[layout.type].text else pa.binary()


def _plain(value: Any, layout: FieldLayout) -> Any:
    if layout.kind is Kind.INTEGER:
        return value
    data = bytes(value)
    return data.decode() if LAYOUTS[layout.type].text else data


@dataclass(frozen=True, slots=True)
class Suffix:
    """Numbers of a fixed size at the end of each row.

    Attributes:
        key: key of the type, which has nothing but integers.
    """

    key: str

    @property
    def size(self) -> int:
        """Bytes of the suffix."""
        return LAYOUTS[self.key].minimum_size

    def columns(self, rows: pa.Array) -> dict[str, np.ndarray[Any, Any]]:
        """Return each number, by its id, of rows that are long enough and not null."""
        layouts = LAYOUTS[self.key].fields
        kinds = np.dtype([(each.id, f">i{each.size}") for each in layouts])
        table = np.frombuffer(bytes_of(pc.binary_slice(rows, -self.size, None)), kinds)
        return {each.id: table[each.id].astype(f"<i{each.size}") for each in layouts}


def bytes_of(rows: pa.Array) -> pa.Buffer:
    """Return the bytes of rows that are not null, one after the other."""
    _, offsets, data = rows.buffers()
    if data is None or not len(rows):
        return pa.py_buffer(b"")
    ends = memoryview(offsets).cast("i")
    start = ends[rows.offset]
    return data.slice(start, ends[rows.offset + len(rows)] - start)


def split(payloads: pa.Array, wrong: Mapping[int, Failure]) -> tuple[pa.Array, pa.Array]:
    """Return rows that have a value, and for each payload the number of its row or null."""
    mask = np.asarray(payloads.is_valid())
    if wrong:
        mask = mask.copy()
        mask[list(wrong)] = False
    places = pa.array(np.cumsum(mask) - 1, pa.int64(), mask=~mask)
    return (payloads if mask.all() else payloads.filter(pa.array(mask))), places


def lengths_other_than(payloads: pa.Array, size: int, what: str) -> dict[int, Failure]:
    """Return failures of payloads that do not have that size."""
    lengths = pc.binary_length(payloads)
    wrong = pc.indices_nonzero(pc.fill_null(pc.not_equal(lengths, size), False)).to_pylist()
    failures = {}
    for row in wrong:
        length = lengths[row].as_py()
        code = Code.TRUNCATED if length < size else Code.TRAILING
        reason = f"{length} bytes, and {what} has {size}"
        failures[row] = Failure(code, reason, min(length, size))
    return failures


def shorter_than(payloads: pa.Array, size: int, what: str) -> dict[int, Failure]:
    """Return failures of payloads of fewer bytes."""
    lengths = pc.binary_length(payloads)
    wrong = pc.indices_nonzero(pc.fill_null(pc.less(lengths, size), False)).to_pylist()
    return {
        row: Failure(Code.TRUNCATED, f"fewer bytes than the {size} of {what}", lengths[row].as_py())
        for row in wrong
    }


def moved(failure: Failure, path: str, base: int) -> Failure:
    """Return a failure within a part of a row."""
    position = None if failure.position is None else failure.position + base
    within = ".".join(part for part in (path, failure.path) if part)
    return Failure(failure.code, failure.reason, position, within)


def structs(columns: Sequence[pa.Array], type_: pa.DataType, failed: Iterable[int]) -> pa.Array:
    """Return structs of columns, null where a row has failed or its first column is null."""
    mask = np.asarray(columns[0].is_null())
    if failed := list(failed):
        mask = mask.copy()
        mask[failed] = True
    return pa.StructArray.from_arrays(columns, fields=list(type_), mask=pa.array(mask))
