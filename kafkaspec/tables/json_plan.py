"""Lines of JSON of any columns of Arrow, made in the core from their buffers.

What a line says is that of ``kafkaspec.tables.json_values``, which also makes the text of values
for which the core has no form, such as unions.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaspec.columns.json_lines import (
    BOOLEANS,
    NULL,
    LineColumn,
    LineForm,
    LinePiece,
    Lines,
    nested,
    numbers,
    pairs,
    strings,
)
from kafkaspec.columns.memory import Layout
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.tables.json_values import (
    HEADERS,
    RECORD_TIME,
    SELDOM,
    TIME,
    dumped,
    is_pairs,
    json_values,
    number,
)
from kafkaspec.tables.json_values import json_lines as lines_of

if TYPE_CHECKING:
    from kafkaspec.codecs.native.core import Core

_NULL: Final = NULL.encode()
_MOST_NAMES: Final = 1000
"""Texts of a dictionary that a plan has; a larger one is decoded."""
_SECONDS: Final = tuple(
    int(datetime(*day, tzinfo=UTC).timestamp()) for day in ((1, 1, 2), (9999, 12, 31))
)
"""Times between which a year has four digits."""
_HEXADECIMAL: Final = np.frombuffer(bytes(range(256)).hex().encode(), "S2")
_HYPHENS: Final = (8, 12, 16, 20)
_BASE64: Final = np.frombuffer(
    b"".join(urlsafe_b64encode(bytes([0, 0, code]))[-1:] for code in range(64)), np.uint8
)
_INT64: Final = pa.int64()


def json_lines(core: Core | None, batch: pa.RecordBatch, *, compact: bool) -> Iterator[memoryview]:
    """Yield the lines that ``json_values.json_lines`` makes of a record batch, many at a time.

    Args:
        core: the extension; without it, they are made in Python.
        batch: the rows.
        compact: see ``json_values.json_lines``.
    """
    names = batch.schema.names
    if core is None or len(set(names)) < len(names):
        return iter([memoryview(lines_of(batch, compact=compact))])
    plan = JsonPlan(core, compact=compact)
    plan.row(batch)
    if len(plan.pieces) > core.module.LINE_PIECES:
        return iter([memoryview(lines_of(batch, compact=compact))])
    return Lines(core, plan.pieces, compact=compact).of(plan.columns, batch.num_rows)


class JsonPlan:
    """The pieces of a line, and their columns.

    Args:
        core: the extension.
        compact: whether no blanks are between the parts; otherwise it is of Kafka's own columns
            and messages, see ``json_values``.
    """

    def __init__(self, core: Core, *, compact: bool) -> None:
        self._most_depth = core.module.LINE_DEPTH
        self._depth = 0
        self.pieces: list[LinePiece] = []
        self.columns: list[LineColumn | None] = []
        self._compact = compact
        self._comma, self._colon = (",", ":") if compact else (", ", ": ")
        self._before = ""
        self._kinds = _kinds(self)

    def row(self, batch: pa.RecordBatch) -> None:
        """Add a line with a field for each column."""
        self._before += "{"
        for place, name in enumerate(batch.schema.names):
            self._name(place, name)
            array = batch.column(place)
            if name == TIME and array.type == RECORD_TIME:
                array = array.view(_INT64)
            if name == HEADERS and is_pairs(array.type):
                self._headers(array)
            else:
                self.value(array)
        self.end("}\n")

    def end(self, text: str = "") -> None:
        """Add text that follows what was added last."""
        self._before += text
        if self._before:
            self._add(None)

    def value(self, array: pa.Array) -> None:
        """Add the values of an array; any text for those of none."""
        if not len(array):
            self._null(array)
            return
        for test, add in self._kinds if self._depth < self._most_depth else ():
            if test(array.type):
                add(array)
                return
        self._plain(array)

    def _name(self, place: int, name: str) -> None:
        self._before += f"{self._comma if place else ''}{dumped(name, compact=self._compact)}"
        self._before += self._colon

    def _add(
        self,
        column: LineColumn | None,
        names: Sequence[bytes] = (),
        form: LineForm = LineForm.JSON,
    ) -> None:
        self.pieces.append((self._before.encode(), 0, tuple(names), form))
        self.columns.append(column)
        self._before = ""

    @contextmanager
    def _inside(self, column: LineColumn, *names: bytes) -> Iterator[None]:
        """Put what is added into a structure or list."""
        place = len(self.pieces)
        self._add(column, names, LineForm.NESTED)
        self._depth += 1
        yield
        self._depth -= 1
        self.end()
        before, _, texts, form = self.pieces[place]
        self.pieces[place] = (before, len(self.pieces) - place - 1, texts, form)

    @contextmanager
    def _present(self, array: pa.Array, absent: bytes = _NULL) -> Iterator[None]:
        """Put what is added where a row of an array is not null."""
        if not array.null_count:
            yield
            return
        with self._inside(nested(array.buffers()[0], at=array.offset), absent):
            yield

    # -- values within values ------------------------------------------------------------------

    def _struct(self, array: pa.StructArray) -> None:
        names = [field.name for field in array.type]
        if len(set(names)) < len(names) or (not self._compact and SELDOM.issuperset(names[:1])):
            self._plain(array)
            return
        with self._present(array):
            self._before += "{"
            for place, name in enumerate(names):
                child = array.field(place)
                if not self._compact and name in SELDOM:
                    with self._present(_present_where(child), b""):
                        self._name(place, name)
                        self.value(child)
                else:
                    self._name(place, name)
                    self.value(child)
            self._before += "}"

    def _list(self, array: pa.ListArray) -> None:
        column, first, count = _bounds(array)
        with self._inside(column, _NULL, b"[", self._comma.encode(), b"]"):
            self.value(array.values.slice(first, count))

    def _headers(self, array: pa.ListArray) -> None:
        if not self._compact and not array.null_count:
            # Their children are those of the whole array, whatever part of it this is.
            keys, values = (_strings(array.values.field(place)) for place in range(2))
            items = len(array.values)
            self._add(pairs(array.buffers()[1], items, keys, values, array.offset))
            return
        column, first, count = _bounds(array)
        with self._inside(column, _NULL, b"[", self._comma.encode(), b"]"):
            pair = array.values.slice(first, count)
            with self._present(pair):
                self._pair(pair.field(0), pair.field(1))

    def _pair(self, key: pa.Array, value: pa.Array) -> None:
        self._before += "["
        self.value(key)
        self._before += self._comma
        self.value(value)
        self._before += "]"

    def _map(self, array: pa.MapArray) -> None:
        column, first, count = _bounds(array)
        keys, items = array.keys.slice(first, count), array.items.slice(first, count)
        is_object = pa.types.is_string(array.type.key_type)
        if is_object and _has_twins(array, keys, first):
            self._plain(array)
            return
        ends = (b"{", b"}") if is_object else (b"[", b"]")
        with self._inside(column, _NULL, ends[0], self._comma.encode(), ends[1]):
            if is_object:
                self.value(keys)
                self._before += self._colon
                self.value(items)
            else:
                self._pair(keys, items)

    def _dictionary(self, array: pa.DictionaryArray) -> None:
        values = array.dictionary
        if pa.types.is_string(values.type) and len(values) <= _MOST_NAMES and not values.null_count:
            texts = values.to_pylist()
            shown = [dumped(text, compact=self._compact).encode() for text in texts]
            self._add(_numbers(array.indices), shown)
        else:
            self.value(array.dictionary_decode())

    # -- single values -------------------------------------------------------------------------

    def _null(self, _: pa.Array) -> None:
        self._before += NULL

    def _string(self, array: pa.Array) -> None:
        self._add(_strings(array))

    def _fixed(self, array: pa.Array) -> None:
        if not self._compact and array.type.byte_width == kafka_uuid.SIZE:
            self._quoted(array, _kafka_uuids(array))
        else:
            self._string(array.cast(pa.binary()))

    def _boolean(self, array: pa.Array) -> None:
        self._add(_numbers(array), [text.encode() for text in BOOLEANS])

    def _integer(self, array: pa.Array) -> None:
        if pa.types.is_uint64(array.type) and _beyond_signed(array):
            self._raw(array, array.cast(pa.string()))
        else:
            self._add(_numbers(array))

    def _float(self, array: pa.Array) -> None:
        self._raw(array, _floats(pc.fill_null(array.cast(pa.float64()), 0.0), self._compact))

    def _as_text(self, array: pa.Array) -> None:
        self._quoted(array, array.cast(pa.string()))

    def _moment(self, array: pa.Array) -> None:
        texts = _moments(array)
        if texts is None:
            self._plain(array)
        else:
            self._quoted(array, texts, "Z" if array.type.tz else "")

    def _uuid(self, array: pa.ExtensionArray) -> None:
        self._quoted(array, _uuids(array.storage))

    def _plain(self, array: pa.Array) -> None:
        """Add values of which objects are made first."""
        values = json_values(array, messages=not self._compact)
        shown = pa.array([dumped(value, compact=self._compact) for value in values], pa.string())
        self._add(_strings(shown), (), LineForm.RAW)

    def _raw(self, array: pa.Array, texts: pa.Array) -> None:
        """Add texts where the values that they are of are not null."""
        with self._present(array):
            self._add(_strings(texts), (), LineForm.RAW)

    def _quoted(self, array: pa.Array, texts: pa.Array, suffix: str = "") -> None:
        """Add texts, of which JSON escapes nothing, as ``_raw`` does."""
        with self._present(array):
            self._before += '"'
            self._add(_strings(texts), (), LineForm.RAW)
            self._before += f'{suffix}"'


def _kinds(
    plan: JsonPlan,
) -> Sequence[tuple[Callable[[pa.DataType], bool], Callable[[Any], None]]]:
    types = pa.types

    def is_text(kind: pa.DataType) -> bool:
        views = types.is_binary_view(kind) or types.is_string_view(kind)
        return bool(views or types.is_binary(kind) or types.is_string(kind))

    def is_text_in_arrow(kind: pa.DataType) -> bool:
        return bool(types.is_decimal(kind) or types.is_date(kind) or types.is_time(kind))

    return (
        (lambda kind: bool(kind == pa.uuid()), plan._uuid),
        (types.is_null, plan._null),
        (types.is_integer, plan._integer),
        (is_text, plan._string),
        (types.is_dictionary, plan._dictionary),
        (types.is_struct, plan._struct),
        (types.is_list, plan._list),
        (types.is_map, plan._map),
        (types.is_boolean, plan._boolean),
        (types.is_floating, plan._float),
        (types.is_timestamp, plan._moment),
        (is_text_in_arrow, plan._as_text),
        (types.is_fixed_size_binary, plan._fixed),
    )


# -- columns of the core from arrays ---------------------------------------------------------------


def _strings(array: pa.Array) -> LineColumn:
    validity, main, *data = array.buffers()
    binary = pa.types.is_binary(array.type) or pa.types.is_string(array.type)
    layout = Layout.BINARY if binary else Layout.VIEW
    present = [b"" if item is None else item for item in data]
    if main is None:  # no rows
        main = bytes(16)
    return strings(layout, main, present, array.offset, validity)


def _numbers(array: pa.Array) -> LineColumn:
    array = array if array.type == _INT64 else array.cast(_INT64)
    validity, integers = array.buffers()
    return numbers(b"" if integers is None else integers, array.offset, validity)


def _bounds(array: pa.Array) -> tuple[LineColumn, int, int]:
    """Return the column of lists or maps, and the first and the number of the items they have."""
    offsets = array.offsets
    first, last = offsets[0].as_py(), offsets[-1].as_py()
    if not first:
        validity, main = array.buffers()[:2]
        return nested(validity, main, last, array.offset), 0, last
    validity = array.is_valid().buffers()[1] if array.null_count else None
    main = pc.subtract(offsets, pa.scalar(first, offsets.type)).buffers()[1]
    return nested(validity, main, last - first), first, last - first


def _present_where(array: pa.Array) -> pa.Array:
    """Return an array that has nulls where there is nothing in a field of a message."""
    is_list = pa.types.is_list(array.type)
    sizes = pc.list_value_length(array) if is_list else pc.binary_length(array.cast(pa.binary()))
    some = pc.greater(pc.fill_null(sizes, 0), 0)
    return pc.if_else(some, some, pa.scalar(None, pa.bool_()))


def _has_twins(array: pa.MapArray, keys: pa.Array, first: int) -> bool:
    """Return whether a map has a key twice, of which an object has the last value."""
    ends = array.offsets.to_numpy() - first
    rows = np.repeat(np.arange(len(array)), np.diff(ends))
    found = pc.dictionary_encode(keys)
    pairs_of = rows * len(found.dictionary) + found.indices.to_numpy()
    return bool(pc.count_distinct(pa.array(pairs_of)).as_py() < len(keys))


# -- texts in columns ------------------------------------------------------------------------------


def _beyond_signed(array: pa.Array) -> bool:
    most = pc.max(array).as_py()
    return most is not None and most >= 1 << 63


def _text(data: Any, offsets: Any) -> pa.Array:
    """Return an array of strings, given their bytes and where each of them begins."""
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)


def _floats(array: pa.Array, compact: bool) -> pa.Array:
    """Return the JSON of numbers, of which none is null."""
    values = array.to_numpy(zero_copy_only=False)
    finite = bool(np.isfinite(values).all())
    if compact and finite:
        import orjson

        text = orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY)
    else:
        shown = values.tolist() if finite else [number(value) for value in values.tolist()]
        text = dumped(shown, compact=compact).replace(" ", "").encode()
    items = np.frombuffer(text, np.uint8)[1:-1]
    commas = np.flatnonzero(items == ord(","))
    ends = np.append(commas, len(items)) - np.arange(len(commas) + 1)
    return _text(items[items != ord(",")], np.insert(ends, 0, 0))


def _moments(array: pa.Array) -> pa.Array | None:
    """Return times in ISO 8601 without their zone; None for what is in no zone that is known."""
    kind = array.type
    plain = array.view(pa.timestamp(kind.unit))
    limits = pc.min_max(plain.cast(pa.timestamp("s"), safe=False).cast(_INT64)).as_py()
    lowest, highest = limits["min"], limits["max"]
    if lowest is None:
        lowest = highest = 0
    if kind.tz not in (None, "UTC") or lowest < _SECONDS[0] or highest > _SECONDS[1]:
        return None
    texts = plain.cast(pa.string())
    validity, offsets, data = texts.buffers()
    changed = pa.py_buffer(b"" if data is None else data.to_pybytes().replace(b" ", b"T"))
    buffers = [validity, offsets, changed]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers, offset=texts.offset)


def _bytes_of(array: pa.Array) -> Any:
    """Return the bytes of values of a fixed size, a row each; those of a null are any."""
    width = array.type.byte_width
    data = array.buffers()[1]
    if data is None:
        return np.zeros((len(array), width), np.uint8)
    found = np.frombuffer(data, np.uint8, width * len(array), width * array.offset)
    return found.reshape(len(array), width)


def _rows(texts: Any) -> pa.Array:
    """Return an array of strings of the same size."""
    count, width = texts.shape
    return _text(np.ascontiguousarray(texts), np.arange(count + 1) * width)


def _uuids(array: pa.Array) -> pa.Array:
    digits = _HEXADECIMAL[_bytes_of(array)].view(np.uint8)
    return _rows(np.insert(digits, _HYPHENS, ord("-"), axis=1))


def _kafka_uuids(array: pa.Array) -> pa.Array:
    """Return the texts that ``kafka_uuid.bytes_to_text`` makes."""
    data = np.pad(_bytes_of(array), ((0, 0), (0, -kafka_uuid.SIZE % 3))).astype(np.uint32)
    three = data.reshape(len(data), -1, 3)
    bits = three[:, :, 0] << 16 | three[:, :, 1] << 8 | three[:, :, 2]
    places = bits[:, :, None] >> np.array([18, 12, 6, 0], np.uint32) & 63
    return _rows(_BASE64[places.reshape(len(data), -1)][:, : kafka_uuid.CHARACTERS])
