"""Edits of the specification after which the library, or the files of indexes, lack something."""

from __future__ import annotations

from collections.abc import Callable

from tests.specgen import changes
from tests.specgen.edits import Files, field_of, insert, remove, type_of
from tests.specgen.lint_edits import Case
from tests.specgen.nodes import TIMELESS, integer, structure, uuid


def record_without(name: str) -> Callable[[Files], None]:
    def edit(files: Files) -> None:
        _, record = changes.beside(files, 3)
        node = type_of(files, record)
        if name in node["instances"]:
            del node["instances"][name]
        else:
            remove(files, record, name)

    return edit


def batch_without(name: str) -> Callable[[Files], None]:
    def edit(files: Files) -> None:
        batch, _ = changes.beside(files, 3, "batch_attributes")
        owner, _, field = name.rpartition(".")
        key = "recordbatch.batch_attributes_3" if owner else batch
        node = type_of(files, key)
        if field in node.get("instances", {}):
            del node["instances"][field]
            return
        kind = remove(files, key, field)["type"]
        if owner:
            reserved = field_of(files, key, "reserved")
            bits = int(kind.removeprefix("b")) + int(reserved["type"].removeprefix("b"))
            reserved["type"] = f"b{bits}"

    return edit


def optional_offset(files: Files) -> None:
    _, record = changes.beside(files, 3)
    field_of(files, record, "attributes")["valid"] = {"min": 0, "max": 3}
    type_of(files, record)["instances"]["offset"]["if"] = "attributes >= 1"


def index_of_varints(files: Files) -> None:
    files["index"]["meta"]["imports"] = ["varint"]
    position = field_of(files, "index.offset_index_entry", "position")
    position["type"] = "varint::varint32"


def index_of_varying_bytes(files: Files) -> None:
    entry = "transaction_index.aborted_transaction"
    insert(files, entry, integer("len_note", "u1") | {"-derive": "len(note)"})
    insert(files, entry, {"id": "note", "size": "len_note", "doc": TIMELESS})


def index_of_optional_fields(files: Files) -> None:
    entry = "transaction_index.aborted_transaction"
    insert(files, entry, integer("epoch", "s2", default="-1", when="version >= 1"))


def suffix_of_another_file(files: Files) -> None:
    files["index"]["types"]["time_index"]["-suffix"] = "txnindex"


def suffix_twice(files: Files) -> None:
    files["transaction_index"]["meta"]["file-extension"] = ["txnindex", "timeindex"]


def suffix_claimed_twice(files: Files) -> None:
    files["index"]["types"]["offset_index"]["-suffix"] = "timeindex"


def source_of_a_header_that_is_not(files: Files) -> None:
    field_of(files, "index.time_index_entry", "timestamp")["-from"] = "largest(max_time)"


def source_of_another_place(files: Files) -> None:
    field_of(files, "index.offset_index_entry", "position")["-from"] = "size"


def source_outside_of_an_index(files: Files) -> None:
    field_of(files, "producer_snapshot.producer_entry", "last_offset")["-from"] = "position"


def field_of_an_index_from_nothing(files: Files) -> None:
    insert(files, "index.time_index_entry", integer("weight", "s4"))


def two_sources_of_an_index(files: Files) -> None:
    insert(files, "index.time_index_entry", integer("position", "s4") | {"-from": "position"})


def index_of_unsigned_offsets(files: Files) -> None:
    entry = "transaction_index.aborted_transaction"
    field_of(files, entry, "last_offset")["type"] = "u8"


def index_of_floats(files: Files) -> None:
    insert(files, "index.time_index_entry", integer("weight", "f8"))


def index_of_structures(files: Files) -> None:
    insert(files, "index.time_index_entry", {"id": "owner", "type": "owner"})
    files["index"]["types"]["owner"] = structure(uuid("id"))


def unsigned_number_of_a_header(files: Files) -> None:
    batch, _ = changes.beside(files, 3)
    insert(files, batch, integer("big", "u8", default="0"), before="num_records")


