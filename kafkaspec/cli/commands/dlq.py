"""``kafkaspec dlq``: dead letters: what failed, why, and the records that they are about."""

from __future__ import annotations

from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import click

from kafkaspec.cli.command import command, defined, option
from kafkaspec.cli.console import MORE, TableColumn, count_text
from kafkaspec.cli.inputs import Inputs
from kafkaspec.cli.options import Codec, PathsOrUrls, TopicName, comma_separated, wrong_usage
from kafkaspec.cli.report import Output, Reporter, line
from kafkaspec.cli.typed import TYPED_EPILOG, content_options, taken, tell
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.opening import open_log
from kafkaspec.log.partition import Partition
from kafkaspec.provider import require_pyarrow
from kafkaspec.results import Strength
from kafkaspec.tables import FORMATS, FolderOptions

if TYPE_CHECKING:
    from kafkaspec.forensics.dead_letters import DeadLetters

_PACKAGE: Final = "kafkaspec.forensics.dead_letters"
_FORMS: Final = (*(form for form in FORMATS if form != "csv"), "segments")
_MOST_ROWS: Final = 50
"""Letters that are shown in text; JSON has all."""

OUTPUT = Output(
    letter=line(
        f"{_PACKAGE}:DEAD_LETTERS",
        source=f"{_PACKAGE}:SourceState",
        why="kafkaspec.forensics.gaps:Why",
        strength=Strength,
        letter_record=dict[str, Any] | None,
        source_record=dict[str, Any] | None,
        optional=("letter_record", "source_record"),
    ),
    summary={"letters": int, "lost": int, "exported": int | None},
)
_EPILOG = f"""
A record is a dead letter if it has the headers of a writer: share groups of Kafka 4.4
(__dlq.errors.*), Kafka Connect (__connect.errors.*, with
errors.deadletterqueue.context.headers.enable), Kafka Streams (__streams.errors.*) or
Spring (kafka_dlt-*, kafka_original-*). Source, the record that it is about, is:
  same        there, with the key and value of the letter
  different   there, with another key or value
  reference   there; the letter has neither key nor value, it only says where
  gone        not in its log; why and how well that is proven is said as "gaps" does
  unreadable  in bytes that cannot be read
  beyond      after the end of its log: this copy is older, or was cut back
  no_log      of a partition that is not in any PATH or OTHER
  unnamed     not said: the headers lack topic, partition or offset

{TYPED_EPILOG.rstrip()}
They are those of the topic that a letter names, for the letter too.

Examples:
  kafkaspec dlq /var/kafka --topic dlq.orders --sources /mnt/other-disk
  kafkaspec dlq /var/kafka --show-letters --value decode
  kafkaspec dlq /var/kafka -o replay --to segments

Exit codes: 0 each record that a letter is about is there, 1 some are not, or something
cannot be read, 2 wrong usage, or nothing in a PATH can be read.
"""


