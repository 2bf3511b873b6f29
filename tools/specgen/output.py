"""What an emitter hands to the driver."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Output:
    """One generated file.

    Attributes:
        path: relative to ``generated/``, with forward slashes.
        sources: ids of the specifications that it is made from; the driver adds what they import.
        text: content without the header; ``@SPECIFICATION@`` in it becomes the hash that the header
            names.
    """

    path: str
    sources: tuple[str, ...]
    text: str
