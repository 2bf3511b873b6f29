"""A section of ``explain``: some bytes, and the fields in them."""

from __future__ import annotations

from dataclasses import dataclass

from kafkaspec.codecs import Buffer
from kafkaspec.codecs.references.kaitai import FieldPosition


@dataclass(frozen=True, slots=True)
class Section:
    """Some bytes and the fields in them.

    Attributes:
        title: title of the section.
        data: the bytes.
        start: position of the first byte.
        fields: in the order of the bytes, structures before what is in them.
        note: a remark to print after it, "" for none.
        is_wrong: whether the remark says that the bytes are wrong.
    """

    title: str
    data: Buffer
    start: int
    fields: list[FieldPosition]
    note: str = ""
    is_wrong: bool = False

    def bytes_of(self, field: FieldPosition) -> bytes:
        """Return the bytes of a field."""
        return bytes(self.data[field.start - self.start : field.end - self.start])
