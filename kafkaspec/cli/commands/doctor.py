"""``kafkaspec doctor``: whether a broker starts on log directories, and what it does to them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kafkaspec.cli.console import (
    count_text,
    limited,
    new_table,
    note,
    progress_bar,
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
from kafkaspec.cli.report import (
    Output,
    ReportCommand,
    Reporter,
    Tally,
    line,
    say_assumptions,
)
from kafkaspec.files import names
from kafkaspec.results import Assumption, OffsetRange, Strength, as_json

if TYPE_CHECKING:
    from kafkaspec.forensics.doctor import Diagnosis, DirectoryFate, Loss, Trouble

_BEFORE = {
    "damaged": "Damaged, and not looked at by the start",
    "missing": "Missing, with no other replica",
}
"""What is lost before the start, by the kind of ``LossKind``."""
_PLACES = 5
"""Places of equal findings, and partitions in the first line, that are shown."""

_TROUBLES = "kafkaspec.forensics.doctor.troubles"

OUTPUT = Output(
    trouble=line(
        kind=f"{_TROUBLES}:TroubleKind",
        effect=f"{_TROUBLES}:Effect",
        topic=str | None,
        partition=int | None,
        file=str,
        position=int | None,
        offsets=OffsetRange | None,
        size=int | None,
        message=str,
        remedy=str | None,
        command=str | None,
        strength=Strength,
    ),
    partition=line(
        f"{_TROUBLES}:DirectoryFate",
        file=str,
        state=str | None,
        segments=list[dict[str, Any]],
        lost_bytes=int,
        without=("path",),
    ),
    assumption=line(Assumption),
    summary={
        "headline": str,
        "starts": bool,
        "lost": list[dict[str, Any]],
        "directories": list[str],
        "offline": list[str],
        "troubles": dict[str, int],
    },
)
_EPILOG = epilog(
    """\
Example, with both log.dirs of a broker:
  kafkaspec doctor /data1/kafka-logs /data2/kafka-logs
""",
    """\
The first line says what the start costs: bytes that it cuts, offsets that it
hides, partitions that it renames or deletes, and damage that it does not meet.
Findings that differ in places and numbers only are one, with their count.
""",
    """\
Effects: kills (the broker does not start), offline (it gives the log directory
up), deletes, cuts, hides (records are not delivered, and their offsets given out
again), renames, promotes, splits, resets, recovers, ignores (it does not notice,
and something stays wrong), nothing.
""",
    """\
