"""``kafkaspec cluster``: the metadata of a cluster from a controller's disk."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import click

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.cli.command import command, option
from kafkaspec.cli.console import TableColumn, count_text, say
from kafkaspec.cli.internal import UNKNOWN, UNKNOWN_EPILOG, Logs, ReleaseText, Skip
from kafkaspec.cli.options import DIRECTORY, state_until_offset_option, wrong_usage
from kafkaspec.cli.report import Output, Reporter, line
from kafkaspec.log.directory import LogDirectory
from kafkaspec.log.partition import Partition
from kafkaspec.log.segment import Segment
from kafkaspec.output.atomic import require_new
from kafkaspec.output.places import check_output
from kafkaspec.provider import require_pyarrow

if TYPE_CHECKING:
    from kafkaspec.state.cluster import Cluster
    from kafkaspec.state.image import ClusterDifference, ClusterKind, Image

OUTPUT = Output(
    cluster=line(
        snapshot=str | None,
        end_offset=int,
        leader=int | None,
        voters=list[int],
        kraft_version=int | None,
    ),
    difference=line(
        kind="kafkaspec.state.image:ClusterKind",
        before=dict[str, Any] | None,
        after=dict[str, Any] | None,
    ),
    mismatch=line("kafkaspec.state.directory:DirectoryMismatch"),
    unknown=UNKNOWN,
    more="kafkaspec.state.image:members",
    summary={"differences": int | None, "mismatches": int | None},
)
_EPILOG = f"""
Members that Kafka's records have keep their numbers; text shows Kafka's names of
them: TOPIC or READ. "difference" lines are those of --diff, "mismatch" those of
--compare. "other" is what the specification alone describes.

{UNKNOWN_EPILOG}

--diff A B compares the states before two offsets. --compare LOGS compares with a
log directory of a broker: partitions that the cluster does not know or has
elsewhere, that are missing, or that are of an earlier topic of the same name.

