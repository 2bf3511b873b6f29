"""Which parts of a partition were taken: for whoever reads just these again."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path

from kafkaspec.log.batch import Batch
from kafkaspec.log.columnar import CHUNK_BYTES


class Spans:
    """Runs of whole batches, in order, each of bounded size unless a batch alone is larger."""

    def __init__(self) -> None:
        self._files: list[tuple[Path, array[int]]] = []

    def begin(self, file: Path) -> None:
        """Go on to another file."""
        self._files.append((file, array("q")))

    def add(self, batch: Batch) -> None:
        """A batch of that file, behind those before it."""
        spans = self._files[-1][1]
        if spans and spans[-1] == batch.position and batch.end - spans[-2] <= CHUNK_BYTES:
            spans[-1] = batch.end
        else:
            spans.extend((batch.position, batch.end))

    def __iter__(self) -> Iterator[tuple[Path, Iterator[tuple[int, int]]]]:
        for file, spans in self._files:
            yield file, zip(spans[::2], spans[1::2], strict=True)
