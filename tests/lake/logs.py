"""Logs that tasks put into a lake, as the job does it, without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from kafkaspec.files import names
from kafkaspec.lake.base import Lake
from kafkaspec.lake.epochs import commit, write_manifest
from kafkaspec.lake.manifest import LakeFile, Manifest, Mark
from kafkaspec.lake.parquet import LakeWriter
from kafkaspec.lake.schema import FOLDERS, PROGRESS, PROGRESS_SCHEMA
from kafkaspec.lake.units import LakeSettings, LakeUnit, write_units


def units_of(
    directory: Path, topic: str | None = None, topic_id: str | None = None
) -> list[LakeUnit]:
    """The segments of a partition, one unit each."""
    place = names.parse_partition(directory.name)
    assert place is not None
    return [
        LakeUnit(
            path=str(path), topic=topic or place.topic, partition=place.partition, topic_id=topic_id
        )
        for path in sorted(directory.glob(f"*{names.LOG}"))
    ]


def put(lake: Lake, units: Sequence[LakeUnit], *, exact: bool, epoch: int = 1) -> Mark:
    """Add segments in one increment."""
    mark = Mark.new(epoch)
    results = write_units(units, LakeSettings(place=lake.place, exact=exact), mark)
    files = [file for result in results for file in result.files]
    put_progress(lake, mark, [result.progress for result in results], files)
    return mark


def put_progress(
    lake: Lake,
    mark: Mark,
    rows: Sequence[Mapping[str, Any]],
    files: Sequence[LakeFile],
    *,
    only: bool = False,
) -> None:
    """Commit an increment, or only its progress, as a driver that is killed then."""
    writer = LakeWriter(lake.place, mark, 1 << 30)
    batch = pa.RecordBatch.from_pylist(
        [{**row, "epoch": mark.epoch} for row in rows], PROGRESS_SCHEMA
    )
    writer.write(PROGRESS, FOLDERS[PROGRESS], batch)
    progress = writer.finish()
    manifest = Manifest(mark, (*files, *progress))
    write_manifest(lake, manifest)
    if only:
        lake.table(PROGRESS).append(progress, mark, PROGRESS_SCHEMA, FOLDERS[PROGRESS])
    else:
        commit(lake, manifest)
