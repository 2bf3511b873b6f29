"""Edits of the specification that its linter has to refuse, as two things share a name or a number.

Each would give code that is wrong, or a traceback.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

from tests.specgen import changes
from tests.specgen.edits import Files, field_of, remove, type_of

TOPIC = "messages/consumer_offsets"
METADATA = "messages/cluster_metadata"
KEY, VALUE = f"{TOPIC}/offset_commit_key", f"{TOPIC}/offset_commit_value"
GROUP_KEY = f"{TOPIC}/group_metadata_key"
RECORD = f"{METADATA}/topic_record"
EMBEDDED = "messages/consumer_protocol/consumer_protocol_assignment"
MESSAGES = (
    KEY,
    VALUE,
    GROUP_KEY,
    f"{TOPIC}/group_metadata_value",
    RECORD,
    f"{METADATA}/remove_topic_record",
    EMBEDDED,
)
"""The messages that are there besides the files outside of ``messages/``."""

CONTENT = "recordbatch.ksy#/types/message/seq/0"
PEEK = "recordbatch.ksy#/types/message/instances/magic"


def _copy(files: Files, path: str, other: str) -> None:
    """Add a message that is the copy of another one."""
    files[other] = deepcopy(files[path])
    files[other]["meta"]["id"] = other.rpartition("/")[2]


# -- choices --------------------------------------------------------------------------------------


def case_beyond_the_bound(files: Files) -> None:
    changes.magic_3_beside(files)
    type_of(files, "recordbatch.message")["instances"]["magic"]["valid"] = {"min": 0, "max": 2}


def case_beyond_the_type(files: Files) -> None:
    changes.beside(files, 200)


def case_of_another_constant(files: Files) -> None:
    changes.magic_3_beside(files)
    field_of(files, f"{changes.BATCH}_3", "magic")["valid"] = 2


def case_of_any_constant(files: Files) -> None:
    changes.magic_3_beside(files)
    del field_of(files, f"{changes.BATCH}_3", "magic")["valid"]


def constant_of_another_case(files: Files) -> None:
    changes.magic_3_beside(files)
    field_of(files, changes.BATCH, "magic")["valid"] = {"any-of": [2, 3]}


def case_beyond_a_parameter(files: Files) -> None:
    cases = field_of(files, "control_record.control_record_value", "body")["type"]["cases"]
    fallback = cases.pop("_")
    cases |= {70_000: "voters_record", "_": fallback}


def case_beyond_an_argument(files: Files) -> None:
    body = field_of(files, VALUE, "body")["type"]
    assert body == "versioned_body(schema_version.as<s4>)"
    cases = type_of(files, f"{VALUE}.versioned_body")["seq"][0]["type"]["cases"]
    fallback = cases.pop("_")
    cases |= {9: next(iter(cases.values())), "_": fallback}


# -- names ----------------------------------------------------------------------------------------


def one_name_of_two_fields(files: Files) -> None:
    field_of(files, RECORD, "topic_id")["-orig-id"] = "Name"


def one_name_of_a_field_and_an_id(files: Files) -> None:
    field_of(files, KEY, "partition")["-orig-id"] = "topic"


def one_name_of_a_field_and_a_tag(files: Files) -> None:
    field_of(files, f"{VALUE}.topic_id_tag", "topic_id")["-orig-id"] = "metadata"


def one_name_of_two_values(files: Files) -> None:
    files["enumeration"]["enums"]["transaction_state"][1]["-orig-id"] = "Empty"


# -- messages -------------------------------------------------------------------------------------


def two_keys_of_one_type(files: Files) -> None:
    field_of(files, GROUP_KEY, "record_type")["valid"] = 1


def two_records_of_one_key(files: Files) -> None:
    _copy(files, RECORD, f"{METADATA}/topic_record_again")
    files[f"{METADATA}/topic_record_again"]["-orig-id"] = "TopicRecordAgain"


def two_layouts_of_one_release(files: Files) -> None:
    for release in ("4_0", "4_1"):
        name = f"{METADATA}/topic_record_{release}"
        _copy(files, RECORD, name)
        files[name]["-releases"] = f"3.9..{release.replace('_', '.')}"


def one_name_of_two_messages(files: Files) -> None:
    files[f"{METADATA}/remove_topic_record"]["-orig-id"] = "TopicRecord"


def gap_in_versions(files: Files) -> None:
    field_of(files, VALUE, "schema_version")["valid"] = {"any-of": [0, 2]}


def gap_in_versions_of_a_record(files: Files) -> None:
    version = field_of(files, RECORD, "schema_version")
    version["valid"] = {"any-of": [0, 2]}


def value_without_a_key(files: Files) -> None:
    _copy(files, VALUE, f"{TOPIC}/offset_lost_value")
    files[f"{TOPIC}/offset_lost_value"]["-orig-id"] = "OffsetLostValue"


def key_of_any_type(files: Files) -> None:
    field_of(files, GROUP_KEY, "record_type")["valid"] = {"any-of": [2, 3]}


def record_of_any_key(files: Files) -> None:
    del field_of(files, RECORD, "api_key")["valid"]


def record_without_a_key(files: Files) -> None:
    remove(files, RECORD, "api_key")


def identity_that_is_no_field(files: Files) -> None:
    files[RECORD]["-identity"] = "name nothing"


def identity_of_a_key(files: Files) -> None:
    files[GROUP_KEY]["-identity"] = "group"


def record_without_a_version(files: Files) -> None:
    remove(files, RECORD, "schema_version")


def keys_that_begin_otherwise(files: Files) -> None:
    field_of(files, GROUP_KEY, "record_type")["type"] = "s4"


def record_among_keys(files: Files) -> None:
    _copy(files, RECORD, f"{TOPIC}/framed_record")
    files[f"{TOPIC}/framed_record"]["-orig-id"] = "FramedRecord"


@dataclass(frozen=True)
class Case:
    """An edit, and all problems that follow."""

    name: str
    apply: Callable[[Files], None]
    expected: list[str]


EDITS = (
    Case(
        "case beyond the bound",
        case_beyond_the_bound,
        [
            "recordbatch.ksy#/types/message/seq/0: S6: magic is never 3, so readers refuse what "
            "is written so; let its type and valid: allow it, or leave the case out",
        ],
    ),
    Case(
        "case beyond the type",
        case_beyond_the_type,
        [
            "recordbatch.ksy#/types/message/seq/0: S6: magic is never 200, so readers refuse what "
            "is written so; let its type and valid: allow it, or leave the case out",
            "recordbatch.ksy#/types/record_batch_200/seq/1: valid: 200 does not fit the type, "
            "which holds -128 to 127; write a bound inside or a wider type",
        ],
    ),
    Case(
        "case of another constant",
        case_of_another_constant,
        [
            "recordbatch.ksy#/types/message/instances/magic: S2: record_batch_3 must not hold "
            "magic 2, as another case would read it; write valid: 3",
            "recordbatch.ksy#/types/message/instances/magic: S2: record_batch_3 never holds magic "
            "3, its case; write valid: 3",
        ],
    ),
    Case(
        "case of any constant",
        case_of_any_constant,
        [
            "recordbatch.ksy#/types/message/instances/magic: S2: record_batch_3 must not hold any "
            "magic, as another case would read it; write valid: 3",
        ],
    ),
    Case(
        "constant of another case",
        constant_of_another_case,
        [
            "recordbatch.ksy#/types/message/instances/magic: S2: record_batch must not hold magic "
            "3, as another case would read it; write valid: 2",
        ],
    ),
    Case(
        "case beyond a parameter",
        case_beyond_a_parameter,
        [
            "control_record.ksy#/types/control_record_value/seq/0: S6: record_type is never "
            "70000, so readers refuse what is written so; let its type and valid: allow it, or "
            "leave the case out",
        ],
    ),
    Case(
        "case beyond an argument",
        case_beyond_an_argument,
        [
            "messages/consumer_offsets/offset_commit_value.ksy#/types/versioned_body/seq/0: S6: "
            "version is never 9, so readers refuse what is written so; let its type and valid: "
            "allow it, or leave the case out",
        ],
    ),
    Case(
        "one name of two fields",
        one_name_of_two_fields,
        [
            "messages/cluster_metadata/topic_record.ksy#/seq/4: clash: name and topic_id are both "
            "name in JSON; write another -orig-id",
        ],
    ),
    Case(
        "one name of a field and an id",
        one_name_of_a_field_and_an_id,
        [
            "messages/consumer_offsets/offset_commit_key.ksy#/seq/3: clash: topic and partition "
            "are both topic in JSON; write another -orig-id",
        ],
    ),
    Case(
        "one name of a field and a tag",
        one_name_of_a_field_and_a_tag,
        [
            "messages/consumer_offsets/offset_commit_value.ksy#/types/topic_id_tag/seq/0: clash: "
            "metadata and topic_id are both metadata in JSON; write another -orig-id",
        ],
    ),
    Case(
        "one name of two values",
        one_name_of_two_values,
        [
            "enumeration.ksy#/enums/transaction_state/1: clash: empty and ongoing are both Empty "
            "in Kafka; write another -orig-id",
        ],
    ),
    Case(
        "two keys of one type",
        two_keys_of_one_type,
        [
            "messages/consumer_offsets/offset_commit_key.ksy#/seq/0: message: group_metadata_key "
            "has record_type 1 too, and version 0; write another number, other versions, or "
            "-releases that do not overlap",
        ],
    ),
    Case(
        "two records of one key",
        two_records_of_one_key,
        [
            "messages/cluster_metadata/topic_record_again.ksy#/seq/1: message: topic_record has "
            "api_key 2 too, and version 0; write another number, other versions, or -releases "
            "that do not overlap",
        ],
    ),
    Case(
        "two layouts of one release",
        two_layouts_of_one_release,
        [
            "messages/cluster_metadata/topic_record_4_0.ksy#/seq/1: message: topic_record_4_1 has "
            "api_key 2 too, and version 0; write another number, other versions, or -releases "
            "that do not overlap",
        ],
    ),
    Case(
        "one name of two messages",
        one_name_of_two_messages,
        [
            "messages/cluster_metadata/remove_topic_record.ksy#/: clash: topic_record has the "
            "name TopicRecord too; write another -orig-id",
        ],
    ),
    Case(
        "gap in versions",
        gap_in_versions,
        [
            "messages/consumer_offsets/offset_commit_value.ksy#/seq/0: message: version 1 is "
            "missing between others, which readers take for a range; write min: 0 and max: 2, or "
            "a file for each range",
            "messages/consumer_offsets/offset_commit_value.ksy#/types/versioned_body/seq/0: S6: "
            "version is never 1, so readers refuse what is written so; let its type and valid: "
            "allow it, or leave the case out",
            "messages/consumer_offsets/offset_commit_value.ksy#/types/versioned_body/seq/0: S6: "
            "version is never 3, so readers refuse what is written so; let its type and valid: "
            "allow it, or leave the case out",
        ],
    ),
    Case(
        "gap in versions of a record",
        gap_in_versions_of_a_record,
        [
            "messages/cluster_metadata/topic_record.ksy#/seq/2: message: version 1 is missing "
            "between others, which readers take for a range; write min: 0 and max: 2, or a file "
            "for each range",
        ],
    ),
    Case(
        "value without a key",
        value_without_a_key,
        [
            "messages/consumer_offsets/offset_lost_value.ksy#/: message: the value has no key: "
            "write offset_lost_key.ksy, with its number",
        ],
    ),
    Case(
        "key of any type",
        key_of_any_type,
        [
            "messages/consumer_offsets/group_metadata_key.ksy#/seq/0: message: record_type is one "
            "number for each message; write valid: with that",
        ],
    ),
    Case(
        "record of any key",
        record_of_any_key,
        [
            "messages/cluster_metadata/topic_record.ksy#/seq/1: message: api_key is one number "
            "for each message; write valid: with that",
        ],
    ),
    Case(
        "record without a key",
        record_without_a_key,
        [
            "messages/cluster_metadata/topic_record.ksy#/: message: after frame_version comes "
            "api_key; write it",
        ],
    ),
    Case(
        "record without a version",
        record_without_a_version,
        [
            "messages/cluster_metadata/topic_record.ksy#/: message: after frame_version comes "
            "schema_version; write it",
        ],
    ),
    Case(
        "identity that is no field",
        identity_that_is_no_field,
        [
            "messages/cluster_metadata/topic_record.ksy#/: message: -identity names nothing, "
            "which is not a field; name fields of the message",
        ],
    ),
    Case(
        "identity of a key",
        identity_of_a_key,
        [
            "messages/consumer_offsets/group_metadata_key.ksy#/: message: -identity is for "
            "records without a key; leave it out",
        ],
    ),
    Case(
        "keys that begin otherwise",
        keys_that_begin_otherwise,
        [
            "messages/consumer_offsets/offset_commit_key.ksy#/: message: it begins otherwise than "
            "group_metadata_key, of the same topic; write the same fields first",
        ],
    ),
    Case(
        "record among keys",
        record_among_keys,
        [
            "messages/consumer_offsets/group_metadata_key.ksy#/: message: it begins otherwise "
            "than framed_record, of the same topic; write the same fields first",
            "messages/consumer_offsets/offset_commit_key.ksy#/: message: it begins otherwise than "
            "framed_record, of the same topic; write the same fields first",
        ],
    ),
)
