"""New files of the specification beside the old ones, as data."""

from __future__ import annotations

from typing import Any

import pytest

from kafkaspec.errors import KafkaSpecError, Reason
from tests.specgen.edits import Edit, Files, Tree
from tests.specgen.nodes import TIMELESS, integer, structure, uuid
from tools.drafts.text import Yaml


def _file(spec_id: str, *fields: Yaml, **types: Yaml) -> Yaml:
    return {
        "meta": {
            "id": spec_id, "title": "A made-up file", "xref": {"wikidata": "Q16235208"},
            "license": "CC0-1.0", "ks-version": "0.11", "imports": ["varint"],
            "endian": "be", "bit-endian": "be",
        },
        **structure(*fields),
        "types": types,
    }  # fmt: skip


def new_file(files: Files) -> None:
    """A file of one structure, without an array."""
    files["quota"] = _file(
        "quota",
        integer("version", "u1", valid=1),
        {"id": "crc", "-derive": "crc32(limit..)", "type": "u4", "doc": "CRC-32 of the rest."},
        integer("limit", "s8", valid={"min": 0}),
        integer("window", "varint::varint32"),
        {"id": "end", "size": 0, "valid": {"expr": "_io.eof"}},
    )


def new_file_of_messages(files: Files) -> None:
    """A file of several kinds of messages, chosen by a field of the frame, with a size."""
    files["journal"] = _file(
        "journal",
        {"id": "messages", "type": "framed_message", "repeat": "eos"},
        framed_message=structure(
            integer("kind", "u1", valid={"min": 1, "max": 3}),
            integer("len_message", "varint::unsigned_varint32") | {"-derive": "len(message)"},
            {"id": "message", "size": "len_message.value", "type": "any_message(kind)"},
        ),
        any_message=structure(
            {
                "id": "content",
                "type": {"switch-on": "kind", "cases": {1: "opened", 2: "closed", "_": "unknown"}},
            },
            params=[{"id": "kind", "type": "u1", "doc": "Kind of the message."}],
        ),
        opened=structure(
            uuid("topic_id"),
            integer("at", "s8"),
            {"id": "end", "size": 0, "valid": {"expr": "_io.eof"}},
        ),
        closed=structure(
            integer("at", "s8"), {"id": "reason", "size-eos": True, "doc": "A made-up text."}
        ),
        unknown=structure({"id": "data", "size-eos": True, "doc": "Bytes of a later kind."}),
    )


def new_file_like_a_segment(files: Files) -> None:
    """A second format of entries that choose their kind by a byte at a fixed place."""
    files["envelopes"] = _file(
        "envelopes",
        {"id": "entries", "type": "sized_message", "repeat": "eos"},
        sized_message=structure(
            integer("len_message", "s4", valid={"min": 5}) | {"-derive": "len(message)"},
            {"id": "message", "size": "len_message", "type": "any_message"},
        ),
        any_message=structure(
            {
                "id": "content",
                "type": {"switch-on": "magic", "cases": {0: "message_0", 1: "message_1"}},
            },
            instances={
                "magic": {
                    "pos": 0, "type": "s1", "valid": {"min": 0, "max": 1},
                    "doc": "Format of the message.",
                },
            },
        ),
        message_0=structure(
            integer("magic", "s1", valid=0),
            {"id": "crc", "-derive": "crc32(value..)", "type": "u4", "doc": "CRC-32 of the rest."},
            {"id": "value", "-default": "[]", "size-eos": True, "doc": "The message."},
        ),
        message_1=structure(
            integer("magic", "s1", valid=1),
            integer("attributes", "s1", default="0"),
            {"id": "crc", "-derive": "crc32(value..)", "type": "u4", "doc": "CRC-32 of the rest."},
            {"id": "value", "-default": "[]", "size-eos": True, "doc": "The message."},
        ),
    )  # fmt: skip


def _counted(array: Yaml, count: str, plus: int = 0, *, nullable: bool) -> tuple[Yaml, Yaml]:
    """An array and the field before it that counts its items."""
    number = f"num_{array['id']}"
    items = f"{number}.value" if count.startswith("varint") else number
    items += f" - {plus}" if plus else ""
    derive = f"count({array['id']})" + (f" + {plus}" if plus else "")
    array = array | {"repeat": "expr", "repeat-expr": items, "doc": TIMELESS}
    if nullable:
        array["if"] = f"{items} >= 0"
    left = "_.value" if count.startswith("varint") else "_"
    at_most = {"expr": f"{left}{f' - {plus}' if plus else ''} <= _io.size - _io.pos"}
    return integer(number, count, valid=at_most) | {"-derive": derive}, array


def nullable_structures(files: Files) -> None:
    """Structures that may be null, by a byte and by a varint before them."""
    end = {"id": "end", "size": 0, "valid": {"expr": "_io.eof"}}
    files["drafts/host"] = _file(
        "host",
        integer("has_address", "s1") | {"-derive": "present(address)"},
        {"id": "address", "-default": "null", "type": "address", "if": "has_address >= 0"},
        integer("has_other", "varint::unsigned_varint32") | {"-derive": "present(other)"},
        {"id": "other", "type": "address", "if": "has_other.value >= 1"},
        end,
        address=structure(integer("port", "u2"), integer("scope", "s8", default="7")),
    )  # fmt: skip
    files["drafts/host"]["meta"]["imports"] = ["../varint"]


