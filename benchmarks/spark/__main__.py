"""Runs everything and writes the page."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmarks.data import KIB, MIB, Shape
from benchmarks.java import java_version
from benchmarks.outcome import Figure, Outcome, Settings, Table, number
from benchmarks.report import gates, machine, markdown
from benchmarks.spark import broker, queries
from benchmarks.spark.cores import scaling
from benchmarks.spark.queries import (
    AGGREGATE,
    COUNT,
    HEADERS,
    LAKE,
    NARROW,
    NOOP,
    WRITE,
    in_turns,
)
from benchmarks.spark.session import CONNECTOR, connector, session
from benchmarks.spark.sources import NARROW as NARROW_COLUMNS
from benchmarks.spark.sources import OURS, PARQUET, Rows, make
from benchmarks.timing import Times
from tools.brokers.maven import ToolError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HERE = Path(__file__).parent
RESULTS = HERE.parent / "SPARK.md"
LIMITS = HERE / "LIMITS.md"

NAMED = "segments, with the columns that the query uses in `.schema`"
BINARY, KAFKA, PREPARED = "`binaryFile`, `mapInPandas`", "Spark's Kafka source", "prepared batches"
COUNTED = "a Python source that reads nothing"

_ROUNDS = 5
_SHAPES = {Shape(100): 256 * MIB, Shape(KIB): 512 * MIB}
"""And how much of each: enough that starting a query, which takes all alike 0.2 s, is little."""
_GATES = {
    (HEADERS, 100): 1.0,
    (HEADERS, KIB): 1.0,
    (NOOP, 100): 0.85,
    (NOOP, KIB): 1.0,
    (NARROW, KIB): 0.85,
    (AGGREGATE, 100): 0.9,
    (AGGREGATE, KIB): 0.65,
    (WRITE, 100): 0.95,
    (WRITE, KIB): 0.85,
    (LAKE, 100): 0.9,
    (LAKE, KIB): 0.9,
}
_SCALING = {100: 1.75, KIB: 1.65}
_CORES = 2

Sources = dict[str, Callable[[], Any]]


@click.command()
@click.option("--quick", is_flag=True, help="Tiny data, one round: that it runs, not how fast.")
@click.option("--size", metavar="MIB", type=int, help="Of the records of each shape.")
@click.option("--rounds", type=int, help="That count.")
@click.option("--broker/--no-broker", "with_broker", default=True, help="Spark's Kafka source too.")
@click.option("--scaling/--no-scaling", "with_scaling", default=True, help="One core against two.")
@click.option("--write", is_flag=True, help=f"Write the page to {RESULTS.name} too.")
def main(
    quick: bool,
    size: int | None,
    rounds: int | None,
    with_broker: bool,
    with_scaling: bool,
    write: bool,
) -> None:
    """Compare the data source with what else Spark has; each ratio is of this run."""
    rounds = rounds or (1 if quick else _ROUNDS)
    outcome = Outcome()
    seen: list[Rows] = []
    with tempfile.TemporaryDirectory(prefix="kafkaspec-bench-") as name:
        settings = Settings(quick, Path(name))
        jars, why = _connector() if with_broker else ([], "it was left out")
        with session(settings.work, cores=_CORES, jars=jars) as spark:
            for shape, full in _SHAPES.items():
                total = settings.size(size * MIB if size else full)
                rows = make(shape, settings.work / str(shape.value), total)
                seen.append(rows)
                _prepare(spark, rows)
                _compare(spark, rows, outcome, rounds, why)
        table = Table("Two cores against one", ("scan", OURS, PARQUET))
        for rows in seen:
            why = "" if with_scaling else "it was left out"
            outcome.figures.append(_scaling(rows, rounds, why, table))
        if table.rows:
            outcome.tables.append(table)
    text = page(outcome, rounds, seen)
    click.echo(text)
    if write:
        RESULTS.write_text(text, encoding="utf-8")


def _scaling(rows: Rows, rounds: int, why: str, table: Table) -> Figure:
    what = f"{NOOP}, {rows.shape.name}: two cores against one"
    gate = _SCALING[rows.shape.value]
    if why:
        return Figure(what, None, gate, why=why)
    click.echo(what, err=True)
    found = scaling(rows, rounds)
    if not found:
        return Figure(what, None, gate, why="there is one core")
    table.rows.append((rows.shape.name, *(f"{number(found[name])} x" for name in (OURS, PARQUET))))
    return Figure(what, found[OURS], gate)


def _connector() -> tuple[list[Path], str]:
    try:
        return connector(), ""
    except ToolError as error:
        missing = [line for line in str(error).splitlines() if "Could not find artifact" in line]
        click.echo(str(error), err=True)
        return [], "no such artifact on Maven" if missing else str(error).splitlines()[0]


def _prepare(spark: SparkSession, rows: Rows) -> None:
    """Write the Parquet files, and see that all sources have the same rows."""
    rows.segments(spark).write.parquet(str(rows.parquet))
    wanted = _digest(rows.files(spark))
    for name, found in (("segments", rows.segments(spark)), ("binaryFile", rows.binary(spark))):
        if _digest(found) != wanted:
            raise AssertionError(f"{name} has other rows than Parquet")
    if queries.count_by_headers(rows.headers(spark)) != rows.count:
        raise AssertionError("headers count other rows than Parquet has")
    if wanted[0] != rows.count:
        raise AssertionError(f"{wanted[0]} rows instead of {rows.count}")


def _digest(rows: DataFrame) -> tuple[int, ...]:
    """The number of rows, and a sum over all of them."""
    found = rows.selectExpr(
        "count(*)", "sum(cast(xxhash64(key, value, offset, timestamp) as decimal(38)))"
    ).first()
    assert found is not None
    return tuple(int(item) for item in found)


def _compare(spark: SparkSession, rows: Rows, outcome: Outcome, rounds: int, why: str) -> None:
    shape = rows.shape
    plain: Sources = {OURS: lambda: rows.segments(spark), PARQUET: lambda: rows.files(spark)}
    small: Sources = {
        OURS: lambda: rows.segments(spark, NARROW_COLUMNS),
        PARQUET: lambda: rows.files(spark, NARROW_COLUMNS),
    }
    one = {**plain, NAMED: lambda: rows.segments(spark, ("offset",))}
    two = {**plain, NAMED: lambda: rows.segments(spark, ("value", "offset"))}
    headers: Sources = {
        OURS: lambda: rows.headers(spark),
        PARQUET: plain[PARQUET],
        COUNTED: lambda: rows.counted(spark),
    }
    cases: list[tuple[str, queries.Query, Sources]] = [
        (COUNT, queries.count, one),
        (HEADERS, queries.count_by_headers, headers),
        (AGGREGATE, queries.aggregate, two),
        (NARROW, queries.narrow, small),
        (WRITE, queries.to_parquet(rows.root / "written"), plain),
    ]
    for name, query, sources in cases:
        click.echo(f"{shape.name}: {name}", err=True)
        _add(outcome, rows, name, in_turns(query, sources, rows.count, rounds))
    click.echo(f"{shape.name}: {LAKE}", err=True)
    kept = rows.root / "kept"
    rows.lake(spark, kept)
    jobs: Sources = {
        OURS: lambda: partial(rows.lake, spark),
        PARQUET: lambda: partial(rows.again, spark, kept),
    }
    _add(outcome, rows, LAKE, in_turns(queries.call, jobs, rows.count, rounds))
    click.echo(f"{shape.name}: {NOOP}", err=True)
    peers: Sources = {
        **plain,
        PREPARED: lambda: rows.prepared(spark),
        BINARY: lambda: rows.binary(spark),
    }
    if why:
        _add(outcome, rows, NOOP, in_turns(queries.noop, peers, rows.count, rounds), why)
        return
    tasks = rows.segments(spark).rdd.getNumPartitions()
    work = rows.root / "broker"
    with broker.served(rows, work, tasks) as read:
        if read(spark).count() != rows.count:
            raise AssertionError("the broker has other rows")
        peers[KAFKA] = lambda: read(spark)
        _add(outcome, rows, NOOP, in_turns(queries.noop, peers, rows.count, rounds))
    shutil.rmtree(work)


def _add(outcome: Outcome, rows: Rows, name: str, found: Times, why: str = "") -> None:
    shape = rows.shape
    titles = ("source", "M rows/s", "segments are faster by", "rounds")
    table = Table(f"{name}, {shape.name}", titles)
    for source, times in found.rounds.items():
        ratio = found.ratio(source, OURS)
        rate = number(1e3 / found.median(source))
        than = "" if source == OURS else f"{number(ratio)} x"
        table.rows.append((source, rate, than, str(len(times))))
    outcome.tables.append(table)
    gate = _GATES.get((name, shape.value))
    if gate is not None:
        what = f"{name}, {shape.name}: against Parquet"
        outcome.figures.append(Figure(what, found.ratio(PARQUET, OURS), gate))
    if name == NOOP:
        against = None if why else found.ratio(KAFKA, OURS)
        what = f"{name}, {shape.name}: against {KAFKA}"
        outcome.figures.append(Figure(what, against, 1.0, why=why))


def page(outcome: Outcome, rounds: int, seen: list[Rows]) -> str:
    """The results in Markdown."""
    sizes = ", ".join(f"{rows.count:,} records of {rows.shape.name}" for rows in seen)
    versions = ", ".join(f"{name} {version(name)}" for name in ("pyspark", "pyarrow", "kafkaspec"))
    parts = [
        "# Spark\n",
        f"Made by `make bench-spark`; all figures of one run, {sizes},"
        f" `local[{_CORES}]`, up to {rounds} rounds. {machine()} {versions}; Spark's Kafka"
        f" source {CONNECTOR}, Kafka {broker.KAFKA.name};"
        f" {java_version()}.\n",
        "Wall time from `load` to the end of the query, medians of rounds in which all sources take"
        " turns; a ratio is the median of the ratios within each round. Parquet is what Spark"
        " writes of the same rows with its own settings. Before anything is timed, all sources have"
        f' given the same rows. "{PREPARED}" hands over one decoded batch again and again: the most'
        " that a data source in Python can reach; for counts, one that opens no file, and gives"
        " one row. For the tables of a lake, the peer is Spark's job"
        " from Parquet to Parquet, both zstd, on the rows of `raw`; ours also writes `batches`, and"
        " commits.\n",
        "## Gates\n",
        markdown(gates(outcome.figures)),
    ]
    if LIMITS.exists():
        parts.append(LIMITS.read_text(encoding="utf-8"))
    for table in outcome.tables:
        parts += [f"## {table.title[0].upper()}{table.title[1:]}\n", markdown(table)]
    return "\n".join(parts)


if __name__ == "__main__":
    main()
