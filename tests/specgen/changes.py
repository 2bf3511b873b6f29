"""Changes of the format that must work with an edit of ``spec/`` alone, as data."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

from tests.specgen.edits import Edit, Files, field_of, insert, move, remove, type_of
from tests.specgen.nodes import TIMELESS, integer, structure, uuid

BATCH, RECORD = "recordbatch.record_batch", "recordbatch.record"


def allow_magic(files: Files, *magics: int) -> None:
    """Let entries have these magic bytes."""
    peek = type_of(files, "recordbatch.message")["instances"]["magic"]
    peek["valid"] = {"any-of": list(magics)}


def case_of(files: Files, magic: int, reference: str) -> None:
    """Choose a type for a magic byte."""
    field_of(files, "recordbatch.message", "content")["type"]["cases"][magic] = reference


def _add_fields_of_magic_3(files: Files, suffix: str = "") -> None:
    batch, record = BATCH + suffix, RECORD + suffix
    field_of(files, batch, "magic")["valid"] = 3
    field_of(files, batch, "producer_epoch")["type"] = "s4"
    topic = uuid("topic_id") | {"-orig-id": "topicId", "doc": "UUID of the topic."}
    insert(files, batch, topic, after="base_sequence")
    expiry = integer("expiry_delta", "varint::varint64", default="0")
    insert(files, record, expiry, after="offset_delta")


def magic_3_instead(files: Files) -> None:
    """Magic 3 in place of magic 2: a wider field and a new one in the header, one in the record."""
    cases = field_of(files, "recordbatch.message", "content")["type"]["cases"]
    case_of(files, 3, cases.pop(2))
    allow_magic(files, 0, 1, 3)
    _add_fields_of_magic_3(files)


def beside(files: Files, magic: int, *more: str) -> tuple[str, str]:
    """Add a copy of magic 2 under another magic; return the keys of its batch and record."""
    types = files["recordbatch"]["types"]
    names = ("record_batch", "record_set", "framed_record", "record", *more)
    for name in names:
        copy = deepcopy(types[name])
        for node in (*copy.get("params", ()), *copy["seq"]):
            reference, parenthesis, rest = str(node.get("type", "")).partition("(")
            if reference in names:
                node["type"] = f"{reference}_{magic}{parenthesis}{rest}"
        types[f"{name}_{magic}"] = copy
    case_of(files, magic, f"record_batch_{magic}(base_offset)")
    allow_magic(files, *field_of(files, "recordbatch.message", "content")["type"]["cases"])
    field_of(files, f"{BATCH}_{magic}", "magic")["valid"] = magic
    return f"{BATCH}_{magic}", f"{RECORD}_{magic}"


def magic_3_beside(files: Files) -> None:
    """The same magic 3 beside magic 2, as a real KIP would have it."""
    beside(files, 3)
    _add_fields_of_magic_3(files, "_3")


def headers_beside(files: Files) -> None:
    """Magic 3 to 8 beside magic 2, each with another header."""
    batch, _ = beside(files, 3)
    insert(files, batch, integer("schema_id", "varint::varint32"), before="num_records")
    field_of(files, batch, "crc")["-derive"] = "crc32(last_offset_delta..)"
    batch, _ = beside(files, 4, "batch_attributes")
    field_of(files, "recordbatch.batch_attributes_4", "reserved")["type"] = "b8"
    flag = integer("is_encrypted", "b1", default="0")
    insert(files, "recordbatch.batch_attributes_4", flag, before="has_delete_horizon")
    client = {"id": "client_id", "-default": "null", "type": "nullable_bytes", "doc": TIMELESS}
    insert(files, batch, client, before="last_offset_delta")
    batch, record = beside(files, 5)
    for name in ("last_offset_delta", "base_sequence", "num_records", "producer_epoch"):
        field_of(files, batch, name)["type"] = "s8"
    field_of(files, record, "offset_delta")["type"] = "varint::varint64"
    batch, record = beside(files, 6)
    for name in ("producer_id", "producer_epoch", "base_sequence"):
        remove(files, batch, name)
    del type_of(files, batch)["instances"]["last_sequence"]
    del type_of(files, record)["instances"]["sequence"]
    batch, _ = beside(files, 7)
    count = field_of(files, batch, "num_records")
    count |= {"type": "varint::varint32", "valid": {"expr": "_.value >= 0"}}
    records, end = type_of(files, "recordbatch.record_set_7")["seq"]
    records["repeat-expr"] = "batch.num_records.value"
    end["valid"]["expr"] = "_io.eof or batch.num_records.value == 0"
    tags = {
        "id": "tags", "-default": "[]", "type": "batch_tag",
        "repeat": "expr", "repeat-expr": "num_tags", "doc": TIMELESS,
    }  # fmt: skip
    number = integer("num_tags", "u1") | {"-derive": "count(tags)"}
    insert(files, batch, number, tags, before="num_records")
    files["recordbatch"]["types"]["batch_tag"] = structure(
        integer("number", "u4"), integer("weight", "s2")
    )
    message = deepcopy(type_of(files, "recordbatch.legacy_message"))
    files["recordbatch"]["types"]["legacy_message_8"] = message
    key = "recordbatch.legacy_message_8"
    field_of(files, key, "magic")["valid"] = 8
    del field_of(files, key, "timestamp")["if"]
    insert(files, key, integer("priority", "s4", default="-1"), before="key")
    case_of(files, 8, "legacy_message_8(base_offset)")
    allow_magic(files, *field_of(files, "recordbatch.message", "content")["type"]["cases"])


def records_beside(files: Files) -> None:
    """Magic 3 to 7 beside magic 2, each with another record."""
    _, record = beside(files, 3)
    field_of(files, record, "key")["type"] = "nullable_bytes_s4"
    insert(files, record, integer("big", "u8", default="0"), before="key")
    _, record = beside(files, 4)
    key = field_of(files, record, "key")
    key |= {"size": "len_key", "doc": "The bytes by which a topic is compacted."}
    del key["type"], key["-default"]
    insert(files, record, integer("len_key", "u2") | {"-derive": "len(key)"}, before="key")
    move(files, record, "value", before="len_key")
    _, record = beside(files, 5)
    flags = integer("flags", "u1", default="0", valid={"min": 0, "max": 3})
    insert(files, record, flags, before="timestamp_delta")
    gated = integer("ttl", "varint::varint64", default="5", when="flags >= 1")
    insert(files, record, gated, before="key")
    _, record = beside(files, 6)
    time = field_of(files, record, "timestamp_delta")
    time |= {"id": "timestamp", "type": "s8", "doc": "Milliseconds since the Unix epoch."}
    instances = type_of(files, record)["instances"]
    del time["-orig-id"], instances["timestamp"], instances["own_timestamp"]
    move(files, record, "num_headers", before="key")
    move(files, record, "headers", before="key")
    _, record = beside(files, 7)
    remove(files, record, "num_headers")
    remove(files, record, "headers")


def wider_fields(files: Files) -> None:
    field_of(files, BATCH, "producer_epoch")["type"] = "s4"
    field_of(files, BATCH, "partition_leader_epoch")["type"] = "s4"
    field_of(files, RECORD, "attributes")["type"] = "s2"
    field_of(files, RECORD, "offset_delta")["type"] = "varint::varint64"
    field_of(files, "recordbatch.batch_attributes", "reserved")["type"] = "b25"


def moved_fields(files: Files) -> None:
    move(files, BATCH, "num_records", after="attributes")
    move(files, BATCH, "producer_epoch", before="producer_id")
    move(files, RECORD, "offset_delta", before="attributes")
    move(files, RECORD, "value", before="key")


def checksum_elsewhere(files: Files) -> None:
    move(files, BATCH, "crc", before="partition_leader_epoch")
    move(files, BATCH, "magic", after="crc")
    field_of(files, BATCH, "crc")["-derive"] = "crc32c(partition_leader_epoch..)"
    batch = deepcopy(field_of(files, BATCH, "magic"))
    assert batch["valid"] == 2


def header_fields(files: Files) -> None:
    """New fields at the begin, in the middle and at the end of the header of a batch."""
    insert(files, BATCH, integer("shard", "u2"), before="crc")
    insert(files, BATCH, uuid("topic_id"), before="producer_id")
    insert(files, BATCH, integer("epoch_flags", "u1", default="7"), before="num_records")
    insert(files, BATCH, {"id": "origin", "type": "origin"}, before="records")
    files["recordbatch"]["types"]["origin"] = structure(
        integer("cluster", "s8"), integer("region", "u4", default="3")
    )


def variable_header_field(files: Files) -> None:
    """Fields of the header without a fixed size."""
    insert(files, BATCH, integer("schema_id", "varint::varint32"), before="last_offset_delta")
    note = {"id": "note", "-default": "null", "type": "nullable_bytes", "doc": TIMELESS}
    insert(files, BATCH, note, before="records")


def gated_header_fields(files: Files) -> None:
    """A magic 3 that shares its type with magic 2, and has fields that magic 2 has not."""
    field_of(files, BATCH, "magic")["valid"] = {"any-of": [2, 3]}
    case_of(files, 3, "record_batch(base_offset)")
    allow_magic(files, 0, 1, 2, 3)
    early = integer("delivery_time", "s8", default="-1", when="magic >= 3")
    insert(files, BATCH, early, before="last_offset_delta")
    late = integer("priority", "s2", default="4", when="magic == 3")
    insert(files, BATCH, late, before="records")


def record_fields(files: Files) -> None:
    """New fields of all kinds at the begin, in the middle and at the end of a record."""
    insert(files, RECORD, integer("kind", "u1", default="1"), before="attributes")
    insert(files, RECORD, uuid("trace_id"), before="key")
    insert(files, RECORD, integer("ttl", "varint::varint64", default="0"), after="value")
    insert(files, RECORD, integer("priority", "s2"), before="end")
    insert(files, "recordbatch.header", integer("flags", "u1", default="0"), before="len_key")


def structure_in_record(files: Files) -> None:
    insert(files, RECORD, {"id": "span", "type": "span"}, before="key")
    files["recordbatch"]["types"]["span"] = structure(
        integer("trace", "s8"), integer("sampled", "b1"), integer("level", "b7")
    )


def array_in_record(files: Files) -> None:
    count = integer("num_tags", "varint::varint32", valid={"expr": "_.value >= 0"})
    tags = {
        "id": "tags", "-default": "[]", "type": "tag",
        "repeat": "expr", "repeat-expr": "num_tags.value", "doc": TIMELESS,
    }  # fmt: skip
    insert(files, RECORD, count | {"-derive": "count(tags)"}, tags, before="end")
    files["recordbatch"]["types"]["tag"] = structure(
        integer("number", "u4"),
        {"id": "text", "-default": "null", "type": "nullable_bytes", "doc": TIMELESS},
    )


def gated_record_field(files: Files) -> None:
    field_of(files, RECORD, "attributes")["valid"] = {"min": 0, "max": 3}
    gated = integer("ttl", "varint::varint64", default="5", when="attributes >= 1")
    insert(files, RECORD, gated, after="attributes")


def gated_legacy_field(files: Files) -> None:
    gated = integer("region", "u2", default="9", when="magic == 0")
    insert(files, "recordbatch.legacy_message", gated, before="attributes")


def entry_field(files: Files) -> None:
    """A field more before the size of each entry, handed over to what the entry holds."""
    insert(files, "recordbatch.entry", integer("term", "s4"), before="len_message")
    term = {"id": "term", "type": "s4", "doc": TIMELESS}
    for name in ("message", "legacy_message", "record_batch"):
        type_of(files, f"recordbatch.{name}")["params"].append(term)
    field_of(files, "recordbatch.entry", "message")["type"] = "message(base_offset, term)"
    cases = field_of(files, "recordbatch.message", "content")["type"]["cases"]
    for magic, reference in cases.items():
        cases[magic] = reference.replace("base_offset)", "base_offset, term)")


def index_of_16_bytes(files: Files) -> None:
    field_of(files, "index.offset_index_entry", "relative_offset")["type"] = "s8"
    field_of(files, "index.offset_index_entry", "position")["type"] = "s8"


def time_index_fields(files: Files) -> None:
    insert(files, "index.time_index_entry", integer("kind", "u1", default="0"), before="timestamp")
    insert(files, "index.time_index_entry", integer("position", "s8", default="-1"))
    instances = type_of(files, "index.time_index_entry")["instances"]
    instances["second"] = {"value": "timestamp / 1000", "doc": "A made-up meaning."}
    instances["millisecond"] = {"value": "timestamp % 1000", "doc": "A made-up meaning."}


def snapshot_fields(files: Files) -> None:
    entry = "producer_snapshot.producer_entry"
    insert(files, entry, integer("transaction_version", "s2", default="-1"), after="producer_epoch")
    insert(files, entry, uuid("owner"))
    _snapshot_entry_size(files, 46 + 2 + 16)


def _snapshot_entry_size(files: Files, size: int) -> None:
    count = field_of(files, "producer_snapshot", "num_entries")
    count["valid"]["max"] = f"(_io.size - _io.pos) / {size}"


def snapshot_versions_gated(files: Files) -> None:
    """Version 2 of the snapshot has a field more in the file and in each entry."""
    field_of(files, "producer_snapshot", "version")["valid"] = {"any-of": [1, 2]}
    epoch = integer("cluster_epoch", "s4", default="-1", when="version >= 2")
    insert(files, "producer_snapshot", epoch, after="crc")
    field_of(files, "producer_snapshot", "crc")["-derive"] = "crc32c(cluster_epoch..)"
    field_of(files, "producer_snapshot", "entries")["type"] = "producer_entry(version)"
    entry = "producer_snapshot.producer_entry"
    version = {"id": "version", "type": "s2", "doc": "Version of the snapshot."}
    type_of(files, entry)["params"] = [version]
    gated = integer("transaction_version", "s2", default="-1", when="version >= 2")
    insert(files, entry, gated, after="producer_epoch")


def snapshot_versions_switched(files: Files) -> None:
    """Version 2 of the snapshot in a type of its own, chosen by its version."""
    snapshot = files["producer_snapshot"]
    first = structure(*snapshot["seq"])
    for field in first["seq"]:
        if field["id"] == "unused":
            field["doc"] = "Bytes after the entries."
    second = deepcopy(first)
    second["seq"][0]["valid"] = 2
    insert_at = [field["id"] for field in second["seq"]].index("num_entries")
    second["seq"].insert(insert_at + 1, integer("cluster_epoch", "s4", default="-1"))
    peek = {"pos": 0, "type": "s2", "valid": {"min": 1, "max": 2}, "doc": "Version of it."}
    content = {
        "id": "content",
        "type": {"switch-on": "version", "cases": {1: "snapshot_1", 2: "snapshot_2"}},
    }
    chosen = structure(content, instances={"version": peek})
    snapshot["types"] |= {"snapshot_1": first, "snapshot_2": second, "snapshot": chosen}
    snapshot["seq"] = [{"id": "snapshot", "size-eos": True, "type": "snapshot"}]


def new_control_record(files: Files) -> None:
    types = files["control_record"]["types"]
    types["topic_frozen_record"] = structure(
        integer("version", "s2", default="0"),
        uuid("topic_id"),
        {"id": "tagged_fields", "type": "flexible::tagged_fields"},
        {"id": "end", "size": 0, "valid": {"expr": "_io.eof"}},
    )
    body = field_of(files, "control_record.control_record_value", "body")
    body["type"]["cases"] = {7: "topic_frozen_record"} | body["type"]["cases"]
    files["control_record"]["enums"]["control_record_type"][7] = {
        "id": "topic_frozen", "doc": "A made-up one.",
    }  # fmt: skip


def control_record_version(files: Files) -> None:
    """Version 1 of a control record has a field that version 0 has not."""
    record = "control_record.kraft_version_record"
    field_of(files, record, "version")["valid"] = {"any-of": [0, 1]}
    gated = integer("finalized_epoch", "s8", default="-1", when="version >= 1")
    insert(files, record, gated, before="tagged_fields")


def new_compression(files: Files) -> None:
    files["recordbatch"]["enums"]["compression_type"][5] = {"id": "brotli", "doc": "A made-up one."}


def other_files(files: Files) -> None:
    """Fields in a marker, a snapshot and an index of transactions; quotes in texts."""
    marker = "control_record.end_transaction_marker"
    field_of(files, marker, "version")["valid"] = {"min": 0, "max": 1}
    gated = integer("transaction_version", "s2", default="0", when="version >= 1")
    insert(files, marker, gated, before="unused")
    aborted = "transaction_index.aborted_transaction"
    insert(files, aborted, integer("producer_epoch", "s2", default="-1"))
    count = integer("num_batches", "s4", valid={"min": 0}) | {"-derive": "count(batches)"}
    batches = {
        "id": "batches", "-default": "[]", "type": "batch_metadata",
        "repeat": "expr", "repeat-expr": "num_batches", "doc": TIMELESS,
    }  # fmt: skip
    insert(files, "producer_snapshot.producer_entry", count, batches)
    files["producer_snapshot"]["types"]["batch_metadata"] = structure(
        integer("sequence", "s4"), integer("offset", "s8")
    )
    text = 'Says /* "so", \'so\' and "" too: %d {x} <b> & ünï | ??/ end.'
    field_of(files, RECORD, "key")["doc"] = text


def renamed_fields(files: Files) -> None:
    for key in (BATCH, "producer_snapshot.producer_entry"):
        field_of(files, key, "producer_epoch")["id"] = "producer_generation"
    field_of(files, "index.offset_index_entry", "position")["id"] = "byte_position"
    field_of(files, "transaction_index.aborted_transaction", "first_offset")["id"] = "begin_offset"


NEW_NAMES = {
    name: f"new_{name}"
    for name in (
        "partition_leader_epoch", "has_delete_horizon", "is_control", "is_transactional",
        "last_offset_delta", "base_timestamp", "producer_id", "producer_epoch", "base_sequence",
        "last_sequence", "delete_horizon", "compression", "crc",
    )
}  # fmt: skip
"""Fields that the code of the library names in one place only: no class of the typed model is
asked for them, which mypy would find."""


def renamed_headers(files: Files) -> None:
    """Rename fields of the headers of entries, wherever an expression mentions them too."""
    words = re.compile(rf"(?<![\w-])({'|'.join(NEW_NAMES)})(?![\w-])")

    def renamed(node: Any) -> Any:
        if isinstance(node, dict):
            return {
                NEW_NAMES.get(key, key): value if key in ("doc", "-orig-id") else renamed(value)
                for key, value in node.items()
            }
        if isinstance(node, list):
            return [renamed(item) for item in node]
        return words.sub(lambda word: NEW_NAMES[word[0]], node) if isinstance(node, str) else node

    files["recordbatch"] = renamed(files["recordbatch"])


CHANGES = tuple(
    Edit(apply.__name__, apply)
    for apply in (
        magic_3_instead,
        magic_3_beside,
        headers_beside,
        records_beside,
        other_files,
        wider_fields,
        moved_fields,
        checksum_elsewhere,
        header_fields,
        variable_header_field,
        gated_header_fields,
        record_fields,
        structure_in_record,
        array_in_record,
        gated_record_field,
        gated_legacy_field,
        entry_field,
        index_of_16_bytes,
        time_index_fields,
        snapshot_fields,
        snapshot_versions_gated,
        snapshot_versions_switched,
        new_control_record,
        control_record_version,
        new_compression,
        renamed_fields,
    )
)
