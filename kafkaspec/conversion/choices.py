"""What a conversion is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from kafkaspec._generated.python.model.recordbatch import CompressionType
from kafkaspec.log.batch import NONE

OffsetChoice = Literal["keep", "shift", "renumber"]
"""``keep``: as they are. ``shift``: all by the same number, so that gaps stay. ``renumber``: one
behind the other, so that gaps go."""

AbortedChoice = Literal["keep", "drop"]
"""Records of aborted transactions. ``keep``, as a broker's down-conversion does: consumers of
magic 2 know them by the markers and the transaction index, those of magic 0 and 1 take them for
records like others. ``drop`` leaves them out."""

ErrorChoice = Literal["fail", "skip"]
"""A batch that cannot be read: an error, or it is left out and counted."""

PRODUCER_BATCH_BYTES: Final = 16384
"""Kafka's ``batch.size``: how much a producer puts into a batch unless it is configured."""

_DEFAULT_SEGMENT_BYTES: Final = 1 << 30  # Kafka's segment.bytes
_MAGICS: Final = (0, 1, 2)
_LARGEST_OFFSET: Final = (1 << 63) - 1
_LARGEST_EPOCH: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """A plan of a conversion. None everywhere keeps what is there.

    Attributes:
        magic: format of all entries: 0, 1 or 2.
        compression: ``none``, ``gzip``, ``snappy``, ``lz4`` or ``zstd``. Control batches keep
            theirs, as in a broker.
        level: of the compression (KIP-390), None for Kafka's default.
        offsets: see ``OffsetChoice``.
        base_offset: first offset with ``shift`` and ``renumber``.
        leader_epoch: of all batches of magic 2; -1 is none. None keeps those that there are.
        batch_bytes: puts records together in batches of about so many bytes before compression, and
            divides larger ones. None keeps batches; but single messages of magic 0 and 1 that must
            become a batch are put together up to ``PRODUCER_BATCH_BYTES``, as the validator of a
            broker puts those of one request together.
        segment_bytes: of a segment at most.
        profile: Kafka version whose files beside the segments are written.
        start_offset: smallest offset that is wanted.
        end_offset: first offset that is not wanted.
        aborted: see ``AbortedChoice``.
        on_error: see ``ErrorChoice``.
        max_output: bytes that one batch may decompress to, None for the default bound.

    Raises:
        ValueError: what cannot be.
    """

    magic: int | None = None
    compression: str | None = None
    level: int | None = None
    offsets: OffsetChoice = "keep"
    base_offset: int = 0
    leader_epoch: int | None = None
    batch_bytes: int | None = None
    segment_bytes: int = _DEFAULT_SEGMENT_BYTES
    profile: str = "4.3"
    start_offset: int | None = None
    end_offset: int | None = None
    aborted: AbortedChoice = "keep"
    on_error: ErrorChoice = "fail"
    max_output: int | None = None

    def __post_init__(self) -> None:
        if self.magic is not None and self.magic not in _MAGICS:
            raise ValueError(f"no magic {self.magic!r}; there are 0, 1, 2")
        known = [kind.name.lower() for kind in CompressionType]
        if self.compression is not None and self.compression not in known:
            raise ValueError(f"no compression {self.compression!r}; there are {', '.join(known)}")
        if self.compression == "zstd" and self.magic in (0, 1):
            raise ValueError("zstd is not allowed in magic 0 and 1; choose another compression")
        if self.level is not None and self.compression in (None, "none", "snappy"):
            raise ValueError("a level needs one of the compressions gzip, lz4, zstd")
        self._one_of("offsets", self.offsets, ("keep", "shift", "renumber"))
        self._one_of("aborted", self.aborted, ("keep", "drop"))
        self._one_of("on_error", self.on_error, ("fail", "skip"))
        if not 0 <= self.base_offset <= _LARGEST_OFFSET:
            raise ValueError("base_offset is between 0 and 2^63 - 1")
        if self.base_offset and self.offsets == "keep":
            raise ValueError("base_offset is for offsets that are shifted or renumbered")
        if self.leader_epoch is not None and not NONE <= self.leader_epoch <= _LARGEST_EPOCH:
            raise ValueError("leader_epoch is between -1 and 2^31 - 1")
        for name in ("batch_bytes", "segment_bytes", "max_output"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is at least 1")
        low, high = self.start_offset, self.end_offset
        if low is not None and high is not None and low > high:
            raise ValueError(f"start_offset {low} is behind end_offset {high}")

    def _one_of(self, name: str, value: str, allowed: tuple[str, ...]) -> None:
        if value not in allowed:
            raise ValueError(f"{name} is one of {', '.join(allowed)}, not {value!r}")

    @property
    def codec_id(self) -> CompressionType | None:
        """The compression as it is stored, None to keep that of each batch."""
        return None if self.compression is None else CompressionType[self.compression.upper()]
