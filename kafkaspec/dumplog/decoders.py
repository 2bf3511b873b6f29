"""The decoders of the tool for internal topics: text of keys and values, as each release has it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from base64 import b64decode
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.layout.topics import Topic
from kafkaspec.codecs import Codec
from kafkaspec.columns.messages import MessageTexts
from kafkaspec.dumplog.options import Parse, Texts
from kafkaspec.dumplog.refusals import refusal
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.layout import MessageLayout, Role
from kafkaspec.layout.kinds import kafka_name, kafka_names
from kafkaspec.layout.names import FRAME_VERSION
from kafkaspec.messages.decoding import (
    Message,
    decode_by,
    decode_message,
    decode_messages,
    record_type,
)
from kafkaspec.messages.json_text import expanded_fields, java_text, json_text, message_fields
from kafkaspec.messages.lookup import (
    CONSUMER,
    EMBEDDED,
    MESSAGES,
    by_name,
    in_topic,
    read_by,
    written_by,
)
from kafkaspec.messages.text_plans import TextStyle
from kafkaspec.model import Record
from kafkaspec.release import Release

if TYPE_CHECKING:
    from kafkaspec.codecs.native.core import Core

_GROUP: Final = by_name("GroupMetadataKey")[0].number or 0
"""Type of the record of a group, the last one before the groups of KIP-848."""
_DELETE: Final = "<DELETE>"
_KEYS_KEPT: Final = 1 << 16
"""Texts of keys that are kept."""
_UPPER: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_VARINT: Final = "varint.unsigned_varint32"
_LARGEST: Final = (1 << 15) - 1
"""Largest number of a frame that readers take."""
_PREVIEW_ENDS: Final[Release] = (3, 0)
"""First release after the preview of KRaft, whose readers have other words."""
_VERSIONS_CHECKED: Final[Release] = (4, 0)
"""First release whose coordinators refuse versions of values that came later."""
_STATUS: Final = "transactionStatus"
_STATES: Final = "enumeration.transaction_state"
_STATUS_NAMED: Final[Release] = (4, 4)
"""First release that names the state of a transaction in JSON."""

_PREVIEW_FRAME: Final = (
    "Could not deserialize metadata record with frame version 0. Note that upgrades from the "
    "preview release of KRaft in 2.8 to newer versions are not supported."
)
_OTHER_FRAME: Final = (
    "Could not deserialize metadata record due to unknown frame version {}"
    "(only frame version {} is supported)"
)
_UNSUPPORTED: Final = "org.apache.kafka.common.errors.UnsupportedVersionException: "
_NO_VALUE: Final = (
    'Cannot invoke "java.nio.ByteBuffer.remaining()" because the return value of '
    '"org.apache.kafka.common.record.{}Record.value()" is null'
)
_NO_BUFFER: Final = 'Cannot invoke "java.nio.ByteBuffer.get()" because "buffer" is null'
_INTERNAL_SINCE: Final[Release] = (4, 3)
"""First release that has the records of Java in a package ``internal``, which is in its words."""
RENAMED: Final[dict[tuple[str, str], tuple[Release, str]]] = {
    ("ProducerIdsRecord", "nextProducerId"): ((3, 2), "producerIdsEnd"),
    ("PartitionRecord", "lastKnownElr"): ((3, 8), "lastKnownELR"),
    ("PartitionChangeRecord", "lastKnownElr"): ((3, 8), "lastKnownELR"),
}
"""Fields that JSON names as earlier releases did not, with the first release that has the name."""


class _RefusedError(Exception):
    """Kafka's reader refuses bytes; the text is the message of its exception."""


class _UnknownTypeError(_RefusedError):
    """The release knows no record of that type."""


@cache
def _frame(topic: str, release: str) -> int:
    """Return the version of the frame that a release writes around the records of a topic."""
    number = next(layout.number for layout in MESSAGES if layout.topic == topic)
    layout = written_by(in_topic(topic, Role.RECORD, number or 0), release)[0]
    (frame,) = [field for field in LAYOUTS[layout.key].fields if field.id == FRAME_VERSION]
    return int(frame.default)