Exit codes: 0 all was read, 1 LOGS does not fit, or something could not be decoded
or is missing in the log, 2 wrong usage, or nothing in PATH can be read.
"""


@command(OUTPUT, _EPILOG)
def cluster_command(
    ctx: click.Context,
    report: Reporter,
    *,
    path: Annotated[Path, click.argument("path", metavar="PATH", type=click.Path(path_type=Path))],
    end_offset: Annotated[int | None, state_until_offset_option],
    diff: tuple[int, int] | None = option(
        "What changed between two offsets.", type=int, nargs=2, metavar="A B"
    ),
    logs: Path | None = option(
        "--compare",
        "Compare with a log directory of a broker.",
        type=DIRECTORY,
        metavar="LOGS",
    ),
    edits: Path | None = option(
        "--edit",
        "Apply records of Kafka, one JSON object a line: "
        '{"record": "ConfigRecord", "resource_type": 2, ...}. It takes -o.',
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        metavar="FILE",
    ),
    without: tuple[int, ...] = option(
        "--without-record",
        "Leave the record at an offset out. It takes -o.",
        type=int,
        multiple=True,
        metavar="OFFSET",
    ),
    output: Path | None = option(
        "-o",
        "--output",
        "With --edit or --without-record: the new __cluster_metadata-0, with a snapshot.",
        type=click.Path(path_type=Path),
        metavar="OUT",
    ),
    release: ReleaseText,
    on_error: Skip,
) -> None:
    """Show a cluster's metadata: topics, partitions, brokers, settings, ACLs, quotas and the rest.

    PATH is a log directory of a controller, its __cluster_metadata-0, or a snapshot (.checkpoint).
    The newest snapshot comes first, then the log after it.

    With --edit or --without-record, the difference is shown, and with -o the edited metadata is
    written as a new directory, which takes the place of __cluster_metadata-0 of every controller.
    """
    if diff is not None and (end_offset is not None or logs is not None):
        raise click.UsageError("--diff goes with neither --until-offset nor --compare")
    is_edit = edits is not None or bool(without)
    if is_edit and (diff is not None or logs is not None or end_offset is not None):
        raise click.UsageError("--edit and --without-record go with no other question")
    if output is not None and not is_edit:
        raise click.UsageError("-o goes with --edit and --without-record")
    with wrong_usage(ImportError):
        require_pyarrow()
        from kafkaspec.state.cluster import read_cluster
        from kafkaspec.state.directory import compare_directory
        from kafkaspec.state.image import differences
    opened = Logs(ctx, [path], Topic.CLUSTER_METADATA, on_error, report, release=release)
    (source,) = opened.of(Topic.CLUSTER_METADATA)
    if is_edit:
        _edit(opened, source, edits, without, output, report)
    bounds = (end_offset,) if diff is None else diff
    clusters = []
    with opened.reading(source):
        for bound in bounds:
            clusters.append(read_cluster(source, end_offset=bound, **opened.options))
    if len(clusters) < len(bounds):
        report.finish(opened)
    for text in dict.fromkeys(text for cluster in clusters for text in cluster.notes):
        opened.found(f"{path}: {text}")
    for cluster in clusters:
        opened.left_out(source, cluster)
    if diff is not None:
        changes = differences(clusters[0].image, clusters[1].image)
        for change in changes:
            _show_change(change, report)
        report.finish(opened, count_text(len(changes), "difference"), differences=len(changes))
    if logs is None:
        _show(clusters[0], report)
        report.finish(opened)
    with LogDirectory(logs) as directory, wrong_usage(ValueError):
        found = list(compare_directory(clusters[0].image, directory))
    for each in found:
        opened.found()
        report.line("mismatch", each)
        report.say(f"{each.topic}-{each.partition}: {each.reason}: {each.message}")
    text = count_text(len(found), "mismatch", "mismatches")
    report.finish(opened, text, mismatches=len(found))


def _edit(
    opened: Logs,
    source: Segment | Partition,
    file: Path | None,
    without: tuple[int, ...],
    output: Path | None,
    report: Reporter,
) -> NoReturn:
    """Show what edits change, and write the result."""
    from kafkaspec.state.edited import edit_cluster, read_edits, write_edited
    from kafkaspec.state.image import differences

    if isinstance(source, Segment):
        raise click.UsageError("edits need the directory __cluster_metadata-0, not a file of it")
    if output is not None:
        check_output(output, source.path)
        require_new(output)
    changes: list[ClusterDifference] = []
    with opened.reading(source), wrong_usage(ValueError):
        edits = () if file is None else read_edits(file)
        edited = edit_cluster(source, without=without, edits=edits, **opened.options)
        for text in edited.before.notes:
            opened.found(f"{source.path}: {text}")
        opened.left_out(source, edited.before)
        changes = differences(edited.before.image, edited.after)
        for change in changes:
            _show_change(change, report)
        if output is not None:
            report.say(f"{write_edited(edited, output)}: controllers go on at {edited.end_offset}")
    report.finish(opened, count_text(len(changes), "difference"), differences=len(changes))


def _show_change(change: ClusterDifference, report: Reporter) -> None:
    if not report.as_json:
        change = change.named()
    before, after = (
        None if side is None else _shown(side) for side in (change.before, change.after)
    )
    if report.as_json:
        report.line("difference", kind=change.kind, before=before, after=after)
        return
    sign = "+" if before is None else "-" if after is None else "~"
    fields = after or before or {}
    if before is not None and after is not None:
        fields = {name: item for name, item in after.items() if before.get(name) == item}
        fields = {name: fields[name] for name in change.names if name in fields} | {
            name: f"{before.get(name)} -> {item}"
            for name, item in after.items()
            if before.get(name) != item
        }
    say(f"{sign} {change.kind} " + " ".join(f"{k}={v}" for k, v in fields.items()))


def _show(cluster: Cluster, report: Reporter) -> None:
    image = cluster.image
    head = {
        "snapshot": None if cluster.snapshot is None else cluster.snapshot.name,
        "end_offset": cluster.end_offset,
        "leader": image.leader,
        "voters": image.voters,
        "kraft_version": image.kraft_version,
    }
    report.line("cluster", head)
    report.say("  ".join(f"{name} {_cell(value) or '-'}" for name, value in head.items()))
    for kind, items in image.items.items():
        rows = [
            _complete(image, kind, fields)
            for _, fields in sorted(items.items(), key=lambda item: repr(item[0]))
        ]
        for row in rows:
            report.line(kind, row)
        shown: dict[str, list[dict[str, Any]]] = {}
        for row in () if report.as_json else rows:
            named = image.named(kind, row)
            shown.setdefault(named.pop("record", kind), []).append(named)
        for title, table in shown.items():
            _print(report, title, table)


def _complete(image: Image, kind: ClusterKind, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item as it is shown: partitions with the name of their topic."""
    if kind == "partition":
        return {"topic": image.topic_name(fields["topic_id"]), **_shown(fields)}
    return _shown(fields)


def _shown(fields: Mapping[str, Any]) -> dict[str, Any]:
    from kafkaspec.state.image import SECRET

    return {name: value for name, value in fields.items() if name not in SECRET}


def _print(report: Reporter, kind: str, rows: list[dict[str, Any]]) -> None:
    every = dict.fromkeys(name for row in rows for name in row)
    names = [name for name in every if any(row.get(name) not in (None, []) for row in rows)]
    columns: dict[str, TableColumn] = {name: partial(_member, name) for name in names}
    title = f"{kind} ({len(rows)})"
    report.table(columns, rows, most=len(rows), title=title, title_justify="left")


def _member(name: str, row: Mapping[str, Any]) -> str:
    return _cell(row.get(name))


def _cell(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(_cell(item) for item in value.values())
    if isinstance(value, list):
        return ", ".join(map(_cell, value))
    return "-" if value is None else str(value)