@command(OUTPUT, _EPILOG)
def dlq_command(
    ctx: click.Context,
    report: Reporter,
    *,
    paths: PathsOrUrls,
    topic: TopicName,
    codec: Codec,
    others: tuple[Path, ...] = option(
        "--sources",
        "Another log directory, or a partition, in which records are looked up.",
        metavar="OTHER",
        multiple=True,
    ),
    show_letters: bool = option("Show each letter."),
    output: Path | None = option(
        "-o",
        "--output",
        "Write the records that letters are about: a file, or a directory of partitions.",
        type=click.Path(path_type=Path),
        metavar="OUT",
    ),
    to: str | None = option(
        "Format of OUT: Parquet, Arrow IPC, a JSON object a line, or segments; by default that of "
        "the suffix.",
        type=click.Choice(_FORMS),
    ),
    split_by: list[str] | None = defined(
        of=FolderOptions, callback=comma_separated, metavar="A,B,..."
    ),
    flatten: str | None = defined(of=FolderOptions, is_flag=False, flag_value=".", metavar="[SEP]"),
    **arguments: Annotated[Any, content_options],
) -> None:
    """Show dead letters by what failed and why, and where the records are that they are about.

    A PATH is a log directory, a partition, or a segment. Dead letters are looked for in all of
    it, or in --topic; the records in each PATH and OTHER.

    With -o, each record is written once, in the order of topic, partition and offset: as its log
    has it, or else as the letter has it, without the headers of the failure. Segments have the
    offsets that the records had.

    Keys and values that are decoded are shown with --show-letters and in JSON, and written to
    OUT: of several topics as JSON lines, or with --split-by topic in folders.
    """
    with wrong_usage(ImportError):
        require_pyarrow()
        from kafkaspec.forensics import dead_letters
    if output is None and (to is not None or split_by or flatten is not None):
        raise click.UsageError("--to, --split-by and --flatten go with -o")
    typed = taken(arguments, needed=bool(split_by) or flatten is not None)
    if typed is not None and not (show_letters or report.as_json or output is not None):
        raise click.UsageError(
            "decoded keys and values need a place: --show-letters, -o, or --format json"
        )
    form: Any = None
    if output is not None:
        form = _form(output, to or ("parquet" if split_by else None))
        if typed is not None and form == "segments":
            raise click.UsageError("segments have keys and values as they are")
        place: Any = "segments" if split_by else form
        dead_letters.check_target(output, place, *paths, *others)
    inputs = Inputs(paths, codec, topic=topic)
    opened = [ctx.with_resource(open_log(path, codec=codec)) for path in (*paths, *others)]
    parts: Any = [log.current if isinstance(log, LogDirectory) else [log] for log in opened]
    sources = (log for log in chain(*parts) if isinstance(log, Partition))
    dead = dead_letters.read_dead_letters((log for _, log in inputs.whole_logs()), sources)
    inputs.undecoded(dead.unread)
    inputs.findings += dead.lost
    logs = list(filter(inputs.is_wanted, chain(*parts[: len(paths)])))
    _print(report, dead)
    if typed is None:
        report.rows("letter", dead.letters)
        if show_letters:
            _show(report, dead)
    elif show_letters or report.as_json:
        _show_typed(report, dead, logs, typed)
    exported = None
    if output is not None:
        if typed is None:
            exported = dead_letters.export_originals(dead, logs, output, form)
        else:
            from kafkaspec.forensics.dead_letters.contents import export_typed_originals

            with wrong_usage(ValueError):
                exported = export_typed_originals(
                    dead, logs, output, form, split_by=split_by or (), flatten=flatten, **typed
                )
        report.say(f"{count_text(exported, 'record')} in {output}")
    if typed is not None:
        inputs.broken += tell(typed["report"])
    letters = dead.letters.num_rows
    text = f"{count_text(letters, 'dead letter')}, {dead.lost:,} without their record"
    report.finish(inputs, text, letters=letters, lost=dead.lost, exported=exported)


def _form(output: Path, to: str | None) -> str:
    form = to or output.suffix.removeprefix(".")
    if form not in _FORMS:
        suffixes = ", ".join(f".{name}" for name in _FORMS[:-1])
        raise click.UsageError(f"{output} ends in none of {suffixes}; name the format: --to")
    return form


def _print(report: Reporter, dead: DeadLetters) -> None:
    columns: dict[str, TableColumn] = {
        "from topic": lambda row: row["source_topic"] or "-",
        "by": "writer",
        "group or connector": lambda row: row["group"] or row["connector"] or "-",
        "exception": lambda row: (row["exception"] or "-").rpartition(".")[2],
        ">letters": "offset_count:,",
        "first": "timestamp_min:iso",
        "last": "timestamp_max:iso",
        "source": _source,
    }
    report.table(columns, dead.groups.to_pylist())


def _source(row: dict[str, Any]) -> str:
    return row["source"] if row["why"] is None else f"{row['source']} ({row['why']})"


def _at(row: dict[str, Any], of: str = "") -> str:
    found = (row[f"{of}{name}"] for name in ("topic", "partition", "offset"))
    return "{}-{} offset {}".format(*("?" if each is None else each for each in found))


def _letter(row: dict[str, Any]) -> str:
    text = row["message"] or row["exception"] or ""
    return f"{_at(row)}: {_at(row, 'source_')} [{_source(row)}] {text}".rstrip()


def _show_typed(report: Reporter, dead: DeadLetters, logs: list[Any], typed: Any) -> None:
    with wrong_usage(ImportError, ValueError):
        from kafkaspec.cli.commands.dlq_typed import letters_with_contents

        found = letters_with_contents(dead, logs, typed)
        for row, members, texts in found if report.as_json else islice(found, _MOST_ROWS):
            report.line("letter", row, **members)
            for text in (_letter(row), *texts):
                report.say(text)
    _say_more(report, dead)


def _show(report: Reporter, dead: DeadLetters) -> None:
    for row in dead.letters.slice(0, _MOST_ROWS).to_pylist():
        report.say(_letter(row))
    _say_more(report, dead)


def _say_more(report: Reporter, dead: DeadLetters) -> None:
    left = dead.letters.num_rows - _MOST_ROWS
    if left > 0:
        report.say(MORE.format(left))