class TopicDecoder(ABC):
    """Makes text of the records of an internal topic."""

    def __init__(self, topic: str, release: Release, codec: Codec) -> None:
        self._topic = topic
        self._release = release
        self._name = ".".join(map(str, release[:2]))
        self._codec = codec
        self._keys: dict[bytes, tuple[int, str]] = {}

    def __call__(self, record: Record) -> Texts:
        """Return what ``parse`` returns."""
        return self.parse(record)

    def texts(self, core: Core) -> MessageTexts | None:
        """Return what makes texts as ``parse`` does from columns, None if nothing does."""
        return None

    @abstractmethod
    def parse(self, record: Record) -> Texts:
        """Return the text of key and value, each None where nothing is printed.

        Raises:
            KafkaSpecError: the tool fails at the record.
        """

    def _decoded(self, record: Record) -> tuple[Message | None, Message | None]:
        return decode_messages(self._topic, record, release=self._name, codec=self._codec)

    def _embedded(self, name: str, data: Any) -> Any:
        return decode_message(name, data, release=self._name, codec=self._codec)


class Framed(TopicDecoder):
    """Records without keys, whose values have a frame that says what they are."""

    def _framed(self, record: Record) -> tuple[Message, int]:
        """Return a message, and its version, which may be later than those that are known."""
        data = b"" if record.value is None else bytes(record.value)
        frame, position = self._head(data, 0, "frame version")
        if frame != (known := _frame(self._topic, self._name)):
            other = _OTHER_FRAME.format(frame, known)
            raise _RefusedError(other if frame else _PREVIEW_FRAME)
        number, position = self._head(data, position, "type")
        version, end = self._head(data, position, "version")
        layouts = read_by(in_topic(self._topic, Role.RECORD, number), self._name)
        if not layouts:
            preview = self._release < _PREVIEW_ENDS
            raise _RefusedError(f"{'' if preview else _UNSUPPORTED}Unknown metadata id {number}")
        known = min(version, layouts[0].versions[1])
        if known < version:
            head = self._codec.serialize(_VARINT, known)
            data = data[:position] + head + data[end:]
        try:
            return decode_by(self._codec, layouts, data), version
        except KafkaSpecError as error:
            if self._release < _PREVIEW_ENDS:
                if error.reason is Reason.TRAILING_BYTES:  # the preview ignores them
                    return decode_by(self._codec, layouts, data[: error.position]), version
                raise _RefusedError(refusal(error, data, self._codec, self._release)) from None
            if error.reason is Reason.TRAILING_BYTES:
                left = len(data) - (error.position or 0)
                raise _RefusedError(f"Found {left} byte(s) of garbage after {number}") from None
            raise _RefusedError(f"Failed to deserialize record with type {number}") from None

    def _head(self, data: bytes, position: int, what: str) -> tuple[int, int]:
        """Return a number of the frame and the position after it."""
        try:
            number, position = self._codec.parse(_VARINT, data, position, complete=True)
        except KafkaSpecError as error:
            if self._release < _PREVIEW_ENDS:
                raise _RefusedError(refusal(error, data, self._codec, self._release)) from None
            raise _RefusedError(f"Error while reading {what}") from None
        if number > _LARGEST:
            raise _RefusedError(f"Value for {what} was too large.")
        return number, position


class Metadata(Framed):
    """Records of the cluster's metadata: JSON of the value."""

    def parse(self, record: Record) -> Texts:
        try:
            if record.value is None and self._release < _PREVIEW_ENDS:
                raise _RefusedError(_NO_BUFFER)
            message, version = self._framed(record)
        except _RefusedError as refused:
            return None, f"Error at {record.offset}, skipping. {refused}"
        name = message.layout.name
        renamed = self._renamed(name)
        fields = message_fields(name, message.value)
        fields = {renamed.get(key, key): item for key, item in fields.items()}
        kind = _UPPER.sub("_", name).upper()
        return None, json_text({"type": kind, "version": version, "data": fields})

    def _renamed(self, name: str) -> dict[str, str]:
        """Return the fields of a message that the release calls otherwise, with its names."""
        return {
            new: old
            for (message, new), (release, old) in RENAMED.items()
            if message == name and self._release < release
        }

    def texts(self, core: Core) -> MessageTexts:
        return MessageTexts(core, self._topic, self._style, choose=self._read)

    def _read(self, layouts: Sequence[MessageLayout]) -> Sequence[MessageLayout]:
        return read_by(layouts, self._name)[:1]

    def _style(self, layout: MessageLayout) -> TextStyle:
        kind = _UPPER.sub("_", layout.name).upper()
        head = (f'{{"type":"{kind}","version":', None, ',"data":{')
        return TextStyle(head, "}}", renamed=self._renamed(layout.name))


