"""The text of each release's dump tool, as data: each change with the release that made it.

A template has names of ``kafkaspec.dumplog.fields`` in braces; a brace of the tool is doubled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from kafkaspec.files import names
from kafkaspec.release import Release

_CLASSES: Final = tuple(f"{name}CompressionCodec" for name in ("No", "GZIP", "Snappy", "LZ4"))
_UPPER: Final = ("NONE", "GZIP", "SNAPPY", "LZ4", "ZSTD")
_LOWER: Final = tuple(name.lower() for name in _UPPER)


@dataclass(frozen=True, kw_only=True)
class Family:
    """The text of one release.

    Attributes:
        suffixes: of the files that the tool reads.
        reports_unknown: whether it names other files on stderr; otherwise it ignores them.
        head: first line about a log.
        codecs: names of the compression codecs, by id.
        batch: line about a batch of magic 2; "" where there is none.
        legacy_batch: line about a message of magic 0 or 1, or a wrapper of several.
        batches_always: whether lines about batches stand before those of their records; otherwise
            there are either these or those.
        record: line about a record of magic 2, up to its content.
        legacy_record: line about a message of magic 0 or 1, up to its content.
        implies_deep: whether the option that prints content also asks for each record.
        null_value: what stands for the payload of a message without a value; None if nothing does.
        drops_key: whether the key of such a message is not printed either.
        bar_before_value: whether a line without metadata begins with a bar where there is no key.
        controls: names of the types of control records, by number.
        control_json: types of control records of which JSON is printed, with the text before it.
        ends_at_bad_size: whether a size that no entry can have ends a log without an error.
        reads_on: whether the log is read to its end for each entry of a time index.
        first_of_batch: whether an offset index is compared with the first record of a batch, not
            with the last offset of the batch.
        stops_first: whether an entry of an index with relative offset 0 ends it before it is
            compared; otherwise after that, and in a time index only if its batch was found.
        past_base: how much larger than the base offset the last offset of a sane index is at least.
        names_empty: whether an empty offset index is named.
        snapshot: line about a producer, up to its last batch.
        snapshot_batch: of its last batch; "" where ``snapshot`` has all.
        no_offset: text for no first offset of a transaction.
        some_offset: text for such an offset.
        from_minus_one: whether the first offset is compared with -1.
        only_plain: whether messages that are compressed are not compared.
        sorted_reports: whether offsets are reported in order; otherwise the newest come first.
        gaps: title of the offsets that do not follow each other.
        not_found: title of the entries of a time index that no batch fits.
        whole_path: whether reports name the whole path of a file.
    """

    suffixes: tuple[str, ...]
    reports_unknown: bool = False
    head: str
    codecs: tuple[str, ...]
    batch: str = ""
    legacy_batch: str = ""
    batches_always: bool = False
    record: str = ""
    legacy_record: str
    implies_deep: bool = False
    null_value: str | None = None
    drops_key: bool = True
    bar_before_value: bool = False
    controls: tuple[str, ...] = ("ABORT", "COMMIT")
    control_json: Mapping[str, str] = ()  # type: ignore[assignment]
    ends_at_bad_size: bool = True
    reads_on: bool = False
    first_of_batch: bool = True
    stops_first: bool = False
    past_base: int = 1
    names_empty: bool = False
    snapshot: str = ""
    snapshot_batch: str = ""
    no_offset: str = "None"
    some_offset: str = "Some({})"
    from_minus_one: bool = False
    only_plain: bool = True
    sorted_reports: bool = False
    gaps: str
    not_found: str = "The following indexed offsets are not found in the log."
    whole_path: bool = True


_FIRST: Final = Family(
    suffixes=(names.LOG, names.OFFSET_INDEX),
    head="Starting offset: {}",
    codecs=_CLASSES,
    legacy_record="offset: {offset} position: {position} isvalid: {valid} payloadsize: {value_size}"
    " magic: {own_magic} compresscodec: {own_codec} crc: {crc}{key_size_if_any}",
    null_value="null",
    drops_key=False,
    gaps="Non-secutive offsets in :",
    whole_path=False,
)

_OF_BATCH: Final = (
    "baseOffset: {base_offset} lastOffset: {last_offset}{count} baseSequence: {base_sequence}"
    " lastSequence: {last_sequence} producerId: {producer_id} producerEpoch: {producer_epoch}"
    " partitionLeaderEpoch: {leader_epoch} isTransactional: {transactional}"
)
_SIZES: Final = " size: {size} magic: {magic} compresscodec: {codec} crc: {batch_crc}"
_OLD_ENTRY: Final = (
    " position: {position} {timestamp_type}: {max_timestamp} isvalid: {batch_valid}" + _SIZES
)
_ENTRY: Final = (
    " position: {position} {timestamp_type}: {max_timestamp}" + _SIZES + " isvalid: {batch_valid}"
)
_COUNTED: Final = _OF_BATCH.replace("{count}", " count: {count}") + " isControl: {control}"

_DEEP: Final = (
    "offset: {offset} position: {position} {timestamp_type}: {timestamp} isvalid: {valid}"
    " keysize: {key_size} valuesize: {value_size} magic: {magic} compresscodec: {codec}"
)
_BARRED: Final = "| offset: {offset} {timestamp_type}: {timestamp}"
_SMALL: Final = _BARRED + " keysize: {key_size} valuesize: {value_size}"
_CAMEL: Final = _BARRED + " keySize: {key_size} valueSize: {value_size}"
_SEQUENCE: Final = " sequence: {sequence} headerKeys: {header_keys}"
_VERBOSE: Final = (
    "| offset: {offset} isValid: {valid} crc: {crc} keySize: {key_size} valueSize: {value_size}"
    " {timestamp_type}: {timestamp} baseOffset: {base_offset} lastOffset: {last_offset}"
    " baseSequence: {base_sequence} lastSequence: {last_sequence} producerEpoch: {producer_epoch}"
    " partitionLeaderEpoch: {leader_epoch} batchSize: {size} magic: {magic} compressType: {codec}"
    " position: {position}"
)
_PRODUCER: Final = (
    "producerId: {producer_id} producerEpoch: {producer_epoch} coordinatorEpoch:"
    " {coordinator_epoch} currentTxnFirstOffset: {current_txn_first_offset}"
)
_LAST_BATCH: Final = (
    "firstSequence: {first_sequence} lastSequence: {last_sequence} lastOffset: {last_offset}"
    " offsetDelta: {offset_delta} timestamp: {timestamp}"
)
_KRAFT: Final = ("ABORT", "COMMIT", "LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER")
_SNAPSHOTS: Final = {
    "SNAPSHOT_HEADER": " SnapshotHeader ",
    "SNAPSHOT_FOOTER": " SnapshotFooter ",
}
_VOTERS: Final = _SNAPSHOTS | {
    "KRAFT_VERSION": " KRaftVersion ",
    "KRAFT_VOTERS": " KRaftVoters ",
}

_CHANGES: Final[tuple[tuple[Release, dict[str, Any]], ...]] = (
    ((0, 8, 1), {"whole_path": True}),
    ((0, 9), {"null_value": None, "drops_key": True}),
    (
        (0, 10, 1),
        {
            "suffixes": (names.LOG, names.OFFSET_INDEX, names.TIME_INDEX),
            "legacy_record": _FIRST.legacy_record.replace(
                " isvalid:", " {own_timestamp_type}: {timestamp} isvalid:"
            ),
        },
    ),
    ((0, 10, 2), {"codecs": _UPPER, "ends_at_bad_size": False}),
    (
        (0, 11),
        {
            "suffixes": (
                names.LOG,
                names.OFFSET_INDEX,
                names.TIME_INDEX,
                names.TRANSACTION_INDEX,
                names.PRODUCER_SNAPSHOT,
            ),
            "reports_unknown": True,
            "batch": _OF_BATCH.replace("{count}", "") + _OLD_ENTRY,
            "legacy_batch": "offset: {last_offset}" + _OLD_ENTRY,
            "record": _DEEP + " producerId: {producer_id} producerEpoch: {producer_epoch} sequence:"
            " {sequence} isTransactional: {transactional} headerKeys: {header_keys}",
            "legacy_record": _DEEP + " crc: {crc}",
            "only_plain": False,
            "gaps": "Non-consecutive offsets in :",
            "snapshot": "producerId: {producer_id} producerEpoch: {producer_epoch} lastSequence:"
            " {last_sequence} lastOffset: {last_offset} offsetDelta: {offset_delta} lastTimestamp:"
            " {timestamp} coordinatorEpoch: {coordinator_epoch} currentTxnFirstOffset:"
            " {current_txn_first_offset}",
        },
    ),
    ((1, 0), {"snapshot": _PRODUCER + " ", "snapshot_batch": _LAST_BATCH}),
    ((1, 1), {"implies_deep": True}),
    ((2, 0), {"batch": _COUNTED + _OLD_ENTRY, "past_base": 0}),
    (
        (2, 2),
        {
            "batch": _COUNTED + _ENTRY,
            "legacy_batch": "offset: {last_offset}" + _ENTRY,
            "batches_always": True,
            "record": _SMALL + _SEQUENCE,
            "legacy_record": _SMALL + " crc: {crc} isvalid: {valid}",
        },
    ),
    (
        (2, 3),
        {"first_of_batch": False, "stops_first": True, "gaps": "Non-consecutive offsets in "},
    ),
    ((2, 4), {"drops_key": False}),
    ((2, 7), {"controls": ("ABORT", "COMMIT", "QUORUM_REASSIGNMENT", "LEADER_CHANGE")}),
    (
        (2, 8),
        {
            "record": _VERBOSE + _SEQUENCE,
            "legacy_record": _VERBOSE + " crc: {crc} isvalid: {valid}",
            "names_empty": True,
        },
    ),
    (
        (3, 0),
        {
            "codecs": _LOWER,
            "record": _CAMEL + _SEQUENCE,
            "legacy_record": _CAMEL + " isValid: {valid} crc: {crc}}}",
            "controls": _KRAFT,
        },
    ),
    ((3, 1), {"snapshot": _PRODUCER + " lastTimestamp: {timestamp} "}),
    ((3, 2), {"batch": _COUNTED + " deleteHorizonMs: {delete_horizon}" + _ENTRY}),
    (
        (3, 3),
        {
            "suffixes": (
                names.LOG,
                names.CHECKPOINT,
                names.OFFSET_INDEX,
                names.TIME_INDEX,
                names.TRANSACTION_INDEX,
                names.PRODUCER_SNAPSHOT,
            ),
            "head": "Log starting offset: {}",
            "control_json": _SNAPSHOTS,
        },
    ),
    ((3, 5), {"no_offset": "OptionalLong.empty", "some_offset": "OptionalLong[{}]"}),
    ((3, 8), {"controls": (*_KRAFT, "KRAFT_VERSION", "KRAFT_VOTERS"), "control_json": _VOTERS}),
    ((4, 1), {"control_json": _VOTERS | {"LEADER_CHANGE": " LeaderChange: "}}),
    (
        (4, 3),
        {
            "legacy_record": _CAMEL + " isValid: {valid} crc: {crc}",
            "bar_before_value": True,
            "snapshot": _PRODUCER + " lastTimestamp: {timestamp}",
            "snapshot_batch": " " + _LAST_BATCH,
            "from_minus_one": True,
            "reads_on": True,
            "not_found": "The following indexed offsets are not found in :{}",
            "sorted_reports": True,
        },
    ),
)
"""What each release changed, oldest first."""


@cache
def family_of(release: Release) -> Family:
    """Return the text of a release, of at least ``OLDEST``."""
    found = _FIRST
    for since, changes in _CHANGES:
        if release >= since:
            found = replace(found, **changes)
    return found
