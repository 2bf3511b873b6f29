"""Measures the steps, checks the model on logs of two sizes, and writes the page."""

from __future__ import annotations

import json
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
from kafkaspec.files.names import LOG, segment_name
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
SMALL, LARGE = 50_000, 1_000_000
"""Segments of a plan: of the first its cost, of the other one whether that cost is right."""
_EACH = 100
FILES = 400
"""Of one commit."""
REQUESTS, RANGE = 3, 8 * MIB
"""Requests for a segment beside its ranges: two to plan, one to open; tests/spark counts them."""
MANY = 100_000
"""Segments of 1 GiB: 100 TB."""


@dataclass(frozen=True)
class Model:
    """Seconds of a core, and bytes of the driver, by what they depend on.

    ``job`` is of each job; ``segment`` is what the driver takes to plan one, ``end`` what a task
    takes.
    """

    job: float
    byte: float
    segment: float
    end: float
    file: float
    memory: float

    def seconds(self, segments: int, size: int, files: int) -> float:
        """Return what a job takes, without the JVM and the start of its tasks."""
        return segments * (self.segment + self.end + size * self.byte) + files * self.file


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
            name = segment_name(number * 3, LOG)
            if partition:
                os.link(root / "orders-0" / name, directory / name)
            else:  # the base offset is outside of the checksum
                (directory / name).write_bytes(at_offset(batch, number * 3))
    return root


def planned(root: Path, batch: bytes, segments: int) -> dict[str, float]:
    """Return what a plan takes, in a process of its own; see ``benchmarks.lake.planning``."""
    place = linked(root, batch, segments // _EACH)
    command = [sys.executable, "-m", "benchmarks.lake.planning", str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    shutil.rmtree(place)
    click.echo(f"plan: {done.stdout.strip()}", err=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


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


Checked = list[tuple[int, float, float]]
"""Sizes, each with the measured seconds and those of the model."""


def measure(folder: Path, unit: int, most: int) -> tuple[Model, Checked, list[dict[str, float]]]:
    """Measure the steps, the whole for two sizes, and two plans."""
    batch = ks.encode([ks.Record(number, 0, b"k", b"v") for number in range(3)])
    plans = [planned(folder / "plan", batch, count) for count in (min(SMALL, most // 2), most)]
    small = linked(folder / "few", batch, 1) / "orders-0" / segment_name(0, LOG)
    (folder / "data").mkdir()
    path, _ = segment_file(folder / "data", Shape(RECORD), unit)
    source = folder / segment_name(0, LOG)
    shutil.move(path, source)
    whole(folder / "warm", [source])
    one, files = whole(folder / "one", [source])
    file = committed(folder / "files", small, FILES)
    least, _ = whole(folder / "least", [small])
    model = Model(
        least - files * file,
        (one - least) / source.stat().st_size,
        plans[0]["driver"] / plans[0]["segments"],
        plans[0]["tasks"] / plans[0]["segments"],
        file,
        plans[0]["memory"] / plans[0]["segments"],
    )
    checked = []
    for count in (2, 6):
        took, files = whole(folder / f"whole-{count}", [source] * count)
        size = source.stat().st_size
        checked.append((count * size, took, model.job + count * size * model.byte + files * file))
    return model, checked, plans


def page(model: Model, checked: Checked, plans: list[dict[str, float]]) -> str:
    """Return the page."""
    steps: list[tuple[str, ...]] = [
        ("read a segment, write `raw` and `batches`", f"{model.byte * GIB:.1f} core-s/GiB"),
        (
            "plan a segment, in the driver",
            f"{1000 * model.segment:.3f} ms, {model.memory:.0f} bytes",
        ),
        ("plan a segment, in a task: its end is read", f"{1000 * model.end:.3f} ms"),
        ("commit a data file to Delta", f"{1000 * model.file:.2f} ms"),
        ("a job, whatever it reads", f"{model.job:.2f} s"),
    ]
    sizes: list[tuple[str, ...]] = [
        (f"{size / MIB:.0f} MiB", f"{took:.2f} s", f"{said:.2f} s", f"{said / took:.2f}")
        for size, took, said in checked
    ]
    planning: list[tuple[str, ...]] = [
        (
            f"{found['segments']:,.0f}", f"{found['driver']:.1f} s", f"{found['tasks']:.1f} s",
            f"{found['segments'] * model.segment / found['driver']:.2f}",
            f"{found['memory'] / MIB:.0f} MiB", f"{found['shipped'] / found['segments']:.0f} B",
            f"{found['opened'] / found['segments']:.3f}",
        ) for found in plans
    ]  # fmt: skip
    # A file of each of two tables for 512 MiB of segments.
    files = 2 * 2 * MANY
    work = model.seconds(MANY, GIB, files)
    start = MANY * TASK_SECONDS
    hundred: list[tuple[str, ...]] = [
        ("core-hours of tasks", f"{(MANY * GIB * model.byte + start) / 3600:.0f}"),
        ("of that, to start 100,000 tasks", f"{start / 3600:.1f}"),
        ("core-seconds of the driver, planning", f"{MANY * model.segment:.0f}"),
        ("core-seconds of tasks, planning", f"{MANY * model.end:.0f}"),
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
            "## Planning",
            "",
            f"Segments of one batch in partitions of {_EACH}, by hard links; the driver lists and",
            "gathers, tasks read ends. The model has the cost of a segment from the first row.",
            "A store gets two requests for each segment: a range, and before it whether the object",
            "is the listed one.",
            "",
            markdown(
                Table(
                    "",
                    (
                        "segments",
                        "driver",
                        "tasks",
                        "model / measured",
                        "memory of the driver",
                        "shipped for each",
                        "files opened for each",
                    ),
                    planning,
                )
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
@click.option("--segments", default=LARGE, metavar="N", help="Of the larger plan.")
@click.option("-o", "--output", default=str(RESULTS), help="The page.")
def main(size: int, segments: int, output: str) -> None:
    """Measure the steps of a lake, and say what 100 TB cost."""
    with tempfile.TemporaryDirectory() as folder:
        text = page(*measure(Path(folder), size * MIB, segments))
    Path(output).write_text(text)
    click.echo(text)


if __name__ == "__main__":
    main()
