"""``kafkaspec spark``: jobs on Spark, each imported when it runs."""

from __future__ import annotations

import types
from typing import Any

import click

from kafkaspec.cli.console import note, say
from kafkaspec.cli.sections import Commands
from kafkaspec.cli.spark import submit
from kafkaspec.shown import size_text
from kafkaspec.spark.archive import write_archive

_EXTRA = ("pyspark", "py4j", "pyarrow")
"""Packages of the extra ``spark``."""
_SUMMARIES = {
    "verify": "Check many segments at a time, and compare what several codecs read.",
    "stats": "Count bytes, records, codecs, producers, gaps; with plots.",
    "export": "Write records to Parquet by topic and day, and back.",
    "messages": "Write records and states of Kafka's own topics as tables.",
    "compaction": "Clean logs as brokers do, byte for byte.",
    "lake": "Add segments to tables of Delta or Iceberg, each record once.",
}

_EPILOG = """\b
Without a cluster, jobs run on this machine. On a cluster:
  kafkaspec spark --archive env.tar.gz
  mkdir env && tar -xzf env.tar.gz -C env
  spark-submit --master yarn --archives env.tar.gz#env \\
    --conf spark.pyspark.python=./env/bin/python "$(kafkaspec spark --script)" verify PATH
Every worker must see the files under the same paths.
"""


class _Jobs(Commands):
    """A group that says how to install PySpark if a job needs it, and knows former names of jobs.

    Attributes:
        former: the former names, which work until the next minor version, and what they are now.
    """

    former = types.MappingProxyType({"compact": "compaction", "conformance": "verify"})

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, *others = args
        if name in self.former:
            if name == "conformance":
                others = _joined(others)
            name = self.former[name]
            text = f"spark {args[0]} is now spark {name}"
            note(f"{text}; the old name works until the next minor version")
        return super().resolve_command(ctx, [name, *others])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] not in _EXTRA:
                raise
            raise click.UsageError(
                f"this needs PySpark: pip install 'kafkaspec[spark]' ({error})", ctx
            ) from None


def _joined(arguments: list[str]) -> list[str]:
    """Return arguments with one list of codecs, of which ``conformance`` took several options."""
    codecs, others = [], []
    left = iter(arguments)
    for argument in left:
        name, equals, value = argument.partition("=")
        if name == "--codec":
            codecs.append(value if equals else next(left, ""))
        else:
            others.append(argument)
    return ["--codec", ",".join(codecs) or "all", *others]


def _print_script(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        say(submit.__file__)
        ctx.exit(0)


def _write_archive(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is None or ctx.resilient_parsing:
        return
    try:
        size = write_archive(value)
    except (ValueError, OSError) as error:
        raise click.UsageError(f"--archive: {error}", ctx) from None
    say(f"wrote {size_text(size)} to {value}. Use it with:")
    say(f"  --archives {value}#env --conf spark.pyspark.python=./env/bin/python")
    say(f"The driver needs it too: mkdir env && tar -xzf {value} -C env")
    ctx.exit(0)


@click.group(
    "spark",
    cls=_Jobs,
    package="kafkaspec.cli.spark",
    sections={"Commands": _SUMMARIES},
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--master",
    metavar="URL",
    help="Master of Spark: local[4], spark://host:7077 ... The default is that of spark-submit, "
    "or this machine.",
)
@click.option(
    "--conf", multiple=True, metavar="NAME=VALUE", help="Setting of Spark. Can be repeated."
)
@click.option(
    "--script",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_script,
    help="Show the path of the script for spark-submit and exit.",
)
@click.option(
    "--archive",
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_write_archive,
    help="Write the virtual environment of this command to FILE (.tar.gz), for workers, and exit.",
)
@click.pass_context
def spark_command(ctx: click.Context, master: str | None, conf: tuple[str, ...]) -> None:
    """Run jobs over many segments as Spark tasks (needs the extra "spark" and Java 17)."""
    ctx.obj = (master, conf)
