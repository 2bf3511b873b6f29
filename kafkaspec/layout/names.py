"""Ids of the specification that the library asks for by name: the one place that maps them.

A field that is renamed in ``spec/`` is renamed here. ``kafkaspec.layout.kinds`` looks each of them
up when it is imported, so that a name that the specification no longer has shows at once.
"""

from __future__ import annotations

from typing import Final

# Types that the library reads by themselves.
ENTRY: Final = "recordbatch.entry"
OFFSET_INDEX_ENTRY: Final = "index.offset_index_entry"
TIME_INDEX_ENTRY: Final = "index.time_index_entry"
ABORTED_TRANSACTION: Final = "transaction_index.aborted_transaction"
CONTROL_KEY: Final = "control_record.control_record_key"
CONTROL_VALUE: Final = "control_record.control_record_value"

# Types that read a file whole, which the library asks for by name.
LOG_FILE: Final = "recordbatch.recordbatch"
MESSAGE_SET_FILE: Final = "message_set.message_set"
OFFSET_INDEX_FILE: Final = "index.offset_index"
TIME_INDEX_FILE: Final = "index.time_index"
TRANSACTION_INDEX_FILE: Final = "transaction_index.transaction_index"
PRODUCER_SNAPSHOT_FILE: Final = "producer_snapshot.producer_snapshot"

# In an entry of an index.
RELATIVE_OFFSET: Final = "relative_offset"
POSITION: Final = "position"  # of a batch, from which the field of an entry is made

# In the header of an entry of any kind.
BASE_OFFSET: Final = "base_offset"
MAGIC: Final = "magic"
COMPRESSION: Final = "attributes.compression"
TIMESTAMP_TYPE: Final = "attributes.timestamp_type"
RESERVED: Final = "attributes.reserved"  # without a meaning

# In the header of a batch.
LEADER_EPOCH: Final = "partition_leader_epoch"
HAS_DELETE_HORIZON: Final = "attributes.has_delete_horizon"
IS_CONTROL: Final = "attributes.is_control"
IS_TRANSACTIONAL: Final = "attributes.is_transactional"
LAST_OFFSET_DELTA: Final = "last_offset_delta"
BASE_TIMESTAMP: Final = "base_timestamp"
MAX_TIMESTAMP: Final = "max_timestamp"
PRODUCER_ID: Final = "producer_id"
PRODUCER_EPOCH: Final = "producer_epoch"
BASE_SEQUENCE: Final = "base_sequence"
NUM_RECORDS: Final = "num_records"
RECORDS: Final = "records"
# In the header of a message: the bytes after its value. In a message of Kafka's: those after it.
UNUSED: Final = "unused"
# ... and of a batch, derived from it.
LAST_OFFSET: Final = "last_offset"
LAST_SEQUENCE: Final = "last_sequence"
DELETE_HORIZON: Final = "delete_horizon"

# In a record, alone or in a batch.
OFFSET: Final = "offset"
TIMESTAMP: Final = "timestamp"
KEY: Final = "key"
VALUE: Final = "value"
HEADERS: Final = "headers"
HEADER_KEY: Final = "headers.key"
HEADER_VALUE: Final = "headers.value"
SEQUENCE: Final = "sequence"
OWN_TIMESTAMP: Final = "own_timestamp"  # as stored, whatever its batch or wrapper says
# ... and stored for it in a batch.
TIMESTAMP_DELTA: Final = "timestamp_delta"
OFFSET_DELTA: Final = "offset_delta"

# In a message of Kafka's: how it is written, not what it says.
RECORD_TYPE: Final = "record_type"
FRAME_VERSION: Final = "frame_version"
API_KEY: Final = "api_key"
SCHEMA_VERSION: Final = "schema_version"
TAGGED_FIELDS: Final = "tagged_fields"
BODY: Final = "body"  # what depends on the version
PROTOCOL_TYPE: Final = "protocol_type"  # of a group, which says what is in its members

MESSAGE_FRAME: Final = frozenset(
    {RECORD_TYPE, FRAME_VERSION, API_KEY, SCHEMA_VERSION, TAGGED_FIELDS, UNUSED}
)
"""Fields of messages that say nothing about what a message describes."""

TRUTH: Final = "enumeration.truth"
"""Key of the enumeration whose numbers Kafka calls false and true."""

HEADER_NAMES: Final = (
    MAGIC, COMPRESSION, TIMESTAMP_TYPE, LEADER_EPOCH, HAS_DELETE_HORIZON, IS_CONTROL,
    IS_TRANSACTIONAL, LAST_OFFSET_DELTA, BASE_TIMESTAMP, MAX_TIMESTAMP, PRODUCER_ID,
    PRODUCER_EPOCH, BASE_SEQUENCE, NUM_RECORDS, RECORDS, UNUSED, BASE_OFFSET, LAST_OFFSET,
    LAST_SEQUENCE, DELETE_HORIZON,
)  # fmt: skip
"""Names that the header of at least one kind of entry has."""

RECORD_NAMES: Final = (
    OFFSET, TIMESTAMP, KEY, VALUE, HEADERS, HEADER_KEY, HEADER_VALUE, SEQUENCE, OWN_TIMESTAMP,
    TIMESTAMP_DELTA, OFFSET_DELTA,
)  # fmt: skip
"""Names that the records of at least one kind of entry have."""

RECORD_NEEDS: Final = (OFFSET, KEY, VALUE)
"""Names that every record has."""

ENTRY_NEEDS: Final = (COMPRESSION, TIMESTAMP_TYPE)
"""Names that the header of every entry has."""

BATCH_NEEDS: Final = (
    BASE_OFFSET, LAST_OFFSET, LAST_OFFSET_DELTA, MAX_TIMESTAMP, NUM_RECORDS, RECORDS
)  # fmt: skip
"""Names that the header of every batch has besides."""

NEEDED_WITH: Final = {
    PRODUCER_ID: (PRODUCER_EPOCH, BASE_SEQUENCE, LAST_SEQUENCE, SEQUENCE),
    PRODUCER_EPOCH: (PRODUCER_ID,),
    BASE_SEQUENCE: (PRODUCER_ID,),
    IS_TRANSACTIONAL: (IS_CONTROL,),
    IS_CONTROL: (IS_TRANSACTIONAL,),
    HAS_DELETE_HORIZON: (DELETE_HORIZON,),
    TIMESTAMP_DELTA: (TIMESTAMP,),
    HEADERS: (HEADER_KEY, HEADER_VALUE),
}
"""For a name that a batch or its records have, the names that they have besides."""


def json_name(field: str, original_id: str | None) -> str:
    """Return the name in JSON of a field of a message: Kafka's, or that of its id without one."""
    name = original_id or camel(field)
    return name[0].lower() + name[1:]


def camel(name: str) -> str:
    """Return the name in JSON of a field without a name of Kafka's."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
