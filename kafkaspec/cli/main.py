"""The ``kafkaspec`` command: its commands are imported when they are run."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

from kafkaspec.cli.exits import USAGE

_COMMANDS = ("verify", "dump", "find", "explain", "export", "convert", "index", "conform", "spark")
_INTERRUPTED = 130  # 128 + SIGINT, as shells have it


class _Commands(click.Group):
    """A group that knows the names of its commands and imports each only when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"kafkaspec.cli.{cmd_name}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def invoke(self, ctx: click.Context) -> Any:
        from kafkaspec.errors import KafkaSpecError
        from kafkaspec.extension import StaleExtensionError

        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except KafkaSpecError as error:
            click.echo(f"kafkaspec: {error}", err=True)
            ctx.exit(USAGE)
        except BrokenPipeError:
            # The reader, `head` for one, has what it wants. What is still in the buffer would
            # raise once more when the interpreter flushes it, so it goes nowhere.
            _silence_stdout()
            ctx.exit(0)
        except (OSError, StaleExtensionError) as error:
            click.echo(f"kafkaspec: {error}", err=True)
            ctx.exit(USAGE)
        except KeyboardInterrupt:
            click.echo("kafkaspec: interrupted", err=True)
            ctx.exit(_INTERRUPTED)
        return result


def _silence_stdout() -> None:
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):  # not a real file, in tests
        return
    os.close(nowhere)


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from kafkaspec.codecs import DEFAULT_CODEC, codec_names
    from kafkaspec.specification import __version__

    click.echo(f"kafkaspec {__version__}, codec {DEFAULT_CODEC}")
    if "native" not in codec_names():
        click.echo("the native codec was not built here; it needs a C compiler when installing")
    ctx.exit(0)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def main() -> None:
    """Read and check the files that Apache Kafka keeps on disk.

    Nothing is ever written beside the data, and no broker is needed.

    Exit codes: 0 clean, 1 findings or nothing found, 2 wrong usage or unreadable input.
    """


if __name__ == "__main__":
    main()
