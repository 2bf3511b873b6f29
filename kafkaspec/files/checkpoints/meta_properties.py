"""``meta.properties``: which node of which cluster a log directory belongs to.

Kafka: ``MetaProperties``, ``MetaPropertiesVersion``, ``PropertiesUtils``. A file of Java
properties, read as ISO 8859-1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkaspec.errors import Reason, make_error
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.files.checkpoints.text import INT_BITS, LONG_BITS, Piece, Text, fits, shown, writable

if TYPE_CHECKING:
    from javaproperties import PropertiesElement

# javaproperties is imported where it is needed: it brings all of urllib with it.

VERSION_KEY: Final = "version"
CLUSTER_ID: Final = "cluster.id"
BROKER_ID: Final = "broker.id"
NODE_ID: Final = "node.id"
DIRECTORY_ID: Final = "directory.id"

VERSIONS = (0, 1)
"""0, also where the file says none: brokers with ZooKeeper. 1: nodes of KRaft."""

# The order of a ConcurrentHashMap with these keys, in which Java 9 and later write them.
_WRITTEN_ORDER = (BROKER_ID, NODE_ID, DIRECTORY_ID, VERSION_KEY, CLUSTER_ID)


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """What the file says.

    Attributes:
        version: of the file.
        node_id: ``node.id``, or ``broker.id`` of version 0; None only there.
        cluster_id: None only in version 0.
        directory_id: of the log directory, since 3.7; None for none.
        comments: the comment lines without their ``#``: an empty one and a date, by Kafka.
        positions: byte offset of the line of each key; empty where nothing was read.
    """

    version: int = VERSIONS[-1]
    node_id: int | None = None
    cluster_id: str | None = None
    directory_id: UUID | None = None
    comments: tuple[str, ...] = field(default=(), compare=False)
    positions: dict[str, int] = field(default_factory=dict, compare=False, repr=False)


def parse(data: bytes, *, file: str | None = None) -> MetaProperties:
    """What is in the file. Keys that Kafka does not know are not looked at.

    Args:
        data: all bytes of the file.
        file: its name in errors.

    Raises:
        CorruptError: it is not a file of properties, or a value is missing or malformed.
        UnsupportedError: another version than 0 and 1.
    """
    text = Text(data, file)
    found, comments = _properties(text)

    def number(key: str) -> int | None:
        return text.number(found[key], INT_BITS, f"/{key}") if key in found else None

    version = 0
    if VERSION_KEY in found:
        piece = found[VERSION_KEY]
        stripped = Piece(piece.text.strip(_JAVA_TRIM), piece.position, piece.line)
        version = text.number(stripped, INT_BITS, f"/{VERSION_KEY}")
        if version not in VERSIONS:
            raise text.error(
                Reason.UNSUPPORTED_VERSION,
                f"version {version} is neither 0 nor 1",
                piece,
                f"/{VERSION_KEY}",
            )
    if version:
        for key in (CLUSTER_ID, NODE_ID):
            if key not in found:
                raise text.error(Reason.INVALID_VALUE, f"{key} is missing", path=f"/{key}")
    directory_id = None
    if DIRECTORY_ID in found:
        directory_id = kafka_uuid.from_text(found[DIRECTORY_ID].text)
        if directory_id is None:
            raise text.error(
                Reason.INVALID_VALUE,
                f"{shown(found[DIRECTORY_ID].text)} is not the base64 of a UUID",
                found[DIRECTORY_ID],
                f"/{DIRECTORY_ID}",
            )
    return MetaProperties(
        version,
        number(NODE_ID if version else BROKER_ID),
        found[CLUSTER_ID].text if CLUSTER_ID in found else None,
        directory_id,
        comments,
        {key: piece.position for key, piece in found.items()},
    )


def read(path: str | PathLike[str]) -> MetaProperties:
    """What the file at ``path`` says.

    Raises:
        KafkaSpecError: ``unreadable``, and as ``parse``.
    """
    text = Text.load(path)
    return parse(text.data, file=text.file)


def serialize(properties: MetaProperties) -> bytes:
    """The bytes that Kafka writes on Java 9 and later, with the comments as given.

    Raises:
        KafkaSpecError: ``unencodable``: what version 1 must have is missing, or does not fit.
    """
    import javaproperties

    values: dict[str, str] = {VERSION_KEY: str(properties.version)}
    if properties.version not in VERSIONS:
        raise make_error(
            Reason.UNENCODABLE, f"version {properties.version} is neither 0 nor 1", path="/version"
        )
    if properties.version and None in (properties.cluster_id, properties.node_id):
        raise make_error(
            Reason.UNENCODABLE, "version 1 has a cluster id and a node id", path="/version"
        )
    if properties.node_id is not None:
        key = NODE_ID if properties.version else BROKER_ID
        values[key] = writable(properties.node_id, INT_BITS, key)
    if properties.cluster_id is not None:
        values[CLUSTER_ID] = properties.cluster_id
    if properties.directory_id is not None:
        values[DIRECTORY_ID] = kafka_uuid.to_text(properties.directory_id)
    for comment in properties.comments:
        if _LINE_END.search(comment) or not _LATIN.fullmatch(comment):
            raise make_error(
                Reason.UNENCODABLE, f"{shown(comment)} is not one line of ISO 8859-1", path="/#"
            )
    lines = [f"#{comment}" for comment in properties.comments]
    lines += [
        javaproperties.join_key_value(key, values[key]) for key in _WRITTEN_ORDER if key in values
    ]
    return "".join(f"{line}\n" for line in lines).encode("latin-1")


def is_reserved(directory_id: UUID) -> bool:
    """Whether Kafka gives no directory this id. Kafka: ``DirectoryId.reserved``."""
    most, least = directory_id.int >> LONG_BITS, directory_id.int & (1 << LONG_BITS) - 1
    return most == 0 and (least < _RESERVED_IDS or not fits(least, LONG_BITS))


_RESERVED_IDS = 100
_LINE_END = re.compile(r"\r\n|\r|\n")
_LATIN = re.compile(r"[\x00-\xff]*")
_JAVA_TRIM = "".join(map(chr, range(0x21)))
"""What ``String.trim`` takes away."""


def _properties(text: Text) -> tuple[dict[str, Piece], tuple[str, ...]]:
    """Values by key, the last of each, and comments."""
    import javaproperties

    found: dict[str, Piece] = {}
    comments: list[str] = []
    position, line = 0, 1
    try:
        for item in _items(text.data):
            source = item.source
            if isinstance(item, javaproperties.KeyValue):
                value = Piece(item.value, position, line)
                found[item.key] = value
            elif isinstance(item, javaproperties.Comment):
                comments.append(source.strip(" \t\f\r\n")[1:])
            position += len(source)
            line += len(_LINE_END.findall(source))
    except javaproperties.InvalidUEscapeError as error:
        raise text.error(
            Reason.INVALID_VALUE,
            f"{shown(str(error.escape))} is no escape",
            Piece("", position, line),
        ) from None
    return found, tuple(comments)


def _items(data: bytes) -> Iterable[PropertiesElement]:
    import javaproperties

    return javaproperties.parse(data.decode("latin-1"))
