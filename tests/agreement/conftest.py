"""Golden files that one codec reads once for all tests of a module."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from kafkaspec.codecs import DEFAULT_CODEC, get_codec
from kafkaspec.log.batch import Batch
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from tests.goldens import FULL, MATRIX, VERSIONS, distinct


class Reading:
    """What a codec makes of the files of a version; what was read is kept."""

    def __init__(self, version: str, codec: str) -> None:
        self.version = version
        self.codec = get_codec(codec)
        self.read = cache(self._read)

    def _read(self, path: Path) -> list[tuple[Batch, list[Record]]]:
        """All batches of a file with their records; the log must end where the file does."""
        segment = Segment(path, codec=self.codec)
        batches = [(batch, list(batch.records())) for batch in segment.batches()]
        assert segment.tail is None
        return batches

    def batches(self) -> list[tuple[str, Batch]]:
        """All batches of the version, with a name for each, of files whose bytes are new in it."""
        among = VERSIONS if self.codec.name == DEFAULT_CODEC else FULL
        return [
            (f"{golden} at {batch.position}", batch)
            for golden in distinct(".log", ".checkpoint", version=self.version, among=among)
            for batch, _ in self.read(golden.path)
        ]


@pytest.fixture(
    scope="module", params=[case.values for case in MATRIX], ids=[str(case.id) for case in MATRIX]
)
def reading(request: pytest.FixtureRequest) -> Reading:
    """Versions by codec; as the fixture is the module's, all tests of one follow each other."""
    return Reading(*request.param)
