"""Messages in the records of Kafka's own topics: the law, edits, and what stays bytes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.assembly import assemble, listing
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.files.names import CHECKPOINT, LOG
from kafkaspec.layout import names
from kafkaspec.log.control import VALUE
from kafkaspec.log.segment import Segment
from kafkaspec.messages import decode_messages, topic_of
from tests import goldens
from tests.cli.helpers import golden, lines, run

OFFSETS, METADATA = "__consumer_offsets-0", "__cluster_metadata-0"
_MESSAGE = re.compile(r"^ *(?:key|value): (\w+\.\w+)$", re.MULTILINE)


def _kinds(path: Path) -> Iterator[tuple[int, set[tuple[str, int, str]]]]:
    """Yield where each batch is, and which messages of which versions are in it."""
    topic = topic_of(path)
    with Segment(path) as segment:
        for batch in segment.batches():
            found = {("", batch.magic, batch.compression_name)}
            for control in batch.control_records():
                found.add((VALUE, 0, control.type_name))
            for record in () if batch.is_control else batch.records():
                for message in decode_messages(topic or "", record):
                    if message is not None:
                        version = int(getattr(message.value, names.SCHEMA_VERSION, 0))
                        found.add((message.layout.key, version, ""))
            yield batch.position, found


@pytest.mark.slow
def test_messages_of_every_release() -> None:
    """The law for each batch that has a message, or a version of one, not seen of the release."""
    for version in goldens.VERSIONS:
        seen: set[tuple[str, int, str]] = set()
        for each in goldens.files(LOG, CHECKPOINT, version=version):
            if topic_of(each.path) is None or not each.path.stat().st_size:
                continue
            data = each.path.read_bytes()
            for position, kinds in _kinds(each.path):
                if kinds <= seen:
                    continue
                seen |= kinds
                found = listing(each.path, position)
                text = "\n".join(found)
                assert not found.errors, each
                again, follows = assemble(text)
                assert data[position:].startswith(again), f"{each}\n{text}"
                assert not follows, each
                assert "# bytes" not in text, f"{each}\n{text}"
                assert {key for key, *_ in kinds} - {""} <= set(_MESSAGE.findall(text)), each


def _segment(tmp_path: Path, partition: str, version: str = "4.3.1") -> Path:
    """Return the only segment of a copy of a partition in a log directory of its own."""
    home = tmp_path / "logs" / partition
    shutil.copytree(golden(version, partition), home)
    for snapshot in home.glob(f"*{CHECKPOINT}"):
        snapshot.unlink()  # what is in them would count, not the log before them
    (segment,) = home.glob(f"*{LOG}")
    return segment


def _edit(segment: Path, *edits: tuple[str, str]) -> str:
    """List a segment, replace the last of each, and assemble it in its place; return stderr."""
    text = segment.parent.parent / "x.txt"
    listed = run("explain", segment, "--format", "assembly").stdout
    for old, new in edits:
        before, found, after = listed.rpartition(old)
        assert found, f"{old} is not in\n{listed}"
        listed = before + new + after
    text.write_text(listed)
    result = run("assemble", text, "-o", segment, "--force")
    assert result.exit_code == 0, result.output
    text.unlink()
    return result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("version", ["0.9.0.1", "0.10.2.2", "4.3.1"])
def test_an_edited_commit(tmp_path: Path, version: str) -> None:
    """``groups`` says what was edited, in messages of magic 0 and 1 and in batches."""
    segment = _segment(tmp_path, OFFSETS, version)
    old = [record.offset for record in ks.open(segment).records()]
    _edit(
        segment,
        ("  offset: 12\n", "  offset: 7\n"),
        ('metadata: "metadata of the commit"', 'metadata: "seven, and a longer text"'),
    )
    found = lines(run("groups", segment.parent.parent, "--group", "group-b", "--format", "json"))
    (commit,) = [line for line in found if line["type"] == "offset"]
    assert (commit["offset"], commit["metadata"]) == (7, "seven, and a longer text")
    assert [record.offset for record in ks.open(segment, crc="raise").records()] == old
    result = run("verify", segment, "--codec", "all")
    assert result.exit_code == 0, result.output


@pytest.mark.slow
def test_an_edited_partition(tmp_path: Path) -> None:
    """A longer list in a tagged field, whose count and lengths follow."""
    segment = _segment(tmp_path, METADATA)
    commands = ("cluster", segment.parent, "--format", "json")
    before = [line for line in lines(run(*commands)) if line["type"] == "partition"]
    said = _edit(segment, ("last_known_elr:\n", "last_known_elr:\n" + " " * 28 + "- 41\n"))
    for name in ("num_last_known_elr", "len_content", "len_body", "len_message", "crc"):
        assert f": {name} is " in said
    after = [line for line in lines(run(*commands)) if line["type"] == "partition"]
    (changed,) = [new for old, new in zip(before, after, strict=True) if old != new]
    assert changed["last_known_elr"] == [41, 0]


def test_an_edited_marker(tmp_path: Path) -> None:
    """A commit becomes an abort: the records of the transaction are no longer there."""
    segment = _segment(tmp_path, "transaction-version-2-0")
    with ks.open(segment) as log:
        markers = [batch.marker() for batch in log.batches() if batch.is_control]
    was = [marker.aborts for marker in markers if marker is not None]
    _edit(segment, ("type: commit", "type: abort"))
    with ks.open(segment, crc="raise") as log:
        markers = [batch.marker() for batch in log.batches() if batch.is_control]
    now = [marker.aborts for marker in markers if marker is not None]
    assert now.count(True) == was.count(True) + 1


@cache
def _commit() -> str:
    """The text of a batch that has one committed offset."""
    path = golden("2.8.2", OFFSETS) / f"{0:020}{LOG}"
    texts = ("\n".join(listing(path, batch.position)) for batch in ks.open(path).batches())
    return next(text for text in texts if "  offset: 12\n" in text)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  offset: 12\n", "  ofset: 12\n", "ofset; did you mean 'offset'?"),
        ("  offset: 12\n", "  offset: twelve\n", "offset takes a number from -9223372036854"),
        ("value: offset_commit_value.", "value: ofset_commit_value.", "there is no type"),
        ("value: offset_commit_value.offset_commit_value\n", "value:\n", "value takes"),
        ("  commit_timestamp: 1", "  # ", "rigid_body needs commit_timestamp, which takes"),
        ("schema_version: 3", "schema_version: 1", "this has no leader_epoch"),
        ("schema_version: 3", "schema_version: 0", "this has no leader_epoch"),
        ("schema_version: 3", "schema_version: 4", "body is offset_commit_value.flexible_body"),
        ("schema_version: 3", "schema_version: -1", "the value -1 is not allowed"),
        ("schema_version: 3", "schema_version: 9", "the value 9 is not allowed"),
        ("leader_epoch: -1\n", "#\n", "this has leader_epoch"),
    ],
)
def test_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    """Line and column are in the message, also where its version says that it has other fields."""
    text = _commit()
    before, found, after = text.rpartition(old)
    assert found
    with pytest.raises(KafkaSpecError) as caught:
        assemble(before + new + after, "x.txt")
    assert caught.value.reason is Reason.UNENCODABLE
    assert said in caught.value.detail
    line = before.count("\n") + 1
    near = {f"line {number}, column " for number in range(line - 5, line + 8)}
    assert any(caught.value.detail.startswith(each) for each in near), caught.value.detail


def test_a_wrong_version_on_purpose() -> None:
    """``!`` keeps a version that no reader knows."""
    text = _commit()
    before, _, after = text.rpartition("schema_version: 3")
    data, _ = assemble(f"{before}schema_version: 9 !{after}")
    record = next(
        r for r in reversed(list(ks.decode(data))) if (r.value or b"").startswith(b"\0\x09")
    )
    with pytest.raises(KafkaSpecError, match="the value 9 is not allowed"):
        decode_messages("__consumer_offsets", record)


def _written(tmp_path: Path, key: bytes | None, value: bytes | None) -> Path:
    """A record of the cluster's metadata, as a broker would write it."""
    home = tmp_path / METADATA
    home.mkdir()
    path = home / f"{0:020}{LOG}"
    path.write_bytes(ks.encode([ks.Record(0, 0, key, value)]))
    return path