class Coordinated(TopicDecoder):
    """Records of a coordinator as JSON: offsets from 3.8, transactions from 4.1, share groups."""

    def parse(self, record: Record) -> Texts:
        if record.key is None:
            raise _without("key", record)
        try:
            number, text = self._keys.get(bytes(record.key)) or self._key(bytes(record.key))
            if record.value is None:
                return text, _DELETE
            return text, json_text(self._whole(number, bytes(record.value)))
        except _UnknownTypeError as unknown:
            return f"Unknown record type {unknown} at offset {record.offset}, skipping.", None
        except _RefusedError as refused:
            return f"Error at offset {record.offset}, skipping. {refused}", None

    def _whole(self, number: int, data: bytes) -> dict[str, Any]:
        """Return JSON of a value."""
        (layout,) = written_by(in_topic(self._topic, Role.VALUE, number), self._name)
        size = LAYOUTS[layout.key].fields[0].size  # of the version
        if len(data) < size:
            raise _RefusedError("Could not read version from value's buffer.")
        version = int.from_bytes(data[:size], "big", signed=True)
        low, high = layout.versions
        known = min(max(version, low), high)
        if known != version and self._release >= _VERSIONS_CHECKED:
            raise _RefusedError(f"Found an unknown record version {version} for {number} type")
        whole = known.to_bytes(size, "big") + data[size:]
        return self._value(self._read(layout, whole, version, "value"), version)

    def _read(self, layout: MessageLayout, data: bytes, version: int, what: str) -> Message:
        try:
            return decode_by(self._codec, (layout,), data)
        except KafkaSpecError as error:
            why = refusal(error, data, self._codec, self._release)
            raise _RefusedError(
                f"Could not read record with version {version} from {what}'s buffer due to: {why}."
            ) from None

    def _key(self, key: bytes) -> tuple[int, str]:
        """Return the type and the text of a key, of which many come again and again.

        Raises:
            _UnknownTypeError: the release does not know the type.
            _RefusedError: Kafka's reader refuses the key.
        """
        try:
            number = record_type(self._topic, key, self._codec)
        except KafkaSpecError:
            raise _RefusedError("Could not read version from key's buffer.") from None
        layouts = read_by(in_topic(self._topic, Role.KEY, number), self._name)
        if not layouts:
            raise _UnknownTypeError(number)
        found = self._read(layouts[0], key, number, "key")
        fields = message_fields(found.layout.name, found.value)
        text = json_text({"type": str(number), "data": fields})
        if len(self._keys) == _KEYS_KEPT:
            self._keys.clear()
        self._keys[key] = number, text
        return number, text

    def texts(self, core: Core) -> MessageTexts:
        null = _DELETE.encode()
        return MessageTexts(core, self._topic, self._style, choose=self._written, null=null)

    def _written(self, layouts: Sequence[MessageLayout]) -> Sequence[MessageLayout]:
        if layouts and layouts[0].role is Role.KEY:
            return read_by(layouts, self._name)[:1]
        return written_by(layouts, self._name)

    def _style(self, layout: MessageLayout) -> TextStyle:
        if layout.role is Role.KEY:
            return TextStyle((f'{{"type":"{layout.number}","data":{{',), "}}")
        named = {_STATUS: kafka_names(_STATES)} if self._release >= _STATUS_NAMED else {}
        head = (f'{{"{self._label}":"', None, '","data":{')
        return TextStyle(head, "}}", named=named)

    def _value(self, message: Message, version: int) -> dict[str, Any]:
        fields = expanded_fields(message.layout.name, message.value, self._embedded)
        if _STATUS in fields and self._release >= _STATUS_NAMED:
            status = fields[_STATUS]
            fields[_STATUS] = kafka_name(_STATES, status) or str(status)
        return {self._label: str(version), "data": fields}

    @property
    def _label(self) -> str:
        """The name of the version of a value."""
        early = self._topic == Topic.SHARE_GROUP_STATE and self._release < (4, 1)
        return "type" if early else "version"


