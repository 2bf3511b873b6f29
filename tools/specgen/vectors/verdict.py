"""Decide by the rules of the specification about bytes whose every field is known.

This is not a parser: it follows a tree that was built field by field and only compares numbers, so
that its verdict does not come from any of the codecs. If the tree does not say what a reader
would see after a broken field, it raises ``Undecided`` and no vector is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tools.specgen.evaluate import satisfies
from tools.specgen.expression import literal
from tools.specgen.model import IntegerType
from tools.specgen.vectors.encode import checksum
from tools.specgen.vectors.tree import Node, Shape, Structure

TRUNCATED, OVERRUN = "truncated", "overrun"
INVALID, TRAILING, MISMATCH = "invalid_value", "trailing_bytes", "checksum_mismatch"


class Undecided(Exception):  # noqa: N818
    """The rules alone do not say what happens."""


@dataclass(frozen=True)
class Verdict:
    """Accepted up to ``offset`` if ``reason`` is empty, else refused at ``path`` and ``offset``."""

    reason: str
    path: str
    offset: int


class _RefusedError(Exception):
    def __init__(self, reason: str, path: str, offset: int) -> None:
        super().__init__(reason)
        self.verdict = Verdict(reason, path, offset)


def decide(structure: Structure, total: int, *, verify: bool = False) -> Verdict:
    """Return the verdict on the first ``total`` bytes of a buffer that begins with the structure.

    Args:
        structure: what the bytes are made from.
        total: how many there are.
        verify: whether parsers compare checksums.

    Raises:
        Undecided: it depends on bytes that the tree does not know.
    """
    try:
        end = _structure(structure, total, TRUNCATED)
        if verify:
            _verify(structure, whole=end == len(structure.data))
        return Verdict("", "", end)
    except _RefusedError as refused:
        return refused.verdict


def _verify(structure: Structure, *, whole: bool) -> None:
    """Refuse the first stored checksum that is not that of the bytes, inner structures first."""
    for node in structure.nodes:
        for inner in (node, *node.items[: node.count]):
            if inner.inner is not None:
                _verify(inner.inner, whole=whole)
    for node in structure.nodes:
        derive = node.field.derive
        if derive is None or not derive.function.is_checksum:
            continue
        if not whole:
            raise Undecided
        covered = structure.data[structure.start_of(derive.first) - structure.start :]
        if node.value != checksum(derive.function, covered):
            raise _RefusedError(MISMATCH, node.path, node.start)


def _structure(structure: Structure, limit: int, short: str) -> int:
    """Return the position after the structure."""
    for peek in structure.type.peek_instances:
        assert isinstance(peek.type, IntegerType)
        start = structure.start + (literal(peek.position) or 0)
        data = structure.data[start - structure.start :][: peek.type.size]
        path = f"{structure.path}/{peek.id}"
        if start + peek.type.size > limit:
            raise _RefusedError(short, path, start)
        order: Literal["little", "big"] = "little" if peek.type.little else "big"
        value = int.from_bytes(data, order, signed=peek.type.signed)
        if not satisfies(peek.valid, value, structure.scope):
            raise _RefusedError(INVALID, path, start)
        if value != structure.scope[peek.id]:
            raise Undecided
    position = structure.start
    group: Node | None = None
    for node in structure.nodes:
        if node.start != position and node.shape is not Shape.GUARD:
            raise Undecided
        if node.shape is Shape.BITS:
            group = node if node.data else group
            assert group is not None
            if group.end > limit:
                raise _RefusedError(short, group.path, group.start)
            position = max(position, node.end)
        else:
            position = _node(structure, node, position, limit, short)
        _valid(structure, node, position, limit)
    return position


def _valid(structure: Structure, node: Node, position: int, limit: int) -> None:
    if node.field.valid is None or node.shape is Shape.GUARD:
        return
    stream = {"pos": position, "size": limit, "eof": position == limit}
    if not satisfies(node.field.valid, node.value, {**structure.scope, "_io": stream}):
        raise _RefusedError(INVALID, node.path, node.start)


def _node(structure: Structure, node: Node, position: int, limit: int, short: str) -> int:
    match node.shape:
        case Shape.ATOM:
            if node.fault == short or node.end > limit:
                raise _RefusedError(short, node.path, node.start)
            if node.fault:
                raise _RefusedError(node.fault, node.path, node.start)
            return node.end
        case Shape.REST:
            return limit
        case Shape.GUARD:
            stream = {"pos": position, "size": limit, "eof": position == limit}
            if not satisfies(node.field.valid, b"", {**structure.scope, "_io": stream}):
                raise _RefusedError(TRAILING, node.path, position)
            return position
        case Shape.BYTES:
            return _sized_end(node, limit, short)
        case Shape.SIZED:
            end = _sized_end(node, limit, short)
            assert node.inner is not None
            _structure(node.inner, end, OVERRUN)
            return end
        case Shape.STRUCTURE:
            assert node.inner is not None
            return _structure(node.inner, limit, short)
        case Shape.ARRAY:
            return _array(node, limit, short)
        case _:
            raise Undecided


def _sized_end(node: Node, limit: int, short: str) -> int:
    if node.size < 0:
        raise _RefusedError(INVALID, node.path, node.start)
    if node.start + node.size > limit:
        raise _RefusedError(short, node.path, node.start)
    if node.size != len(node.data):
        raise Undecided
    return node.start + node.size


def _array(node: Node, limit: int, short: str) -> int:
    """Follow the items one after the other; ``node.items`` has one more than the bytes."""
    position = node.start
    if node.count is not None and node.count < 0:
        return position  # null
    by, last = node.field.ascending, None
    for index, item in enumerate(node.items):
        if index == node.count or (node.count is None and position >= limit):
            return position
        if index == len(node.items) - 1 and limit > item.start + _first_atom(item):
            raise Undecided
        holder = item.inner
        if holder is None:
            position = _node_alone(item, limit, short)
        elif item.shape is Shape.SIZED:
            raise Undecided
        else:
            position = _structure(holder, limit, short)
            if by is not None:
                if last is not None and holder.scope[by] <= last:
                    raise _RefusedError(INVALID, f"{item.path}/{by}", item.start)
                last = holder.scope[by]
    raise Undecided


def _node_alone(item: Node, limit: int, short: str) -> int:
    if item.shape is not Shape.ATOM:
        raise Undecided
    if item.end > limit:
        raise _RefusedError(short, item.path, item.start)
    return item.end


def _first_atom(item: Node) -> int:
    """Return the number of bytes with which the first field of the item is incomplete."""
    while item.inner is not None and item.inner.nodes:
        item = item.inner.nodes[0]
    return max(len(item.data) - 1, 0)
