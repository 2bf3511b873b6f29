"""The Spark session of a command."""

from __future__ import annotations

import logging
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from kafkaspec.cli.console import warn
from kafkaspec.cli.exits import USAGE
from kafkaspec.log.listed import missing_in
from kafkaspec.spark.paths import LOGGER, check_place, find_logs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SETTINGS: Final = {
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}

_LOCAL_SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
"""Settings for one machine: nothing must be reachable from outside."""

_OURS: Final = re.compile(r"^kafkaspec\.[\w.]+: (.+)", re.MULTILINE)
"""An error of ours, in the text of an error of Spark."""

_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""Set by spark-submit, which then knows the master."""


def check_outputs(paths: Sequence[str], *outputs: str | None) -> None:
    """Refuse outputs that overlap what is read, before a job starts.

    Raises:
        KafkaSpecError: ``unreadable``.
    """
    for output in outputs:
        if output is not None:
            check_place(output, paths)


class _Notes(logging.Handler):
    """Prints what the data source logs while it looks for logs."""

    def emit(self, record: logging.LogRecord) -> None:
        warn(f"note: {record.getMessage()}")


def name_missing(paths: Sequence[str], *, log_start: bool = True) -> bool:
    """Name what logs do not deliver, on stderr, and return whether something is lost.

    Args:
        paths: what the job reads.
        log_start: whether it begins at the log start offsets.

    Raises:
        KafkaSpecError: ``unreadable``: there is nothing under a path.
    """
    notes = _Notes()
    LOGGER.addHandler(notes)
    try:
        logs = find_logs(paths, log_start=log_start)
    finally:
        LOGGER.removeHandler(notes)
    lost = 0
    for log in logs:
        for item in missing_in(log, log_start=log_start):
            lost += item.is_loss
            warn(str(item) if item.is_loss else f"note: {item}")
    return lost > 0


def save(output: str | None, **frames: DataFrame) -> None:
    """Write tables as Parquet, each in a separate directory, if there is an output."""
    if output is not None:
        for name, frame in frames.items():
            frame.write.mode("error").parquet(f"{output}/{name}")


@contextmanager
def session(ctx: click.Context) -> Iterator[SparkSession]:
    """Yield the active session, or one that ends with the command.

    Args:
        ctx: context of a command of ``kafkaspec spark``.

    Raises:
        UsageError: Java is missing, or a setting is not ``NAME=VALUE``.
        ModuleNotFoundError: PySpark is missing.
        Exit: a task ended with an error of ours, which is shown without the trace of Spark.
    """
    from pyspark.errors import PySparkException

    try:
        with _session(ctx) as spark:
            yield spark
    except PySparkException as error:
        ours = _OURS.findall(str(error))
        if not ours:
            raise
        warn(ours[-1])
        ctx.exit(USAGE)


@contextmanager
def _session(ctx: click.Context) -> Iterator[SparkSession]:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    # Its warning about pandas does not apply here: this project does not use pandas in Spark.
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    master, conf = ctx.obj or (None, ())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(f"kafkaspec {ctx.info_name}")
    settings = dict(_SETTINGS)
    if master is None and _SUBMITTED not in os.environ:
        master = "local[*]"
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            settings |= _LOCAL_SETTINGS
    settings["spark.ui.showConsoleProgress"] = str(sys.stderr.isatty()).lower()
    for text in conf:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(f"--conf {text}: write NAME=VALUE")
        settings[name] = value
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
    except PySparkException as error:
        raise click.UsageError(
            f"Spark does not start: {error}\nIt needs Java 17 or newer, in JAVA_HOME or PATH."
        ) from None
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()