NO_OP = "01 14 00"
"""Kafka: ``NoOpRecord``, api key 20, version 0, and then its tagged fields."""


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (f"{NO_OP} 00", "value: no_op_record.no_op_record"),
        ("01 94 00 00 00", "api_key: raw 94 00"),
        (f"{NO_OP} 80 00", "value: hex 01 14 00 80 00  # "),
        (f"{NO_OP} 01 63 02 61 62", "value: no_op_record.no_op_record"),
        (f"{NO_OP} 01 e3 00 02 61 62", "raw e3 00"),
        (f"{NO_OP} 01 63 82 00 61 62", "value: hex 01 14 00 01 63 82 00 61 62  # "),
        (f"{NO_OP} 00 ff", "value: hex 01 14 00 00 ff\n"),
        ("01 14", "value: hex 01 14\n"),
        ("01 ff ff 03 00 00", "value: hex 01 ff ff 03 00 00\n"),
        ("", 'value: ""\n'),
    ],
)
def test_what_stays_bytes(tmp_path: Path, value: str, shown: str) -> None:
    """Numbers in more bytes than they need, unknown tags, bytes after the end, no message at all.

    Both forms of ``explain`` end with the same exit code.
    """
    path = _written(tmp_path, None, bytes.fromhex(value))
    result = run("explain", path, "--format", "assembly")
    assert shown in result.stdout
    assert assemble(result.stdout) == (path.read_bytes(), [])
    assert result.exit_code == run("explain", path).exit_code


def test_no_decode(tmp_path: Path) -> None:
    path = _written(tmp_path, None, bytes.fromhex(f"{NO_OP} 00"))
    text = run("explain", path, "--format", "assembly", "--no-decode").stdout
    assert "value: hex 01 14 00 00\n" in text
    assert assemble(text) == (path.read_bytes(), [])
    assert "no_op_record" not in "".join(listing(path, decode=False))
