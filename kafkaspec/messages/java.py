"""Text as Java makes it of bytes."""

from __future__ import annotations

import codecs
from typing import Final

from kafkaspec.model import Buffer

_HANDLER: Final = "kafkaspec-java"
_SURROGATES: Final = 0xED


def java_text(data: Buffer) -> str:
    """Decode UTF-8 as ``new String(bytes, UTF_8)`` does: U+FFFD for what is malformed.

    Java replaces as many bytes at once as Python does, but takes the three bytes of a surrogate for
    one character.
    """
    return bytes(data).decode("utf-8", _HANDLER)


def _replace(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    data, start, end = error.object, error.start, error.end
    if data[start] == _SURROGATES and data[start + 1 : start + 2] >= b"\xa0":
        end = start + 1
        while end < len(data) and end < start + 3 and data[end] & 0xC0 == 0x80:
            end += 1
    return "\ufffd", end


codecs.register_error(_HANDLER, _replace)
