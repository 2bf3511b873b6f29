"""Every difference between Kafka's readers of messages and ours, with the quirk that explains it.

As in ``tools/kafka/quirks.py``, a difference without an entry is a defect of ours:
``tests/kafka/test_random_messages.py`` checks it with random messages that were damaged, and that
each entry still occurs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kafkaspec.errors import Reason
from tools.brokers.versions import Version
from tools.kafka.messages import Reading
from tools.quirks import link

_TAGS = "/tagged_fields/fields/"


@dataclass(frozen=True)
class MessageQuirk:
    """One way in which Kafka and kafkaspec differ.

    Attributes:
        number: of the entry in ``docs/quirks.md``.
        name: short, for people.
        accepts: whether Kafka or kafkaspec takes it.
        explains: whether the quirk explains how these two readings differ, ours first.
        since: first release that has it.
    """

    number: int
    name: str
    accepts: str
    explains: Callable[[Reading, Reading], bool]
    since: tuple[int, ...] = (0,)


def _refused(ours: Reading, theirs: Reading) -> bool:
    return ours.json is None and theirs.json is not None


def _known_tag(ours: Reading, theirs: Reading) -> bool:
    _, _, path = ours.error.rpartition(_TAGS)
    return _refused(ours, theirs) and "/content" in path


QUIRKS: tuple[MessageQuirk, ...] = (
    MessageQuirk(
        44,
        "a tag may come twice, or out of order",
        "Kafka",
        lambda ours, theirs: (
            _refused(ours, theirs)
            and ours.error.startswith(Reason.INVALID_VALUE)
            and _TAGS in ours.error
            and ours.error.endswith("/tag")
        ),
    ),
    MessageQuirk(45, "the size of a known tag is not checked", "Kafka", _known_tag),
    MessageQuirk(
        46,
        "a tag of a later version is refused",
        "kafkaspec",
        lambda ours, theirs: _refused(theirs, ours) and "is not valid for version" in theirs.error,
    ),
    MessageQuirk(
        47,
        "a later version in a frame is read like the newest",
        "Kafka",
        lambda ours, theirs: (
            _refused(ours, theirs) and ours.error == f"{Reason.INVALID_VALUE} /schema_version"
        ),
    ),
    MessageQuirk(
        48,
        "arrays and tagged fields have a largest number of items",
        "kafkaspec",
        lambda ours, theirs: _refused(theirs, ours) and "maximum" in theirs.error,
        since=(4, 4),
    ),
)


def explanation(version: Version, ours: Reading, theirs: Reading) -> MessageQuirk | None:
    """Return the quirk that explains how these readings differ, None for none: a defect."""
    for quirk in QUIRKS:
        if quirk.since <= version.release and quirk.explains(ours, theirs):
            return quirk
    return None


_HEAD = """\

## Messages in Kafka's own topics

Random messages, whole and damaged, go to the generated classes of Kafka and to kafkaspec. Both read
the same fields and write the same bytes, but for these:

| quirk | in Kafka | only this one reads it | releases |
|---|---|---|---|
"""


def section() -> str:
    """Return the section of ``docs/reader-differences.md`` about messages."""
    lines = [
        link(f"| Q{quirk.number} | {quirk.name} | {quirk.accepts} | {_releases(quirk)} |\n")
        for quirk in QUIRKS
    ]
    return _HEAD + "".join(lines)


def _releases(quirk: MessageQuirk) -> str:
    return f"from {'.'.join(map(str, quirk.since))}" if quirk.since > (0,) else "all"
