"""The samples of the page: a segment as Kafka wrote it, and a partition that is damaged."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Final

import kafkaspec as ks

RELEASE: Final = "4.4.0"
_LOGS: Final = Path(__file__).resolve().parents[2] / "tests" / "golden" / RELEASE / "logs"
_SOUND, _DAMAGED = "transactions-0", "segments-0"
_ZEROS: Final = 4096


def samples() -> dict[str, dict[str, str]]:
    """Return the files of each sample, by their paths, in base64."""
    return {
        "sound": _coded({f"{_SOUND}/{path.name}": path.read_bytes() for path in _files(_SOUND)}),
        "damaged": _coded(_damaged()),
    }


def _files(partition: str) -> list[Path]:
    return sorted(path for path in (_LOGS / partition).iterdir() if path.is_file())


def _coded(files: dict[str, bytes]) -> dict[str, str]:
    return {path: base64.b64encode(data).decode("ascii") for path, data in files.items()}


def _damaged() -> dict[str, bytes]:
    """Return a partition with a byte that changed, zeros at an end, and an end that is cut off."""
    found = {}
    logs = [path for path in _files(_DAMAGED) if path.suffix == ".log"]
    for path in _files(_DAMAGED):
        data = bytearray(path.read_bytes())
        if path == logs[0]:
            with ks.open(path) as segment:
                second = list(segment.batches())[1]
            data[second.position + second.size - 2] ^= 1
        elif path == logs[1]:
            data += bytes(_ZEROS)
        elif path == logs[-1]:
            with ks.open(path) as segment:
                last = list(segment.batches())[-1]
            del data[last.position + last.size // 2 :]
        found[f"{_DAMAGED}/{path.name}"] = bytes(data)
    return found
