"""Find what coordinators of a release cannot load: at the first such record they end.

They then have no group or transaction of its partition.

The early access to share groups in 4.0 wrote messages that later releases read in another layout.
Kafka: ``CoordinatorLoaderImpl.loadBatch``, which ends at the first record that does not decode, and
goes on after one of a type that it does not know.
"""

from __future__ import annotations

from functools import partial

from kafkaspec.arrow.messages.topics import by_type, record_types
from kafkaspec.codecs import get_codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import Role, names
from kafkaspec.log.partition import PartitionLog
from kafkaspec.messages.lookup import in_topic, read_by
from kafkaspec.policy import OnError
from kafkaspec.state.framed import COLUMNS, decode
from kafkaspec.state.latest import tables_of


def unloadable(log: PartitionLog, topic: str, release: str, on_error: OnError) -> list[int]:
    """Return the offsets of records that no coordinator of a release decodes.

    Args:
        log: a partition of a coordinator's topic, whose keys say what its records are.
        topic: its name.
        release: ``4.4``.
        on_error: what to do about batches that cannot be read.
    """
    found: list[int] = []

    def refuse(offsets: list[int], row: int, _: KafkaSpecError) -> None:
        found.append(offsets[row])

    for table in tables_of(log, COLUMNS, on_error=on_error):
        table = table.combine_chunks()
        if not table.num_rows:
            continue
        types = record_types(topic, table[names.KEY].combine_chunks(), get_codec())
        for number, rows in by_type(table, types):
            keys = () if number is None else in_topic(topic, Role.KEY, number)
            values = () if number is None else in_topic(topic, Role.VALUE, number)
            if not read_by(keys, release) or not values:
                continue
            rows = rows.filter(rows[names.VALUE].is_valid()).combine_chunks()
            if rows.num_rows:
                refused = partial(refuse, rows[names.OFFSET].to_pylist())
                decode(values, rows[names.VALUE].combine_chunks(), release, refused)
    return sorted(found)
