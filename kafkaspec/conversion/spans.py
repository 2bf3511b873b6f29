"""Parts of a partition that were converted, so that only these are read again."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path

from kafkaspec.log.columnar import CHUNK_BYTES


class Spans:
    """Runs of whole batches, in order, each of bounded size unless a batch alone is larger."""

    def __init__(self) -> None:
        self._files: list[tuple[Path, array[int]]] = []

    def begin(self, file: Path) -> None:
        """Continue with another file."""
        self._files.append((file, array("q")))

    def add(self, start: int, stop: int) -> None:
        """Add whole batches of the current file.

        Args:
            start: position of the first one, after those that were added.
            stop: position after the last one.
        """
        spans = self._files[-1][1]
        if spans and spans[-1] == start and stop - spans[-2] <= CHUNK_BYTES:
            spans[-1] = stop
        else:
            spans.extend((start, stop))

    def __iter__(self) -> Iterator[tuple[Path, Iterator[tuple[int, int]]]]:
        for file, spans in self._files:
            yield file, zip(spans[::2], spans[1::2], strict=True)
