"""A badge that says how many levels a decoder passes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Final

from kafkaspec.conformance.levels import CaseLevel
from kafkaspec.conformance.runner import LevelState, LevelSums
from kafkaspec.output.atomic import file_aside, writing

_LABEL: Final = "kafkaspec"
_ENDPOINT: Final = ".json"
"""Suffix of a file for the endpoint of shields.io, which draws the badge itself."""
BADGES: Final = (".svg", _ENDPOINT)
"""Suffixes of badges."""
_COLOURS: Final = {True: "#2c7a3f", False: "#b3541e"}
_NAMES: Final = {True: "green", False: "orange"}
_A_LETTER: Final = 6.5
_SIDE: Final = 8
_SVG: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img"'
    ' aria-label="{text}">\n<title>{title}</title>\n'
    '<rect width="{left}" height="20" fill="#444"/>\n'
    '<rect x="{left}" width="{right}" height="20" fill="{colour}"/>\n'
    '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif"'
    ' font-size="11">\n<text x="{first}" y="14">{label}</text>\n'
    '<text x="{second}" y="14">{message}</text>\n</g>\n</svg>\n'
)


def write_badge(path: Path, levels: Mapping[CaseLevel, LevelSums]) -> None:
    """Write a badge, as SVG or, to a file named ``.json``, for the endpoint of shields.io.

    Raises:
        KafkaSpecError: ``unreadable``: it cannot be written.
    """
    passed = [level for level, sums in levels.items() if sums["state"] is LevelState.PASSED]
    bad = (LevelState.FAILED, LevelState.INCOMPLETE)
    good = bool(passed) and all(sums["state"] not in bad for sums in levels.values())
    message = f"{len(passed)} of {len(levels)} levels"
    made = _endpoint if path.suffix == _ENDPOINT else _picture
    with writing(path), file_aside(path, replace=True) as out:
        out.write(made(message, ", ".join(passed) or "no level", good).encode())


def _endpoint(message: str, _: str, good: bool) -> str:
    content = {"schemaVersion": 1, "label": _LABEL, "message": message, "color": _NAMES[good]}
    return json.dumps(content) + "\n"


def _picture(message: str, title: str, good: bool) -> str:
    left, right = (round(len(text) * _A_LETTER) + 2 * _SIDE for text in (_LABEL, message))
    text = f"{_LABEL}: {message}"
    return _SVG.format(
        width=left + right, left=left, right=right, colour=_COLOURS[good], first=left / 2,
        second=left + right / 2, label=_LABEL, message=message, text=text,
        title=escape(f"{text}: {title}"),
    )  # fmt: skip
