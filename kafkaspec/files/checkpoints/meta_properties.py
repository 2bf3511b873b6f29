"""``meta.properties``: which node of which cluster a log directory belongs to.

Kafka: ``MetaProperties``, ``MetaPropertiesVersion``, ``PropertiesUtils``. A file of Java
properties, read as ISO 8859-1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from kafkaspec.errors import Reason, make_error
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.files.checkpoints import text as texts

# javaproperties is imported where it is needed: it imports all of urllib.

VERSION_KEY: Final = "version"
CLUSTER_ID: Final = "cluster.id"
BROKER_ID: Final = "broker.id"
NODE_ID: Final = "node.id"
DIRECTORY_ID: Final = "directory.id"

VERSIONS = (0, 1)
"""0, also for a file without a version: brokers with ZooKeeper. 1: KRaft nodes."""

# Java 9 and later write these keys in the order of a ConcurrentHashMap.
_WRITTEN_ORDER = (BROKER_ID, NODE_ID, DIRECTORY_ID, VERSION_KEY, CLUSTER_ID)


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """The content of the file.

    Attributes:
        version: version of the file.
        node_id: ``node.id``, or ``broker.id`` in version 0; None only in version 0.
        cluster_id: id of the cluster, None only in version 0.
        directory_id: id of the log directory, since 3.7; None if there is none.
        comments: comment lines without their ``#``; Kafka writes an empty one and a date.
        positions: byte offset of the line of each key; empty if nothing was read.
    """

    version: int = VERSIONS[-1]
    node_id: int | None = None
    cluster_id: str | None = None
    directory_id: UUID | None = None
    comments: tuple[str, ...] = field(default=(), compare=False)
    positions: dict[str, int] = field(default_factory=dict, compare=False, repr=False)


def parse(data: bytes, *, file: str | None = None) -> MetaProperties:
    """Parse the file. Keys that Kafka does not know are ignored.

    Args:
        data: all bytes of the file.
        file: its name in errors.

    Raises:
        CorruptError: it is not a file of properties, or a value is missing or malformed.
        UnsupportedError: another version than 0 and 1.
    """
    text = texts.Text(data, file)
    found, comments = _properties(text)

    def number(key: str) -> int | None:
        return text.number(found[key], texts.INT_BITS, f"/{key}") if key in found else None

    version = 0
    if VERSION_KEY in found:
        piece = found[VERSION_KEY]
        stripped = texts.TextPiece(piece.text.strip(_JAVA_TRIM), piece.position, piece.line)
        version = text.number(stripped, texts.INT_BITS, f"/{VERSION_KEY}")
        if version not in VERSIONS:
            detail = f"version {version} is neither 0 nor 1"
            raise text.error(Reason.UNSUPPORTED_VERSION, detail, piece, f"/{VERSION_KEY}")
    if version:
        for key in (CLUSTER_ID, NODE_ID):
            if key not in found:
                raise text.error(Reason.INVALID_VALUE, f"{key} is missing", path=f"/{key}")
    directory_id = None
    if DIRECTORY_ID in found:
        directory_id = text.uuid(found[DIRECTORY_ID], f"/{DIRECTORY_ID}")
    return MetaProperties(
        version,
        number(NODE_ID if version else BROKER_ID),
        found[CLUSTER_ID].text if CLUSTER_ID in found else None,
        directory_id,
        comments,
        {key: piece.position for key, piece in found.items()},
    )


read = texts.reader(parse)


def serialize(properties: MetaProperties) -> bytes:
    """Serialize properties as Kafka does on Java 9 and later, with the comments as given.

    Raises:
        KafkaSpecError: ``unencodable``: a value that version 1 needs is missing, or does not fit.
    """
    import javaproperties

    values: dict[str, str] = {VERSION_KEY: str(properties.version)}
    if properties.version not in VERSIONS:
        detail = f"version {properties.version} is neither 0 nor 1"
        raise make_error(Reason.UNENCODABLE, detail, path="/version")
    if properties.version and None in (properties.cluster_id, properties.node_id):
        detail = "version 1 needs a cluster id and a node id"
        raise make_error(Reason.UNENCODABLE, detail, path="/version")
    if properties.node_id is not None:
        key = NODE_ID if properties.version else BROKER_ID
        values[key] = texts.writable(properties.node_id, texts.INT_BITS, key)
    if properties.cluster_id is not None:
        values[CLUSTER_ID] = properties.cluster_id
    if properties.directory_id is not None:
        values[DIRECTORY_ID] = kafka_uuid.to_text(properties.directory_id)
    for comment in properties.comments:
        if _LINE_END.search(comment) or not _LATIN.fullmatch(comment):
            detail = f"{texts.shown(comment)} is not one line of ISO 8859-1"
            raise make_error(Reason.UNENCODABLE, detail, path="/#")
    lines = [f"#{comment}" for comment in properties.comments]
    lines += [
        javaproperties.join_key_value(key, values[key]) for key in _WRITTEN_ORDER if key in values
    ]
    return "".join(f"{line}\n" for line in lines).encode("latin-1")


def is_reserved(directory_id: UUID) -> bool:
    """Return whether Kafka reserves this directory id. Kafka: ``DirectoryId.reserved``."""
    most, least = directory_id.int >> texts.LONG_BITS, directory_id.int & (1 << texts.LONG_BITS) - 1
    return most == 0 and (least < _RESERVED_IDS or not texts.fits(least, texts.LONG_BITS))


_RESERVED_IDS = 100
_LINE_END = re.compile(r"\r\n|\r|\n")
_LATIN = re.compile(r"[\x00-\xff]*")
_JAVA_TRIM = "".join(map(chr, range(0x21)))
"""The characters that ``String.trim`` removes."""


def _properties(text: texts.Text) -> tuple[dict[str, texts.TextPiece], tuple[str, ...]]:
    """Return the last value of each key, and the comments."""
    import javaproperties

    found: dict[str, texts.TextPiece] = {}
    comments: list[str] = []
    position, line = 0, 1
    try:
        for item in javaproperties.parse(text.data.decode("latin-1")):
            source = item.source
            if isinstance(item, javaproperties.KeyValue):
                found[item.key] = texts.TextPiece(item.value, position, line)
            elif isinstance(item, javaproperties.Comment):
                comments.append(source.strip(" \t\f\r\n")[1:])
            position += len(source)
            line += len(_LINE_END.findall(source))
    except javaproperties.InvalidUEscapeError as error:
        place = texts.TextPiece("", position, line)
        detail = f"{texts.shown(str(error.escape))} is not a valid escape"
        raise text.error(Reason.INVALID_VALUE, detail, place) from None
    return found, tuple(comments)
