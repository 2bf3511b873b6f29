"""Every error that kafkaspec raises about data, and the closed list of reasons for it.

One root, four meanings. All of them say where: the file, the absolute byte offset in it, the
path of the field in the data (``/message/content/records``) and the place in the specification
that decides (``recordbatch.ksy#/types/record_batch/seq/4``). ``reason`` comes from a closed list,
so that two codecs can be compared on *why* they refuse the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import StrEnum
from os import PathLike

from kafkaspec.faults import FormatError
from kafkaspec.options import deprecated
from kafkaspec.shown import without_credentials


class Reason(StrEnum):
    """Reasons for which data is refused. The list is closed: tests compare codecs by it."""

    TRUNCATED = "truncated"
    """The input ends inside the field."""
    OVERRUN = "overrun"
    """The field reaches beyond the end of the sized structure that holds it."""
    TRAILING_BYTES = "trailing_bytes"
    """Bytes are left in a sized structure after its last field."""
    INVALID_VALUE = "invalid_value"
    """The value is outside what the specification's ``valid:`` allows."""
    VARINT_TOO_LONG = "varint_too_long"
    """The last byte that a varint may have still has its continuation bit set."""
    CHECKSUM_MISMATCH = "checksum_mismatch"
    """The stored CRC differs from the one computed over the bytes."""
    DECOMPRESSION_FAILED = "decompression_failed"
    """The compressed bytes are not a valid stream of their codec."""
    DECOMPRESSED_TOO_LARGE = "decompressed_too_large"
    """The output would exceed the caller's bound."""
    TOO_LARGE = "too_large"
    """It takes more memory than there is, or a record has more headers than are read."""
    UNSUPPORTED_COMPRESSION = "unsupported_compression"
    """Compression id 5 to 7, or a codec that this magic may not use."""
    UNSUPPORTED_VERSION = "unsupported_version"
    """A version of a record body or file that this specification does not describe."""
    NULL_WRAPPER_VALUE = "null_wrapper_value"
    """A compressed magic 0 or 1 message without a value."""
    EMPTY_WRAPPER = "empty_wrapper"
    """A compressed magic 0 or 1 message that holds no message."""
    NESTED_COMPRESSION = "nested_compression"
    """A compressed message inside a compressed message."""
    WRAPPER_OFFSET = "wrapper_offset"
    """A magic 1 wrapper whose offset is below that of its last inner message."""
    UNREADABLE = "unreadable"
    """The file cannot be opened, read or mapped."""
    CHANGED = "changed"
    """The file became shorter while it was read, or another version of it is there."""
    UNENCODABLE = "unencodable"
    """The value to be written does not fit the format."""


class KafkaSpecError(FormatError):
    """Root of all errors about data.

    Attributes:
        reason: why, from the closed list ``Reason``.
        detail: one sentence for people, without the position.
        file: path, URL or name of the input, None for a bare buffer. Here and in ``detail`` a URL
            has no credentials: ``***`` stands for its user and password, and for its query.
        position: absolute byte offset in the file or buffer at which the failing field begins; for
            decompressed data, that of the compressed payload. None when nothing was read. A
            finding of ``verify`` has the same.
        inner_position: for decompressed data, the byte offset inside the decompressed bytes.
        path: path of the field in the data, ids of the specification joined by ``/``.
        spec: file and path in the specification, ``recordbatch.ksy#/types/record/seq/3``.
    """

    reason: Reason
    inner_position: int | None

    def __init__(
        self,
        detail: str,
        *,
        reason: Reason,
        file: str | None = None,
        position: int | None = None,
        inner_position: int | None = None,
        path: str = "",
        spec: str = "",
    ) -> None:
        super().__init__(
            without_credentials(detail),
            reason=reason,
            file=None if file is None else without_credentials(file),
            position=position,
            path=path,
            spec=spec,
        )
        self.inner_position = inner_position

    def _place(self) -> str:
        inside = self.inner_position
        return super()._place() + ("" if inside is None else f" (+{inside} decompressed)")

    def at(self, place: str) -> str:
        """Return the text, with the path of a directory before it unless it names a file there."""
        return str(self) if self.file and self.file.startswith(place) else f"{place}: {self}"

    @property
    def offset(self) -> int | None:
        """The former name of ``position``, which goes in 0.4.0."""
        deprecated("KafkaSpecError.offset", "position")
        return self.position

    @property
    def inner_offset(self) -> int | None:
        """The former name of ``inner_position``, which goes in 0.4.0."""
        deprecated("KafkaSpecError.inner_offset", "inner_position")
        return self.inner_position


class TruncatedError(KafkaSpecError):
    """The input ends before the structure does: wait for more, or it is a torn tail."""


class CorruptError(KafkaSpecError):
    """The bytes cannot be what the specification describes."""


class ChecksumError(CorruptError):
    """A stored CRC does not match."""


class UnsupportedError(KafkaSpecError):
    """Well-formed as far as visible, but not described by the specification."""


_CLASSES: dict[Reason, type[KafkaSpecError]] = {
    Reason.TRUNCATED: TruncatedError,
    Reason.CHECKSUM_MISMATCH: ChecksumError,
    Reason.UNSUPPORTED_COMPRESSION: UnsupportedError,
    Reason.UNSUPPORTED_VERSION: UnsupportedError,
    Reason.UNREADABLE: KafkaSpecError,
    Reason.UNENCODABLE: KafkaSpecError,
}


def make_error(
    reason: Reason,
    detail: str,
    *,
    file: str | None = None,
    offset: int | None = None,
    inner_offset: int | None = None,
    path: str = "",
    spec: str = "",
) -> KafkaSpecError:
    """Return the error of the class that belongs to ``reason`` (``CorruptError`` unless listed)."""
    cls = _CLASSES.get(reason, CorruptError)
    return cls(
        detail,
        reason=reason,
        file=file,
        position=offset,
        inner_position=inner_offset,
        path=path,
        spec=spec,
    )


def none_of(errors: Sequence[KafkaSpecError], what: str) -> KafkaSpecError:
    """Return the error for a directory of which nothing can be done: the first, with the number.

    Args:
        errors: an error for each partition.
        what: what could not be done with them, as a participle.
    """
    error, *others = errors
    if others:
        error.detail += f"; of {len(errors):,} partitions, none can be {what}"
    return error


def unreadable(file: str | PathLike[str] | None, why: str | Exception) -> KafkaSpecError:
    """Return the error for a file that cannot be read, or that is not of the expected kind."""
    if isinstance(why, Exception):
        why = getattr(why, "strerror", None) or str(why)
    return make_error(Reason.UNREADABLE, why, file=None if file is None else os.fspath(file))
