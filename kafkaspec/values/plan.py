"""The plan for the keys or the values of a topic, made before they are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from kafkaspec.values.definition import Definition
from kafkaspec.values.framing.frames import SchemaKey, Side
from kafkaspec.values.options import WantedSide


@dataclass(frozen=True, slots=True)
class WriterSchema:
    """A schema with which values were written.

    Attributes:
        definition: the schema; None if it cannot be used.
        id: its id in the registry, None if it has none.
        subject: a subject that has it.
        name: full name of the record, or of the subject where the schema has none.
        problem: why it cannot be used; empty if it can.
    """

    definition: Definition | None
    id: int | None = None
    subject: str = ""
    name: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ReaderTarget:
    """A type of values that a column holds: a record, or a message of Protobuf, of a schema."""

    name: str
    definition: Definition
    message: str | None = None
    id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan for the keys or the values of a topic. It can be sent to other processes.

    Attributes:
        side: ``key`` or ``value``.
        wanted: what was asked for.
        format: what is done: as in ``WantedSide``, but never ``auto``.
        framing: name of the framing; None for bare values.
        writers: the schemas, by what frames say.
        writer: the schema of bare values.
        targets: types of values that the column holds: one, or several in a struct; none with
            ``each``, where every value is read as it was written.
        sample: some values, from which formats without a schema take the type of the column.
        of_records: whether a value is made from the value and the headers.
        notes: what was decided, in sentences for people.
        undecoded: why nothing is decoded, although that was asked for; "" if it is, or was not.
    """

    side: Side
    wanted: WantedSide
    format: str
    framing: str | None = None
    writers: Mapping[SchemaKey, WriterSchema] = field(default_factory=dict)
    writer: WriterSchema | None = None
    targets: tuple[ReaderTarget, ...] = ()
    sample: pa.Array | None = None
    of_records: bool = False
    notes: tuple[str, ...] = ()
    undecoded: str = ""

    @property
    def needs_headers(self) -> bool:
        """Whether the headers of records say which schema they have, or more."""
        return self.framing is not None or self.of_records

    @property
    def names_messages(self) -> bool:
        """Whether rows are messages of Protobuf, which have names."""
        return any(target.message is not None for target in self.targets) or not self.targets
