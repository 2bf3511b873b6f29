"""``kafkaspec restore``: a cluster from the log directories that are left."""

from __future__ import annotations

from dataclasses import astuple, fields
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import click

from kafkaspec.cli.command import command, defined
from kafkaspec.cli.console import TableColumn, count_text
from kafkaspec.cli.exits import CLEAN, FINDINGS, REFUSED
from kafkaspec.cli.internal import At
from kafkaspec.cli.options import LogPath, Words, wrong_usage
from kafkaspec.cli.report import Output, Reporter, Tally, line
from kafkaspec.provider import require_pyarrow
from kafkaspec.restore.feature_levels import DEFAULT_RELEASE, FEATURE_LEVELS
from kafkaspec.restore.restore_options import (
    CONTROLLER,
    OpenTransactions,
    RestoreOptions,
    RestoreReflink,
    RestoreRemote,
    RestoreRetention,
)
from kafkaspec.restore.restore_plan import (
    REFUSALS,
    RestoredBytes,
    RestoredGroup,
    RestoredPartition,
    RestoredVoter,
    RestoreFinding,
    RestorePlan,
    RestoreReason,
    RestoreVerdict,
)
from kafkaspec.shown import size_text, some_of

_MOST: Final = 20
"""Partitions that text lists; JSON has all."""
OUTPUT = Output(
    partition=line(RestoredPartition),
    group=line(RestoredGroup),
    voter=line(RestoredVoter),
    finding=line(RestoreFinding),
    config=line(topic=str, configs=dict[str, str], before=dict[str, str | None]),
    summary={
        "verdict": RestoreVerdict,
        "release": str,
        "cluster_id": str,
        "node_id": int,
        "directory_id": str,
        "metadata": str | None,
        "next_producer_id": int,
        "partitions": int,
        "records": int,
        "groups": int,
        "target": str | None,
        "written": RestoredBytes | None,
    },
)
_EPILOG = """
Example:
  kafkaspec restore /disk1/kafka-logs /disk2/kafka-logs
  kafkaspec restore /disk1/kafka-logs /disk2/kafka-logs -o /srv/restored --write

The first command plans: what will be served, which copy of each partition wins and
why, what is lost or guessed. The second one writes OUT, whole or not at all:
  logs/              the log directory: segments, ids, and a snapshot of the metadata
  server.properties  settings of the node
  RESTORE.md         how to start, check, and undo the protections
  voter-ID/          for each --voter: logs and settings of one more controller

A SOURCE is a log directory or its URL, or a __cluster_metadata-0 alone. Every node of KRaft has
one, brokers too: give all that you have, and the newest is taken.

Exit codes: 0 everything is restored and nothing is guessed, 1 something is lost or
guessed, all of it named, 2 wrong usage, or a SOURCE cannot be read, 3 refused: copies
contradict each other, or a topic has several ids; see --prefer.
"""


class _Setting(click.ParamType):  # type: ignore[type-arg]
    """Parameter type: ``TOPIC:NAME=VALUE``, as a triple."""

    name = "setting"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "TOPIC:NAME=VALUE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str, str]:
        if isinstance(value, tuple):
            return value
        topic, colon, setting = value.partition(":")
        name, equals, text = setting.partition("=")
        if not (topic and colon and name and equals):
            self.fail(f"{value!r} is not TOPIC:NAME=VALUE", param, ctx)
        return topic, name, text


class _Count(click.ParamType):  # type: ignore[type-arg]
    """Parameter type: ``TOPIC=N``, as a pair."""

    name = "count"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "TOPIC=N"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        if isinstance(value, tuple):
            return value
        topic, equals, number = value.rpartition("=")
        if not (topic and equals and number.isascii() and number.isdigit() and int(number)):
            self.fail(f"{value!r} is not TOPIC=N, a number of partitions", param, ctx)
        return topic, int(number)


