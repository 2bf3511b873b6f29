"""The output that an emitter returns to the driver."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Output:
    """One generated file.

    Attributes:
        path: relative to ``generated/``, with forward slashes.
        sources: ids of the specifications that it is made from; the driver adds their imports.
        text: content without the header; ``@SPECIFICATION@`` in it becomes the hash in the
            header.
    """

    path: str
    sources: tuple[str, ...]
    text: str
