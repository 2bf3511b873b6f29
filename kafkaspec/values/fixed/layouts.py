"""Rows of fixed binary layouts: what the specification says of them, as columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.codecs import get_codec
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.layout import FieldLayout, Kind
from kafkaspec.values.decoded import Code, Decoder, Failure, PayloadError, RowDecoder
from kafkaspec.values.rows import bytes_of

MOMENT: Final = pa.timestamp("ms", "UTC")
"""Type of milliseconds since the Unix epoch."""

_INTEGERS: Final = {1: pa.int8(), 2: pa.int16(), 4: pa.int32(), 8: pa.int64()}
_CODEC: Final = get_codec("python")
_VERSION: Final = "version"
"""Field that says how a row is written, not what."""
_MOMENT: Final = "timestamp"
"""Field of milliseconds since the Unix epoch."""
_CODES: Final = {
    Reason.TRUNCATED: Code.TRUNCATED,
    Reason.OVERRUN: Code.TRUNCATED,
    Reason.TRAILING_BYTES: Code.TRAILING,
}


def parse(key: str, data: bytes) -> Any:
    """Return bytes as a type of the specification, all of them.

    Raises:
        PayloadError: they are not; its cause is the error of the codec.
    """
    try:
        value, end = _CODEC.parse(key, data, complete=True)
    except KafkaSpecError as error:
        code = _CODES.get(error.reason, Code.MALFORMED)
        failure = PayloadError(code, error.detail, error.position)
        failure.path = [(error.path or "").strip("/").replace("/", ".")]
        raise failure from error
    if end != len(data):
        raise PayloadError(Code.TRAILING, f"{len(data) - end} bytes are left after the value", end)
    return value


def layout_decoder(key: str) -> Decoder:
    """Return the decoder of a type of the specification to a struct."""
    fields = [each for each in LAYOUTS[key].fields if each.id != _VERSION]

    def read(data: bytes) -> dict[str, Any]:
        parsed = parse(key, data)
        return {each.id: _plain(getattr(parsed, each.id), each) for each in fields}

    return RowDecoder(pa.struct([(each.id, _kind(each)) for each in fields]), read)


def _kind(layout: FieldLayout) -> pa.DataType:
    if layout.id == _MOMENT:
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
    """Numbers of a fixed size at the end of each row, by the key of a type of integers alone."""

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


def split(payloads: pa.Array, wrong: Mapping[int, Failure]) -> tuple[pa.Array, pa.Array]:
    """Return rows that have a value, and for each payload the number of its row or null."""
    mask = np.asarray(payloads.is_valid())
    if wrong:
        mask = mask.copy()
        mask[list(wrong)] = False
    places = pa.array(np.cumsum(mask) - 1, pa.int64(), mask=~mask)
    return (payloads if mask.all() else payloads.filter(pa.array(mask))), places


def of_other_size(
    payloads: pa.Array, size: int, what: str, *, longer: bool = True
) -> dict[int, Failure]:
    """Return failures of payloads of fewer bytes, or of more unless those may be longer."""
    lengths = pc.binary_length(payloads)
    differ = (pc.not_equal if longer else pc.less)(lengths, size)
    failures = {}
    for row in pc.indices_nonzero(pc.fill_null(differ, False)).to_pylist():
        length = lengths[row].as_py()
        code = Code.TRUNCATED if length < size else Code.TRAILING
        reason = f"{length} bytes, and {what} has {size}"
        failures[row] = Failure(code, reason, min(length, size))
    return failures


def inner(
    decoder: Decoder, payloads: pa.Array, path: str, failures: dict[int, Failure], rows: Any = None
) -> pa.Array:
    """Return a decoded part of each row; a failure in it is one of the row."""
    decoded = decoder.decode(payloads)
    for place, failure in decoded.failures.items():
        row = place if rows is None else int(rows[place])
        within = ".".join(part for part in (path, failure.path) if part)
        failures.setdefault(row, replace(failure, path=within))
    return decoded.values
