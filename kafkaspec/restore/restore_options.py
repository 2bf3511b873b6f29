"""The options of ``restore``, for Python and for the command."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from os import PathLike
from typing import Annotated, Final, Literal, TypedDict

from kafkaspec.options import Option
from kafkaspec.restore.feature_levels import FEATURE_LEVELS
from kafkaspec.times import Time

RestoreRetention = Literal["off", "keep"]
"""Whether retention is switched off for what is restored, or stays as it was set."""

OpenTransactions = Literal["abort", "leave"]
"""The fate of transactions that no coordinator ends: they are ended here, or stay open."""

RestoreRemote = Literal["fetch", "keep"]
"""Whether segments in remote storage become local ones, or stay there, and the topic that names
them is completed."""

RestoreReflink = Literal["auto", "always", "never"]
"""Whether segments share the blocks of their sources: where the file system can, or else nothing
is written, or not at all. The words are those of ``cp --reflink``."""

NO_METADATA: Final = "none"
"""In the place of the path of metadata: make it from the directories."""
CONTROLLER: Final = "127.0.0.1:9093"


class RestoreOptions(TypedDict, total=False):
    """Options of ``restore``."""

    write: Annotated[bool, Option("Write the plan to OUT; else nothing is written but temporary"
        " files elsewhere.", "--write")]  # fmt: skip
    target_release: Annotated[str, Option(f"Minor release of the brokers that serve it: one of"
        f" {', '.join(FEATURE_LEVELS)}.", "--target-release")]  # fmt: skip
    node_id: Annotated[int, Option("Id of the node that serves it.", "--node-id")]
    controller: Annotated[str, Option("Host and port of its controller's listener.",
        "--controller")]  # fmt: skip
    voters: Annotated[Collection[str], Option("ID@HOST:PORT of one more controller of the quorum,"
        " which gets a separate directory in OUT.", "--voter")]  # fmt: skip
    cluster_id: Annotated[str | None, Option("Id of the cluster; by default that of the sources, or"
        " a new one.", "--cluster-id")]  # fmt: skip
    metadata: Annotated[str | PathLike[str] | None, Option("The __cluster_metadata-0 to begin with,"
        " or none; by default the newest in the sources.", "--metadata")]  # fmt: skip
    include: Annotated[Collection[str], Option("Restore this topic, and those of the coordinators,"
        " and no others.", "--include")]  # fmt: skip
    exclude: Annotated[Collection[str], Option("Do not restore this topic.", "--exclude")]
    configs: Annotated[Mapping[str, Mapping[str, str]] | None, Option("Settings of topics, which"
        " come before all others.", "--topic-config")]  # fmt: skip
    retention: Annotated[RestoreRetention, Option("Switch retention off for what is restored, or"
        " keep it as it was set.", "--retention")]  # fmt: skip
    partitions: Annotated[Mapping[str, int] | None, Option("True number of partitions of a topic.",
        "--partitions-of")]  # fmt: skip
    prefer: Annotated[Collection[str | PathLike[str]], Option("Log directory whose copies win"
        " where copies contradict each other.", "--prefer")]  # fmt: skip
    at: Annotated[Time | None, Option("Restore the state at this time: leave out each partition"
        " from the first batch on that is newer.")]  # fmt: skip
    open_transactions: Annotated[OpenTransactions, Option("End transactions that no coordinator"
        " ends, or leave them open.", "--open-transactions")]  # fmt: skip
    fill_from_copies: Annotated[bool, Option("Take batches that a damaged copy has lost from other"
        " copies.", "--fill-from-copies")]  # fmt: skip
    remote: Annotated[RestoreRemote, Option("Fetch segments in remote storage into the logs, or"
        " keep them there.", "--remote")]  # fmt: skip
    keep_brokers: Annotated[bool, Option("Keep the brokers and their directories, and write only"
        " the metadata of a new controller.", "--keep-brokers")]  # fmt: skip
    link: Annotated[bool, Option("Make hard links of segments that no broker appends to.",
        "--link")]  # fmt: skip
    reflink: Annotated[RestoreReflink, Option("Share the blocks of segments with their sources:"
        " where the file system can, or else write nothing, or never.", "--reflink")]  # fmt: skip
    id_seed: Annotated[int | None, Option("Make new ids from this number, so that the same sources"
        " give the same bytes.", "--id-seed")]  # fmt: skip
