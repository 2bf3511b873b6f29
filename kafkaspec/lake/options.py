"""The options of a lake, each defined once, for Python and for the command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypedDict

from kafkaspec.options import Option
from kafkaspec.policy import OnLoss

LakeFormat = Literal["delta", "iceberg"]
"""The format of the tables of a lake."""


class LakeOptions(TypedDict, total=False):
    """Options of a lake that is filled."""

    to: Annotated[LakeFormat | None, Option(
        "Format of the tables: that of the lake; delta if it is new."
    )]  # fmt: skip
    catalog: Annotated[Mapping[str, str] | None, Option(
        "Property of PyIceberg's catalogue; without one, LAKE has its own catalogue.",
        "--catalog", more="By name."
    )]  # fmt: skip
    topics: Annotated[Sequence[str] | None, Option(
        "Only this topic.", "--topic", more="A list of names; None for all."
    )]  # fmt: skip
    value: Annotated[str | None, Option(
        "Make a typed table of each topic too; values are: decode, auto, json, long ...", "--value"
    )]  # fmt: skip
    key: Annotated[str | None, Option("Format of keys in typed tables.", "--key-format")]
    schemas: Annotated[str | None, Option(
        "Log directory with _schemas, or files of schemas; beside PATH if not.", "--schemas"
    )]  # fmt: skip
    evolve: Annotated[Literal["latest"] | int, Option(
        "Version of the subject as which values are read: latest, or a number.", "--evolve"
    )]  # fmt: skip
    exact: Annotated[bool, Option(
        "Keep the bytes of batches that would differ if they were encoded again.", "--exact",
        more="Then ``--restore`` gives back the same bytes."
    )]  # fmt: skip
    max_segments: Annotated[int | None, Option(
        "Most segments of one increment; all by default.", "--max-segments"
    )]  # fmt: skip
    file_size: Annotated[int | str, Option(
        "Size of the files of tables: 512m.", "--file-size", more="Bytes, or a text with a unit."
    )]  # fmt: skip
    active: Annotated[bool, Option(
        "Read segments to which a broker may still write too, as far as they are whole.", "--active"
    )]  # fmt: skip
    on_loss: Annotated[OnLoss, Option(
        "Stop where offsets are gone or a log was replaced, or go on and count what is lost.",
        "--on-loss",
    )]  # fmt: skip