def check_nullable_structures(tree: Tree, codec: Any) -> None:
    """Null is written as Kafka writes it, and read from any number below that of a structure."""
    host, address = tree.cls("host.host"), tree.cls("host.address")
    assert codec.serialize("host.host", host(other=None)) == b"\xff\0"
    both = host(address=address(port=9), other=address(port=1, scope=2))
    data = b"\1\0\x09" + bytes(7) + b"\7" + b"\1\0\1" + bytes(7) + b"\2"
    assert codec.serialize("host.host", both) == data
    assert codec.parse("host.host", data) == (both, len(data))
    assert codec.parse("host.host", b"\x80\0")[0] == host(other=None)
    assert codec.parse("host.host", b"\x7f" + data[1:])[0] == both


def tagged_fields(files: Files) -> None:
    """Tagged fields of which some are known, by a switch; each has a default but the last one."""
    end = {"id": "end", "size": 0, "valid": {"expr": "_io.eof"}}
    text = {"id": "text", "-default": "[]", "type": "flexible::compact_string", "doc": TIMELESS}
    files["drafts/member"] = _file(
        "member",
        integer("epoch", "s4", default="-1"),
        uuid("topic_id") | {"-default": "0"},
        integer("version", "s2", valid={"min": 0, "max": 1}),
        uuid("directory") | {"if": "version >= 1", "-default": "0"},
        {"id": "tagged_fields", "type": "member_tags"},
        end,
        member_tags=structure(
            *_counted(
                {"id": "fields", "type": "member_tag", "-default": "[]", "-ascending": "tag"},
                "varint::unsigned_varint32", nullable=False,
            ),
        ),
        member_tag=structure(
            integer("tag", "varint::unsigned_varint32"),
            integer("len_content", "varint::unsigned_varint32") | {"-derive": "len(content)"},
            {"id": "content", "size": "len_content.value", "type": "member_tag_content(tag.value)"},
        ),
        member_tag_content=structure(
            {
                "id": "content",
                "type": {
                    "switch-on": "tag",
                    "cases": {0: "hash_tag", 1: "rack_tag", 2: "endpoint_tag", "_": "unknown_tag"},
                },
            },
            params=[{"id": "tag", "type": "u4", "doc": "Number of the field."}],
        ),
        hash_tag=structure(integer("hash", "s8", default="0"), end),
        rack_tag=structure(text, end),
        endpoint_tag=structure(integer("port", "u2"), uuid("directory") | {"-default": "0"}, end),
        unknown_tag=structure({"id": "data", "size-eos": True, "doc": "Bytes of a later tag."}),
    )  # fmt: skip
    files["drafts/member"]["meta"]["imports"] = ["../varint", "../flexible"]


def check_tagged_fields(tree: Tree, codec: Any) -> None:
    """Structures are made of their defaults; unknown tags survive."""
    member = tree.cls("member.member")
    made = member(version=1, tagged_fields=tree.cls("member.member_tags")())
    assert (made.epoch, made.topic_id, made.directory) == (-1, bytes(16), bytes(16))
    assert tree.cls("member.hash_tag")().hash == 0
    assert tree.cls("member.rack_tag")().text == b""
    data = codec.serialize("member.member", made)
    assert data == b"\xff" * 4 + bytes(16) + b"\0\1" + bytes(17)
    assert codec.parse("member.member", data)[0] == made
    tags = b"\x03\x00\x08" + bytes(7) + b"\x05\x01\x02\x02r\x63\x02ab"
    read, end = codec.parse("member.member", data[:-1] + tags)
    assert end == len(data) - 1 + len(tags)
    contents = [field.content for field in read.tagged_fields.fields]
    assert [type(content).__name__ for content in contents] == ["HashTag", "RackTag", "UnknownTag"]
    assert (contents[0].hash, contents[1].text, bytes(contents[2].data)) == (5, b"r", b"ab")
    assert codec.serialize("member.member", read) == data[:-1] + tags
    _refuses_disorder(codec, data, read)


def _refuses_disorder(codec: Any, data: bytes, read: Any) -> None:
    for tags in (b"\x02\x63\x00\x05\x00", b"\x02\x63\x00\x63\x00"):
        with pytest.raises(KafkaSpecError) as caught:
            codec.parse("member.member", data[:-1] + tags)
        place = (caught.value.reason, caught.value.path, caught.value.position)
        assert place == (Reason.INVALID_VALUE, "/tagged_fields/fields/1/tag", len(data) + 2)
    read.tagged_fields.fields.reverse()
    with pytest.raises(KafkaSpecError) as caught:
        codec.serialize("member.member", read)
    assert caught.value.reason is Reason.UNENCODABLE
    assert caught.value.path == "/tagged_fields/fields/1/tag"


_HOLDS = {
    nullable_structures: check_nullable_structures,
    tagged_fields: check_tagged_fields,
}

NEW_FILES = tuple(
    Edit(apply.__name__, apply, _HOLDS.get(apply, Edit.holds))
    for apply in (
        new_file,
        new_file_of_messages,
        new_file_like_a_segment,
        nullable_structures,
        tagged_fields,
    )
)
