"""Text files in ``explain``: each part with its bytes, its value and its meaning."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kafkaspec.cli.commands.explain_data import Section
from kafkaspec.cli.commands.text_files import PARSERS
from kafkaspec.cli.console import count_text
from kafkaspec.codecs.references.kaitai.positions import FieldPosition
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.checkpoints.text import Text, TextPiece, fields

_OFFSETS = {
    names.HIGH_WATERMARKS: "high watermark: first offset not known to be on all in-sync replicas",
    names.RECOVERY_POINTS: "recovery point: first offset not known to be flushed",
    names.LOG_START_OFFSETS: "log start offset: first offset that is delivered",
    names.CLEANER_OFFSETS: "first offset that compaction has not reached",
}
_EPOCHS = (("epoch", "of the leader"), ("start_offset", "first offset written in this epoch"))
_COLUMNS: dict[str, tuple[tuple[str, str], ...]] = {
    names.LEADER_EPOCHS: _EPOCHS,
    **{
        name: (("topic", "its name"), ("partition", "its number"), ("offset", meaning))
        for name, meaning in _OFFSETS.items()
    },
}
"""Columns of the entries of a checkpoint, and their meanings."""
_HEAD = (("version", "of the file"), ("count", "entries that follow"))
_METADATA = (("version", "of the file"), ("topic_id", "of the topic"))

_Part = tuple[str, TextPiece, int, str]
"""A part of a file: path, text, depth and meaning."""


def explain_text(path: Path, most: int) -> Section:
    """Return the parts of a text file with their bytes, values and meanings.

    Args:
        path: path of the file.
        most: number of entries to show, 0 for all.

    Raises:
        KafkaSpecError: ``unreadable``.
    """
    text = Text.load(path)
    problem = None
    try:
        PARSERS[path.name](text.data, file=text.file)
    except KafkaSpecError as error:
        problem = error
    shown, left = [], 0
    try:
        for part in _parts(path.name, text):
            entry = part[0].split("/")[2] if part[0].startswith("/entries/") else "0"
            if most and int(entry) >= most:
                left += part[2] == 0
            else:
                shown.append(_position(*part))
    except KafkaSpecError as error:  # a line that is not text ends the table
        problem = problem or error
    if problem is not None:
        at = problem.position or 0
        end = len(text.data)
        shown.append(FieldPosition(problem.path, at, end, None, "", "", "", "", 0, error=problem))
    note = (
        f"{count_text(left, 'more entry', 'more entries')}; --records 0 shows all" if left else ""
    )
    return Section(path.name, text.data, 0, shown, note)


def _position(path: str, piece: TextPiece, depth: int, doc: str) -> FieldPosition:
    end = piece.position + len(piece.text.encode())
    return FieldPosition(path, piece.position, end, piece.text, "", "", "", doc, depth)


def _parts(name: str, text: Text) -> Iterator[_Part]:
    columns = _COLUMNS.get(name, ())
    first = _METADATA if name == names.PARTITION_METADATA else _HEAD if columns else ()
    for number, line in enumerate(text.lines()):
        if number < len(first):
            field, doc = first[number]
            yield f"/{field}", line, 0, doc
        elif columns:
            path = f"/entries/{number - len(first)}"
            yield path, line, 0, ""
            for piece, (column, doc) in zip(fields(line), columns, strict=False):
                yield f"{path}/{column}", piece, 1, doc
        elif name == names.META_PROPERTIES:
            doc = "a comment" if line.text.startswith(("#", "!")) else "a property"
            yield "/line", line, 0, doc
        elif not first:
            yield "/line", line, 0, "JSON"
