"""How a codec says no to the façade, which turns it into one of the public errors.

A codec does not raise the public error itself: the traceback of an error keeps every local
variable of the frames it passed alive, among them slices of the input, and an input that is a
mapped file cannot be closed while a slice of it lives. The façade drops the refusal with its
frames and raises from its own.
"""

from __future__ import annotations

from kafkaspec.errors import Reason


class RefusalError(Exception):
    """A codec refuses its input.

    Attributes:
        reason: why, from the closed list.
        detail: one sentence for people, beginning with the name of the codec.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def corrupt(codec: str, detail: str) -> RefusalError:
    """The bytes are no valid stream of ``codec``."""
    return RefusalError(Reason.DECOMPRESSION_FAILED, f"{codec}: {detail}")


def too_large(codec: str, max_output: int) -> RefusalError:
    """The output of the stream exceeds ``max_output`` bytes."""
    return RefusalError(
        Reason.DECOMPRESSED_TOO_LARGE,
        f"{codec}: the output exceeds the bound of {max_output} bytes",
    )


def bad_level(codec: str, level: int, allowed: str) -> RefusalError:
    """``level`` is none that Kafka's configuration takes for ``codec`` (KIP-390)."""
    return RefusalError(Reason.UNENCODABLE, f"{codec}: there is no level {level}, only {allowed}")
