"""Measures the steps, checks the model on logs of two sizes, and writes the page."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
import pyarrow as pa

import kafkaspec as ks
from benchmarks.data import MIB, Shape, at_offset, segment_file
from benchmarks.outcome import Table
from benchmarks.report import machine, markdown
from kafkaspec.lake.epochs import commit, write_manifest
from kafkaspec.lake.manifest import LakeFile, Manifest, Mark
from kafkaspec.lake.parquet import LakeWriter
from kafkaspec.lake.schema import FOLDERS, PROGRESS, PROGRESS_SCHEMA
from kafkaspec.lake.tables import open_lake
from kafkaspec.lake.units import LakeSettings, LakeUnit, write_units

RESULTS = Path(__file__).parent.parent / "LAKE.md"
GIB = 1 << 30
RECORD = 206
"""Bytes of a record, as in the first measurements of these steps."""
TASK_SECONDS = 0.07
"""Of a core, to start a task of Python; benchmarks/SPARK.md."""
SMALL, LARGE = 2_000, 20_000
"""Segments of a plan."""
_EACH = 100
FILES = 400
"""Of one commit."""
REQUESTS, RANGE = 3, 8 * MIB
"""Requests for a segment beside its ranges: two to plan, one to open; tests/spark counts them."""
MANY = 100_000
"""Segments of 1 GiB: 100 TB."""


@dataclass(frozen=True)
class Model:
    """Seconds of a core, and bytes of the driver, by what they depend on."""

    byte: float
    segment: float
    file: float
    memory: float

    def seconds(self, segments: int, size: int, files: int) -> float:
        """Return what a job takes, without the JVM and the start of its tasks."""
        return segments * (self.segment + size * self.byte) + files * self.file


@contextmanager
def spent(into: list[float]) -> Iterator[None]:
    """Add the time of the processor that a block takes."""
    before = time.process_time()
    yield
    into.append(time.process_time() - before)


def linked(root: Path, batch: bytes, partitions: int) -> Path:
    """Make a log directory of partitions with 100 segments of one batch, by hard links."""
    for partition in range(partitions):
        directory = root / f"orders-{partition}"
        directory.mkdir(parents=True)
        for number in range(_EACH):
            name = f"{number * 3:020d}.log"
            if partition:
                os.link(root / "orders-0" / name, directory / name)
            else:  # the base offset is outside of the checksum
                (directory / name).write_bytes(at_offset(batch, number * 3))
    return root


_PLAN = """
import os, sys, time
from kafkaspec.spark.options import read_options
from kafkaspec.spark.planning import plan
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
before, began = resident(), time.process_time()
found = plan(read_options({"path": sys.argv[1]}))
print(time.process_time() - began, resident() - before)
"""


def planned(root: Path) -> tuple[float, int]:
    """Return the time and the memory of planning, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _PLAN, str(root)], capture_output=True, text=True, check=True
    )
    seconds, size = done.stdout.split()
    return float(seconds), int(size)


def whole(lake: Path, paths: list[Path]) -> tuple[float, int]:
    """Return the time to write and commit segments, and the number of data files."""
    took: list[float] = []
    with spent(took):
        made = open_lake(str(lake), "delta", create=True)
        mark = Mark.new(1)
        settings = LakeSettings(place=made.place)
        files: list[LakeFile] = []
        rows = []
        for number, path in enumerate(paths):
            for result in write_units(
                [LakeUnit(path=str(path), topic="orders", partition=number)], settings, mark
            ):
                files += result.files
                rows.append({**result.progress, "epoch": 1})
        writer = LakeWriter(made.place, mark, settings.file_size)
        (batch,) = pa.Table.from_pylist(rows, PROGRESS_SCHEMA).to_batches()
        writer.write(PROGRESS, FOLDERS[PROGRESS], batch)
        manifest = Manifest(mark, (*files, *writer.finish()))
        write_manifest(made, manifest)
        commit(made, manifest)
    return took[0], len(files)


def committed(folder: Path, source: Path, count: int) -> float:
    """Return the time to commit a file more, of many of one batch."""
    took: list[float] = []
    made = open_lake(str(folder), "delta", create=True)
    mark = Mark.new(1)
    files: list[LakeFile] = []
    for number in range(count):
        unit = LakeUnit(path=str(source), topic="orders", partition=number)
        for result in write_units([unit], LakeSettings(place=made.place), mark):
            files += result.files
    writer = LakeWriter(made.place, mark, MIB)
    rows = [{"topic": "orders", "partition": 0, "generation": 0, "epoch": 1, "next_offset": 3}]
    writer.write(
        PROGRESS, FOLDERS[PROGRESS], pa.Table.from_pylist(rows, PROGRESS_SCHEMA).to_batches()[0]
    )
    manifest = Manifest(mark, (*files, *writer.finish()))
    write_manifest(made, manifest)
    with spent(took):
        commit(made, manifest)
    return took[0] / len(files)


