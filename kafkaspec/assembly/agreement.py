"""Whether a reader of a message finds the fields in it that the text has."""

from __future__ import annotations

from collections.abc import Iterator

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.assembly.grammar import REST, Node
from kafkaspec.assembly.values import is_null
from kafkaspec.codecs.references.kaitai.codec import KaitaiCodec


def disagreement(node: Node, data: bytes) -> tuple[Node, str] | None:
    """Return where a message is read otherwise than it is written, and how; None if it is not.

    Its version says which fields it has, so that an edited one can make others of all bytes after
    it. What is wrong on purpose, after ``!`` or ``raw``, is not looked at; nor is a type with
    parameters, which are not in the text.

    Args:
        node: the message, with all fields that the text leaves out.
        data: its bytes.
    """
    if LAYOUTS[node.type].parameters or _on_purpose(node):
        return None
    found = KaitaiCodec().positions(node.type, data, complete=True)
    above = {position.path.rpartition("/")[0] for position in found}
    texts = dict(_paths(node, "", above))
    read = {position.path: position for position in found}
    more = [path for path in read if path not in texts and path.rpartition("/")[0] in texts]
    more.sort(key=lambda path: path.rpartition("/")[2].isdecimal())  # fields before items
    for path in more:
        if read[path].error is None:
            parent, _, name = path.rpartition("/")
            return texts[parent], f"this has {name}"
    for path, each in texts.items():
        position = read.get(path)
        if position is None:
            if path and not is_null(each):
                return each, f"this has no {each.name or 'such item'}"
        elif position.error is not None:
            return each, position.error.detail
        elif path in above and each.type and each.type != position.type:
            return each, f"{each.name} is {position.type}"
    for path in more:
        if (error := read[path].error) is not None:
            return texts[path.rpartition("/")[0]], error.detail
    return None


def _on_purpose(node: Node) -> bool:
    return any(
        part.forced or part.stored or part.name == REST or _on_purpose(part)
        for part in node.parts or ()
    )


def _paths(node: Node, path: str, above: set[str]) -> Iterator[tuple[str, Node]]:
    """Yield the nodes by the paths at which a reader has them; a message in it is bytes to it."""
    yield path, node
    if path in above:
        for number, part in enumerate(node.parts or ()):
            yield from _paths(part, f"{path}/{part.name or number}", above)