Exit codes: 0 nothing found, 1 findings, or something cannot be read, 2 wrong
usage, or nothing in a LOGDIR can be read. Data recovered without a
loss is not a finding.
""",
)


@click.command("doctor", cls=ReportCommand, output=OUTPUT, epilog=_EPILOG)
@click.argument("directories", metavar="LOGDIR...", nargs=-1, required=True, type=LogPath())
@click.option(
    "--stop",
    type=click.Choice(["clean", "unclean"]),
    help="How the broker was stopped; by default, what each directory shows.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Read only what the start reads: damage that it does not meet is not found.",
)
@profile_option("Release of the broker that is to start.")
@reading_options
@format_option
@click.pass_context
def doctor_command(
    ctx: click.Context,
    directories: tuple[Path, ...],
    stop: str | None,
    quick: bool,
    profile: str,
    output_format: str,
) -> None:
    """Say whether a broker starts on its log directories, and what it does to them.

    LOGDIR... are all of log.dirs of one broker, in the order of its configuration. What the start
    would cut, delete, rename or promote is listed before it happens, with a remedy for each.
    Nothing is written. Checksums are read in all segments, or with --quick in those that the start
    reads; records themselves are for `kafkaspec verify`.
    """
    from kafkaspec.forensics.doctor import diagnose

    with progress_bar("doctor", _size_of(directories)) as advance, wrong_usage(ValueError):
        diagnosis = diagnose(
            directories,
            clean=None if stop is None else stop == "clean",
            profile=profile,
            quick=quick,
            progress=advance,
        )
    report = Reporter(ctx, output_format)
    if report.as_json:
        _report(report, diagnosis)
    else:
        _as_text(diagnosis)
    code = FINDINGS if diagnosis.findings or diagnosis.unread else CLEAN
    if diagnosis.unread:
        warn(f"{count_text(diagnosis.unread, 'directory', 'directories')} could not be read")
        if diagnosis.unread == len(diagnosis.outcomes):
            code = USAGE
    report.finish(
        Tally(
            code,
            logs=len(diagnosis.outcomes) - diagnosis.unread,
            unreadable=diagnosis.unread,
            findings=len(diagnosis.findings),
        ),
        **(_sums(diagnosis) if report.as_json else {}),
    )


def _size_of(directories: Iterable[Path]) -> int:
    """Return the size of all segments."""
    try:
        found = (path for each in directories for path in each.glob(f"*/*{names.LOG}"))
        return sum(path.stat().st_size for path in found)
    except OSError:
        return 0  # the diagnosis says why


def _headline(diagnosis: Diagnosis) -> str:
    """Return what the start costs, and whether the broker starts."""
    from kafkaspec.forensics.doctor import LossKind, losses

    found = losses(diagnosis.troubles, diagnosis.offline)
    by_kind = {str(kind): [loss for loss in found if loss.what is kind] for kind in LossKind}
    before = {kind: by_kind.pop(kind) for kind in _BEFORE}
    lost = "; ".join(_lost(kind, each) for kind, each in by_kind.items() if each)
    parts = []
    if not diagnosis.starts:
        parts.append("The broker does not start.")
        if lost:
            parts.append(f"A start that gets past that loses: {lost}.")
    elif lost:
        parts.append(f"Lost: {lost}.")
    for kind, text in _BEFORE.items():
        if before[kind]:
            many = count_text(len(before[kind]), "partition")
            parts.append(f"{text}: {many} ({_named(before[kind])}).")
    if diagnosis.starts:
        without = ", ".join(map(str, sorted(diagnosis.offline)))
        parts.append(f"The broker starts{f' without {without}' if without else ''}.")
    return " ".join(parts)


def _lost(kind: str, found: Sequence[Loss]) -> str:
    """Return what happens to some partitions in the same way."""
    many = count_text(len(found), "partition")
    offsets = sum(each.size or 0 for loss in found for each in loss.offsets)
    size = size_text(sum(loss.size for loss in found))
    text = {
        "cut": f"{size} cut from {many}",
        "hidden": f"{count_text(offsets, 'offset')} hidden and given out again in {many}",
        "renamed": f"{many} renamed to -stray",
        "deleted": f"{many} deleted, {size}",
    }[kind]
    return f"{text} ({_named(found)})"


def _named(found: Sequence[Loss]) -> str:
    """Return partitions by name with the offsets that are concerned, as many as a line takes."""
    shown = [_with_offsets(loss) for loss in found[:_PLACES]]
    rest = len(found) - len(shown)
    return ", ".join([*shown, f"{rest:,} more"] if rest else shown)


def _with_offsets(loss: Loss) -> str:
    name = f"{loss.topic}-{loss.partition}"
    ranges = [str(each) for each in loss.offsets if each.size != 0]
    return " ".join([name, " and ".join(ranges[:_PLACES])]).rstrip()


def _report(report: Reporter, diagnosis: Diagnosis) -> None:
    from kafkaspec.forensics.doctor.troubles import as_dict

    for trouble in diagnosis.troubles:
        report.line("trouble", as_dict(trouble))
    for item in diagnosis.outcomes:
        segments = [as_json(each, ("alone",)) for each in item.segments]
        report.line(
            "partition",
            item,
            file=item.path,
            state=item.state or None,
            segments=segments,
            lost_bytes=item.lost_bytes,
        )
    for each in diagnosis.assumptions:
        report.line("assumption", each)


def _sums(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the members of the summary in JSON."""
    from kafkaspec.forensics.doctor import losses

    return {
        "headline": _headline(diagnosis),
        "starts": diagnosis.starts,
        "lost": losses(diagnosis.troubles, diagnosis.offline),
        "directories": diagnosis.directories,
        "offline": sorted(map(str, diagnosis.offline)),
        "troubles": Counter(trouble.effect for trouble in diagnosis.troubles),
    }


def _as_text(diagnosis: Diagnosis) -> None:
    from kafkaspec.forensics.doctor import Effect

    say(_headline(diagnosis))
    ranks = list(Effect)
    ranked = sorted(_grouped(diagnosis.troubles), key=lambda each: ranks.index(each[0].effect))
    shown, rest = limited(ranked, lambda each: each[0].counts)
    for group in shown:
        _show(group)
    if rest:
        say()
        say(f"... {count_text(len(rest), 'more')}; --format json has all")
    _show_changed(diagnosis.outcomes)
    say()
    say_assumptions(diagnosis.assumptions)
    note(
        f"{count_text(len(diagnosis.outcomes), 'partition')}, "
        f"{count_text(len(diagnosis.findings), 'finding')}"
    )


def _grouped(troubles: Iterable[Trouble]) -> list[list[Trouble]]:
    """Return findings, those together that differ in places and numbers only."""
    found: dict[tuple[str, ...], list[Trouble]] = {}
    for trouble in troubles:
        text = trouble.message.replace(f"{trouble.topic}-{trouble.partition}", "")
        text = re.sub(r"0x[0-9a-f]+|\d[\d,]*", "0", text.replace(Path(trouble.path).name, ""))
        key = (trouble.kind, trouble.effect, trouble.strength, text, trouble.remedy)
        found.setdefault(key, []).append(trouble)
    return list(found.values())


def _place(trouble: Trouble) -> str:
    at = "" if trouble.position is None else f", byte {trouble.position}"
    return f"{trouble.path}{at}"


def _show(group: Sequence[Trouble]) -> None:
    trouble = group[0]
    say()
    say(f"{trouble.effect}  {_place(trouble)}")
    say(f"  {trouble.message} ({trouble.strength})")
    if len(group) > 1:
        say(f"  {count_text(len(group) - 1, 'more finding')} like this, in")
        for each in group[1:_PLACES]:
            say(f"    {_place(each)}")
        if len(group) > _PLACES:
            say(f"    ... {len(group) - _PLACES:,} more; --format json has all")
    if trouble.remedy:
        say(f"  remedy: {trouble.remedy}")
    if trouble.command:
        say(f"    $ {trouble.command}")


def _show_changed(outcomes: Iterable[DirectoryFate]) -> None:
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
