"""Say what a broker removes, renames or fails at before it loads a log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kafkaspec.broker.listing import LoaderFiles
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.forensics.doctor.text import above, move_away, quoted
from kafkaspec.forensics.doctor.troubles import Effect, Trouble, TroubleKind
from kafkaspec.log.headers import read_headers
from kafkaspec.log.segment import Segment
from kafkaspec.results import OffsetRange

_DELETED: Final = names.STATES[0]
_CLEANED: Final = names.STATES[1]
_SWAP: Final = names.STATES[2]

_LEFTOVERS: Final = {
    _DELETED: (TroubleKind.DELETED_FILE, "the broker was about to delete it"),
    _CLEANED: (
        TroubleKind.CLEANED_FILE,
        "a compaction or a split was writing it, and did not end",
    ),
    _SWAP: (TroubleKind.SWAP_FILE, "it is part of a split that did not end"),
}


def listed(files: LoaderFiles) -> Iterator[Trouble]:
    """Yield what a broker meets before it loads a segment."""
    for path in files.unreadable:
        yield Trouble(
            TroubleKind.UNREADABLE,
            "it cannot be read: the broker gives the log directory up, if it has no more rights",
            str(path),
            Effect.OFFLINE,
            "give the user of the broker the right to read and write it",
        )
    for path in files.without_number:
        yield Trouble(
            TroubleKind.FILE_NUMBER,
            "the broker takes what is before the first dot for an offset, and does not start: it "
            "is none",
            str(path),
            Effect.KILLS,
            "move it out of the log directory",
            move_away(path),
        )
    yield from map(_leftover, files.leftovers)
    yield from map(_put_in_place, files.promoted)
    for path, log in files.orphans:
        yield _orphan(path, log)


def held(path: Path) -> tuple[OffsetRange | None, int]:
    """Return the offsets of the batches at the start of a file, and the bytes that they take."""
    first = last = None
    end = 0
    try:
        with Segment(path) as segment:
            for headers in read_headers(segment, 0):
                if first is None:
                    first = headers.first_offset_of(0)
                last, end = headers.last_offset[-1] + 1, headers.end
    except KafkaSpecError:
        pass
    return (None if first is None or last is None else OffsetRange(first, last)), end


def _leftover(path: Path) -> Trouble:
    state = path.suffix
    kind, why = _LEFTOVERS[state]
    offsets, end = (None, 0)
    remedy = command = None
    if path.name.removesuffix(state).endswith(names.LOG):
        offsets, end = held(path)
    if offsets is not None and state == _DELETED:
        remedy = "copy it before the start if its records are wanted: what was cut or expired is "
        remedy += "in it"
        command = f"cp -p {quoted(path)} {quoted(above(path.parent.parent))}"
    size = _size(path)
    text = f"{why}; the start deletes it"
    if offsets is not None:
        text += f"; it holds {offsets} in {end:,} of {size:,} bytes"
    return Trouble(
        kind,
        text,
        str(path),
        Effect.DELETES,
        remedy,
        command,
        offsets=offsets,
        size=size,
    )


def _put_in_place(path: Path) -> Trouble:
    offsets = None
    if path.name.removesuffix(_SWAP).endswith(names.LOG):
        offsets, _ = held(path)
    return Trouble(
        TroubleKind.SWAP_FILE,
        f"a compaction or a split had written it; the start renames it to "
        f"{path.name.removesuffix(_SWAP)}",
        str(path),
        Effect.PROMOTES,
        offsets=offsets,
        size=_size(path),
    )


def _orphan(path: Path, log: str) -> Trouble:
    offset = names.offset_in(path.name)
    return Trouble(
        TroubleKind.ORPHAN,
        f"there is no {log} that it belongs to: the start deletes it. A segment of this name was "
        "here once",
        str(path),
        Effect.DELETES,
        "look for the segment in a backup, or on a replica",
        offsets=None if offset is None else OffsetRange(offset, None),
        size=_size(path),
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
