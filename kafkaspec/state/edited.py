"""Change the metadata of a cluster, and write it as the snapshot that controllers begin with."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from kafkaspec._generated.layout.messages import MESSAGES
from kafkaspec._generated.layout.topics import Topic
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files import names
from kafkaspec.layout import Role
from kafkaspec.log.partition import Partition
from kafkaspec.options import not_there
from kafkaspec.output.atomic import DirectoryAside
from kafkaspec.policy import OnError
from kafkaspec.state.cluster import Cluster, read_cluster
from kafkaspec.state.framed import COLUMNS, LeftOut, by_api_key
from kafkaspec.state.image import Image
from kafkaspec.state.message_bytes import message_bytes
from kafkaspec.state.snapshot import write_snapshot

TYPE: Final = "record"
"""Member of an edit that names the record: ``ConfigRecord``."""
RECORDS: Final = {
    each.name
    for each in MESSAGES
    if (each.topic, each.role) == (Topic.CLUSTER_METADATA, Role.RECORD)
}
"""Names of the records that a controller writes."""


@dataclass(frozen=True)
class EditedCluster:
    """Metadata before and after edits.

    Attributes:
        before: as the log has it.
        after: the state to write.
        end_offset: the offset at which controllers go on.
    """

    before: Cluster
    after: Image
    end_offset: int


def edit_cluster(
    log: Partition,
    *,
    without: Collection[int] = (),
    edits: Iterable[Mapping[str, Any]] = (),
    release: str | None = None,
    on_error: OnError = "raise",
) -> EditedCluster:
    """Return the metadata of a cluster without some records, and with others applied after them.

    Brokers keep a copy of the log, and fetch from its end on. So the state has an end beyond that
    of the log: what brokers ask for is not there any more, and they load the snapshot (KIP-630).

    Args:
        log: the directory of ``__cluster_metadata-0``.
        without: offsets of records after the newest snapshot, which do not count.
        edits: records of Kafka to apply: the name under ``record``, ``ConfigRecord``, and its
            fields by the names of the specification, as ``image_records`` takes them.
        release: of the controllers that wrote the log, see ``read_cluster``.
        on_error: what happens with a batch that cannot be read.

    Raises:
        KafkaSpecError: the log cannot be read; ``unencodable``: an edit is not a record.
        ValueError: an edit is not a record of the topic, or one in ``without`` is not there.
    """
    before = found = read_cluster(log, release=release, on_error=on_error)
    if without:
        found = read_cluster(log, release=release, on_error=on_error, without=without)
    image = found.image.copy()
    image.pending = None  # the next controller aborts it
    if without and (absent := set(without) - found.skipped):
        first = before.end_offset if before.snapshot is None else _end(before.snapshot)
        some = ", ".join(map(str, sorted(absent)))
        raise ValueError(
            f"no record at offset {some} can be left out: they begin at {first}, after the newest"
            " snapshot"
        )
    count = 0
    for number, edit in enumerate(edits):
        image.apply(_changes(edit, before.end_offset + number))
        count += 1
    if image.pending is not None:
        raise ValueError("the edits begin a metadata transaction and do not end it")
    return EditedCluster(before, image, before.end_offset + max(1, count))


def read_edits(file: Path) -> Iterator[Any]:
    """Yield the edits in a file, one JSON object a line.

    Raises:
        ValueError: a line is not JSON, or there are no edits.
    """
    none = True
    for number, line in enumerate(file.read_bytes().split(b"\n"), 1):
        if line.strip():
            none = False
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                raise ValueError(f"{file}: line {number} is not JSON") from None
    if none:
        raise ValueError(f"{file}: it has no edits")


def write_edited(edited: EditedCluster, output: Path) -> Path:
    """Write metadata as a directory ``__cluster_metadata-0`` with nothing but a snapshot.

    Every controller of the cluster needs it in the place of the directory that it has.

    Returns:
        The path of the snapshot.

    Raises:
        KafkaSpecError: ``unreadable``: the directory exists, or cannot be written;
            ``unencodable``: a record cannot be written.
    """
    with DirectoryAside(output) as aside:
        path = write_snapshot(
            edited.after, aside.path, end_offset=edited.end_offset, epoch=edited.before.epoch,
            timestamp=edited.before.timestamp,
        )  # fmt: skip
    return output / path.name


def _end(snapshot: Path) -> int:
    name = names.parse_checkpoint(snapshot.name)
    return 0 if name is None else name.end_offset


def _changes(edit: Mapping[str, Any], offset: int) -> Any:
    """Return an edit as a controller reads it back, with the defaults of fields that it lacks."""
    if not isinstance(edit, Mapping):
        raise ValueError(f"an edit is an object with the fields of a record, not {edit!r:.80}")
    fields = dict(edit)
    name = str(fields.pop(TYPE, ""))
    if name not in RECORDS:
        raise ValueError(not_there("record", name, RECORDS))
    (data,) = message_bytes(name, [fields])
    row = pa.table(
        [[offset], pa.array([0], pa.timestamp("ms")), [data], pa.nulls(1, pa.binary())],
        names=list(COLUMNS),
    )
    left_out = LeftOut()
    changes = list(by_api_key(row, Topic.CLUSTER_METADATA, None, None, left_out))
    if not changes:
        error: KafkaSpecError | None = next(iter(left_out.errors), None)
        raise error or make_error(Reason.INVALID_VALUE, f"{name} does not decode again")
    return changes
