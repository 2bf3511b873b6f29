"""Parse the output of Kafka's dump tool, of all golden versions, to lines of named values."""

from __future__ import annotations

import re
from dataclasses import dataclass

# A record's line starts with its offset, since 2.2 after a bar; a batch's line has no bar.
_START = re.compile(r"(\| )?(baseOffset|offset): -?\d+ ")
# Complaints of the tool come last.
_COMPLAINT = re.compile(
    r"Non-(con)?secutive offsets in|Mismatches in|The following indexed offsets"
    r"|Found (timestamp mismatch|out of order|\d+ invalid)"
)
_PAIR = re.compile(r"(\w+): (\S+) ?")
_HEADER_KEYS = re.compile(
    r"headerKeys: \[(.*?)\](?= key: | payload: | endTxnMarker: | controlType: | [A-Z]\w+:? \{|$)",
    re.S,
)
_REPLACED = re.compile("\ufffd+")


@dataclass
class _Line:
    """A line about a batch or about a record; of values that repeat, the last one counts."""

    batch: bool
    values: dict[str, str]
    header_keys: str | None
    text: str


def batch_lines(dump: str) -> list[_Line]:
    """Return the lines about batches and records in the dump of a segment.

    From 2.2 on there are lines about batches, and a bar before those about records.
    """
    bars = "\n| " in dump or "\nbaseOffset: " in dump
    blocks: list[str] = []
    for line in dump.split("\n"):
        if _COMPLAINT.match(line):
            break
        if _START.match(line):
            blocks.append(line)
        elif blocks:
            blocks[-1] += "\n" + line
    # The end of the last line is not part of a payload.
    if blocks:
        blocks[-1] = blocks[-1].removesuffix("\n")
    return [_line(block, bars) for block in blocks]


def index_lines(dump: str) -> list[dict[str, int]]:
    """Return the entries in the dump of an index or transaction index: numbers by name."""
    found = []
    for line in dump.split("\n"):
        if _COMPLAINT.match(line):
            break
        pairs = dict(_PAIR.findall(line))
        if pairs and not line.startswith("Dumping"):
            found.append({name: int(value) for name, value in pairs.items()})
    return found


def snapshot_lines(dump: str) -> list[dict[str, str]]:
    """Return the producers in the dump of a snapshot: values by name, as text."""
    return [dict(_PAIR.findall(line)) for line in dump.split("\n") if line.startswith("producerId")]


def shown(data: bytes) -> str:
    """Decode bytes like the tool: as UTF-8, with one replacement character for invalid ones."""
    return unify(data.decode("utf-8", "replace"))


def unify(text: str) -> str:
    """Join replacement characters: Java and Python put different numbers of them."""
    return _REPLACED.sub("\ufffd", text)


def _line(block: str, bars: bool) -> _Line:
    batch = bars and not block.startswith("| ")
    rest = block.removeprefix("| ")
    header_keys = None
    values: dict[str, str] = {}
    position = 0
    while (pair := _PAIR.match(rest, position)) and pair[1] not in ("key", "payload"):
        if pair[1] == "headerKeys":
            break
        values[pair[1]] = pair[2].removesuffix("}")  # a stray brace, versions 3.0 to 4.2
        position = pair.end()
    if rest.startswith("headerKeys", position):
        headers = _HEADER_KEYS.match(rest, position)
        if headers is None:
            raise ValueError(f"cannot parse the header keys of: {rest}")
        header_keys = headers[1]
        position = headers.end()
        if rest[position:].startswith(" endTxnMarker"):
            values.update(_PAIR.findall(rest[position:]))
    return _Line(batch, values, header_keys, unify(rest[position:].removeprefix(" ")))