class Remote(Framed):
    """Segments in remote storage, as the classes of the broker show themselves."""

    def parse(self, record: Record) -> Texts:
        try:
            if record.value is None:
                inner = "internal." if self._release >= _INTERNAL_SINCE else ""
                raise _RefusedError(_NO_VALUE.format(inner))
            message, _ = self._framed(record)
        except _RefusedError as refused:
            return None, f"Error at offset {record.offset}, skipping. {refused}"
        name = message.layout.name.removesuffix("Record")
        fields = message_fields(message.layout.name, message.value)
        shown = ", ".join(f"{key}={item}" for key, item in self._fields(name, fields).items())
        return None, f"{name}{{{shown}}}"

    def _fields(self, name: str, fields: dict[str, Any]) -> dict[str, object]:
        late = {"eventTimestampMs": fields["eventTimestampMs"], "brokerId": fields["brokerId"]}
        if name == "RemotePartitionDeleteMetadata":
            state = _state("remote_partition_delete_state", fields["remotePartitionDeleteState"])
            return {"topicPartition": _topic(fields["topicIdPartition"]), "state": state} | late
        custom = fields.get("customMetadata")
        size = len(b64decode(custom)) if custom is not None else 0
        shared = {
            "customMetadata": (
                "Optional.empty" if custom is None else f"Optional[CustomMetadata{{{size} bytes}}]"
            ),
            "state": _state("remote_log_segment_state", fields["remoteLogSegmentState"]),
        }
        if name == "RemoteLogSegmentMetadataUpdate":
            return {"remoteLogSegmentId": _segment(fields)} | shared | late
        epochs = sorted((e["leaderEpoch"], e["offset"]) for e in fields["segmentLeaderEpochs"])
        segment = {
            "maxTimestampMs": fields["maxTimestampMs"],
            "eventTimestampMs": fields["eventTimestampMs"],
            "segmentLeaderEpochs": f"{{{', '.join(f'{epoch}={at}' for epoch, at in epochs)}}}",
            "segmentSizeInBytes": fields["segmentSizeInBytes"],
        } | shared
        if self._release >= (4, 0):
            segment["txnIdxEmpty"] = "true" if fields.get("txnIndexEmpty") else "false"
        ends = {"startOffset": fields["startOffset"], "endOffset": fields["endOffset"]}
        if name == "RemoteLogSegmentMetadataSnapshot":
            del segment["eventTimestampMs"]
            return {"segmentId": fields["segmentId"]} | ends | segment
        broker = {"brokerId": fields["brokerId"]}
        return {"remoteLogSegmentId": _segment(fields)} | ends | broker | segment


def _state(name: str, number: int) -> str:
    return kafka_name(f"enumeration.{name}", number) or "null"


def _segment(fields: dict[str, Any]) -> str:
    found = fields["remoteLogSegmentId"]
    place = _topic(found["topicIdPartition"])
    return f"RemoteLogSegmentId{{topicIdPartition={place}, id={found['id']}}}"


def _topic(place: dict[str, Any]) -> str:
    return f"{place['id']}:{place['name']}-{place['partition']}"


class OffsetsDecoder(TopicDecoder):
    """Offsets and groups as text, up to 3.7."""

    def parse(self, record: Record) -> Texts:
        newer = self._release >= (2, 4)
        if record.value is None and not newer:
            return None, None
        if record.key is None:
            raise _without("key", record)
        number = record_type(self._topic, record.key, self._codec)
        if not 0 <= number <= _GROUP:
            if newer:
                return f"unknown::version={number}", None
            raise _wrong(record, f"has a key of type {number}, which the decoder does not know")
        key, value = self._decoded(record)
        assert key is not None
        fields = message_fields(key.layout.name, key.value)
        group = fields["group"]
        if number < _GROUP:
            place = f"{fields['topic']}-{fields['partition']}"
            text = f"offset_commit::group={group},partition={place}"
            if not newer:
                text = f"offset::{group}:{fields['topic']}:{fields['partition']}"
            return text, _DELETE if value is None else self._offset(value, newer)
        text = f"group_metadata::group={group}"
        if not newer:
            old = self._release < (1, 0)
            text = f"metadata::{group}" if old else json_text({"metadata": group})
        return text, _DELETE if value is None else self._group(value)

    def _offset(self, message: Message, newer: bool) -> str:
        fields = message_fields(message.layout.name, message.value)
        offset, metadata = fields["offset"], fields["metadata"]
        if newer:
            return f"offset={offset}" + (f",metadata={metadata}" if metadata else "")
        return f"{offset}:{metadata}" if metadata else str(offset)

    def _group(self, message: Message) -> str:
        fields = message_fields(message.layout.name, message.value)
        members = message.value.body.members
        kind = fields["protocolType"]
        if not members and (0, 10, 1) <= self._release < (1, 0):
            kind = ""
        texts = [
            f"{java_text(member.member_id)}={self._assignment(kind, member.assignment)}"
            for member in members
        ]
        assignment = f"{{{','.join(texts)}}}"
        if self._release < (1, 0):
            protocol = "null" if fields["protocol"] is None else fields["protocol"]
            return f"{kind}:{protocol}:{fields['generation']}:{assignment}"
        return json_text(
            {
                "protocolType": kind,
                "protocol": fields["protocol"],
                "generationId": fields["generation"],
                "assignment": assignment,
            }
        )

    def _assignment(self, kind: str, data: Any) -> str:
        if kind != CONSUMER:
            return _hexadecimal(data)
        message = self._embedded(EMBEDDED["assignment"], data)
        fields = message_fields(message.layout.name, message.value)
        places = _places(fields["assignedPartitions"], "topic", "partitions")
        user = getattr(message.value, "user_data", None)
        shown = f"[{', '.join(places)}]"
        return f"{shown}:{_hexadecimal(user)}" if user else shown


