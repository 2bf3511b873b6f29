"""Restore a cluster: plan it from log directories, and write what a broker starts with."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Final
from uuid import UUID

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.files import names as files
from kafkaspec.files.checkpoints import kafka_uuid, meta_properties, partition_metadata
from kafkaspec.files.checkpoints.meta_properties import MetaProperties
from kafkaspec.io.remote import as_path
from kafkaspec.options import checked, explained, one_of
from kafkaspec.output.atomic import DirectoryAside, force_directory, require_new
from kafkaspec.output.places import check_output
from kafkaspec.restore.feature_levels import DEFAULT_RELEASE, FEATURE_LEVELS
from kafkaspec.restore.instructions import instructions, server_properties
from kafkaspec.restore.kept_brokers import placement
from kafkaspec.restore.planning import RestorePlanner, RestoreSettings
from kafkaspec.restore.replica_inventory import (
    Inventory,
    each_replica,
    resolved,
    take_inventory,
)
from kafkaspec.restore.restore_options import (
    CONTROLLER,
    OpenTransactions,
    RestoreOptions,
    RestoreReflink,
    RestoreRemote,
    RestoreRetention,
)
from kafkaspec.restore.restore_plan import RestoredVoter, RestorePlan, RestoreVerdict
from kafkaspec.restore.restored_image import restored_image
from kafkaspec.restore.staging import RestoredLogs
from kafkaspec.state.image import Fields, Image
from kafkaspec.state.snapshot import write_snapshot
from kafkaspec.times import Time, milliseconds

LOGS: Final = "logs"
"""Name of the log directory in the output."""
SNAPSHOT_END: Final = 100
"""End offset of the snapshot. One that ends at 0 is appended to the metadata log as one
transaction instead."""
SNAPSHOT_EPOCH: Final = 1
_LARGEST_PORT: Final = (1 << 16) - 1
_LISTENER: Final = "CONTROLLER"


@explained(RestoreOptions)
@checked
def restore(
    sources: str | PathLike[str] | Sequence[str | PathLike[str]],
    to: str | PathLike[str] | None = None,
    *,
    write: bool = False,
    target_release: str = DEFAULT_RELEASE,
    node_id: int = 1,
    controller: str = CONTROLLER,
    voters: Collection[str] = (),
    cluster_id: str | None = None,
    metadata: str | PathLike[str] | None = None,
    include: Collection[str] = (),
    exclude: Collection[str] = (),
    configs: Mapping[str, Mapping[str, str]] | None = None,
    retention: RestoreRetention = "off",
    partitions: Mapping[str, int] | None = None,
    prefer: Collection[str | PathLike[str]] = (),
    at: Time | None = None,
    open_transactions: OpenTransactions = "abort",
    fill_from_copies: bool = False,
    remote: RestoreRemote = "fetch",
    keep_brokers: bool = False,
    link: bool = False,
    reflink: RestoreReflink = "auto",
    id_seed: int | None = None,
) -> RestorePlan:
    """Plan a cluster of one node from the log directories that are left, and write it if asked.

    Of each partition, the copy with the largest last leader epoch, and of those the longest, is
    taken; damaged ones as ``salvage`` gives them. The metadata is the newest that survived, on any
    node, or is made from the directories. Sources are never changed. Kafka: KIP-630, KIP-853,
    KIP-858; KIP-101 for the order of copies.

    Args:
        sources: log directories, of one or several brokers, or ``__cluster_metadata-0`` alone; or
            their URLs.
        to: a new or empty directory for the output.
        ...

    Returns:
        The plan; ``target`` is set if it was written.

    Raises:
        KafkaSpecError: ``unreadable``: a source or the output; segments cannot be linked, or share
            blocks, as asked.
        ValueError: an option has an unknown value, or ``to`` is missing.
    """
    if target_release not in FEATURE_LEVELS:
        raise one_of("target_release", target_release, FEATURE_LEVELS)
    if write and to is None:
        raise ValueError("write needs an output directory (-o)")
    if keep_brokers and (at is not None or fill_from_copies or link or prefer):
        raise ValueError("brokers that are kept are not changed: no at, prefer, fill or link")
    if keep_brokers and reflink != "auto":
        raise ValueError("brokers that are kept stay where they are: nothing is copied (reflink)")
    if remote == "keep" and (at is not None or keep_brokers):
        raise ValueError("segments that stay in remote storage cannot be cut, nor be announced to"
                         " brokers that are kept: no at and keep_brokers")  # fmt: skip
    given = [sources] if isinstance(sources, str | PathLike) else list(sources)
    settings = RestoreSettings(
        target_release, _controllers(node_id, controller, voters), cluster_id, metadata,
        frozenset(include), frozenset(exclude), configs or {}, retention, partitions or {},
        frozenset(resolved(as_path(each)) for each in prefer),
        None if at is None else milliseconds(at, "at"), open_transactions, fill_from_copies,
        remote == "keep", keep_brokers, link, reflink,
        random.Random(id_seed) if id_seed is not None else random.SystemRandom(),
    )  # fmt: skip
    if to is not None:
        check_output(to, *given)
        require_new(Path(to))
    with ExitStack() as stack:
        found = take_inventory([as_path(each) for each in given], stack, settings.at)
        if not write or to is None:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            return RestorePlanner(settings, found, RestoredLogs(scratch)).plan()
        aside = DirectoryAside(to)
        try:
            (aside.path / LOGS).mkdir()
            staging = RestoredLogs(aside.path / LOGS, reflink)
            staging.check_sharing(to, _segments(found), link=link)
            work = RestorePlanner(settings, found, staging)
            plan = work.plan()
            if plan.verdict is not RestoreVerdict.REFUSED:
                plan = _write(work, replace(plan, target=os.fspath(to)), aside)
                _force(aside)
                aside.commit()
            return plan
        finally:
            aside.discard()


def _controllers(node: int, address: str, voters: Collection[str]) -> tuple[tuple[int, str], ...]:
    """Return ids and addresses of the controllers of the quorum."""
    found = {_node_id(node): _address(address)}
    for text in voters:
        number, at, place = text.partition("@")
        if not at or not number.isascii() or not number.isdigit():
            raise ValueError(f"a voter must be ID@HOST:PORT, not {text!r}")
        if int(number) in found or place in found.values():
            raise ValueError(f"{text}: another controller has this id or address")
        found[_node_id(int(number))] = _address(place)
    return tuple(found.items())


def _node_id(number: int) -> int:
    """Return the id of a node, if it is one."""
    if not meta_properties.is_node_id(number):
        raise ValueError(f"{number} is not the id of a node, which is a number of 31 bits")
    return number


def _address(controller: str) -> str:
    """Return the address of a listener, if it is one."""
    host, _, port = controller.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and 0 < int(port) <= _LARGEST_PORT):
        raise ValueError(f"controller must be HOST:PORT, not {controller!r}")
    return controller


def _segments(found: Inventory) -> Iterator[Path]:
    """Yield the local segments of all copies."""
    for copy in each_replica(found):
        yield from (path for path in copy.log.segment_paths if isinstance(path, Path))


def _write(work: RestorePlanner, plan: RestorePlan, aside: DirectoryAside) -> RestorePlan:
    """Write a plan into the staged directory, and return it with what was written."""
    logs = aside.path / LOGS
    if work.settings.keep_brokers:
        shutil.rmtree(logs)
        logs.mkdir()
    else:
        plan = replace(plan, written=work.staging.materialize(link=work.settings.link))
        for topic, number in (*work.served, *work.made):
            text = partition_metadata.serialize(_uuid(work.topic_ids[topic]))
            (logs / f"{topic}-{number}" / files.PARTITION_METADATA).write_bytes(text)
    only = {
        "replicas": [plan.node_id], "isr": [plan.node_id], "leader": plan.node_id,
        "directories": [plan.directory_id],
    }  # fmt: skip
    places = [(item.topic, item.partition) for item in plan.partitions]
    placed = dict.fromkeys(places, only)
    if work.settings.keep_brokers:
        placed = {place: placement(work.served[place].choice) for place in work.served}
    image = restored_image(
        None if work.cluster is None else work.cluster.image, plan.release,
        list(map(_voter, plan.voters)),
        [each for each in plan.partitions if (each.topic, each.partition) in placed],
        placed, plan.configs, plan.next_producer_id,
    )  # fmt: skip
    target = Path(os.path.abspath(plan.target or ""))
    keep = work.settings.keep_brokers
    for number, voter in enumerate(plan.voters):
        place = Path(voter.folder if number else "")
        (aside.path / place / LOGS).mkdir(parents=True, exist_ok=not number)
        _write_node(aside.path / place / LOGS, plan, voter, image, _newest(work))
        settings = server_properties(
            plan, voter, target / place / LOGS, is_broker=not keep and not number
        )
        (aside.path / place / "server.properties").write_text(settings, "utf-8")
    (aside.path / "RESTORE.md").write_text(instructions(plan, keep=keep), "utf-8")
    return plan


def _write_node(
    logs: Path, plan: RestorePlan, voter: RestoredVoter, image: Image, timestamp: int
) -> None:
    """Write what makes a directory that of a controller: whose it is, and the metadata."""
    properties = MetaProperties(
        node_id=voter.node_id, cluster_id=plan.cluster_id, directory_id=_uuid(voter.directory_id)
    )
    (logs / files.META_PROPERTIES).write_bytes(meta_properties.serialize(properties))
    directory = logs / f"{Topic.CLUSTER_METADATA}-0"
    directory.mkdir()
    write_snapshot(
        image, directory, end_offset=SNAPSHOT_END, epoch=SNAPSHOT_EPOCH, timestamp=timestamp
    )


def _voter(voter: RestoredVoter) -> Fields:
    """Return the fields of a voter."""
    host, _, port = voter.address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")  # of an address of IPv6: DynamicVoter.parse
    return {
        "voter_id": voter.node_id, "voter_directory_id": voter.directory_id,
        "endpoints": [{"name": _LISTENER, "host": host, "port": int(port)}],
    }  # fmt: skip


def _newest(work: RestorePlanner) -> int:
    """Return the time of the newest segment, ms: that of the snapshot, whenever it is made."""
    times = [
        path.stat().st_mtime_ns // 1_000_000
        for item in work.served.values()
        for path in item.choice.taken.log.segment_paths
        if isinstance(path, Path)
    ]
    return max(times, default=0)


def _force(aside: DirectoryAside) -> None:
    """Force all that was written to disk, so that it is whole when it has its name."""
    for path in aside.path.rglob("*"):
        if path.is_dir():
            force_directory(path, sync=True)
        else:
            with open(path, "rb") as file:
                aside.force(file.fileno())


def _uuid(text: str) -> UUID:
    found = kafka_uuid.from_text(text)
    assert found is not None
    return found
