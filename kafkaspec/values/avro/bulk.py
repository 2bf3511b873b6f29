"""Plans that read many payloads at once into stored types of columns.

A plan gives the same values as the functions of ``compiling``, or notes a row as bad. Schemas
without a plan: recursive ones, and arrays of items that take no bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafkaspec.values.avro.buffers import AvroRows, Numbers, Payloads
from kafkaspec.values.avro.compiling import Sizes, known_default, symbols_of
from kafkaspec.values.avro.resolution import Resolution
from kafkaspec.values.avro.schema import AvroKind, AvroNode
from kafkaspec.values.avro.targets import DAY, AvroTarget, DefaultError

BulkPlan: TypeAlias = Callable[[Payloads, AvroRows, Numbers], tuple[pa.Array, Numbers]]
"""Reads some rows from some positions: returns stored values (no matter what if they are left out)
and the positions after them."""

_STEPS = 64
"""Items of an array that are read at once for however few rows; above, one by one is faster."""
_FEW = 256
_PLANS = 20_000
"""Plans of one schema: types within types can multiply without end."""
_NOTHING = pa.nulls(0)


class NoPlanError(Exception):
    """A schema is read row by row."""


class Planner:
    def __init__(self, reader: AvroNode, depth: int) -> None:
        self._depth = depth
        self._resolution = Resolution(reader)
        self._sizes = Sizes()
        self._path: set[int] = set()
        self._made = 0

    def plan(self, writer: AvroNode, target: AvroTarget | None) -> BulkPlan:
        """Return a plan for a type in the bytes; without a target, values are left out."""
        self._made += 1
        if id(writer) in self._path or self._made > _PLANS:
            raise NoPlanError
        self._path.add(id(writer))
        try:
            return self._plan(writer, target)
        finally:
            self._path.discard(id(writer))

    def _plan(self, writer: AvroNode, target: AvroTarget | None) -> BulkPlan:
        if target is not None and target.text:
            raise NoPlanError
        if writer.kind == AvroKind.UNION:
            if not writer.children:
                raise NoPlanError
            return _branches([self.plan(child, target) for child in writer.children], target)
        if target is not None:
            if self._resolution.problem(writer, target.node):
                return _refusing(target)
            if target.node.kind == AvroKind.UNION:
                return self._into_union(writer, target)
        match writer.kind:
            case AvroKind.RECORD:
                return self._record(writer, target)
            case AvroKind.ARRAY | AvroKind.MAP:
                return self._items(writer, target)
        return _leaf(writer, target)

    def _into_union(self, writer: AvroNode, target: AvroTarget) -> BulkPlan:
        number = self._resolution.branch(writer, target.node)
        assert number is not None
        assert target.column is not None
        stored = target.column.stored
        if writer.kind == AvroKind.NULL:
            return lambda payloads, rows, at: (pa.nulls(len(rows), stored), at)
        read = self._plan(writer, target.child(number))
        if len(target.column.children) == 1:
            return read
        place = [node for node in target.node.children if node.kind != AvroKind.NULL].index(
            target.node.children[number]
        )

        def read_branch(
            payloads: Payloads, rows: AvroRows, at: Numbers
        ) -> tuple[pa.Array, Numbers]:
            values, at = read(payloads, rows, at)
            children = [
                values if index == place else pa.nulls(len(rows), item.type)
                for index, item in enumerate(stored)
            ]
            return pa.StructArray.from_arrays(children, fields=list(stored)), at

        return read_branch

    def _record(self, writer: AvroNode, target: AvroTarget | None) -> BulkPlan:
        if not self._depth:
            raise NoPlanError
        self._depth -= 1
        try:
            return self._fields(writer, target)
        finally:
            self._depth += 1

    def _fields(self, writer: AvroNode, target: AvroTarget | None) -> BulkPlan:
        if target is None:
            skipped = [self.plan(item.node, None) for item in writer.fields]
            return _skipping(skipped)
        sources = self._resolution.sources(writer, target.node)
        wanted = {
            sources[item.name]: i
            for i, item in enumerate(target.node.fields)
            if item.name in sources
        }
        fields: list[tuple[int | None, BulkPlan]] = []
        for number, field in enumerate(writer.fields):
            place = wanted.get(number)
            child = None if place is None else target.child(place)
            fields.append((place, self.plan(field.node, child)))
        assert target.column is not None
        stored = target.column.stored
        defaults: dict[int, pa.Array] = {}
        cost = 0
        for number, field in enumerate(target.node.fields):
            if field.name not in sources:
                try:
                    value, taken = known_default(field, target.child(number))
                except DefaultError:
                    return _refusing(target)
                defaults[number] = pa.array([value], stored[number].type)
                cost += taken

        def read(payloads: Payloads, rows: AvroRows, at: Numbers) -> tuple[pa.Array, Numbers]:
            payloads.take(cost * len(rows))
            children: list[pa.Array] = [_NOTHING] * stored.num_fields
            for place, read_field in fields:
                values, at = read_field(payloads, rows, at)
                if place is not None:
                    children[place] = values
            for place, value in defaults.items():
                children[place] = value.take(pa.array(np.zeros(len(rows), np.int8)))
            if not children:
                return pa.array([{}] * len(rows), stored), at
            return pa.StructArray.from_arrays(children, fields=list(stored)), at

        return read

    def _items(self, writer: AvroNode, target: AvroTarget | None) -> BulkPlan:
        (item,) = writer.children
        least = self._sizes.least(item)
        keyed = writer.kind == AvroKind.MAP
        if not least and not keyed:
            raise NoPlanError
        read = self.plan(item, None if target is None else target.child(0))
        cost = 0 if target is None else target.item_cost
        loop = _Items(read, least + keyed, cost, keyed, target is not None)
        if target is None:
            return lambda payloads, rows, at: (_NOTHING, loop.read(payloads, rows, at)[3])
        assert target.column is not None
        stored = target.column.stored
        inner = target.column.children[0].stored

        def read_items(payloads: Payloads, rows: AvroRows, at: Numbers) -> tuple[pa.Array, Numbers]:
            keys, values, owners, at = loop.read(payloads, rows, at)
            order = pa.array(np.argsort(owners, kind="stable"))
            child = pa.concat_arrays(values).take(order) if values else pa.array([], inner)
            if keyed:
                names = pa.concat_arrays(keys).take(order) if keys else pa.array([], pa.string())
                _spoil_repeated(payloads, rows, names, np.sort(owners))
                child = pa.StructArray.from_arrays(
                    [names, child], fields=[stored.key_field, stored.item_field]
                )
            offsets = np.zeros(len(rows) + 1, np.int32)
            np.cumsum(np.bincount(owners, minlength=len(rows)), out=offsets[1:])
            buffers = [None, pa.py_buffer(offsets)]
            return pa.Array.from_buffers(stored, len(rows), buffers, children=[child]), at

        return read_items


class _Items:
    """Reads items of arrays and maps: the first of all rows, the second of all rows, and so on."""

    def __init__(self, read: BulkPlan, least: int, cost: int, keyed: bool, kept: bool) -> None:
        self._read = read
        self._least = least
        self._cost = cost
        self._keyed = keyed
        self._kept = kept

    def read(
        self, payloads: Payloads, rows: AvroRows, at: Numbers
    ) -> tuple[list[pa.Array], list[pa.Array], Numbers, Numbers]:
        """Return keys, values, the row of each, and the positions after all."""
        at = at.copy()
        left = np.zeros(len(rows), np.int64)
        live = np.arange(len(rows))
        keys: list[pa.Array] = []
        values: list[pa.Array] = []
        owners: list[Numbers] = []
        steps = 0
        while True:
            self._count(payloads, rows, at, left, live[left[live] == 0])
            live = live[(left[live] > 0) & ~payloads.bad[rows.index[live]]]
            if not len(live):
                break
            some = rows.some(live)
            steps += 1
            if steps > _STEPS and len(live) < _FEW:
                payloads.bad[some.index] = True
                at[live] = some.ends
                break
            payloads.take(self._cost * len(live))
            place = at[live]
            if self._keyed:
                begin, place = payloads.lengths(some, place)
                if self._kept:
                    keys.append(payloads.texts(some, begin, place))
            found, at[live] = self._read(payloads, some, place)
            left[live] -= 1
            if self._kept:
                values.append(found)
                owners.append(live)
        return keys, values, np.concatenate(owners) if owners else live, at

    def _count(
        self, payloads: Payloads, rows: AvroRows, at: Numbers, left: Numbers, which: Numbers
    ) -> None:
        """Read how many items the next block of some rows has."""
        if not len(which):
            return
        some = rows.some(which)
        counts, place = payloads.longs(some, at[which])
        sized = np.flatnonzero(counts < 0)
        if len(sized):
            sizes, place[sized] = payloads.longs(some.some(sized), place[sized])
            payloads.spoil(some.some(sized), sizes < 0)
            counts[sized] = -counts[sized]
        wrong = (counts < 0) | (counts > (some.ends - place) // self._least)
        if payloads.spoil(some, wrong):
            counts[wrong] = 0
        counts[payloads.count(some, counts)] = 0
        left[which] = counts
        at[which] = place


def _spoil_repeated(payloads: Payloads, rows: AvroRows, keys: pa.Array, owners: Numbers) -> None:
    """Note rows with a key twice as bad: of those the last value counts."""
    codes = np.asarray(keys.dictionary_encode().indices).astype(np.int64)
    names = codes + owners * (len(keys) + 1)
    found, first = np.unique(names, return_index=True)
    if len(found) < len(names):
        again = np.ones(len(names), np.bool_)
        again[first] = False
        payloads.bad[rows.index[owners[again]]] = True


def _refusing(target: AvroTarget) -> BulkPlan:
    assert target.column is not None
    stored = target.column.stored

    def refuse(payloads: Payloads, rows: AvroRows, at: Numbers) -> tuple[pa.Array, Numbers]:
        payloads.bad[rows.index] = True
        return pa.nulls(len(rows), stored), rows.ends

    return refuse


def _skipping(fields: list[BulkPlan]) -> BulkPlan:
    def skip(payloads: Payloads, rows: AvroRows, at: Numbers) -> tuple[pa.Array, Numbers]:
        payloads.count(rows, 1)
        for field in fields:
            _, at = field(payloads, rows, at)
        return _NOTHING, at

    return skip


def _branches(plans: list[BulkPlan], target: AvroTarget | None) -> BulkPlan:
    def read(payloads: Payloads, rows: AvroRows, at: Numbers) -> tuple[pa.Array, Numbers]:
        numbers, at = payloads.longs(rows, at)
        wrong = (numbers < 0) | (numbers >= len(plans))
        if payloads.spoil(rows, wrong):
            numbers[wrong] = 0
        parts: list[pa.Array] = []
        places: list[Numbers] = []
        after = at.copy()
        for number, plan in enumerate(plans):
            which = np.flatnonzero(numbers == number)
            if len(which) == len(rows):
                return plan(payloads, rows, at)
            if len(which):
                values, after[which] = plan(payloads, rows.some(which), at[which])
                parts.append(values)
                places.append(which)
        if target is None or not parts:
            empty = pa.null() if target is None or target.column is None else target.column.stored
            return pa.array([], empty), after
        order = np.empty(len(rows), np.int64)
        order[np.concatenate(places)] = np.arange(len(rows))
        return pa.concat_arrays(parts).take(pa.array(order)), after

    return read


def _leaf(writer: AvroNode, target: AvroTarget | None) -> BulkPlan:
    match writer.kind:
        case AvroKind.NULL:
            return lambda payloads, rows, at: (pa.nulls(len(rows)), at)
        case AvroKind.BOOLEAN:
            return _boolean
        case AvroKind.INT | AvroKind.LONG:
            return _integer(writer, target)
        case AvroKind.FLOAT | AvroKind.DOUBLE:
            return _float(writer, target)
        case AvroKind.ENUM:
            return _enumeration(writer, target)
        case AvroKind.FIXED:
            return _fixed(writer, target)
    return _text(target)


def _boolean(payloads: Payloads, rows: AvroRows, at: Numbers) -> tuple[pa.Array, Numbers]:
    values, at = payloads.booleans(rows, at)
    return pa.array(values), at


def _integer(writer: AvroNode, target: AvroTarget | None) -> BulkPlan:
    wide = writer.kind == AvroKind.LONG
    kind = writer.kind if target is None else target.node.kind
    logical = None if target is None else target.node.logical
    day = None if logical is None else DAY.get(logical)
    form = {
        AvroKind.INT: np.int32,
        AvroKind.LONG: np.int64,
        AvroKind.FLOAT: np.float32,
        AvroKind.DOUBLE: np.float64,
    }[kind]
    bits = {AvroKind.FLOAT: np.uint32, AvroKind.DOUBLE: np.uint64}.get(kind, form)

    def read(payloads: Payloads, rows: AvroRows, at: Numbers) -> tuple[pa.Array, Numbers]:
        numbers, at = payloads.longs(rows, at) if wide else payloads.ints(rows, at)
        if day is not None:
            payloads.spoil(rows, (numbers < 0) | (numbers >= day))
        return pa.array(numbers.astype(form).view(bits)), at

    return read


def _float(writer: AvroNode, target: AvroTarget | None) -> BulkPlan:
    size, form = (4, "<u4") if writer.kind == AvroKind.FLOAT else (8, "<u8")
    widened = target is not None and target.node.kind != writer.kind

    def read(payloads: Payloads, rows: AvroRows, at: Numbers) -> tuple[pa.Array, Numbers]:
        bits: npt.NDArray[np.generic] = payloads.words(at, form)
        if widened:
            bits = bits.view(np.float32).astype(np.float64).view(np.uint64)
        return pa.array(bits), payloads.moved(rows, at + size)

    return read


def _enumeration(writer: AvroNode, target: AvroTarget | None) -> BulkPlan:
    symbols = [0] * len(writer.symbols) if target is None else symbols_of(writer, target)
    table = np.array(
        [-1 if isinstance(item, LookupError) else item for item in symbols] + [-1], np.int32
    )

    def read(payloads: Payloads, rows: AvroRows, at: Numbers) -> tuple[pa.Array, Numbers]:
        numbers, at = payloads.longs(rows, at)
        known = (numbers >= 0) & (numbers < len(symbols))
        values = table[np.where(known, numbers, -1)]
        if payloads.spoil(rows, values < 0):
            values = np.maximum(values, 0)
        return pa.array(values), at

    return read


def _fixed(writer: AvroNode, target: AvroTarget | None) -> BulkPlan:
    size = writer.size
    decimal = target is not None and target.leaf() is not None
    if target is not None and (not size or not pa.types.is_fixed_size_binary(_stored(target))):
        raise NoPlanError
    convert = _decimal(target) if target is not None and decimal else None

    def read(payloads: Payloads, rows: AvroRows, at: Numbers) -> tuple[pa.Array, Numbers]:
        after = payloads.moved(rows, at + size)
        if target is None:
            return _NOTHING, after
        if convert is not None:
            begin = np.where(after - at == size, at, after)
            return convert(payloads, rows, begin, after), after
        raw = np.ascontiguousarray(payloads.bytes(at, size))
        buffers = [None, pa.py_buffer(raw)]
        return pa.Array.from_buffers(pa.binary(size), len(rows), buffers), after

    return read


def _text(target: AvroTarget | None) -> BulkPlan:
    if target is None:
        return lambda payloads, rows, at: (_NOTHING, payloads.lengths(rows, at)[1])
    text = target.node.kind == AvroKind.STRING
    convert = _decimal(target) if target.leaf() is not None else None

    def read(payloads: Payloads, rows: AvroRows, at: Numbers) -> tuple[pa.Array, Numbers]:
        begin, end = payloads.lengths(rows, at)
        if convert is not None:
            return convert(payloads, rows, begin, end), end
        if text:
            return payloads.texts(rows, begin, end), end
        return payloads.slices(begin, end), end

    return read


def _stored(target: AvroTarget) -> pa.DataType:
    assert target.column is not None
    return target.column.stored


def _decimal(target: AvroTarget) -> Callable[[Payloads, AvroRows, Numbers, Numbers], pa.Array]:
    stored = _stored(target)
    if stored.byte_width != 16:
        raise NoPlanError
    most = 10**target.node.precision
    high_most, low_most = np.int64(most >> 64), np.uint64(most & (1 << 64) - 1)

    def read(payloads: Payloads, rows: AvroRows, begin: Numbers, end: Numbers) -> pa.Array:
        length = end - begin
        wrong = length > 16
        short = np.minimum(length, 8)
        low = payloads.words(end - 8, ">u8").astype(np.int64)
        high = payloads.words(end - 16, ">u8").astype(np.int64)
        rest = np.clip(length - 8, 0, 8)
        # A shift by 64 bits is none in C.
        low = np.where(short == 0, 0, low << ((8 - short) * 8 & 63) >> ((8 - short) * 8 & 63))
        high = np.where(
            rest == 0, low >> 63, high << ((8 - rest) * 8 & 63) >> ((8 - rest) * 8 & 63)
        )
        bits = low.view(np.uint64)
        negative = high < 0
        size_low = np.where(negative, ~bits + np.uint64(1), bits)
        size_high = np.where(negative, ~high + (size_low == 0), high)
        wrong |= (size_high < 0) | (size_high > high_most)
        wrong |= (size_high == high_most) & (size_low >= low_most)
        payloads.spoil(rows, wrong)
        values = np.empty((len(rows), 2), np.int64)
        values[:, 0], values[:, 1] = low, high
        return pa.Array.from_buffers(stored, len(rows), [None, pa.py_buffer(values)])

    return read
