"""Edits of the specification as data, each with the verdict that a comparison has to give."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

from tests.specgen import changes
from tests.specgen.changes import BATCH, RECORD, allow_magic
from tests.specgen.edits import Edit, Files, field_of, insert, move, remove, type_of
from tests.specgen.nodes import integer
from tools.specdiff.rules import Broken

OLD, NEW, WRITING, NAMES = Broken
POSITION = "index.offset_index_entry"
PRODUCER = "producer_snapshot.producer_entry"
ABORTED = "transaction_index.aborted_transaction"
COMMIT = "offset_commit_value"

Apply = Callable[[Files], None]


@dataclass(frozen=True)
class Break:
    """An edit, the rule that a comparison has to name, and whom that breaks."""

    edit: Edit
    rule: str
    breaks: frozenset[Broken]


BREAKS: list[Break] = []


def says(rule: str, *breaks: Broken) -> Callable[[Apply], Apply]:
    """Add an edit to the list, with its verdict."""

    def add(apply: Apply) -> Apply:
        BREAKS.append(Break(Edit(apply.__name__, apply), rule, frozenset(breaks)))
        return apply

    return add


@says("FIELD_RENAMED", WRITING, NAMES)
def rename_a_field(files: Files) -> None:
    field_of(files, POSITION, "position")["id"] = "location"


@says("TYPE_RENAMED", WRITING, NAMES)
def rename_a_structure(files: Files) -> None:
    types = files["index"]["types"]
    types["position_entry"] = types.pop("offset_index_entry")
    field_of(files, "index.offset_index", "entries")["type"] = "position_entry(base_offset)"


@says("WIDER", OLD, NEW)
def widen_a_field(files: Files) -> None:
    field_of(files, PRODUCER, "producer_epoch")["type"] = "s4"


@says("WIDER", NEW)
def widen_a_varint(files: Files) -> None:
    field_of(files, RECORD, "offset_delta")["type"] = "varint::varint64"


@says("NARROWER", OLD, NEW, WRITING)
def narrow_a_field(files: Files) -> None:
    field_of(files, ABORTED, "last_offset")["type"] = "s4"


@says("ENDIANNESS", OLD, NEW)
def turn_a_file_around(files: Files) -> None:
    files["transaction_index"]["meta"]["endian"] = "le"


@says("ENDIANNESS", OLD, NEW)
def turn_a_field_around(files: Files) -> None:
    field_of(files, PRODUCER, "producer_id")["type"] = "s8le"


@says("SIGN", OLD, NEW, WRITING)
def change_a_sign(files: Files) -> None:
    field_of(files, POSITION, "position")["type"] = "u4"


@says("FIELD_MOVED", OLD, NEW)
def move_a_field(files: Files) -> None:
    move(files, BATCH, "producer_epoch", before="producer_id")


@says("FIELD_ADDED", OLD, NEW)
def insert_an_optional_field(files: Files) -> None:
    insert(files, RECORD, integer("ttl", "varint::varint64", default="0"), after="value")


@says("FIELD_ADDED_REQUIRED", OLD, NEW, WRITING)
def insert_a_required_field(files: Files) -> None:
    insert(files, RECORD, integer("priority", "s2"), before="end")


@says("FIELD_ADDED", OLD, NEW)
def append_a_field_to_an_index(files: Files) -> None:
    insert(files, "index.time_index_entry", integer("position", "s8", default="-1"))


@says("FIELD_REMOVED", OLD, NEW, WRITING, NAMES)
def remove_a_field(files: Files) -> None:
    remove(files, ABORTED, "last_stable_offset")


@says("ENUM_VALUE_ADDED", NEW)
def add_a_codec(files: Files) -> None:
    changes.new_compression(files)


@says("ENUM_VALUE_REMOVED", OLD, NAMES)
def remove_a_codec(files: Files) -> None:
    del files["recordbatch"]["enums"]["compression_type"][4]


@says("ENUM_VALUE_RENAMED", NAMES)
def rename_a_codec(files: Files) -> None:
    files["recordbatch"]["enums"]["compression_type"][4]["id"] = "zstandard"


@says("ENUM_VALUE_REUSED", OLD, NEW, WRITING)
def swap_two_codecs(files: Files) -> None:
    values = files["recordbatch"]["enums"]["compression_type"]
    values[3], values[4] = values[4], values[3]


@says("VALID_TIGHTENED", OLD, WRITING)
def bound_a_field(files: Files) -> None:
    field_of(files, RECORD, "attributes")["valid"] = {"min": 0, "max": 3}


@says("VALID_RELAXED", NEW)
def allow_a_second_version(files: Files) -> None:
    field_of(files, "producer_snapshot", "version")["valid"] = {"any-of": [1, 2]}


@says("VALID_RELAXED", NEW)
def drop_a_bound(files: Files) -> None:
    del field_of(files, BATCH, "num_records")["valid"]


@says("CONSTANT", OLD, NEW)
def change_a_constant(files: Files) -> None:
    field_of(files, "producer_snapshot", "version")["valid"] = 2


@says("DEFAULT_CHANGED", WRITING)
def change_a_default(files: Files) -> None:
    field_of(files, BATCH, "producer_id")["-default"] = "0"


@says("DEFAULT_REMOVED", WRITING)
def require_a_field(files: Files) -> None:
    del field_of(files, BATCH, "producer_id")["-default"]


@says("DEFAULT_ADDED")
def make_a_field_optional(files: Files) -> None:
    field_of(files, BATCH, "last_offset_delta")["-default"] = "0"


@says("MEANT")
def let_wrappers_have_a_codec(files: Files) -> None:
    field_of(files, "recordbatch.legacy_attributes", "compression")["-known"] = "0..4"


@says("CONDITION", OLD, NEW, WRITING)
def make_a_field_unconditional(files: Files) -> None:
    del field_of(files, "recordbatch.legacy_message", "timestamp")["if"]


@says("DERIVED", OLD, NEW)
def change_a_checksum(files: Files) -> None:
    field_of(files, BATCH, "crc")["-derive"] = "crc32(attributes..)"


@says("DERIVED", OLD, NEW)
def cover_less_by_a_checksum(files: Files) -> None:
    field_of(files, BATCH, "crc")["-derive"] = "crc32c(base_timestamp..)"


@says("TYPE_CHANGED", OLD, NEW, WRITING)
def size_a_key_by_four_bytes(files: Files) -> None:
    field_of(files, RECORD, "key")["type"] = "nullable_bytes_s4"


@says("TYPE_CHANGED", OLD, NEW, WRITING)
def make_a_number_a_varint(files: Files) -> None:
    field_of(files, BATCH, "producer_id")["type"] = "varint::varint64"


@says("MEANING", OLD, NEW)
def compute_another_offset(files: Files) -> None:
    instance = type_of(files, POSITION)["instances"]["offset"]
    instance["value"] = "(base_offset + relative_offset.as<s8> + 1).as<s8>"


@says("VALUE_REMOVED", NAMES)
def remove_a_computed_value(files: Files) -> None:
    del type_of(files, RECORD)["instances"]["sequence"]


@says("TEXT")
def say_it_in_other_words(files: Files) -> None:
    field_of(files, BATCH, "crc")["doc"] = "CRC-32C of the bytes from `attributes` on."


@says("KAFKAS_NAME", NAMES)
def follow_a_name_of_kafka(files: Files) -> None:
    field_of(files, BATCH, "base_sequence")["-orig-id"] = "firstSequence"


@says("CASE_ADDED", NEW)
def add_a_magic(files: Files) -> None:
    changes.magic_3_beside(files)


@says("CASE_REMOVED", OLD, WRITING)
def remove_a_magic(files: Files) -> None:
    field_of(files, "recordbatch.message", "content")["type"]["cases"].pop(0)
    allow_magic(files, 1, 2)
    message = field_of(files, "recordbatch.legacy_message", "magic")
    message["valid"] = 1
    del field_of(files, "recordbatch.legacy_message", "timestamp")["if"]


@says("FILE_REMOVED", OLD, WRITING, NAMES)
def remove_a_file(files: Files) -> None:
    del files["transaction_index"]


@says("SUFFIX_REMOVED", OLD, NAMES)
def forget_a_suffix(files: Files) -> None:
    files["index"]["meta"]["file-extension"] = "index"


@says("SUFFIX_ADDED")
def know_another_suffix(files: Files) -> None:
    files["index"]["meta"]["file-extension"] = ["index", "offsets", "timeindex"]


@says("SUFFIX_MOVED", OLD, NEW)
def read_a_suffix_as_another_structure(files: Files) -> None:
    del files["index"]["types"]["time_index"]["-suffix"]
    files["index"]["types"]["offset_index"]["-suffix"] = "timeindex"


@says("INDEX_SOURCE", WRITING)
def index_other_numbers(files: Files) -> None:
    field_of(files, "index.time_index_entry", "timestamp")["-from"] = "largest(base_timestamp)"


@says("INDEX_SOURCE_ADDED")
def say_what_a_field_is_made_from(files: Files) -> None:
    field_of(files, "transaction_index.aborted_transaction", "last_offset")["-from"] = "position"


@says("NARROWER", OLD, NEW, WRITING)
def take_a_reserved_bit(files: Files) -> None:
    attributes = "recordbatch.batch_attributes"
    field_of(files, attributes, "reserved")["type"] = "b8"
    flag = integer("is_delayed", "b1", default="0")
    insert(files, attributes, flag, before="has_delete_horizon")


@says("FIELD_ADDED", NEW)
def add_a_field_in_a_version(files: Files) -> None:
    """Version 2 of the snapshot has one field more; its readers still read version 1."""
    field_of(files, "producer_snapshot", "version")["valid"] = {"any-of": [1, 2]}
    epoch = integer("cluster_epoch", "s4", default="-1", when="version >= 2")
    insert(files, "producer_snapshot", epoch, after="crc")


@says("TYPE_ADDED")
def add_a_structure_nobody_uses(files: Files) -> None:
    types = files["transaction_index"]["types"]
    types["committed_transaction"] = deepcopy(types["aborted_transaction"])
