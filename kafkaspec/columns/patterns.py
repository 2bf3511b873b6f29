"""Patterns of bytes, as LIKE of SQL has them, and which values of a column fit one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from kafkaspec.columns.memory import Layout

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from kafkaspec.codecs.native.core import Core

_ANY_ONE, _ANY_NUMBER, _ESCAPE = b"_%\\"
_KINDS: Final = {_ANY_ONE: 1, _ANY_NUMBER: 2}
"""Kinds of bytes in a pattern, as the core takes them; 0 is a byte that must be equal."""
MOST_SOURCES: Final = 4
"""Buffers of a column, at most."""


@dataclass(frozen=True, slots=True)
class BytePattern:
    """A pattern.

    Attributes:
        content: a byte for each that it is made of.
        kinds: for each, 0 if it is to be the same, 1 for any byte, 2 for any number of bytes.
    """

    content: bytes
    kinds: bytes

    @classmethod
    def like(cls, text: bytes) -> Self | None:
        """Return a pattern of LIKE, None for one with an escape, which readers take in two ways."""
        if _ESCAPE in text:
            return None
        return cls(text, bytes(_KINDS.get(byte, 0) for byte in text))

    @classmethod
    def containing(cls, parts: Sequence[bytes]) -> Self:
        """Return the pattern of what contains some parts, in order."""
        content, kinds = bytearray(b"%"), bytearray((_KINDS[_ANY_NUMBER],))
        for part in parts:
            content += part + b"%"
            kinds += bytes(len(part)) + kinds[:1]
        return cls(bytes(content), bytes(kinds))

    def is_for(self, core: Core) -> bool:
        """Return whether the core can look for it."""
        most: int = core.module.PATTERN_PARTS
        return self.kinds.count(_KINDS[_ANY_NUMBER]) < most

    def rows_of(
        self,
        core: Core,
        layout: Layout,
        rows: int,
        present: Buffer | None,
        main: Buffer,
        sources: Sequence[Buffer],
    ) -> bytearray:
        """Return a bit for each row of a column in a layout of Arrow: whether its value fits.

        Args:
            core: the extension.
            layout: VIEW or BINARY.
            rows: number of rows.
            present: a bit for each row, 0 for null, which fits nothing; None if no row is.
            main: views or offsets.
            sources: what views point into, at most ``MOST_SOURCES``; of BINARY the bytes.
        """
        found = bytearray(-(-rows // 8))
        core.module.fits(
            layout, rows, present, main, tuple(sources), self.content, self.kinds, found
        )
        return found
