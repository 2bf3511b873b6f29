"""The named rules of a comparison, and whom a change can break."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import StrEnum

from tools.specdiff.witness import Witness


class Broken(StrEnum):
    """Whom a change breaks."""

    READING_OLD = "reading-old"
    """The new reader refuses or misreads what the old writer wrote."""
    READING_NEW = "reading-new"
    """The old reader refuses or misreads what the new writer writes."""
    WRITING = "writing"
    """A program that writes through the old API fails, or writes other bytes."""
    NAMES = "names"
    """A name of the API, a column or a file suffix is gone."""


SAYS = {
    Broken.READING_OLD: "new readers of old files",
    Broken.READING_NEW: "old readers of new files",
    Broken.WRITING: "programs that write",
    Broken.NAMES: "names of the API and columns",
}


@dataclass(frozen=True)
class Rule:
    """A kind of change.

    Attributes:
        id: its name, which lists of accepted changes use.
        says: the change in words.
        bytes: whether it can change what bytes mean; readers of both sides then judge.
        breaks: what it breaks whatever the bytes say.
    """

    id: str
    says: str
    bytes: bool = False
    breaks: frozenset[Broken] = frozenset()


def _rule(id_: str, says: str, *breaks: Broken, reads: bool = False) -> tuple[str, Rule]:
    return id_, Rule(id_, says, reads, frozenset(breaks))


_WRITING, _NAMES = Broken.WRITING, Broken.NAMES
RULES = dict(
    (
        _rule("FILE_ADDED", "a new file of the specification"),
        _rule("FILE_REMOVED", "a file of the specification is gone",
              Broken.READING_OLD, _WRITING, _NAMES),
        _rule("SUFFIX_ADDED", "files with one more suffix"),
        _rule("SUFFIX_REMOVED", "files with a suffix are no longer known",
              Broken.READING_OLD, _NAMES),
        _rule("SUFFIX_MOVED", "files with a suffix are read as another structure",
              Broken.READING_OLD, Broken.READING_NEW),
        _rule("ENDIANNESS", "the order of bytes in a number", reads=True),
        _rule("RELEASES", "the releases that write the layout"),
        _rule("TEXT", "documentation, titles, references, how files are drawn"),
        _rule("TYPE_ADDED", "a new structure"),
        _rule("TYPE_REMOVED", "a structure is gone", _WRITING, _NAMES),
        _rule("TYPE_RENAMED", "a structure has another name", _WRITING, _NAMES),
        _rule("PARAMETERS", "the parameters of a structure", _WRITING),
        _rule("SCALAR", "what a structure is in programs", _WRITING, _NAMES, reads=True),
        _rule("TEXT_FILE", "what a text file has in its versions"),
        _rule("IDENTITY", "what tells apart the things that records describe"),
        _rule("FIELD_ADDED", "a new field that writers may leave out", reads=True),
        _rule("FIELD_ADDED_REQUIRED", "a new field that writers must give", _WRITING, reads=True),
        _rule("FIELD_REMOVED", "a field is gone", _WRITING, _NAMES, reads=True),
        _rule("FIELD_RENAMED", "a field has another name", _WRITING, _NAMES),
        _rule("FIELD_MOVED", "a field stands elsewhere", reads=True),
        _rule("KAFKAS_NAME", "the name in Kafka's sources, which its tools print", _NAMES),
        _rule("WIDER", "a field with more bits", reads=True),
        _rule("NARROWER", "a field with fewer bits", _WRITING, reads=True),
        _rule("SIGN", "signed to unsigned or back", _WRITING, reads=True),
        _rule("TYPE_CHANGED", "a field with another type", _WRITING, reads=True),
        _rule("SIZE_CHANGED", "where a field ends", reads=True),
        _rule("CASE_ADDED", "one more case of a choice", reads=True),
        _rule("CASE_REMOVED", "a case of a choice is gone", _WRITING, reads=True),
        _rule("CASE_CHANGED", "a case of a choice has another type", _WRITING, reads=True),
        _rule("CONSTANT", "the value that a field must have", reads=True),
        _rule("VALID_RELAXED", "more values are allowed", reads=True),
        _rule("VALID_TIGHTENED", "fewer values are allowed", _WRITING, reads=True),
        _rule("VALID_CHANGED", "other values are allowed", _WRITING, reads=True),
        _rule("CONDITION", "when a field is present", _WRITING, reads=True),
        _rule("REPEAT", "how often a field repeats", _WRITING, reads=True),
        _rule("DERIVED", "how writers compute a field", reads=True),
        _rule("DEFAULT_ADDED", "writers may leave a field out"),
        _rule("DEFAULT_REMOVED", "writers must give a field", _WRITING),
        _rule("DEFAULT_CHANGED", "what a field is when writers leave it out", _WRITING),
        _rule("ENUM_OF_FIELD", "the names of a field's values", _NAMES),
        _rule("MEANT", "the numbers that mean something in a field"),
        _rule("INDEX_SOURCE_ADDED", "the specification says what an index is made from"),
        _rule("INDEX_SOURCE", "what an index is made from", _WRITING),
        _rule("OTHER_KEY", "another key of a field", reads=True),
        _rule("VALUE_ADDED", "a new computed value"),
        _rule("VALUE_REMOVED", "a computed value is gone", _NAMES),
        _rule("MEANING", "how a value is computed from the bytes", reads=True),
        _rule("ENUM_ADDED", "a new enumeration"),
        _rule("ENUM_REMOVED", "an enumeration is gone", _NAMES),
        _rule("ENUM_VALUE_ADDED", "a number has a name now", reads=True),
        _rule("ENUM_VALUE_REMOVED", "a number has no name any more", _NAMES, reads=True),
        _rule("ENUM_VALUE_RENAMED", "a number has another name", _NAMES),
        _rule("ENUM_VALUE_REUSED", "a name means another number",
              Broken.READING_OLD, Broken.READING_NEW, _WRITING, reads=True),
    )
)  # fmt: skip
"""All rules by id."""


@dataclass(frozen=True)
class Change:
    """A difference of two specifications.

    Attributes:
        rule: what kind of change it is.
        where: place in the new specification, or in the old one of what is gone.
        before: what the old one says, "" for nothing.
        after: what the new one says, "" for nothing.
        type: key of the structure in the old specification, "" outside of structures.
        field: id of the field, "" if it is not about one.
        breaks: whom it breaks.
        witnesses: bytes that show it, by whom they break.
        compared: cases that both readers read, if the change is about bytes.
    """

    rule: Rule
    where: str
    before: str = ""
    after: str = ""
    type: str = ""
    field: str = ""
    breaks: frozenset[Broken] = frozenset()
    witnesses: dict[Broken, Witness] = dataclasses.field(default_factory=dict)
    compared: int = 0
