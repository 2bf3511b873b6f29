"""``diagnose``: whether a broker starts on its log directories, and what it does to them.

Kafka: ``LogManager`` (``loadLogs``, ``isStrayReplica``, ``findAbandonedFutureLogs``),
``MetaPropertiesEnsemble``, ``KafkaRaftServer.initializeLogDirs``, ``LogLoader.load``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.log.partition import Partition

if TYPE_CHECKING:
    from kafkaspec.state.image import Image
from dataclasses import dataclass, replace
from typing import Final

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.broker.index_rules import INDEX_INTERVAL_BYTES
from kafkaspec.broker.profiles import DEFAULT_PROFILE, get_profile
from kafkaspec.broker.segment_run import RunSettings
from kafkaspec.files.checkpoints import quorum_state
from kafkaspec.forensics.doctor.partitions import DELETE, FUTURE, STRAY, Examination, Stop
from kafkaspec.forensics.doctor.roots import Root, check_names, check_nodes, read_root
from kafkaspec.forensics.doctor.troubles import (
    Diagnosis,
    Effect,
    Trouble,
    TroubleKind,
    above,
    move_away,
    quoted,
)
from kafkaspec.release import parse_release, release_text
from kafkaspec.results import Assumption, Strength
from kafkaspec.writing.rebuild import Progress


class Replica(NamedTuple):
    """A replica that the metadata has on a node."""

    topic: str
    partition: int
    replicas: Sequence[int]
    place: str | None
    """Id of its log directory, None where it is not known."""


class ClusterMetadata:
    """The partitions of a cluster, as a node sees them that starts."""

    def __init__(self, image: Image, node: int) -> None:
        from kafkaspec.state.directory import place_of, stray_reason
        from kafkaspec.state.image import ClusterKind

        self._image, self._node = image, node
        self._place_of, self._stray_reason = place_of, stray_reason
        self._partitions = image.items[ClusterKind.PARTITION]
        topics = image.items[ClusterKind.TOPIC].values()
        self._ids = {topic["name"]: topic["topic_id"] for topic in topics}

    def why_stray(self, topic_id: UUID | None, partition: int) -> str | None:
        """Return why the node treats a directory as stray; None if it does not."""
        return self._stray_reason(self._image, self._node, topic_id, partition)

    def topic_id(self, name: str) -> str | None:
        """Return the id of a topic as text."""
        return self._ids.get(name)

    def name_of(self, topic_id: UUID) -> str | None:
        """Return the name of the topic with an id."""
        return self._image.topic_name(kafka_uuid.to_text(topic_id))

    def place_of(self, topic_id: UUID, partition: int) -> str | None:
        """Return the id of the log directory of the node that has a replica; None if not known."""
        found = self._partitions.get((kafka_uuid.to_text(topic_id), partition))
        if found is None or self._node not in found["replicas"]:
            return None
        return self._place_of(found, self._node)

    def replicas(self) -> Iterator[Replica]:
        """Yield the replicas on the node, by topic and partition."""
        found = []
        for (topic_id, number), partition in self._partitions.items():
            name = self._image.topic_name(topic_id)
            if name is not None and self._node in partition["replicas"]:
                place = self._place_of(partition, self._node)
                found.append(Replica(name, number, tuple(partition["replicas"]), place))
        yield from sorted(found, key=lambda item: item[:2])


def read_metadata(path: Path, node: int | None, end: int | None) -> ClusterMetadata | str:
    """Return the metadata of a cluster up to the end of its log, or why they are not known."""
    if node is None:
        return "no meta.properties says which node this is"
    try:
        from kafkaspec.state.cluster import read_cluster
    except ImportError as error:
        return f"reading {path.name} needs PyArrow: {error}"
    try:
        log = Partition(path)
        # A log that ends before the newest snapshot is emptied: the snapshot says what it held.
        found = [names.parse_checkpoint(item.name) for item in log.checkpoint_paths]
        ends = [name.end_offset for name in found if name is not None]
        at = None if end is None else max(end, *ends, 0)
        cluster = read_cluster(log, end_offset=at, on_error=lambda _error: None)
    except KafkaSpecError as error:
        return str(error)
    return ClusterMetadata(cluster.image, node)


_METADATA: Final = f"{Topic.CLUSTER_METADATA}-0"
_NO_ZOOKEEPER: Final = (
    "if this is the log directory of a broker with ZooKeeper, name its release; before it gets "
    "Kafka 4.0 or later, the cluster has to be migrated to KRaft"
)
_KRAFT_ONLY: Final = (4, 0)
"""Oldest release without ZooKeeper."""
_SINCE: Final = (3, 9)
"""Oldest release whose starts were compared with the rules here, and had no difference."""


def diagnose(
    directories: Sequence[str | Path],
    *,
    clean: bool | None = None,
    profile: str = DEFAULT_PROFILE,
    index_interval_bytes: int = INDEX_INTERVAL_BYTES,
    quick: bool = False,
    progress: Progress | None = None,
) -> Diagnosis:
    """Say whether a broker starts on log directories, and what it does to them. Nothing is written.

    Args:
        directories: all of ``log.dirs`` of the broker, in this order.
        clean: whether the broker was stopped cleanly; None for what each directory shows.
        profile: release of the broker.
        index_interval_bytes: ``index.interval.bytes``.
        quick: read only what the start reads, and so find no damage that it does not meet.
        progress: called with the number of bytes read and the name of the file.

    Raises:
        KafkaSpecError: ``unreadable``: a directory cannot be listed.
        ValueError: there is no such profile.
    """
    settings = RunSettings(get_profile(profile), index_interval_bytes, progress)
    return _Diagnosing(directories, clean, profile, settings, quick).run()


@dataclass
class _Diagnosing:
    directories: Sequence[str | Path]
    clean: bool | None
    profile: str
    settings: RunSettings
    quick: bool

    def __post_init__(self) -> None:
        self._release = parse_release(self.profile)
        self._roots = [read_root(Path(path)) for path in self.directories]
        self.result = Diagnosis(tuple(root.path for root in self._roots))
        self._kraft = self._release >= _KRAFT_ONLY or self._shows_kraft()
        self._metadata: ClusterMetadata | None = None
        self._futures: list[tuple[Root, Path, Examination]] = []
        self._seen: dict[tuple[str, int, bool], Path] = {}

    def _shows_kraft(self) -> bool:
        """Return whether a log directory is one of KRaft."""
        if self._with_metadata():
            return True
        return any(root.meta is not None and root.meta.version for root in self._roots)

    def run(self) -> Diagnosis:
        """Return the diagnosis."""
        result = self.result
        for root in self._roots:
            result.add(root.troubles)
        needs = "" if self._shows_kraft() else _NO_ZOOKEEPER
        result.add(check_nodes(self._roots, kraft=self._kraft, remedy=needs))
        result.add(check_names(self._roots))
        result.add(self._stops())
        if self._kraft:
            result.add(self._quorum())
        else:
            why = "no directory is one of KRaft: ZooKeeper"
            result.assumptions.append(Assumption("process.roles", "none", why))
        for root in self._roots:
            for path in root.children:
                result.add(self._directory(root, path))
        for root, path, found in self._futures:
            name = names.PartitionName(found.outcome.topic, found.outcome.partition)
            result.add(_of(name, self._future(root, path, found)))
        if self._metadata is not None:
            result.add(self._missing())
        for item in result.troubles:
            if item.effect is Effect.OFFLINE:
                path = Path(item.file)
                places = (place for place in (path, *path.parents) if place in result.directories)
                result.offline.add(next(places))
        holders = [*self._with_metadata(), *self._roots]
        if self._kraft and holders and holders[0].path in result.offline:
            result.offline.update(result.directories)  # without its metadata no node goes on
        if self._is_older:
            result.troubles = [replace(item, strength=Strength.LIKELY) for item in result.troubles]
        return result

    @property
    def _is_older(self) -> bool:
        """Whether the release is older than those that predictions were compared with."""
        return self._release < _SINCE

    def _with_metadata(self) -> list[Root]:
        return [root for root in self._roots if (root.path / _METADATA).is_dir()]

    # -- the node ---------------------------------------------------------------------------------

    def _stops(self) -> Iterator[Trouble]:
        for root in self._roots:
            if self.clean is None and root.stopped_cleanly is False:
                text = f"there is no {names.CLEAN_SHUTDOWN}: the broker runs, or was not stopped "
                text += "cleanly. Segments from the recovery points on are read and checked"
                yield Trouble(TroubleKind.UNCLEAN_STOP, text, str(root.path), Effect.RECOVERS)
        given = "given" if self.clean is not None else "from the flag in each directory"
        stops = ["clean" if self._is_clean(root) else "unclean" for root in self._roots]
        release = release_text(self._release)
        self.result.assumptions += [
            Assumption("stop", ", ".join(stops), given),
            Assumption("release", release, "of the broker that is to start"),
        ]
        if self._is_older:
            why = "2.8.2 differs in stray names, checkpoints that are malformed, and a few more"
            since = f"those since {release_text(_SINCE)}"
            self.result.assumptions.append(Assumption("rules", since, why))

    def _is_clean(self, root: Root) -> bool:
        return bool(root.stopped_cleanly) if self.clean is None else self.clean

    def _quorum(self) -> Iterator[Trouble]:
        """Yield what is wrong with the metadata log, and read the metadata."""
        holders = self._with_metadata()
        for root in holders[1:]:
            yield Trouble(
                TroubleKind.METADATA_TWICE,
                f"{holders[0].path} has the metadata log too: the node does not start",
                str(root.path / _METADATA),
                Effect.KILLS,
                "find out which one is current (kafkaspec cluster), and move the other away",
                move_away(root.path / _METADATA),
            )
        if not holders:
            yield Trouble(
                TroubleKind.METADATA_MISSING,
                f"there is no {_METADATA}: the node knows neither its voters nor its topics. As "
                "the only voter it never gets ready; with other controllers it fetches the log "
                "from them",
                str(self._roots[0].path),
                Effect.KILLS,
                "restore the directory from a copy, or start with the other controllers"
                if self._shows_kraft()
                else _NO_ZOOKEEPER,
                strength=Strength.LIKELY,
            )
            return
        path = holders[0].path / _METADATA
        state = path / names.QUORUM_STATE
        try:
            if state.is_file():
                quorum_state.read(state)
        except KafkaSpecError as error:
            yield Trouble(
                TroubleKind.QUORUM_STATE,
                f"{error.detail}: the node does not start",
                str(state),
                Effect.KILLS,
                "move it away: the node takes the epoch of its log, and may vote again",
                f"mv {quoted(state)} {quoted(above(path.parent) / state.name)}",
                position=error.position,
            )
        name = names.PartitionName(Topic.CLUSTER_METADATA, 0)
        log = Examination(path, name, Stop(clean=False), self.settings)
        node = next((root.meta.node_id for root in self._roots if root.meta is not None), None)
        found = read_metadata(path, node, log.outcome.end_offset)
        if isinstance(found, str):
            self.result.assumptions.append(Assumption("cluster metadata", "not known", found))
        else:
            self._metadata = found

    # -- directories ------------------------------------------------------------------------------

    def _directory(self, root: Root, path: Path) -> Iterator[Trouble]:
        name = names.parse_partition(path.name)
        if name is None:
            return
        key = (name.topic, name.partition)
        if name.topic == Topic.CLUSTER_METADATA and name.partition:
            return  # ignored
        if name.topic == Topic.CLUSTER_METADATA:
            stop = Stop(clean=False)  # KafkaMetadataLog trusts no stop
        else:
            stop = Stop(
                self._is_clean(root),
                root.offsets[names.RECOVERY_POINTS].get(key, 0),
                root.offsets[names.LOG_START_OFFSETS].get(key, 0),
            )
        found = Examination(path, name, stop, self.settings, whole=not self.quick)
        self.result.unread += found.unread
        self.result.outcomes.append(found.outcome)
        yield from found.troubles
        yield from _of(name, self._placed(root, path, found))

    def _placed(self, root: Root, path: Path, found: Examination) -> Iterator[Trouble]:
        """Yield what happens to the directory itself."""
        outcome = found.outcome
        if outcome.topic == Topic.CLUSTER_METADATA:
            return
        if outcome.state == DELETE:
            yield Trouble(
                TroubleKind.DELETED_PARTITION,
                "its topic was deleted, or it was moved: the broker deletes it after the start",
                str(path),
                Effect.DELETES,
                "copy it before the start if its records are wanted",
                f"cp -rp {quoted(path)} {quoted(above(path.parent))}",
                size=outcome.lost_bytes or None,
            )
            return
        if outcome.state == STRAY:
            text = "an earlier start found that the cluster does not have it here; it is kept, and "
            text += "not served"
            yield Trouble(TroubleKind.STRAY_KEPT, text, str(path), Effect.NOTHING)
            return
        stray = None
        if self._metadata is not None and not found.bad_id:  # with such an id, it is given up
            stray = self._metadata.why_stray(found.topic_id, outcome.partition)
        if stray:
            outcome.becomes = f"{outcome.topic}-{outcome.partition}.*{STRAY}"
            text = f"{stray}: the start renames it to {outcome.becomes}, and serves it no more"
            yield Trouble(
                TroubleKind.STRAY, text, str(path), Effect.RENAMES, self._stray_remedy(found)
            )
            return
        yield from self._taken(root, path, found)

    def _stray_remedy(self, found: Examination) -> str:
        known = self._metadata
        own = None if known is None else known.topic_id(found.outcome.topic)
        if own is None:
            return "move it away, or make its topic again and give it the new topic's id"
        text = f"if it is what the topic {found.outcome.topic} of the cluster has to be, write the "
        return f"{text}id of that, {own}, into its {names.PARTITION_METADATA}"

    def _taken(self, root: Root, path: Path, found: Examination) -> Iterator[Trouble]:
        outcome = found.outcome
        future = outcome.state == FUTURE
        key = (outcome.topic, outcome.partition, future)
        before = self._seen.setdefault(key, path)
        if before != path:
            text = f"{before} is the same partition: the broker does not start"
            remedy = "compare them (kafkaspec diff), and move one of them away"
            yield Trouble(
                TroubleKind.DUPLICATE, text, str(path), Effect.KILLS, remedy, move_away(path)
            )
            return
        if future:
            self._futures.append((root, path, found))
            return
        known = self._metadata
        if known is not None and found.topic_id is not None:
            own = known.name_of(found.topic_id)
            if own is not None and own != outcome.topic:
                text = f"its topic id is that of {own}: the broker loads it, and never serves it"
                remedy = "move it away, or give it its topic's id"
                yield Trouble(
                    TroubleKind.OTHER_NAME, text, str(path), Effect.IGNORES, remedy, move_away(path)
                )

    def _future(self, root: Root, path: Path, found: Examination) -> Iterator[Trouble]:
        """Yield what happens to a copy that the broker was moving to another log directory."""
        outcome = found.outcome
        plain = f"{outcome.topic}-{outcome.partition}"
        known = self._metadata
        place = None
        if known is not None and found.topic_id is not None:
            place = known.place_of(found.topic_id, outcome.partition)
        own = None if root.meta is None else root.meta.directory_id
        current = self._seen.get((outcome.topic, outcome.partition, False))
        beside = next((item for item in self.result.outcomes if item.path == current), None)
        here = place is not None and own is not None and place == kafka_uuid.to_text(own)
        if here and current is not None and current.parent == root.path:
            yield Trouble(
                TroubleKind.FUTURE,
                f"the cluster has the partition in this log directory, so the start puts the copy "
                f"in the place of {plain}, which is in the way: the broker does not start",
                str(path),
                Effect.KILLS,
                "move one of the two away",
                move_away(path),
            )
        elif here or (beside is not None and beside.end_offset == outcome.end_offset):
            outcome.becomes = plain
            if here:
                text = "the cluster has the partition in this log directory: the start renames "
                text += f"the copy to {plain}"
            else:
                text = f"it is as long as {current}: it takes the place of that after the start"
            if beside is not None:
                beside.becomes = f"{plain}.*{DELETE}"
                text += f", and {beside.path} is deleted"
            yield Trouble(TroubleKind.FUTURE, text, str(path), Effect.PROMOTES)
        else:
            text = "a copy that the broker is moving here from another log directory: it goes on"
            yield Trouble(TroubleKind.FUTURE, text, str(path), Effect.NOTHING)

    def _missing(self) -> Iterator[Trouble]:
        known = self._metadata
        assert known is not None
        there: set[tuple[str, int]] = {
            (item.topic, item.partition)
            for item in self.result.outcomes
            if item.becomes == f"{item.topic}-{item.partition}"
        }
        metas = [root.meta for root in self._roots if root.meta is not None]
        ids = [kafka_uuid.to_text(meta.directory_id) for meta in metas if meta.directory_id]
        for topic, partition, replicas, place in known.replicas():
            if (topic, partition) in there or (place is not None and place not in ids):
                continue
            alone = len(replicas) == 1
            text = f"the cluster has a replica of {topic}-{partition} here, and no directory is "
            text += "there: the broker makes an empty one"
            text += ". It is the only replica" if alone else ", and fetches it from the leader"
            yield Trouble(
                TroubleKind.MISSING,
                text,
                str(self._roots[0].path / f"{topic}-{partition}"),
                Effect.IGNORES if alone else Effect.NOTHING,
                "restore the directory before the start" if alone else None,
                topic=topic,
                partition=partition,
            )


def _of(name: names.PartitionName, troubles: Iterator[Trouble]) -> Iterator[Trouble]:
    for trouble in troubles:
        yield replace(trouble, topic=name.topic, partition=name.partition)
