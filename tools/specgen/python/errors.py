"""Make the module of errors that comes along with generated code, of those of the library."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

from kafkaspec import errors, faults
from tools.specgen.house import House
from tools.specgen.python import runtime

_CLASSES = ("TruncatedError", "CorruptError", "ChecksumError")
_TAIL = '''
_CLASSES: dict[Reason, type[FormatError]] = {
    Reason.TRUNCATED: TruncatedError,
    Reason.CHECKSUM_MISMATCH: ChecksumError,
    Reason.UNENCODABLE: FormatError,
}


def make_error(
    reason: Reason, detail: str, *, offset: int | None = None, path: str = "", spec: str = ""
) -> FormatError:
    """Return the error of the class that belongs to ``reason`` (``CorruptError`` unless listed)."""
    cls = _CLASSES.get(reason, CorruptError)
    return cls(detail, reason=reason, position=offset, path=path, spec=spec)
'''


def text(house: House) -> str:
    """Return the module: the root, the reasons that generated code has, and their classes."""
    root = Path(faults.__file__).read_text(encoding="utf-8")
    root = root.replace(
        faults.__doc__ or "", "Errors about data, which say what is wrong, and where."
    )
    source = Path(errors.__file__).read_text(encoding="utf-8")
    nodes = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
    used = set(re.findall(r"Reason\.([A-Z_]+)", Path(runtime.__file__).read_text(encoding="utf-8")))
    members = nodes["Reason"].body
    reasons = []
    for member, doc in pairwise(members):
        if isinstance(member, ast.Assign) and ast.unparse(member.targets[0]) in used:
            reasons += [ast.get_source_segment(source, node) for node in (member, doc)]
    listed = "".join(f"    {line}\n" for line in reasons)
    head, base, rest = root.partition("class FormatError")
    parts = [
        head,
        f'class Reason(StrEnum):\n    """Why bytes or values are refused."""\n\n{listed}',
    ]
    parts += [f"\n\n{base}{rest.replace('reason: StrEnum', 'reason: Reason')}"]
    parts += [f"\n\n{ast.get_source_segment(source, nodes[name])}\n" for name in _CLASSES]
    made = "".join([*parts, _TAIL]).replace("KafkaSpecError", "FormatError")
    return made.replace("FormatError", house.error)
