"""``kafkaspec doctor``: whether a broker starts on log directories, and what it does to them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import click

from kafkaspec.cli.command import command, option
from kafkaspec.cli.console import TableColumn, count_text, limited, note, progress_bar, warn
from kafkaspec.cli.exits import CLEAN, FINDINGS, USAGE
from kafkaspec.cli.options import LogPath, wrong_usage
from kafkaspec.cli.report import Output, Reporter, Tally, line
from kafkaspec.cli.rules import profile_option
from kafkaspec.files import names
from kafkaspec.results import Assumption, as_json
from kafkaspec.shown import size_text

if TYPE_CHECKING:
    from kafkaspec.forensics.doctor import Diagnosis, PartitionLoss, Trouble

_BEFORE = {
    "damaged": "Damaged, and not looked at by the start",
    "missing": "Missing, with no other replica",
}
"""What is lost before the start, by the kind of ``LossKind``."""
_PLACES = 5
"""Places of equal findings, and partitions in the first line, that are shown."""

_TROUBLES = "kafkaspec.forensics.doctor.troubles"

OUTPUT = Output(
    trouble=line(f"{_TROUBLES}:Trouble"),
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
_EPILOG = """
Example, with both log.dirs of a broker:
  kafkaspec doctor /data1/kafka-logs /data2/kafka-logs

The first line says what the start costs: bytes that it truncates, offsets that it
hides, partitions that it renames or deletes, and damage that it does not read.
Findings that differ only in places and numbers are shown once, with their count.

Effects: kills (the broker does not start), offline (it gives the log directory
up), deletes, cuts, hides (records are not delivered, and their offsets given out
again), renames, promotes, splits, resets, recovers, ignores (it does not notice,
and something stays wrong), nothing.

