"""Emit ``generated/python``: typed model, parsers and serializers in plain Python."""

from __future__ import annotations

from pathlib import Path

from tools.specgen.model import Model
from tools.specgen.output import Output
from tools.specgen.python import headers, parse, records, runtime, serialize
from tools.specgen.python import model as model_emitter


def emit(model: Model) -> list[Output]:
    """Return all modules of the target ``python``."""
    return [
        _runtime(model),
        *model_emitter.emit(model),
        *parse.emit(model),
        *serialize.emit(model),
        *records.emit(model),
        *headers.emit(model),
    ]


def _runtime(model: Model) -> Output:
    text = Path(runtime.__file__).read_text(encoding="utf-8")
    return Output("python/runtime.py", tuple(spec.id for spec in model.specs), text)