class TransactionsDecoder(TopicDecoder):
    """States of transactions as text, up to 4.0."""

    def parse(self, record: Record) -> Texts:
        if record.key is None:
            raise _without("key", record)
        number = record_type(self._topic, record.key, self._codec)
        if number > 0 and self._release >= (3, 0):
            return f"unknown::version={number}", None
        key, value = self._decoded(record)
        assert key is not None
        text = f"transactionalId={java_text(key.value.transactional_id)}"
        if self._release >= (2, 4):
            text = f"transaction_metadata::{text}"
        if value is None:
            return text, _DELETE
        fields = message_fields(value.layout.name, value.value)
        places = _places(fields["transactionPartitions"] or [], "topic", "partitionIds")
        status = fields[_STATUS]
        state = kafka_name(_STATES, status)
        if state is None:
            raise _wrong(record, f"has transaction status {status}, which does not exist")
        shown = f"[{','.join(places)}]"
        if self._release < (2, 5):
            name = "HashSet" if self._release >= (2, 4) else "Set"
            shown = f"{name}({', '.join(places)})"
        return text, (
            f"producerId:{fields['producerId']},producerEpoch:{fields['producerEpoch']},"
            f"state={state},"
            f"partitions={shown},"
            f"txnLastUpdateTimestamp={fields['transactionLastUpdateTimestampMs']},"
            f"txnTimeoutMs={fields['transactionTimeoutMs']}"
        )


def _places(topics: list[dict[str, Any]], topic: str, numbers: str) -> list[str]:
    return [f"{item[topic]}-{number}" for item in topics for number in item[numbers]]


def _hexadecimal(data: Any) -> str:
    return f"{int.from_bytes(bytes(data), 'big'):X}" if len(data) else ""


def _without(what: str, record: Record) -> KafkaSpecError:
    return _wrong(record, f"has no {what}, which the decoder takes")


def _wrong(record: Record, what: str) -> KafkaSpecError:
    detail = f"the record with offset {record.offset} {what}"
    return make_error(Reason.INVALID_VALUE, detail)


_OF_VALUES: Final[dict[str, type[TopicDecoder]]] = {
    Topic.CLUSTER_METADATA: Metadata,
    Topic.REMOTE_LOG_METADATA: Remote,
}
_TEXT_ENDS: Final[dict[str, tuple[type[TopicDecoder], Release]]] = {
    Topic.CONSUMER_OFFSETS: (OffsetsDecoder, (3, 8)),
    Topic.TRANSACTION_STATE: (TransactionsDecoder, (4, 1)),
}
"""Decoders to text, and the first release that prints JSON instead."""


def decoder_of(topic: str, release: Release, codec: Codec) -> Parse:
    """Return the decoder of the tool for a topic."""
    if topic in _OF_VALUES:
        return _OF_VALUES[topic](topic, release, codec)
    maker, end = _TEXT_ENDS.get(topic, (Coordinated, release))
    return (maker if release < end else Coordinated)(topic, release, codec)