Exit codes: 0 nothing found, 1 findings, or something cannot be read, 2 wrong
usage, or nothing in a LOGDIR can be read. Data recovered without a
loss is not a finding.
"""


@command(OUTPUT, _EPILOG)
def doctor_command(
    report: Reporter,
    *,
    directories: Annotated[
        tuple[Path, ...],
        click.argument("directories", metavar="LOGDIR...", nargs=-1, required=True, type=LogPath()),
    ],
    stop: Literal["clean", "unclean"] | None = option(
        "How the broker was stopped; by default, what each directory shows."
    ),
    quick: bool = option("Read only what the start reads; damage elsewhere is not found."),
    profile: Annotated[str, profile_option(help="Release of the broker that is to start.")],
) -> None:
    """Predict whether a broker starts on its log directories, and what the start does to them.

    LOGDIR... are all log.dirs of one broker, in the order of its configuration. The output lists
    in advance what the start would truncate, delete, rename or promote, with a remedy for each.
    Nothing is written. Checksums are verified in all segments, or with --quick in those that the
    start reads; to check the records themselves, use `kafkaspec verify`.
    """
    from kafkaspec.forensics.doctor import diagnose, losses

    with progress_bar("doctor", _size_of(directories)) as advance, wrong_usage(ValueError):
        diagnosis = diagnose(
            directories,
            clean=None if stop is None else stop == "clean",
            profile=profile,
            quick=quick,
            progress=advance,
        )
    _show(report, diagnosis)
    code = FINDINGS if diagnosis.findings or diagnosis.unread else CLEAN
    if diagnosis.unread:
        warn(f"{count_text(diagnosis.unread, 'directory', 'directories')} could not be read")
        if diagnosis.unread == len(diagnosis.outcomes):
            code = USAGE
    tally = Tally(
        code,
        logs=len(diagnosis.outcomes) - diagnosis.unread,
        unreadable=diagnosis.unread,
        findings=len(diagnosis.findings),
    )
    report.finish(
        tally,
        headline=_headline(diagnosis),
        starts=diagnosis.starts,
        lost=losses(diagnosis.troubles, diagnosis.offline),
        directories=diagnosis.directories,
        offline=sorted(map(str, diagnosis.offline)),
        troubles=Counter(trouble.effect for trouble in diagnosis.troubles),
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


def _lost(kind: str, found: Sequence[PartitionLoss]) -> str:
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


def _named(found: Sequence[PartitionLoss]) -> str:
    """Return partitions by name with the offsets that are concerned, as many as a line takes."""
    shown = [_with_offsets(loss) for loss in found[:_PLACES]]
    rest = len(found) - len(shown)
    return ", ".join([*shown, f"{rest:,} more"] if rest else shown)


def _with_offsets(loss: PartitionLoss) -> str:
    name = f"{loss.topic}-{loss.partition}"
    ranges = [str(each) for each in loss.offsets if each.size != 0]
    return " ".join([name, " and ".join(ranges[:_PLACES])]).rstrip()


def _show(report: Reporter, diagnosis: Diagnosis) -> None:
    from kafkaspec.forensics.doctor import Effect

    report.say(_headline(diagnosis))
    for trouble in diagnosis.troubles if report.as_json else ():
        report.line("trouble", trouble)
    ranks = list(Effect)
    ranked = sorted(_grouped(diagnosis.troubles), key=lambda each: ranks.index(each[0].effect))
    shown, rest = limited(ranked, lambda each: each[0].counts)
    for group in shown:
        _show_group(report, group)
    if rest:
        report.say()
        report.say(f"... {count_text(len(rest), 'more')}; --format json has all")
    for item in diagnosis.outcomes:
        segments = [as_json(each, ("alone",)) for each in item.segments]
        own = {"file": item.path, "state": item.state or None, "lost_bytes": item.lost_bytes}
        report.line("partition", item, own, segments=segments)
    changed = [
        item for item in diagnosis.outcomes if item.lost_bytes or item.becomes != item.path.name
    ]
    if changed:
        report.say()
        report.table(_CHANGED, changed, lambda item: bool(item.lost_bytes))
    report.say()
    report.assume(diagnosis.assumptions)
    if not report.as_json:
        found = count_text(len(diagnosis.findings), "finding")
        note(f"{count_text(len(diagnosis.outcomes), 'partition')}, {found}")


_CHANGED: Final[dict[str, TableColumn]] = {
    "directory": lambda item: str(item.path),
    "becomes": lambda item: "" if item.becomes == item.path.name else item.becomes,
    ">segments": lambda item: sum(each.size is not None for each in item.segments),
    "": lambda item: f"to {len(item.segments_after)}",
    ">bytes lost": "lost_bytes:size",
    ">end offset": "end_offset",
}


def _grouped(troubles: Iterable[Trouble]) -> list[list[Trouble]]:
    """Return findings, those together that differ in places and numbers only."""
    found: dict[tuple[str | None, ...], list[Trouble]] = {}
    for trouble in troubles:
        text = trouble.message.replace(f"{trouble.topic}-{trouble.partition}", "")
        text = re.sub(r"0x[0-9a-f]+|\d[\d,]*", "0", text.replace(Path(trouble.file).name, ""))
        key = (trouble.reason, trouble.effect, trouble.strength, text, trouble.remedy)
        found.setdefault(key, []).append(trouble)
    return list(found.values())


def _place(trouble: Trouble) -> str:
    at = "" if trouble.position is None else f", byte {trouble.position}"
    return f"{trouble.file}{at}"


def _show_group(report: Reporter, group: Sequence[Trouble]) -> None:
    trouble = group[0]
    report.say()
    report.say(f"{trouble.effect}  {_place(trouble)}")
    report.say(f"  {trouble.message} ({trouble.strength})")
    if len(group) > 1:
        report.say(f"  {count_text(len(group) - 1, 'more finding')} like this, in")
        for each in group[1:_PLACES]:
            report.say(f"    {_place(each)}")
        if len(group) > _PLACES:
            report.say(f"    ... {len(group) - _PLACES:,} more; --format json has all")
    if trouble.remedy:
        report.say(f"  remedy: {trouble.remedy}")
    if trouble.command:
        report.say(f"    $ {trouble.command}")
