"""The ``kafkaspec`` command: its commands are imported when they are run."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

import click

from kafkaspec.cli.console import say, warn, write_any_character
from kafkaspec.cli.exits import USAGE
from kafkaspec.cli.sections import Commands
from kafkaspec.errors import KafkaSpecError
from kafkaspec.extension import StaleExtensionError
from kafkaspec.jobs import ProcessEndedError, at_work
from kafkaspec.shown import printable

_SECTIONS = {
    "Check": {
        "verify": "Check logs: every batch, record, index, snapshot and checkpoint.",
        "conform": "Test any decoder with vectors and real segments.",
        "generate": "Write cases that cover the specification, with verdicts.",
    },
    "Read": {
        "dump": "Print records, or headers of batches.",
        "find": "Find an offset, a timestamp or a key.",
        "explain": "Show the bytes of a batch, field by field.",
        "explore": "Explore files in a browser: batches, records, bytes.",
        "export": "Write records to Parquet, Arrow or JSON.",
        "stats": "Measure logs: sizes, rates, codecs, keys; as text, JSON, HTML.",
        "sql": "Query topics with SQL, by DuckDB.",
    },
    "Write": {
        "convert": "Rewrite logs: magic, compression, offsets, segments.",
        "index": "Rebuild indexes from their logs.",
        "assemble": "Write the bytes that a text says, the inverse of explain.",
    },
    "Kafka's own topics": {
        "groups": "Show groups: members, committed offsets, lag; now or in the past.",
        "cluster": "Show the metadata of a cluster from a controller's disk.",
        "schemas": "Show schemas of a registry's topic: subjects, versions, ids, texts.",
        "remote": "Show segments in remote storage, and copies that never finished.",
    },
    "What happened, and how to get it back": {
        "restore": "Give a cluster back from the log directories that are left.",
        "dlq": "Show dead letters: what failed, why, and the records that they are about.",
        "salvage": "Get back the intact batches of damaged logs.",
        "doctor": "Predict whether a broker starts, and what the start costs.",
        "transactions": "Show transactions, and those that hang.",
        "producers": "Show sequence numbers: duplicates, gaps, epochs.",
        "gaps": "Show which offsets are missing, why, and the proof.",
        "compaction": "Show what the cleaner would remove, why not yet, and what it leaves.",
        "retention": "Show which segments retention deletes, and what holds the others.",
        "diff": "Compare two copies of a partition, and what truncation would remove.",
        "redact": "Erase or hash keys, values and headers, and leave the rest.",
        "partitions": "Show which partitioner placed keys, and misplaced keys.",
    },
    "The format": {"spec": "Compare specifications: what changed, and whom it breaks."},
    "Many logs at once": {"spark": "Run jobs over many logs on Spark."},
}
_INTERRUPTED = 130  # 128 + SIGINT, as shells have it


class _Main(Commands):
    """A group that turns exceptions of a command into a message and an exit code."""

    def main(self, *args: Any, **options: Any) -> Any:
        write_any_character()
        try:
            return super().main(*args, **options)
        except OSError as error:  # of --help and --version, which run no command
            _report(error)
            sys.exit(USAGE)

    def invoke(self, ctx: click.Context) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("default", RuntimeWarning)
            warnings.showwarning = _show_warning
            return self._invoke(ctx)

    def _invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except click.ClickException as error:  # its message may have a name in it
            vars(error)["message"] = _indented(error.message)
            raise
        except KafkaSpecError as error:
            warn(str(error))
            ctx.exit(USAGE)
        except BrokenPipeError:
            # The reader, for example `head`, has closed the pipe. The rest of the buffer would
            # raise again when the interpreter flushes it, so it is discarded.
            _silence_stdout()
            ctx.exit(0)
        except OSError as error:
            _report(error)
            ctx.exit(USAGE)
        except (StaleExtensionError, ProcessEndedError) as error:
            warn(str(error))
            ctx.exit(USAGE)
        except ValueError as error:
            from kafkaspec.arrow.where.syntax import WhereError  # most commands need none

            if not isinstance(error, WhereError):
                raise
            warn(str(error))
            ctx.exit(USAGE)
        except KeyboardInterrupt:
            warn("interrupted")
            if at_work():  # in C, which nothing interrupts; outputs are closed or removed by now
                os._exit(_INTERRUPTED)
            ctx.exit(_INTERRUPTED)
        return result


def _indented(message: str) -> str:
    """Return a message of which only the first line is at the margin: a name may have lines."""
    first, *others = map(printable, message.split("\n"))
    lines = (line if not line or line.startswith("  ") else f"  {line}" for line in others)
    return "\n".join((first, *lines))


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning of the library, without the line of code that it comes from."""
    warn(f"note: {message}")


def _report(error: OSError) -> None:
    """Report an error that names a file, or is about standard output."""
    place = error.filename or "standard output"
    warn(f"{place}: {error.strerror or error}")


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
    from kafkaspec.cli.version import version_lines

    for line in version_lines():
        say(line)
    ctx.exit(0)


@click.group(
    cls=_Main,
    package="kafkaspec.cli.commands",
    sections=_SECTIONS,
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

    The data is never changed, and no broker is needed.

    Exit codes: 0 clean, 1 something is wrong, missing or not found, 2 not done: wrong usage,
    nothing can be read, or the output cannot be written, 130 interrupted with Ctrl-C.
    """


if __name__ == "__main__":
    main()