def measure(folder: Path, unit: int) -> tuple[Model, list[tuple[int, float, float]]]:
    """Measure the steps, and the whole for two sizes, each with what the model says of it."""
    batch = ks.encode([ks.Record(number, 0, b"k", b"v") for number in range(3)])
    few, memory_few = planned(linked(folder / "few", batch, SMALL // _EACH))
    lots, memory_lots = planned(linked(folder / "lots", batch, LARGE // _EACH))
    (folder / "data").mkdir()
    path, _ = segment_file(folder / "data", Shape(RECORD), unit)
    source = folder / f"{0:020d}.log"
    shutil.move(path, source)
    whole(folder / "warm", [source])
    one, files = whole(folder / "one", [source])
    file = committed(folder / "files", folder / "few" / "orders-0" / f"{0:020d}.log", FILES)
    model = Model(
        (one - files * file) / source.stat().st_size,
        (lots - few) / (LARGE - SMALL),
        file,
        (memory_lots - memory_few) / (LARGE - SMALL),
    )
    checked = []
    for count in (2, 6):
        took, files = whole(folder / f"whole-{count}", [source] * count)
        size = source.stat().st_size
        checked.append((count * size, took, count * size * model.byte + files * file))
    return model, checked


def page(model: Model, checked: list[tuple[int, float, float]]) -> str:
    """Return the page."""
    steps: list[tuple[str, ...]] = [
        ("read a segment, write `raw` and `batches`", f"{model.byte * GIB:.1f} core-s/GiB"),
        (
            "plan a segment, with the end of each read",
            f"{1000 * model.segment:.3f} ms, {model.memory:.0f} bytes",
        ),
        ("commit a data file to Delta", f"{1000 * model.file:.2f} ms"),
    ]
    sizes: list[tuple[str, ...]] = [
        (f"{size / MIB:.0f} MiB", f"{took:.2f} s", f"{said:.2f} s", f"{said / took:.2f}")
        for size, took, said in checked
    ]
    # A file of each of two tables for 512 MiB of segments.
    files = 2 * 2 * MANY
    work = model.seconds(MANY, GIB, files)
    start = MANY * TASK_SECONDS
    hundred: list[tuple[str, ...]] = [
        ("core-hours of tasks", f"{(MANY * GIB * model.byte + start) / 3600:.0f}"),
        ("of that, to start 100,000 tasks", f"{start / 3600:.1f}"),
        ("core-minutes of the driver, planning", f"{MANY * model.segment / 60:.1f}"),
        (
            f"core-minutes of the driver, committing {files:,} files",
            f"{files * model.file / 60:.0f}",
        ),
        ("memory of the driver for the plan of all", f"{MANY * model.memory / MIB:.0f} MiB"),
        ("requests to read", f"{MANY * (GIB // RANGE + REQUESTS):,}"),
        ("of that, to plan", f"{MANY * 2:,}"),
        ("all seconds of a core", f"{work + start:,.0f}"),
    ]
    return "\n".join(
        [
            "# How large a lake can be",
            "",
            "`python -m benchmarks.lake` measures the steps of `kafkaspec spark lake` and writes",
            f"this page: plain records of {RECORD} bytes, without the JVM, time of the processor.",
            "",
            markdown(Table("", ("step", "measured"), steps)).strip(),
            "",
            "The model is their sum. Two whole jobs, with plan and commit, check it:",
            "",
            markdown(
                Table("", ("segments", "measured", "model", "model / measured"), sizes)
            ).strip(),
            "",
            "## 100 TB",
            "",
            "100,000 segments of 1 GiB, one in a task, files of 512 MiB of segments, in a store:",
            "",
            markdown(Table("", ("what", "by the model"), hundred)).strip(),
            "",
            "Nobody ran it. `--max-segments` divides it into increments, each with the",
            "memory of its part.",
            "",
            machine(),
            "",
        ]
    )


@click.command()
@click.option("--size", default=64, metavar="MIB", help="Of a measured segment.")
@click.option("-o", "--output", default=str(RESULTS), help="The page.")
def main(size: int, output: str) -> None:
    """Measure the steps of a lake, and say what 100 TB cost."""
    with tempfile.TemporaryDirectory() as folder:
        text = page(*measure(Path(folder), size * MIB))
    Path(output).write_text(text)
    click.echo(text)


if __name__ == "__main__":
    main()