@command(OUTPUT, _EPILOG)
def restore_command(
    report: Reporter,
    *,
    sources: Annotated[
        tuple[Path, ...],
        click.argument(
            "sources",
            metavar="SOURCE...",
            nargs=-1,
            required=True,
            type=LogPath(urls=True),
        ),
    ],
    output: Annotated[
        Path | None,
        click.option(
            "-o",
            "--output",
            type=click.Path(path_type=Path, file_okay=False),
            metavar="OUT",
            help="New directory for the cluster.",
        ),
    ],
    write: bool = defined(of=RestoreOptions),
    target_release: str = defined(
        of=RestoreOptions, type=Words(Literal[tuple(FEATURE_LEVELS)]), default=DEFAULT_RELEASE
    ),
    node_id: int = defined(of=RestoreOptions, type=click.IntRange(0), default=1, metavar="N"),
    controller: str = defined(of=RestoreOptions, type=str, default=CONTROLLER, metavar="HOST:PORT"),
    voters: tuple[str, ...] = defined(
        of=RestoreOptions, type=str, multiple=True, metavar="ID@HOST:PORT"
    ),
    cluster_id: str | None = defined(of=RestoreOptions, type=str, metavar="ID"),
    metadata: Path | None = defined(of=RestoreOptions, type=LogPath(urls=True), metavar="PATH"),
    include: tuple[str, ...] = defined(of=RestoreOptions, type=str, multiple=True, metavar="TOPIC"),
    exclude: tuple[str, ...] = defined(of=RestoreOptions, type=str, multiple=True, metavar="TOPIC"),
    configs: tuple[tuple[str, str, str], ...] = defined(
        of=RestoreOptions, type=_Setting(), multiple=True
    ),
    retention: RestoreRetention = defined(of=RestoreOptions, default="off"),
    partitions: tuple[tuple[str, int], ...] = defined(
        of=RestoreOptions, type=_Count(), multiple=True
    ),
    prefer: tuple[Path, ...] = defined(
        of=RestoreOptions, type=LogPath(urls=True), multiple=True, metavar="DIR"
    ),
    at: At,
    open_transactions: OpenTransactions = defined(of=RestoreOptions, default="abort"),
    fill_from_copies: bool = defined(of=RestoreOptions),
    remote: RestoreRemote = defined(of=RestoreOptions, default="fetch"),
    keep_brokers: bool = defined(of=RestoreOptions),
    link: bool = defined(of=RestoreOptions),
    reflink: RestoreReflink = defined(of=RestoreOptions, default="auto"),
    id_seed: int | None = defined(of=RestoreOptions),
) -> None:
    """Plan a cluster from the log directories that are left, and write it with --write.

    SOURCEs are log directories of one or several brokers whose controllers are gone. They are
    never changed.
    """
    by_topic: dict[str, dict[str, str]] = {}
    for topic, name, value in configs:
        by_topic.setdefault(topic, {})[name] = value
    with wrong_usage(ImportError, ValueError):
        require_pyarrow()
        from kafkaspec.restore.restoring import restore

        plan = restore(
            sources,
            output,
            write=write,
            target_release=target_release,
            node_id=node_id,
            controller=controller,
            voters=voters,
            cluster_id=cluster_id,
            metadata=metadata,
            include=include,
            exclude=exclude,
            configs=by_topic,
            retention=retention,
            partitions=dict(partitions),
            prefer=prefer,
            at=at,
            open_transactions=open_transactions,
            fill_from_copies=fill_from_copies,
            remote=remote,
            keep_brokers=keep_brokers,
            link=link,
            reflink=reflink,
            id_seed=id_seed,
        )
    _show(report, plan)
    counted = sum(each.counts for each in plan.findings)
    tally = Tally(_EXITS[plan.verdict], logs=len(plan.partitions), findings=counted)
    if plan.written is not None:
        report.say(_sizes(plan.written))
    report.say(_summary(plan))
    report.finish(
        tally,
        verdict=plan.verdict,
        release=plan.release,
        cluster_id=plan.cluster_id,
        node_id=plan.node_id,
        directory_id=plan.directory_id,
        metadata=plan.metadata,
        next_producer_id=plan.next_producer_id,
        partitions=len(plan.partitions),
        records=plan.records,
        groups=len(plan.groups),
        target=plan.target,
        written=plan.written,
    )


_EXITS: Final = {
    RestoreVerdict.WHOLE: CLEAN,
    RestoreVerdict.PARTIAL: FINDINGS,
    RestoreVerdict.REFUSED: REFUSED,
}
_COLUMNS: Final[dict[str, TableColumn]] = {
    "partition": lambda row: f"{row.topic}-{row.partition}",
    ">records": lambda row: f"{row.records:,}",
    ">start": lambda row: f"{row.log_start:,}",
    ">end": lambda row: f"{row.end_offset:,}",
    "from": lambda row: row.source or "-",
    "why": lambda row: row.why,
}


def _show(report: Reporter, plan: RestorePlan) -> None:
    for item in plan.partitions:
        report.line("partition", item)
    for group in plan.groups:
        report.line("group", group)
    for voter in plan.voters:
        report.line("voter", voter)
    for finding in plan.findings:
        report.line("finding", finding)
    for topic, settings in plan.configs.items():
        before = plan.before.get(topic, {})
        report.line("config", topic=topic, configs=settings, before=before)
    report.table(_COLUMNS, plan.partitions, _matters, most=_MOST)
    if plan.groups:
        offsets = sum(each.offsets for each in plan.groups)
        many = count_text(len(plan.groups), "group")
        report.say(f"{many} with {count_text(offsets, 'committed offset')}")
    said: dict[tuple[RestoreReason, str], list[str]] = {}
    for finding in sorted(plan.findings, key=_order):
        said.setdefault((finding.reason, finding.message), []).append(_about(finding))
    for (reason, message), about in said.items():
        named = some_of(list(filter(None, about)))
        report.say(f"{reason}: {named}{': ' if named else ''}{message}")


def _matters(item: RestoredPartition) -> bool:
    return item.source is None or item.salvaged or item.cut is not None


def _order(finding: RestoreFinding) -> tuple[bool, bool, int]:
    """Return the order: first what has to be decided, then what is lost or guessed."""
    place = list(RestoreReason).index(finding.reason)
    return finding.reason not in REFUSALS, not finding.counts, place


def _about(finding: RestoreFinding) -> str:
    parts = [] if finding.group is None else [f"group {finding.group}"]
    if finding.topic is not None:
        number = "" if finding.partition is None else f"-{finding.partition}"
        parts.append(f"{finding.topic}{number}")
    elif finding.file is not None:
        parts.append(finding.file)
    return ", ".join(parts)


def _sizes(written: RestoredBytes) -> str:
    named = zip(fields(written), astuple(written), strict=True)
    return f"segments: {', '.join(f'{size_text(size)} {each.name}' for each, size in named)}"


def _summary(plan: RestorePlan) -> str:
    many = count_text(len(plan.partitions), "partition")
    text = f"{plan.verdict}: {many}, {count_text(plan.records, 'record')} for Kafka {plan.release}"
    return f"{text}, written to {plan.target}" if plan.target else text
