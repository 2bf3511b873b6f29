"""The files of log directories that say whose they are, and where their partitions stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kafkaspec.analysis.findings import Area, FindingReason, Place
from kafkaspec.analysis.text_checks import check_ids
from kafkaspec.broker.text_files import stopped_cleanly
from kafkaspec.errors import KafkaSpecError, Reason, unreadable
from kafkaspec.files import names
from kafkaspec.files.checkpoints import meta_properties, offset_checkpoint
from kafkaspec.files.checkpoints.meta_properties import MetaProperties
from kafkaspec.forensics.doctor.troubles import (
    Effect,
    Trouble,
    TroubleKind,
    above,
    bad_file,
    move_away,
    quoted,
)
from kafkaspec.io.remote import is_directory

_WHAT: Final = {
    names.HIGH_WATERMARKS: "high watermarks",
    names.RECOVERY_POINTS: "recovery points",
    names.LOG_START_OFFSETS: "log start offsets",
    names.CLEANER_OFFSETS: "offsets of the cleaner",
}
_WITHOUT: Final = {
    names.HIGH_WATERMARKS: "they begin at the start of each log, and rise as replicas follow",
    names.RECOVERY_POINTS: "after a crash, all segments are recovered",
    names.LOG_START_OFFSETS: "records that were deleted are delivered again",
    names.CLEANER_OFFSETS: "compaction begins at the start of each log",
}
_KINDS: Final = {
    FindingReason.OTHER_CLUSTER: TroubleKind.OTHER_CLUSTER,
    FindingReason.OTHER_NODE: TroubleKind.OTHER_NODE,
    FindingReason.DIRECTORY_ID: TroubleKind.DIRECTORY_ID,
}

_Offsets = dict[tuple[str, int], int]


@dataclass
class Root:
    """A log directory.

    Attributes:
        path: of it.
        stopped_cleanly: whether the broker was stopped cleanly; None if nothing shows it.
        meta: content of ``meta.properties``, None without one that can be read.
        offsets: by name of the checkpoint, what it says.
        troubles: found in its files.
        children: paths of the directories in it, by name.
    """

    path: Path
    stopped_cleanly: bool | None = None
    meta: MetaProperties | None = None
    offsets: dict[str, _Offsets] = field(default_factory=dict)
    troubles: list[Trouble] = field(default_factory=list)
    children: list[Path] = field(default_factory=list)
    has_meta: bool = False


def read_root(path: Path) -> Root:
    """Read the files of a log directory.

    Raises:
        KafkaSpecError: ``unreadable``: it cannot be listed.
    """
    root = Root(path)
    try:
        found = sorted(path.iterdir())
        root.children = [item for item in found if is_directory(item)]
        root.stopped_cleanly = stopped_cleanly(lambda name: (path / name).exists())
        meta = path / names.META_PROPERTIES
        root.has_meta = meta.is_file()
    except OSError as error:
        raise unreadable(path, error) from None
    if any(item.name.endswith(names.LOG) for item in found):
        raise unreadable(path, "it is the directory of a partition; name the log directory above")
    if not any(names.parse_partition(item.name) for item in root.children) and not any(
        names.is_text(item.name) for item in found
    ):
        raise unreadable(path, "it holds neither partitions nor checkpoints of a broker")
    if root.has_meta:
        try:
            root.meta = meta_properties.read(meta)
        except KafkaSpecError as error:
            root.troubles.append(
                Trouble(
                    TroubleKind.META_PROPERTIES,
                    f"{error.detail}; the broker does not take this log directory",
                    str(meta),
                    Effect.OFFLINE,
                    "write it again, as in another log directory of the node, but for directory.id",
                    position=error.position,
                )
            )
    for name in names.OFFSET_CHECKPOINTS:
        root.offsets[name] = {}
        if (path / name).is_file():
            root.troubles += _read_offsets(root, path / name)
    return root


def _read_offsets(root: Root, path: Path) -> Iterator[Trouble]:
    try:
        found = offset_checkpoint.scan(path)
        for item in found:
            if isinstance(item, KafkaSpecError):
                raise item
    except KafkaSpecError as error:
        yield _bad(path, error)
        return
    entries = [item for item in found if not isinstance(item, KafkaSpecError)]
    listed = offset_checkpoint.by_partition(entries)
    root.offsets[path.name] = {key: entry.offset for key, entry in listed.items()}


def _bad(path: Path, error: KafkaSpecError) -> Trouble:
    without = f"without its {_WHAT[path.name]}: {_WITHOUT[path.name]}"
    effect, text = bad_file(path, error)
    if effect is Effect.RESETS:
        text += f" {without}"
    return Trouble(
        TroubleKind.CHECKPOINT,
        f"{error.detail}; {text}",
        str(path),
        effect,
        f"move it away: the broker starts {without}",
        f"mv {quoted(path)} {quoted(above(path.parent) / path.name)}",
        position=error.position if error.reason is not Reason.UNREADABLE else None,
    )


def check_nodes(roots: Sequence[Root], *, kraft: bool, remedy: str = "") -> Iterator[Trouble]:
    """Yield what the broker has against ``meta.properties`` of its log directories.

    Kafka: ``MetaPropertiesEnsemble``.

    Args:
        roots: the log directories; the first one has the metadata.
        kraft: whether the node is one of KRaft.
        remedy: what to do about files of KRaft that are missing; "" if others are there.
    """
    for number, root in enumerate(roots):
        meta = root.path / names.META_PROPERTIES
        if not root.has_meta and kraft:
            yield Trouble(
                TroubleKind.META_PROPERTIES,
                "it is missing, so the log directory is not formatted: the node does not start",
                str(meta),
                Effect.KILLS,
                remedy or "format the log directory; the others keep what they have",
                ""
                if remedy
                else "kafka-storage.sh format --ignore-formatted --cluster-id ID --config FILE",
            )
        elif root.has_meta and root.meta is None and len(roots) == 1:
            continue  # its only directory is given up
        others = {str(each.path): each.meta for each in roots[:number] if each.meta is not None}
        if root.meta is None:
            continue
        for finding in check_ids(others, root.meta, Place(str(meta), Area.META_PROPERTIES)):
            yield Trouble(
                _KINDS[finding.reason],
                f"{finding.message}: the broker does not start",
                str(meta),
                Effect.KILLS,
                "take the log directory out of log.dirs, if it is not this node's; otherwise "
                "correct the file",
                position=finding.position,
            )


def check_names(roots: Sequence[Root]) -> Iterator[Trouble]:
    """Yield the directories whose names end the start of the broker."""
    for root in roots:
        for path in root.children:
            if names.is_of_log_directory(path.name):
                continue
            remedy = "move it out of the log directory"
            if path.name == "lost+found":
                remedy += ", or mount the file system one level higher"
            text = "its name is not in the form of topic-partition: the broker does not start"
            yield Trouble(
                TroubleKind.DIRECTORY_NAME, text, str(path), Effect.KILLS, remedy, move_away(path)
            )
