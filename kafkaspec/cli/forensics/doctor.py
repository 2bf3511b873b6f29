"""``kafkaspec doctor``: whether a broker starts on log directories, and what it does to them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kafkaspec.cli.console import (
    count_text,
    limited,
    new_table,
    note,
    print_json,
    say,
    size_text,
    stdout_console,
    warn,
)
from kafkaspec.cli.exits import CLEAN, FINDINGS, USAGE
from kafkaspec.cli.options import (
    LogPath,
    epilog,
    format_option,
    profile_option,
    reading_options,
    wrong_usage,
)
from kafkaspec.results import as_json

if TYPE_CHECKING:
    from kafkaspec.forensics.doctor import Diagnosis, Outcome, Trouble

_EPILOG = epilog(
    """\
Example, with both log.dirs of a broker:
  kafkaspec doctor /data1/kafka-logs /data2/kafka-logs
""",
    """\
Effects: kills (the broker does not start), offline (it gives the log directory
up), deletes, cuts, renames, promotes, splits, resets, recovers, ignores (it does
not notice, and something stays wrong), nothing.
""",
    """\
Output of --format json, one object for each line, by "type":
  trouble     kind, effect, topic, partition, file, position, offsets, size,
              message, remedy, command, strength
  partition   topic, partition, file, state, becomes, segments (name, size,
              kept: bytes after the start, null if it is deleted), start_offset,
              end_offset, lost_bytes, read_bytes
  assumption  name, value, why
  summary     the last line: starts, directories, offline, troubles by effect
""",
    """\
Exit codes: 0 nothing found, 1 findings, or something cannot be read, 2 wrong
usage, or nothing of a LOGDIR can be read. What is recovered without a loss is
no finding.
""",
)


@click.command("doctor", epilog=_EPILOG)
@click.argument("directories", metavar="LOGDIR...", nargs=-1, required=True, type=LogPath())
@click.option(
    "--stop",
    type=click.Choice(["clean", "unclean"]),
    help="How the broker was stopped; by default, what each directory shows.",
)
@profile_option("Release of the broker that is to start.")
@reading_options
@format_option
@click.pass_context
def doctor_command(
    ctx: click.Context,
    directories: tuple[Path, ...],
    stop: str | None,
    profile: str,
    output_format: str,
) -> None:
    """Say whether a broker starts on its log directories, and what it does to them.

    LOGDIR... are all of log.dirs of one broker, in the order of its configuration. What the start
    would cut, delete, rename or promote is listed before it happens, with a remedy for each.
    Nothing is written. Checksums are read where the start reads them: `kafkaspec verify` reads all.
    """
    from kafkaspec.forensics.doctor import diagnose

    with wrong_usage(ValueError):
        diagnosis = diagnose(
            directories, clean=None if stop is None else stop == "clean", profile=profile
        )
    if output_format == "json":
        _as_json(diagnosis)
    else:
        _as_text(diagnosis)
    if diagnosis.unread:
        warn(f"{count_text(diagnosis.unread, 'directory', 'directories')} could not be read")
        if diagnosis.unread == len(diagnosis.outcomes):
            ctx.exit(USAGE)
    ctx.exit(FINDINGS if diagnosis.findings or diagnosis.unread else CLEAN)


def _as_json(diagnosis: Diagnosis) -> None:
    from kafkaspec.forensics.doctor.troubles import as_dict

    for trouble in diagnosis.troubles:
        print_json("trouble", as_dict(trouble))
    for outcome in diagnosis.outcomes:
        print_json("partition", _of_outcome(outcome))
    for each in diagnosis.assumptions:
        print_json("assumption", as_json(each))
    effects: dict[str, int] = {}
    for trouble in diagnosis.troubles:
        effects[str(trouble.effect)] = effects.get(str(trouble.effect), 0) + 1
    print_json(
        "summary",
        {
            "starts": diagnosis.starts,
            "directories": list(map(str, diagnosis.directories)),
            "offline": sorted(map(str, diagnosis.offline)),
            "troubles": effects,
        },
    )


def _of_outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "topic": outcome.topic,
        "partition": outcome.partition,
        "file": str(outcome.path),
        "state": outcome.state or None,
        "becomes": outcome.becomes,
        "segments": [
            {"name": item.name, "size": item.size, "kept": item.kept} for item in outcome.segments
        ],
        "start_offset": outcome.start_offset,
        "end_offset": outcome.end_offset,
        "lost_bytes": outcome.lost_bytes,
        "read_bytes": outcome.read_bytes,
    }


def _as_text(diagnosis: Diagnosis) -> None:
    from kafkaspec.forensics.doctor import Effect

    if not diagnosis.starts:
        say("The broker does not start.")
    elif diagnosis.offline:
        say(f"The broker starts without {', '.join(map(str, sorted(diagnosis.offline)))}.")
    else:
        say("The broker starts.")
    ranks = list(Effect)
    ranked = sorted(diagnosis.troubles, key=lambda item: ranks.index(item.effect))
    shown, rest = limited(ranked, lambda item: item.counts)
    for trouble in shown:
        _show(trouble)
    if rest:
        say()
        say(f"... {count_text(len(rest), 'more')}; --format json has all")
    _show_changed(diagnosis.outcomes)
    say()
    for each in diagnosis.assumptions:
        say(str(each))
    note(
        f"{count_text(len(diagnosis.outcomes), 'partition')}, "
        f"{count_text(len(diagnosis.findings), 'finding')}"
    )


def _show(trouble: Trouble) -> None:
    say()
    place = trouble.path if trouble.position is None else f"{trouble.path}, byte {trouble.position}"
    say(f"{trouble.effect}  {place}")
    say(f"  {trouble.message} ({trouble.strength})")
    if trouble.remedy:
        say(f"  remedy: {trouble.remedy}")
    if trouble.command:
        say(f"    $ {trouble.command}")


def _show_changed(outcomes: Iterable[Outcome]) -> None:
    changed = [item for item in outcomes if item.lost_bytes or item.becomes != item.path.name]
    if not changed:
        return
    say()
    table = new_table("directory", "becomes", ">segments", "", ">bytes lost", ">end offset")
    shown, rest = limited(changed, lambda item: bool(item.lost_bytes))
    for item in shown:
        before = sum(1 for each in item.segments if each.size is not None)
        table.add_row(
            str(item.path),
            "" if item.becomes == item.path.name else item.becomes,
            str(before),
            f"to {len(item.segments_after)}",
            size_text(item.lost_bytes),
            "-" if item.end_offset is None else str(item.end_offset),
        )
    if rest:
        table.add_row(f"... {len(rest):,} more", "", "", "", "", "")
    console = stdout_console()
    console.print(table)
