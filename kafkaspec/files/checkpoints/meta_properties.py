"""``meta.properties``: which node of which cluster a log directory belongs to.

Kafka: ``MetaProperties``, ``MetaPropertiesVersion``, ``PropertiesUtils``. A file of Java
properties, read as ISO 8859-1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from kafkaspec._generated.layout.texts import TEXTS
from kafkaspec.errors import Reason, make_error
from kafkaspec.files import names
from kafkaspec.files.checkpoints import text as texts

# javaproperties is imported where it is needed: it imports all of urllib.

LAYOUT: Final = TEXTS[names.META_PROPERTIES]
VERSION: Final = "version"
_VERSION_KEY: Final = LAYOUT.key_of(VERSION, LAYOUT.versions[0])


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """The content of the file.

    Attributes:
        version: version of the file: 0, also for a file without one, of brokers with ZooKeeper; 1
            of nodes of KRaft.
        node_id: ``node.id``, or ``broker.id`` in version 0; None where the version needs none.
        cluster_id: id of the cluster, None where the version needs none.
        directory_id: id of the log directory, since 3.7; None if there is none.
        comments: comment lines without their ``#``; Kafka writes an empty one and a date.
        positions: byte offset of the line of each key; empty if nothing was read.
        others: what further keys of the specification say, by what they are called there.
    """

    version: int = 1
    node_id: int | None = None
    cluster_id: str | None = None
    directory_id: UUID | None = None
    comments: tuple[str, ...] = field(default=(), compare=False)
    positions: dict[str, int] = field(default_factory=dict, compare=False, repr=False)
    others: dict[str, Any] = field(default_factory=dict)

    def value(self, attribute: str) -> Any:
        """Return what a key of the specification says, None if it is not there."""
        return self.others.get(attribute, getattr(self, attribute, None))


def parse(data: bytes, *, file: str | None = None) -> MetaProperties:
    """Parse the file. Keys that Kafka does not know are ignored.

    Args:
        data: all bytes of the file.
        file: its name in errors.

    Raises:
        CorruptError: it is not a file of properties, or a value is missing or malformed.
        UnsupportedError: a version that the specification does not have.
    """
    text = texts.Text(data, file)
    found, comments = _properties(text)

    version = LAYOUT.versions[0]
    if _VERSION_KEY in found:
        piece = found[_VERSION_KEY]
        stripped = texts.TextPiece(piece.text.strip(_JAVA_TRIM), piece.position, piece.line)
        version = text.number(stripped, texts.INT_BITS, f"/{_VERSION_KEY}")
        if not LAYOUT.knows(version):
            detail = f"version {version} is none of {_versions()}"
            raise text.error(Reason.UNSUPPORTED_VERSION, detail, piece, f"/{_VERSION_KEY}")
    values: dict[str, Any] = {VERSION: version}
    for key in sorted(LAYOUT.keys, key=lambda key: key.key):
        if version not in key.versions or key.attribute == VERSION:
            continue
        if key.key in found:
            values[key.attribute] = text.value(key, found[key.key], f"/{key.key}")
        elif version in key.required:
            raise text.error(Reason.INVALID_VALUE, f"{key.key} is missing", path=f"/{key.key}")
    own = {name: values.pop(name) for name in _OWN & values.keys()}
    positions = {key: piece.position for key, piece in found.items()}
    return MetaProperties(**own, comments=comments, positions=positions, others=values)


_OWN: Final = frozenset({VERSION, "node_id", "cluster_id", "directory_id"})


def _versions() -> str:
    return ", ".join(map(str, LAYOUT.versions))


read = texts.reader(parse)


def serialize(properties: MetaProperties) -> bytes:
    """Serialize properties as Kafka does on Java 9 and later, with the comments as given.

    Raises:
        KafkaSpecError: ``unencodable``: a value that the version needs is missing, or does not fit.
    """
    import javaproperties

    version = properties.version
    if version not in LAYOUT.versions:
        detail = f"version {version} is none of {_versions()}"
        raise make_error(Reason.UNENCODABLE, detail, path=f"/{_VERSION_KEY}")
    values: dict[str, str] = {}
    for key in LAYOUT.keys:
        value = properties.value(key.attribute) if version in key.versions else None
        if value is not None:
            values[key.key] = texts.value_text(key, value)
        elif version in key.required:
            detail = f"version {version} needs {key.key}"
            raise make_error(Reason.UNENCODABLE, detail, path=f"/{key.key}")
    for comment in properties.comments:
        if _LINE_END.search(comment) or not _LATIN.fullmatch(comment):
            detail = f"{texts.shown(comment)} is not one line of ISO 8859-1"
            raise make_error(Reason.UNENCODABLE, detail, path="/#")
    lines = [f"#{comment}" for comment in properties.comments]
    lines += [javaproperties.join_key_value(key, value) for key, value in values.items()]
    return "".join(f"{line}\n" for line in lines).encode("latin-1")


def is_node_id(number: int) -> bool:
    """Return whether a node can have this id. Kafka: ``KRaftConfigs``, ``node.id``."""
    return number >= 0 and texts.fits(number, texts.INT_BITS)


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
