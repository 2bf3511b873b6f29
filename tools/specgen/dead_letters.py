"""Read ``dead_letters.yaml``: which headers the writers of dead letters add to a record."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kafkaspec.layout import DeadLetterHeader, DeadLetterLayout
from tools.specgen.document import Node, file_text, parsed

FILE: Final = "dead_letters.yaml"
"""The file, in the folder of the specification; a specification may have none."""
TYPES: Final = ("s4", "s8", "str")
NUMBERS: Final = ("text", "binary")
NEEDED: Final = {"topic": "str", "partition": "s4", "offset": "s8"}
"""The fields without which nobody finds the record, and their types."""
_KEYS: Final = {"doc", "doc-ref", "numbers", "headers"}


def dead_letters_of(directory: Path) -> tuple[DeadLetterLayout, ...]:
    """Return the headers of a specification, by writer.

    Raises:
        SpecError: the file cannot be read, or lacks something.
    """
    path = directory / FILE
    if not path.exists():
        return ()
    top = Node(FILE, "", parsed(FILE, file_text(path, FILE)))
    made = tuple(_layout(name, top.child(name)) for name in top.keys)
    seen: dict[str, str] = {}
    types = dict(NEEDED)
    for layout in made:
        for header in layout.headers:
            if types.setdefault(header.field, header.type) != header.type:
                text = f"{header.field} is {types[header.field]} elsewhere; write one type"
                raise top.fail(text, f"{layout.writer}/headers/{header.key}")
            if header.key in seen:
                raise top.fail(f"{seen[header.key]} has {header.key} too; leave out one")
            seen[header.key] = layout.writer
    return made


def _layout(writer: str, node: Node) -> DeadLetterLayout:
    node.check(_KEYS, _KEYS)
    numbers = _word(node, "numbers", NUMBERS)
    headers = node.child("headers")
    made = []
    for key in headers.keys:
        each = headers.child(key)
        each.check({"field", "type"}, {"field", "type"})
        made.append(DeadLetterHeader(key, each.text("field"), _word(each, "type", TYPES)))
    for field in NEEDED:
        if field not in {header.field for header in made}:
            raise node.fail(f"no header has the {field}; write one", "headers")
    return DeadLetterLayout(writer, numbers == "binary", tuple(made))


def _word(node: Node, key: str, known: tuple[str, ...]) -> str:
    found = node.text(key)
    if found not in known:
        raise node.fail(f"{found} is not one of {', '.join(known)}; write one of them", key)
    return found
