"""Draw bytes and bits for the format pages, in plain characters."""

from __future__ import annotations

from dataclasses import dataclass

from tools.specgen.facts.sizes import fixed_size
from tools.specgen.model import BitsType, Model, Type

_BYTES_A_ROW = 8
_WIDEST_CELL = 10
_LEAST_WITH_VARYING = 4


@dataclass(frozen=True)
class _Row:
    """Up to eight bytes of fixed-size fields, or one field of varying size."""

    offset: int | None
    cells: tuple[str, ...]
    """Name of the field that each byte belongs to."""
    varying: bool = False


def diagram(model: Model, type_: Type) -> list[str]:
    """Return the lines of the diagram of a type; none if there is nothing to draw."""
    if type_.fields and all(isinstance(field.type, BitsType) for field in type_.fields):
        return _bits(type_)
    rows = _rows(model, type_)
    if len([row for row in rows if not row.varying]) == 0:
        return []
    return _draw(rows)


def _rows(model: Model, type_: Type) -> list[_Row]:
    rows: list[_Row] = []
    offset: int | None = 0
    pending: list[str] = []

    def flush() -> None:
        nonlocal offset, pending
        if pending:
            rows.append(_Row(offset, tuple(pending)))
            offset = None if offset is None else offset + len(pending)
            pending = []

    for field in type_.fields:
        if field.is_guard:
            continue
        size = fixed_size(model, field)
        if size is None:
            flush()
            rows.append(_Row(offset, (field.id,), varying=True))
            offset = None
            continue
        if len(pending) + size > _BYTES_A_ROW:
            # Only a field that is longer than a row continues on the next one.
            flush()
        for _ in range(size):
            pending.append(field.id)
            if len(pending) == _BYTES_A_ROW:
                flush()
    flush()
    return rows


def _draw(rows: list[_Row]) -> list[str]:
    width = _cell_width(rows)
    bytes_a_row = max(len(row.cells) for row in rows if not row.varying)
    if any(row.varying for row in rows):
        bytes_a_row = max(bytes_a_row, _LEAST_WITH_VARYING)
    lines = [" " * 5 + "".join(f" {i:^{width}}" for i in range(bytes_a_row)).rstrip()]
    named: set[str] = set()
    above: tuple[str, ...] = ()
    for index, row in enumerate(rows):
        cells = row.cells * bytes_a_row if row.varying else row.cells
        lines.append(" " * 5 + _border(above, cells, width))
        label = f"{row.offset:>4} " if row.offset is not None else " " * 5
        if row.varying:
            lines.append(f"{label}~{row.cells[0] + ' ...':^{(width + 1) * bytes_a_row - 1}}~")
        else:
            lines.append(label + _content(rows, index, width, named))
        above = cells
    lines.append(" " * 5 + _border(above, (), width))
    return lines


def _cell_width(rows: list[_Row]) -> int:
    width = 4
    for name in {name for row in rows if not row.varying for name in row.cells}:
        longest = max(row.cells.count(name) for row in rows if not row.varying)
        width = max(width, -(-(len(name) + 1) // longest) - 1 + (longest == 1))
    return min(width, _WIDEST_CELL)


def _border(above: tuple[str, ...], below: tuple[str, ...], width: int) -> str:
    # No line between two rows of one field.
    text = "+"
    for i in range(max(len(above), len(below))):
        same = i < len(above) and i < len(below) and above[i] == below[i]
        text += (" " if same else "-") * width + "+"
    return text


def _content(rows: list[_Row], index: int, width: int, named: set[str]) -> str:
    row = rows[index]
    text = "|"
    for name in dict.fromkeys(row.cells):
        count = row.cells.count(name)
        room = (width + 1) * count - 1
        best = max(rows, key=lambda other: 0 if other.varying else other.cells.count(name))
        label = name if best is row and name not in named else ""
        if label:
            named.add(name)
        text += f"{label[:room]:^{room}}|"
    return text


def _bits(type_: Type) -> list[str]:
    widths = [field.type.width for field in type_.fields if isinstance(field.type, BitsType)]
    total = sum(widths)
    lines = [" " + "".join(f"{bit:>3}" for bit in reversed(range(total)))]
    done = 0
    for field, width in zip(type_.fields, widths, strict=True):
        marks = [" x" if done <= i < done + width else " ." for i in range(total)]
        lines.append(" " + "".join(f" {mark}" for mark in marks) + f"   {field.id}")
        done += width
    return lines
