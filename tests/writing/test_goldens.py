"""Golden partitions written again, append by append: the files of the broker come out."""

from __future__ import annotations

from pathlib import Path

import pytest

import kafkaspec as ks
from tests import goldens
from tests.loops import each
from tests.writing.golden_settings import partitions
from tools.golden import again


def written() -> list[Path]:
    return [path for path in partitions() if again.is_written_once(path)]


@pytest.mark.slow
@each(
    "path",
    [path for path in written() if again.is_modern(path)],
    goldens.label,
)
def test_a_partition_of_batches_comes_out_as_the_broker_left_it(path: Path, tmp_path: Path) -> None:
    out = tmp_path / path.name
    again.write(path, out, path.parts[-3])
    assert again.differences(path, out) == []
    assert ks.verify(out).findings == []
