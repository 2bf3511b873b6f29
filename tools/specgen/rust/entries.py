"""Write what readers ask of an entry of any kind, by the names that the library has for it."""

from __future__ import annotations

from dataclasses import dataclass

from kafkaspec.layout import names
from tools.specgen.expression import Int
from tools.specgen.facts.fields import is_bytes
from tools.specgen.facts.kinds import entry_kinds
from tools.specgen.facts.segments import Segment, resolved, segments
from tools.specgen.facts.sizes import checksum_of, fixed_size, minimum_size
from tools.specgen.model import (
    Default,
    Field,
    IntegerType,
    Member,
    Model,
    Parameter,
    Type,
    TypeReference,
    ValueInstance,
    camel,
)
from tools.specgen.rust.naming import identifier, path_of
from tools.specgen.writer import CodeWriter

APPENDED = "log_append_time"
"""The value of ``timestamp_type`` where brokers set the time."""


@dataclass(frozen=True)
class Role:
    """A member of ``Header``: what it is called, which field it is, and what it means."""

    id: str
    path: str
    doc: str
    flag: bool = False


ROLES = (
    Role("leader_epoch", names.LEADER_EPOCH, "Epoch of the leader that appended it, -1 for none."),
    Role("has_delete_horizon", names.HAS_DELETE_HORIZON, "It holds a delete horizon.", flag=True),
    Role("is_control", names.IS_CONTROL, "Its records are control records.", flag=True),
    Role("is_transactional", names.IS_TRANSACTIONAL, "Part of a transaction.", flag=True),
    Role("producer_id", names.PRODUCER_ID, "Producer, -1 for none."),
    Role("producer_epoch", names.PRODUCER_EPOCH, "Epoch of the producer, -1 for none."),
    Role("base_sequence", names.BASE_SEQUENCE, "Sequence number of the first record, or -1."),
)

_HEAD = """\
//! What readers ask of an entry of any kind.

use super::runtime::*;

/// Functions of checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumFunction {
    /// CRC-32 (IEEE).
    Crc32,
    /// CRC-32C (Castagnoli).
    Crc32c,
}

/// A checksum of an entry.
#[derive(Clone, Copy, Debug)]
pub struct Checksum {
    /// Which one.
    pub function: ChecksumFunction,
    /// The number that is stored.
    pub stored: u32,
    /// Bytes of the entry before those that it covers, up to the end.
    pub start: usize,
    /// Bytes of the entry before it.
    pub position: usize,
    /// Its place.
    pub place: Place,
}
"""


def entries_text(model: Model) -> str | None:
    """Return the module of entries.

    None where no file has batches of records, or where the specification has other names than
    ``kafkaspec.layout.names``: the crate, which needs the module, is refused then.
    """
    found = [segment for segment in segments(model) if segment.batches]
    return _Entries(found[0]).text() if found and _has_all(found[0]) else None


_ASKED = (
    names.MAGIC, names.COMPRESSION, names.TIMESTAMP_TYPE, names.RECORDS, names.VALUE,
    names.LAST_OFFSET, names.OFFSET, names.MAX_TIMESTAMP, names.TIMESTAMP, names.NUM_RECORDS,
)  # fmt: skip


def _has_all(segment: Segment) -> bool:
    """Return whether some kind of entry has each member that readers ask for."""
    return member_at(segment.model, segment.entry, names.BASE_OFFSET, "") is not None and all(
        any(member_at(segment.model, kind, path, "") is not None for kind in segment.kinds)
        for path in (*_ASKED, *(role.path for role in ROLES))
    )


def member_at(model: Model, type_: Type, path: str, place: str) -> tuple[Member, str] | None:
    """Return a member by its dotted name, and the text that reads it from a structure."""
    *steps, last = path.split(".")
    for step in steps:
        field = type_.field_by_id.get(step)
        if field is None or not isinstance(field.type, TypeReference) or field.condition:
            return None
        type_, place = resolved(model, field.type), f"{place}.{identifier(step)}"
    member = type_.members.get(last)
    if member is None or (isinstance(member, Field) and member.repeat is not None):
        return None
    called = "()" if isinstance(member, ValueInstance) else ""
    return member, f"{place}.{identifier(last)}{called}"


