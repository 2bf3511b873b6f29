"""The internal error of codecs, which the façade turns into a public error.

A codec does not raise the public error itself: the traceback of an error keeps all local
variables of its frames alive, among them slices of the input, and a mapped input file cannot be
closed while a slice of it is alive. The façade drops the internal error with its frames and raises
the public one from its own frame.
"""

from __future__ import annotations

from kafkaspec.errors import Reason


class RefusalError(Exception):
    """A codec refuses its input.

    Attributes:
        reason: from the closed list of reasons.
        detail: one sentence for people, beginning with the name of the codec.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def corrupt(codec: str, detail: str) -> RefusalError:
    """Return the error for bytes that are not a valid stream of ``codec``."""
    return RefusalError(Reason.DECOMPRESSION_FAILED, f"{codec}: {detail}")


def too_large(codec: str, max_output: int) -> RefusalError:
    """Return the error for a stream whose output exceeds ``max_output`` bytes."""
    return RefusalError(
        Reason.DECOMPRESSED_TOO_LARGE,
        f"{codec}: the output exceeds the bound of {max_output} bytes; "
        "max_output (--max-output) raises it",
    )


def bad_level(codec: str, level: int, allowed: str) -> RefusalError:
    """Return the error for a level that Kafka's configuration does not allow (KIP-390)."""
    return RefusalError(Reason.UNENCODABLE, f"{codec}: there is no level {level}, only {allowed}")