LIBRARY = (
    Case(
        "optional offset",
        optional_offset,
        [
            "recordbatch.ksy#/types/record_3: library: the library asks every record_3 for "
            "offset; leave its if: out",
        ],
    ),
    Case(
        "index of varints",
        index_of_varints,
        [
            "index.ksy#/types/offset_index_entry/seq/1: library: items of this file are found by "
            "their number; make position an integer or bytes of a constant size, in every item",
        ],
    ),
    Case(
        "index of varying bytes",
        index_of_varying_bytes,
        [
            "transaction_index.ksy#/types/aborted_transaction/seq/6: library: items of this file "
            "are found by their number; make note an integer or bytes of a constant size, in "
            "every item",
        ],
    ),
    Case(
        "index of optional fields",
        index_of_optional_fields,
        [
            "transaction_index.ksy#/types/aborted_transaction/seq/5: library: items of this file "
            "are found by their number; make epoch an integer or bytes of a constant size, in "
            "every item",
        ],
    ),
    Case(
        "suffix of another file",
        suffix_of_another_file,
        [
            "index.ksy#/meta/file-extension: file: index, timeindex: the root reads one of them; "
            "say by -suffix which type reads each of the others",
            "index.ksy#/types/time_index: file: txnindex is not in meta/file-extension; write it "
            "there",
            "index.ksy#/types/time_index_entry/seq/0: file: -from is for numbers of the entries "
            "of an index, a file with an extension; leave it out",
        ],
    ),
    Case(
        "suffix of two files",
        suffix_twice,
        [
            "transaction_index.ksy#/meta/file-extension: file: index.ksy has files .timeindex "
            "too; leave it to one of them",
            "transaction_index.ksy#/meta/file-extension: file: txnindex, timeindex: the root "
            "reads one of them; say by -suffix which type reads each of the others",
        ],
    ),
    Case(
        "suffix of two types",
        suffix_claimed_twice,
        [
            "index.ksy#/types/time_index: file: another type reads .timeindex; leave -suffix to "
            "one of them",
            "index.ksy#/types/time_index_entry/seq/0: file: -from is for numbers of the entries "
            "of an index, a file with an extension; leave it out",
        ],
    ),
    Case(
        "index of a number that no header has",
        source_of_a_header_that_is_not,
        [
            "index.ksy#/types/time_index_entry/seq/0: file: no header has a number max_time; "
            "write the name of one",
        ],
    ),
    Case(
        "index of another place",
        source_of_another_place,
        [
            "index.ksy#/types/offset_index_entry/seq/1: file: write position, or largest(x) for a "
            "number x of headers",
        ],
    ),
    Case(
        "source outside of an index",
        source_outside_of_an_index,
        [
            "producer_snapshot.ksy#/types/producer_entry/seq/3: file: -from is for numbers of the "
            "entries of an index, a file with an extension; leave it out",
        ],
    ),
    Case(
        "field of an index made from nothing",
        field_of_an_index_from_nothing,
        [
            "index.ksy#/types/time_index_entry/seq/2: file: say what it is made of by -from, or "
            "what is written by -default",
        ],
    ),
    Case(
        "two sources of an index",
        two_sources_of_an_index,
        [
            "index.ksy#/types/time_index_entry: file: lookups go by the largest number so far; "
            "leave -from to one field",
        ],
    ),
    Case(
        "index of unsigned offsets",
        index_of_unsigned_offsets,
        [
            "transaction_index.ksy#/types/aborted_transaction/seq/3: library: last_offset does "
            "not fit columns of 64 bits with a sign; write s8",
        ],
    ),
    Case(
        "index of floats",
        index_of_floats,
        [
            "index.ksy#/types/time_index_entry/seq/2: library: items of this file are found by "
            "their number; make weight an integer or bytes of a constant size, in every item",
        ],
    ),
    Case(
        "index of structures",
        index_of_structures,
        [
            "index.ksy#/types/time_index_entry/seq/2: library: items of this file are found by "
            "their number; make owner an integer or bytes of a constant size, in every item",
        ],
    ),
    Case(
        "unsigned number of a header",
        unsigned_number_of_a_header,
        [
            "recordbatch.ksy#/types/record_batch_3/seq/10: library: big does not fit columns of "
            "64 bits with a sign; write s8",
        ],
    ),
    Case(
        "record without offset",
        record_without("offset"),
        [
            "recordbatch.ksy#/types/record_3: library: the library asks a record_3 for offset; "
            "write it, as other kinds have it",
        ],
    ),
    Case(
        "record without timestamp",
        record_without("timestamp"),
        [
            "recordbatch.ksy#/types/record_3: library: the library asks a record_3 for timestamp; "
            "write it, as other kinds have it",
        ],
    ),
    Case(
        "record without key",
        record_without("key"),
        [
            "recordbatch.ksy#/types/record_3: library: the library asks a record_3 for key; write "
            "it, as other kinds have it",
        ],
    ),
    Case(
        "record without value",
        record_without("value"),
        [
            "recordbatch.ksy#/types/record_3: library: the library asks a record_3 for value; "
            "write it, as other kinds have it",
        ],
    ),
    Case(
        "record without sequence",
        record_without("sequence"),
        [
            "recordbatch.ksy#/types/record_3: library: the library asks a record_3 for sequence; "
            "write it, as other kinds have it",
        ],
    ),
    Case(
        "batch without attributes.compression",
        batch_without("attributes.compression"),
        [
            "recordbatch.ksy#/types/record_batch_3: library: the library asks a record_batch_3 "
            "for attributes.compression; write it, as other kinds have it",
        ],
    ),
    Case(
        "batch without attributes.is control",
        batch_without("attributes.is_control"),
        [
            "recordbatch.ksy#/types/record_batch_3: library: the library asks a record_batch_3 "
            "for attributes.is_control; write it, as other kinds have it",
        ],
    ),
    Case(
        "batch without attributes.is transactional",
        batch_without("attributes.is_transactional"),
        [
            "recordbatch.ksy#/types/record_batch_3: library: the library asks a record_batch_3 "
            "for attributes.is_transactional; write it, as other kinds have it",
        ],
    ),
    Case(
        "batch without producer id",
        batch_without("producer_id"),
        [
            "recordbatch.ksy#/types/record_batch_3: library: the library asks a record_batch_3 "
            "for producer_id; write it, as other kinds have it",
        ],
    ),
    Case(
        "batch without last offset",
        batch_without("last_offset"),
        [
            "recordbatch.ksy#/types/record_batch_3: library: the library asks a record_batch_3 "
            "for last_offset; write it, as other kinds have it",
        ],
    ),
    Case(
        "batch without last sequence",
        batch_without("last_sequence"),
        [
            "recordbatch.ksy#/types/record_batch_3: library: the library asks a record_batch_3 "
            "for last_sequence; write it, as other kinds have it",
        ],
    ),
    Case(
        "batch without delete horizon",
        batch_without("delete_horizon"),
        [
            "recordbatch.ksy#/types/record_batch_3: library: the library asks a record_batch_3 "
            "for delete_horizon; write it, as other kinds have it",
        ],
    ),
)
