"""``kafkaspec spark``: the jobs that run on Spark, each imported when it is run."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

_EXTRA = ("pyspark", "py4j", "pyarrow")
"""What the extra ``spark`` brings."""
_COMMANDS = ("verify", "conformance", "stats", "export", "compact")

_EPILOG = """\b
Without a cluster it runs on this machine. On one:
  spark-submit --master yarn ... "$(kafkaspec spark --script)" verify PATH
Every worker needs kafkaspec, and sees the files under the same paths.
"""


class _Jobs(click.Group):
    """Knows the names of the jobs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"kafkaspec.cli.spark_{cmd_name}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] not in _EXTRA:
                raise
            raise click.UsageError(
                f"this needs PySpark: pip install 'kafkaspec[spark]' ({error})", ctx
            ) from None


def _print_script(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from kafkaspec.cli import spark_submit

        click.echo(spark_submit.__file__)
        ctx.exit(0)


@click.group(
    "spark",
    cls=_Jobs,
    epilog=_EPILOG,
    short_help="The same over whole clusters of logs, on Spark.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--master",
    metavar="URL",
    help="Of Spark: local[4], spark://host:7077 ... By default what spark-submit says, else this "
    "machine.",
)
@click.option(
    "--conf", multiple=True, metavar="NAME=VALUE", help="A setting of Spark; may be repeated."
)
@click.option(
    "--script",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_script,
    help="Show the path of the script for spark-submit and exit.",
)
@click.pass_context
def spark_command(ctx: click.Context, master: str | None, conf: tuple[str, ...]) -> None:
    """Jobs over many segments, as Spark tasks (needs the extra "spark" and Java 17)."""
    ctx.obj = (master, conf)
