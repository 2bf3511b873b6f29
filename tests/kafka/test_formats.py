"""The vectors of indexes, producer snapshots, control records and varints, judged by Kafka."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import crc32c
import pytest

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.codecs import get_codec
from tests.kafka.chosen import VERSIONS
from tools.brokers.versions import Version
from tools.kafka import formats

FOLDER = Path(__file__).parents[2] / "generated" / "vectors"
FILES = ("varint", "control_record", "transaction_index", "producer_snapshot", "index")
BASE_OFFSET = 100
SNAPSHOT = "producer_snapshot.producer_snapshot"
JUDGES = [v for v in VERSIONS if formats.SINCE <= v.release < formats.UNTIL]
CODEC = get_codec("python")

# A structure inside of a file, and the file that Kafka reads it from.
WHOLE = {"aborted_transaction": "transaction_index", "producer_entry": "producer_snapshot"}
KINDS = {
    "varint32", "varint64", "unsigned_varint32", "control_record_key", "end_transaction_marker",
    "leader_change_message", "snapshot_header_record", "snapshot_footer_record",
    "kraft_version_record", "voters_record", "transaction_index", "producer_snapshot",
    "offset_index", "time_index", "offset_index_entry", "time_index_entry", *WHOLE,
}  # fmt: skip

QUIRKS = {
    "transaction_index entries.cut": "a cut last entry is passed over in silence",
    "transaction_index trailing_byte": "so is what is shorter than an entry",
}
"""Vectors that Kafka takes, and why: ``TransactionIndex.iterable`` looks at whole entries only."""


class Case(NamedTuple):
    """A vector as Kafka gets it."""

    name: str
    kind: str
    data: bytes
    accepted: bool


def cases() -> Iterator[Case]:
    for file in FILES:
        vectors = json.loads((FOLDER / f"{file}.json").read_text(encoding="utf-8"))["vectors"]
        for vector in vectors:
            kind = vector["type"].partition(".")[2]
            if kind not in KINDS:
                continue
            data, name = bytes.fromhex(vector["hex"]), f"{kind} {vector['name']}"
            accepted = vector["verdict"] == "accept"
            if kind.endswith("entry") or kind in WHOLE:
                if vector["name"] == "trailing_byte" or "cut" in name or name[-4:] == "last":
                    continue  # in a file an entry is followed by something, or by nothing
                if vector["name"] == "nothing":
                    continue
            if kind == "producer_entry":
                data = struct.pack(">hIi", 1, 0, 1) + data
            kind = WHOLE.get(kind, kind)
            if kind == "producer_snapshot":
                data = _signed(data)
            yield Case(name, kind, data, accepted)


def _signed(data: bytes) -> bytes:
    """The snapshot with its right checksum."""
    checksum = LAYOUTS[SNAPSHOT].checksum
    assert checksum is not None
    if len(data) < checksum.start:
        return data
    value = struct.pack(">I", crc32c.crc32c(data[checksum.start :]))
    return data[: checksum.position] + value + data[checksum.start :]


def _numbers(case: Case) -> str:
    """The result of our codec, in the form that the judge prints."""
    value: Any
    match case.kind:
        case "varint32" | "varint64" | "unsigned_varint32":
            value, end = CODEC.parse(f"varint.{case.kind}", case.data)
            return f"{value} {end}"
        case "transaction_index":
            value, _ = CODEC.parse("transaction_index.transaction_index", case.data)
            return " ".join(
                f"{e.producer_id},{e.first_offset},{e.last_offset},{e.last_stable_offset}"
                for e in value.entries
            )
        case "producer_snapshot":
            value, _ = CODEC.parse(SNAPSHOT, case.data)
            return " ".join(_entry(entry) for entry in value.entries)
        case "offset_index" | "offset_index_entry":
            value, _ = CODEC.parse("index.offset_index", case.data, parameters=[BASE_OFFSET])
            return " ".join(
                f"{BASE_OFFSET + e.relative_offset},{e.position}" for e in value.entries
            )
        case "time_index" | "time_index_entry":
            value, _ = CODEC.parse("index.time_index", case.data, parameters=[BASE_OFFSET])
            return " ".join(
                f"{e.timestamp},{BASE_OFFSET + e.relative_offset}" for e in value.entries
            )
        case _:
            value, _ = CODEC.parse(f"control_record.{case.kind}", case.data)
            return _control(case.kind, value)


def _entry(entry: Any) -> str:
    first = max(entry.current_txn_first_offset, -1)
    text = f"{entry.producer_id},{entry.producer_epoch},{entry.coordinator_epoch}"
    text += f",{entry.timestamp},{first}"
    if entry.last_offset >= 0:
        text += f",{entry.last_sequence}:{entry.last_offset}:{entry.offset_delta}"
    return text


def _control(kind: str, value: Any) -> str:
    match kind:
        case "control_record_key":
            return str(value.type)
        case "end_transaction_marker":
            return str(value.coordinator_epoch)
        case "leader_change_message":
            return str(value.leader_id)
        case "snapshot_header_record":
            return str(value.last_contained_log_timestamp)
        case "kraft_version_record":
            return str(value.kraft_version)
        case "voters_record":
            return str(len(value.voters))
    return ""


@pytest.mark.kafka
@pytest.mark.parametrize("version", JUDGES, ids=[version.name for version in JUDGES])
def test_kafka_reads_the_same_from_every_vector(version: Version, tmp_path: Path) -> None:
    found = list(cases())
    asked = [(case.kind, case.data) for case in found]
    answers = formats.judge(version, tmp_path, BASE_OFFSET, asked)
    differences = []
    seen = set()
    for case, theirs in zip(found, answers, strict=True):
        mine = _numbers(case) if case.accepted else None
        if mine is None and theirs is not None and case.name in QUIRKS:
            seen.add(case.name)
        elif mine != theirs:
            differences.append(f"{case.name}: Kafka {theirs}, ours {mine}, {case.data.hex()}")
    assert not differences, f"{len(differences)} of {len(found)}:\n" + "\n".join(differences)
    assert seen == set(QUIRKS)
    assert len(found) > 250
