"""Emit ``generated/python``: typed model, parsers and serializers in plain Python."""

from __future__ import annotations

from pathlib import Path

from tools.specgen.model import Model
from tools.specgen.output import Output
from tools.specgen.python import checksum, errors, headers, parse, records, runtime, serialize
from tools.specgen.python import model as model_emitter


def emit(model: Model) -> list[Output]:
    """Return all modules of the target ``python``."""
    return [
        *_runtime(model),
        *model_emitter.emit(model),
        *parse.emit(model),
        *serialize.emit(model),
        *(records.emit(model) if model.house.library else ()),
        *(headers.emit(model) if model.house.library else ()),
    ]


def _runtime(model: Model) -> list[Output]:
    """Return what all modules use; errors and checksums too where no library has them."""
    ids, house = tuple(spec.id for spec in model.specs), model.house
    text = Path(runtime.__file__).read_text(encoding="utf-8")
    text = text.replace("KafkaSpecError", house.error)
    text = text.replace("kafkaspec.errors", house.errors or ".errors")
    outputs = [Output("python/runtime.py", ids, text)]
    if not house.errors:
        outputs.append(Output("python/errors.py", ids, errors.text(house)))
    if not house.checksum:
        own = Path(checksum.__file__).read_text(encoding="utf-8")
        outputs.append(Output("python/checksum.py", ids, own))
    return outputs
