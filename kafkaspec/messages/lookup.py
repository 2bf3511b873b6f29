"""Look up which message is in a record of one of Kafka's own topics.

``MESSAGES`` is generated from the folders and first fields of ``spec/messages``. A type of record
that had another layout in earlier releases is there several times, the newest layout first; only
the release of the broker that wrote it says which one it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from kafkaspec._generated.layout.messages import HEADS as HEADS
from kafkaspec._generated.layout.messages import MESSAGES as MESSAGES
from kafkaspec._generated.layout.topics import Topic
from kafkaspec.layout import MessageLayout, Role
from kafkaspec.release import minor_of

CONSUMER: Final = "consumer"
"""Type of the protocol of groups whose members' bytes are messages too."""
EMBEDDED: Final = {
    "subscription": "ConsumerProtocolSubscription",
    "assignment": "ConsumerProtocolAssignment",
}
"""What consumers write into the members of their group, by the field that holds it."""


@cache
def in_topic(topic: str, role: Role, number: int) -> tuple[MessageLayout, ...]:
    """Return the layouts of a record type or api key in a topic, the newest first; none if unknown.

    Args:
        topic: its name, ``__consumer_offsets`` for instance.
        role: KEY and VALUE of a record with a key, RECORD for one without.
        number: the type at the start of the key, or the api key in the frame.
    """
    wanted = (topic, role, number)
    return tuple(
        message for message in MESSAGES if (message.topic, message.role, message.number) == wanted
    )


@cache
def key_says(topic: str) -> bool:
    """Return whether keys say what the records of a topic are; otherwise their values do."""
    return any(message.topic == topic and message.role is Role.KEY for message in MESSAGES)


def may_have_key(topic: str) -> bool:
    """Return whether records may have a key although their values say what they are.

    Kafka refuses one in its metadata, ``RecordsIterator.decodeDataRecord``, and reads values alone
    elsewhere, ``ConsumerTask.processConsumerRecord``; keys are for compaction then, KIP-1266.
    """
    return not key_says(topic) and topic != Topic.CLUSTER_METADATA


def by_id(id_: str) -> MessageLayout:
    """Return the layout of a file of the specification, ``offset_commit_value``.

    Raises:
        KeyError: there is none.
    """
    return _BY_ID[id_]


_BY_ID: Final = {message.id: message for message in MESSAGES}


@cache
def by_name(name: str) -> tuple[MessageLayout, ...]:
    """Return the layouts of a message by Kafka's name, ``OffsetCommitValue``, the newest first.

    The name without ``Key`` or ``Value`` means the value.
    """
    return tuple(message for message in MESSAGES if message.name in (name, f"{name}Value"))


def written_by(
    layouts: Sequence[MessageLayout], release: str | None = None
) -> tuple[MessageLayout, ...]:
    """Return the layout that a release wrote, all of them without one.

    Args:
        layouts: those of one message, the newest first.
        release: ``4.0`` or ``4.0.2``.

    Raises:
        ValueError: the release is none.
    """
    if release is None:
        return tuple(layouts)
    minor = minor_of(release)
    for layout in reversed(layouts):
        if layout.releases is None or minor <= minor_of(layout.releases[1]):
            return (layout,)
    return ()


def read_by(layouts: Sequence[MessageLayout], release: str) -> tuple[MessageLayout, ...]:
    """Return the layout that the readers of a release know, none if they do not know the message.

    Args:
        layouts: those of one key or record, the newest first.
        release: ``4.0`` or ``4.0.2``.

    Raises:
        ValueError: the release is none.
    """
    minor = minor_of(release)
    return tuple(
        layout
        for layout in written_by(layouts, release)
        if layout.since is None or minor_of(layout.since) <= minor
    )
