"""Emits ``generated/python``: typed model, parsers and serializers in plain Python."""

from __future__ import annotations

from pathlib import Path

from tools.specgen import (
    emit_python_model,
    emit_python_parse,
    emit_python_records,
    emit_python_serialize,
    python_runtime,
)
from tools.specgen.model import Model
from tools.specgen.output import Output


def emit(model: Model) -> list[Output]:
    """All modules of the target ``python``."""
    return [
        _runtime(model),
        *emit_python_model.emit(model),
        *emit_python_parse.emit(model),
        *emit_python_serialize.emit(model),
        *emit_python_records.emit(model),
    ]


def _runtime(model: Model) -> Output:
    text = Path(python_runtime.__file__).read_text(encoding="utf-8")
    return Output("python/runtime.py", tuple(spec.id for spec in model.specs), text)