class _Entries:
    def __init__(self, segment: Segment) -> None:
        self.segment, self.model, self.out = segment, segment.model, CodeWriter()
        self.entry = path_of("", segment.entry, segment.entry.class_name)
        self.message = path_of("", segment.choice, segment.choice.class_name)

    def text(self) -> str:
        out = self.out
        out.lines(*_HEAD.splitlines(), "")
        sizes = [fixed_size(self.model, field) for field in self.segment.framing]
        framing = sum(size for size in sizes if size is not None)
        self.framing = framing
        peek = self.segment.peek
        assert isinstance(peek.position, Int)
        assert isinstance(peek.type, IntegerType)
        out.line("/// Bytes of an entry before its message.")
        out.line(f"pub const FRAMING: usize = {framing};")
        out.line(
            "/// Bytes of an entry up to and with its magic; a log ends where no more are left."
        )
        up_to = framing + peek.position.value + peek.type.size
        out.line(f"pub const UP_TO_MAGIC: usize = {up_to};")
        out.line("/// Fewest bytes of a message.")
        least = minimum_size(self.model, self.segment.choice)
        out.line(f"pub const LEAST_MESSAGE: i64 = {least};")
        out.line("/// The kinds of entries by magic, in ascending order: each with whether it is a")
        out.line("/// batch of records.")
        kinds = [
            (case, self.model.type(reference))
            for case, reference in self.segment.switch.cases
            if case is not None
        ]
        batches = {batch.type.key for batch in self.segment.batches}
        listed = ", ".join(
            f"({case}, {str(kind.key in batches).lower()})"
            for case, kind in sorted(kinds, key=lambda item: item[0])
        )
        out.line(f"pub const MAGICS: [(i64, bool); {len(kinds)}] = [{listed}];")
        out.line()
        self._stored_size()
        self._timestamps()
        self._compressions()
        self._header()
        return out.text()

    def _stored_size(self) -> None:
        out, position = self.out, 0
        for field in self.segment.framing:
            if field == self.segment.length:
                break
            position += fixed_size(self.model, field) or 0
        kind = self.segment.length.type
        assert isinstance(kind, IntegerType)
        name = f"{'i' if kind.signed else 'u'}{8 * kind.size}"
        plus = self.segment.length.derive.plus if self.segment.length.derive else 0
        out.line("/// Returns the size of the message of an entry as it is stored, unchecked.")
        with out.block("pub fn stored_size(entry: &[u8]) -> Option<i64> {", "}"):
            out.line(f"let bytes = entry.get({position}..)?.first_chunk::<{kind.size}>()?;")
            order = "le" if kind.little else "be"
            less = f" - {plus}" if plus else ""
            out.line(f"Some(i64::from({name}::from_{order}_bytes(*bytes)){less})")
        out.line()

    def _timestamps(self) -> None:
        out, kinds = self.out, entry_kinds(self.model)[self.segment.entry.key]
        timed = [str(magic) for magic, kind in sorted(kinds.items()) if kind.has_timestamps]
        out.line("/// Returns whether entries of a magic have timestamps.")
        with out.block("pub fn has_timestamps(magic: i64) -> bool {", "}"):
            out.line(f"matches!(magic, {' | '.join(timed)})")
        out.line()

    def _compressions(self) -> None:
        out = self.out
        enums = {
            member.enum
            for kind in self.segment.kinds
            if (found := member_at(self.model, kind, names.COMPRESSION, "")) is not None
            and isinstance(member := found[0], Field)
        }
        (key,) = enums
        assert key is not None
        enum = self.model.enum(key)
        out.line("/// Returns the name of a compression in Kafka's settings.")
        with out.block("pub fn compression_name(id: i64) -> Option<&'static str> {", "}"):
            out.line(f"super::{identifier(enum.spec_id)}::{identifier(enum.id)}::name(id)")
        out.line()
        out.line("/// Returns the id of a compression by its name.")
        with (
            out.block("pub fn compression_id(name: &str) -> Option<i64> {", "}"),
            out.block("match name {", "}"),
        ):
            for value in enum.values:
                out.line(f'"{value.id}" => Some({value.value}),')
            out.line("_ => None,")
        out.line()

    def _header(self) -> None:
        out = self.out
        out.line("/// What readers ask of an entry, whichever kind it is.")
        out.line("#[derive(Clone, Debug)]")
        with out.block("pub struct Header<'a> {", "}"):
            for name, kind, doc in (
                ("is_batch", "bool", "A batch of records, and not a single message."),
                ("magic", "i64", "Format of the entry."),
                ("compression", "i64", "Compression of the payload, 0 for none."),
                ("known", "(i64, i64)", "The first and last compression that the kind can have."),
                ("has_timestamps", "bool", "The kind has timestamps."),
                ("log_append_time", "bool", "The broker set the time of the records."),
                ("base_offset", "i64", "Offset of the entry as it is stored."),
                ("last_offset", "i64", "Last offset of the entry."),
                ("max_timestamp", "i64", "Largest timestamp in ms since the Unix epoch, or -1."),
                ("num_records", "Option<i64>", "Records of a batch; `None` for a message."),
                ("payload", "Option<&'a [u8]>", "Records of a batch, or the value of a message."),
                ("payload_place", "Place", "The place of the payload."),
                ("checksum", "Checksum", "The checksum of the entry."),
            ):
                out.line(f"/// {doc}")
                out.line(f"pub {name}: {kind},")
            for role in ROLES:
                out.line(f"/// {role.doc}")
                out.line(f"pub {role.id}: {'bool' if role.flag else 'i64'},")
        out.line()
        out.line("/// Returns what readers ask of an entry.")
        body = identifier(self.segment.body.id)
        with (
            out.block(f"pub fn header<'a>(entry: &{self.entry}<'a>) -> Header<'a> {{", "}"),
            out.block(f"match &entry.{body} {{", "}"),
        ):
            for type_ in self.segment.kinds:
                self._kind(type_)

    def _kind(self, kind: Type) -> None:
        batch = next((item for item in self.segment.batches if item.type == kind), None)
        payload = names.RECORDS if batch is not None else names.VALUE
        found = member_at(self.model, kind, payload, "message")
        assert found is not None
        held, text = found
        assert isinstance(held, Field)
        body = self.segment.body
        path = f"/{body.id}/{self.segment.choice.fields[0].id}/{held.id}"
        compression = member_at(self.model, kind, names.COMPRESSION, "")
        known = compression[0].known if compression and isinstance(compression[0], Field) else None
        key = compression[0].enum if compression and isinstance(compression[0], Field) else None
        values = [value.value for value in self.model.enum(key).values] if key else [0]
        known = known or (min(values), max(values))
        last = names.LAST_OFFSET if batch is not None else names.OFFSET
        largest = names.MAX_TIMESTAMP if batch is not None else names.TIMESTAMP
        timed = member_at(self.model, kind, largest, "message")
        plain = isinstance(held.type, TypeReference)
        assert plain or is_bytes(self.model, held)
        has_time = "false"
        if timed is not None:
            condition = getattr(timed[0], "condition", None)
            has_time = "true" if condition is None else f"{timed[1]}.is_some()"
        number = self._number(kind, names.TIMESTAMP_TYPE)
        appended = self._appended(kind)
        rows = self._number(kind, names.NUM_RECORDS) if batch is not None else None
        with self.out.block(f"{self.message}::{camel(kind.name)}(message) => Header {{", "},"):
            self.out.lines(
                f"is_batch: {str(batch is not None).lower()},",
                f"magic: {self._number(kind, names.MAGIC)},",
                f"compression: {self._number(kind, names.COMPRESSION)},",
                f"known: ({known[0]}, {known[1]}),",
                f"has_timestamps: {has_time},",
                f"log_append_time: {has_time} && {number} == {appended},"
                if has_time != "true"
                else f"log_append_time: {number} == {appended},",
                f"base_offset: {self._number(self.segment.entry, names.BASE_OFFSET, 'entry')},",
                f"last_offset: {self._number(kind, last)},",
                f"max_timestamp: {self._number(kind, largest)},",
                f"num_records: {'None' if rows is None else f'Some({rows})'},",
                f"payload: {text if plain else f'Some({text})'},",
                f'payload_place: Place("{path}", "{held.location}"),',
                f"checksum: {self._checksum(kind)},",
            )
            for role in ROLES:
                value = self._number(kind, role.path, flag=role.flag)
                self.out.line(f"{role.id}: {value},")

    def _appended(self, kind: Type) -> int:
        found = member_at(self.model, kind, names.TIMESTAMP_TYPE, "")
        assert found is not None
        assert isinstance(found[0], Field)
        assert found[0].enum is not None
        values = self.model.enum(found[0].enum).values
        return next(value.value for value in values if value.id == APPENDED)

    def _number(self, kind: Type, path: str, place: str = "message", *, flag: bool = False) -> str:
        found = member_at(self.model, kind, path, place)
        if found is None:
            return "false" if flag else "-1"
        member, text = found
        if isinstance(member, Parameter) or flag:
            return text
        if isinstance(member, ValueInstance):
            return f"{text}.unwrap_or(-1)" if member.condition is not None else text
        if not isinstance(member, Field):
            return f"i64::from({text})"
        if member.condition is not None:
            default = member.default
            number = default.value if isinstance(default, Default) else -1
            return f"{text}.map_or({number if isinstance(number, int) else -1}, i64::from)"
        return f"i64::from({text})"

    def _checksum(self, kind: Type) -> str:
        place = checksum_of(self.model, kind)
        assert place is not None
        path = f"/{self.segment.body.id}/{self.segment.choice.fields[0].id}/{place.field.id}"
        return (
            "Checksum { "
            f"function: ChecksumFunction::{camel(str(place.function))}, "
            f"stored: message.{identifier(place.field.id)}, "
            f"start: {self.framing + place.start}, position: {self.framing + place.position}, "
            f'place: Place("{path}", "{place.field.location}") }}'
        )
