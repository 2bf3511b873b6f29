"""Emit ``generated/messages``: the columns and the program of each message, as JSON."""

from __future__ import annotations

import json
from typing import Any

from kafkaspec.messages.tables import (
    HIGHEST,
    LOWEST,
    WIDTH,
    ColumnLayout,
    MessageColumns,
)
from tools.specgen.messages.derive import derive
from tools.specgen.model import Model
from tools.specgen.output import Output


def emit(model: Model) -> list[Output]:
    """Return a table for each message of the specification."""
    return [
        Output(f"messages/{spec.id}.json", (spec.id,), table(derive(model, spec.root)))
        for spec in model.specs
        if spec.is_message
    ]


def table(message: MessageColumns) -> str:
    """Return the text of a table: a line for each column and for each line of the program."""
    program = message.program
    rows = [program[at : at + WIDTH] for at in range(0, len(program), WIDTH)]
    lines = ",\n".join(f"    {json.dumps(_row(row))}" for row in rows)
    columns = _column(message.root, 2)
    return (
        f'{{\n  "key": {json.dumps(message.key)},\n  "columns": {columns},\n'
        f'  "program": [\n{lines}\n  ]\n}}\n'
    )


def _row(row: tuple[int, ...]) -> list[int | None]:
    *numbers, low, high = map(int, row)
    return [*numbers, None if low == LOWEST else low, None if high == HIGHEST else high]


def _column(column: ColumnLayout, depth: int) -> str:
    made: dict[str, Any] = {"name": column.name, "kind": column.kind.name}
    for name in ("size", "signed", "nullable", "filled", "default", "enum", "paths", "known"):
        value = getattr(column, name)
        if value and value != ((),):
            made[name] = value
    if column.paths == ((),):
        made["paths"] = [[]]
    text = json.dumps(made)
    if not column.children:
        return text
    blanks = " " * (depth + 2)
    children = ",\n".join(blanks + _column(child, depth + 2) for child in column.children)
    return f'{text[:-1]}, "children": [\n{children}\n{" " * depth}]}}'
