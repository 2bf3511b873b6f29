"""Edits in the explorer give the bytes that ``assemble`` gives for the same edit of the text."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import kafkaspec as ks
from kafkaspec.assembly import assemble, listing
from kafkaspec.assembly.bytes import STORED
from kafkaspec.assembly.grammar import REST, Node, Word, read
from kafkaspec.errors import KafkaSpecError
from kafkaspec.messages.lookup import EMBEDDED, MESSAGES
from tests.cli.helpers import golden
from tests.explorer.testee import Engine, needs_build

pytestmark = [needs_build, pytest.mark.slow]

_RECORDS = "/message/content/records/records/"
_RECORD = re.compile(rf"{_RECORDS}(\d+)/body")
_MESSAGE = re.compile(r"(?:/message/content)?/(key|value)")


class Field(NamedTuple):
    """A field with a value, and where the explorer has it."""

    node: Node
    target: dict[str, Any]
    path: str


def _fields(node: Node, path: str, target: dict[str, Any]) -> Iterator[Field]:
    """Yield the fields below a node of the text."""
    number = 0
    for part in node.parts or ():
        here, own = f"{path}/{part.name or number}", target
        number += not part.name
        if found := _RECORD.fullmatch(here):
            here, own = "", {"what": "record", "row": target["row"], "index": int(found[1])}
        elif part.type and (found := _MESSAGE.fullmatch(here)):
            here, own = "", {"index": 0, **target, "what": found[1]}
        elif here == "/body" and node.type.startswith("control_record."):
            here = ""  # the explorer shows what the type in the key makes of the value
        if here.startswith(_RECORDS) and part.parts is None:
            continue  # the size of a record, which the explorer does not show
        if part.parts is None:
            yield Field(part, own, here)
        elif part.name not in EMBEDDED:  # which the explorer shows as bytes
            yield from _fields(part, here, own)


def _other(value: str | bytes | Word | None, luck: random.Random) -> str:
    """Another value of the same kind, as a person writes it."""
    match value:
        case Word("true" | "false"):
            return "false" if value == "true" else "true"
        case Word("null"):
            return luck.choice(('"no longer null"', "hex", "null"))
        case Word():
            return luck.choice(("0", "1", "7", "-1", "300", "0x1ff", "2147483648", "9000000000"))
        case str():
            return luck.choice(
                ('""', '"another text, and a longer one \\u00e9"', "hex 00 ff", "null")
            )
    size = len(value or b"")
    return luck.choice((f"hex {luck.randbytes(size).hex(' ')}", '"ab"'))


class Part(NamedTuple):
    """An entry, or a whole file: where it is, its text, and what the explorer calls it."""

    start: int
    end: int
    lines: list[str]
    target: dict[str, Any]


def _parts(path: Path, luck: random.Random) -> list[Part]:
    if path.suffix == ".log":
        with ks.open(path) as log:
            batches = list(enumerate(log.batches()))
        return [
            Part(b.position, b.end, list(listing(path, b.position)), {"what": "row", "row": row})
            for row, b in luck.sample(batches, min(8, len(batches)))
        ]
    lines = list(listing(path))
    whole = Part(0, path.stat().st_size, lines, {"what": "file"})
    if path.suffix == ".snapshot":
        return [whole]
    size = whole.end // len(read("\n".join(lines), ""))
    return [
        Part(at, at + size, list(listing(path, at)), {"what": "entry", "index": at // size})
        for at in range(0, whole.end, size)
    ]


def _edited(path: Path, part: Part, node: Node, text: str) -> bytes | KafkaSpecError:
    """The file after an edit of the text."""
    line = part.lines[node.line - 1]
    head = re.match(r" *(?:-|[\w.]+:)", line)
    assert head
    after = [*part.lines[: node.line - 1], f"{head[0]} {text}", *part.lines[node.line :]]
    try:
        made = assemble("\n".join(after))[0]
    except KafkaSpecError as error:
        return error
    data = path.read_bytes()
    return data[: part.start] + made + data[part.end :]


def _bytes(answer: dict[str, Any]) -> bytes:
    return bytes(map(int, answer["result"]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "partition", "name"),
    [
        ("4.3.1", "headers-0", "*.log"),
        ("4.3.1", "codec-gzip-0", "*.log"),
        ("4.3.1", "__consumer_offsets-0", "*.log"),
        ("4.3.1", "__cluster_metadata-0", "*.log"),
        ("4.3.1", "transactions-0", "*.log"),
        ("4.3.1", "transactions-0", "*.snapshot"),
        ("4.3.1", "segments-0", "*.timeindex"),
        ("0.10.2.2", "plain-0", "*.log"),
        ("0.9.0.1", "__consumer_offsets-0", "*.log"),
    ],
)
def test_an_edit_is_that_of_the_text(
    engine: Engine, version: str, partition: str, name: str
) -> None:
    luck = random.Random(f"{version} {partition} {name}")
    path = min(golden(version, partition).glob(name), key=lambda each: -each.stat().st_size)
    found = [
        (part, field)
        for part in _parts(path, luck)
        for node in read("\n".join(part.lines), "")
        for field in _fields(node, "", part.target)
        if field.node.name not in (REST, STORED)
    ]
    tried = []
    for part, field in luck.sample(found, min(25, len(found))):
        text = _other(field.node.value, luck) + luck.choice(("", "", " !"))
        tried.append((field, text, _edited(path, part, field.node, text)))
    calls = [
        call
        for field, text, _ in tried
        for call in (
            ["written", 1, field.target, field.path],
            ["edit", 1, field.target, field.path, text],
            ["bytes", 1, 0, 1 << 24],
            ["undo", 1],
        )
    ]
    _, *answers = engine.call([path], *calls)
    same = 0
    for number, (field, text, expected) in enumerate(tried):
        written, edit, data, _ = answers[4 * number : 4 * number + 4]
        where = (str(path), field.target, field.path, text, edit.get("error"), str(expected)[:200])
        assert "result" in written or written["error"] == edit["error"], (*where, written)
        if "error" in edit:
            assert edit["error"]["reason"] == "unencodable", where
            assert _bytes(data) == path.read_bytes()
            detail = edit["error"]["detail"]
            if "follows from the rest" in detail:
                as_it_was = field.node.forced or expected == path.read_bytes()
                assert isinstance(expected, KafkaSpecError) or as_it_was, where
            elif "a reader finds" not in detail and "compress" not in detail:
                assert isinstance(expected, KafkaSpecError), where
            continue
        assert not isinstance(expected, KafkaSpecError), where
        assert _bytes(data) == expected, where
        same += 1
    assert same > len(tried) // 20, same


def test_what_was_forced_stays(engine: Engine, tmp_path: Path) -> None:
    """One edit after the other, as the text would be listed, edited and assembled each time."""
    path = tmp_path / "topic-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(ks.encode([ks.Record(n, 0, b"key %d" % n, b"value") for n in range(5)]))
    given = path.read_bytes()
    row: dict[str, Any] = {"what": "row", "row": 0}
    record = {"what": "record", "row": 0, "index": 1}
    edits = [
        ({**record, "index": 2}, "/offset_delta", "offset_delta: 2", "offset_delta: 70 !"),
        (row, "/message/content/crc", None, "crc: 0xdeadbeef !"),
        (record, "/key", 'key: "key 1"', 'key: "another key"'),
        (record, "/offset_delta", "offset_delta: 1", "offset_delta: 30 !"),
        (row, "/message/content/num_records", "num_records: 5", "num_records: 6 !"),
    ]
    calls: list[list[Any]] = []
    expected = []
    for target, place, old, new in edits:
        text = "\n".join(listing(path))
        if old is None:
            old = next(line.strip() for line in text.split("\n") if line.strip().startswith("crc:"))
        assert re.search(rf"{re.escape(old)}(?= !|$)", text, re.MULTILINE)
        text = re.sub(rf"(?m)^( *){re.escape(old)}(?: !)?$", rf"\1{new}", text, count=1)
        path.write_bytes(assemble(text)[0])
        expected.append(path.read_bytes())
        calls += [["edit", 1, target, place, new.partition(": ")[2]], ["bytes", 1, 0, 1 << 20]]
    path.write_bytes(given)
    _, *answers = engine.call([path], *calls)
    assert [_bytes(answer) for answer in answers[1::2]] == expected
    assert [answer["result"]["edits"] for answer in answers[::2]] == [1, 2, 3, 4, 5]


def test_the_bytes_of_a_key_alone(engine: Engine, tmp_path: Path) -> None:
    """The explorer shows a key and the bytes in it: both can be edited, with the same result."""
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(ks.encode([ks.Record(0, 0, b"key", b"value")]))
    record = {"what": "record", "row": 0, "index": 0}
    _, _, whole, _, _, inner, _, refused = engine.call(
        [path],
        ["edit", 1, record, "/key", '"longer key"'],
        ["bytes", 1, 0, 1 << 20],
        ["undo", 1],
        ["edit", 1, record, "/key/value", '"longer key"'],
        ["bytes", 1, 0, 1 << 20],
        ["undo", 1],
        ["edit", 1, record, "/key/len_value", "4"],
    )
    assert _bytes(whole) == _bytes(inner)
    (found,) = ks.decode(_bytes(inner))
    assert found.key == b"longer key"
    assert "len_value follows from the rest" in refused["error"]["detail"]


_CHANGES = ("add", "duplicate", "remove")
_EMPTY = """\
-
  len_body: 0
  body:
    attributes: 0
    timestamp_delta: 0
    offset_delta: 0
    key: null
    value: null
    num_headers: 0
    headers: []"""


def _changed(text: str, index: int, change: str) -> str:
    """The text of a batch with a record more or less."""
    lines = text.split("\n")
    (top,) = read(text, "")
    place: Node | None = top
    for name in ("message", "content", "records", "records"):
        assert place
        place = place.part(name)
    assert place
    starts = [item.line - 1 for item in place.parts or ()]
    if not starts:
        assert lines[place.line - 1].endswith(": []")
        lines[place.line - 1] = lines[place.line - 1].removesuffix(" []")
        starts = [place.line]
    starts.append(len(lines))
    item = lines[starts[index] : starts[index + 1]] if index >= 0 else []
    after = starts[index + 1]
    if change == "remove":
        if len(starts) == 2:
            lines[place.line - 1] += " []"
        return "\n".join([*lines[: starts[index]], *lines[after:]])
    own = item
    if change == "add":
        indent = " " * (2 + len(lines[place.line - 1]) - len(lines[place.line - 1].lstrip()))
        own = [indent + line for line in _EMPTY.split("\n")]
    return "\n".join([*lines[:after], *own, *lines[after:]])


def test_records_are_added_and_removed_as_in_the_text(engine: Engine, tmp_path: Path) -> None:
    """One change after the other, with numbers that follow and numbers that were forced."""
    luck = random.Random(7)
    path = tmp_path / f"{0:020}.log"
    records = [ks.Record(n, n, b"key %d" % n, b"value", (("h", b"x"),)) for n in range(4)]
    path.write_bytes(ks.encode(records))
    for edit in (
        None,
        ("offset_delta: 2", "offset_delta: 70 !"),
        ("num_records: 4", "num_records: 4 !"),
    ):
        text = "\n".join(listing(path))
        if edit is not None:
            path.write_bytes(assemble(text.replace(*edit, 1))[0])
        given = path.read_bytes()
        calls: list[list[Any]] = []
        expected = []
        size = 4
        for number in range(40):
            change = luck.choice(_CHANGES if number > 8 else ("remove",)) if size else "add"
            index = luck.randrange(size) if size else -1
            text = _changed("\n".join(listing(path)), index, change)
            made = assemble(text)[0]
            calls += [["changeRecords", 1, 0, index, change], ["bytes", 1, 0, 1 << 20]]
            expected.append(made)
            size += -1 if change == "remove" else 1
            path.write_bytes(made)
        path.write_bytes(given)
        _, *answers = engine.call([path], *calls)
        for call, edited, data, bytes_ in zip(
            calls[::2], answers[::2], answers[1::2], expected, strict=True
        ):
            assert "result" in edited, (edit, call, edited)
            assert _bytes(data) == bytes_, (edit, call)


@pytest.mark.parametrize("partition", ["codec-gzip-0", "headers-0"])
def test_records_of_golden_batches(engine: Engine, partition: str) -> None:
    """Batches of a broker, one change each; compressed ones say why not."""
    path = next(iter(golden("4.3.1", partition).glob("*.log")))
    with ks.open(path) as log:
        batches = list(log.batches())
    calls: list[list[Any]] = []
    for row, batch in enumerate(batches):
        change = _CHANGES[row % 3]
        assert batch.num_records is not None
        index = row % batch.num_records
        calls += [["changeRecords", 1, row, index, change], ["bytes", 1, 0, 1 << 24], ["undo", 1]]
    _, *answers = engine.call([path], *calls)
    data = path.read_bytes()
    for row, batch in enumerate(batches):
        edited, found, _ = answers[3 * row : 3 * row + 3]
        if batch.compression:
            assert "kafkaspec assemble compresses them" in edited["error"]["detail"]
            assert _bytes(found) == data
            continue
        text = "\n".join(listing(path, batch.position))
        made, _ = assemble(_changed(text, calls[3 * row][3], calls[3 * row][4]))
        assert _bytes(found) == data[: batch.position] + made + data[batch.end :], row


_NUMERALS = (
    "0", "00", "0_0", "010", "1_000", "1__000", "_1", "1_", "+7", "-7", "--7", "0x1F", "0X1f",
    "0x_f", "0x", "0o17", "0O17", "017", "0b101", "0b2", "1e3", "1.0", "\u0661\u0662", "\uff11",
    "1 000", "0x1_f",
)  # fmt: skip


def test_numerals_are_read_by_one_rule(engine: Engine, tmp_path: Path) -> None:
    """What is a number for ``assemble`` is that number in the explorer, and nothing else is."""
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(ks.encode([ks.Record(0, 0, b"key", b"value")]))
    text = "\n".join(listing(path))
    assert "  base_offset: 0\n" in text
    row: dict[str, Any] = {"what": "row", "row": 0}
    calls: list[list[Any]] = []
    for word in _NUMERALS:
        calls += [
            ["edit", 1, row, "/base_offset", word],
            ["bytes", 1, 0, 1 << 20],
            ["undo", 1],
        ]
    _, *answers = engine.call([path], *calls)
    numbers = 0
    for word, edited, data in zip(_NUMERALS, answers[::3], answers[1::3], strict=True):
        try:
            made = assemble(text.replace("base_offset: 0", f"base_offset: {word}", 1))[0]
        except KafkaSpecError:
            assert "error" in edited, word
            continue
        numbers += 1
        assert _bytes(data) == made, (word, edited)
    assert 10 < numbers < len(_NUMERALS)


_DECIMALS = (
    "0", "010", "1_000.5", "1__0", "1.", ".5", ".", "+1e3", "-1E-3", "1e", "inf", "-Infinity",
    "nan", "NaN", "-nan", "infinit", "0x10", "\u0661", "1e999", "5e-324", "0.1",
)  # fmt: skip

_QUOTA = "client_quota_record.client_quota_record"
_RATE = f"""\
{_QUOTA}:
  frame_version: 1
  api_key: {next(each.number for each in MESSAGES if each.key == _QUOTA)}
  schema_version: 0
  entity: []
  key: "rate"
  value: {{}}
  remove: 0
  tagged_fields:
    num_fields: 0
    fields: []"""


def test_decimals_are_read_by_one_rule(engine: Engine, tmp_path: Path) -> None:
    """The same for a field that holds a number with a point, in a record of the metadata log."""

    def log_of(word: str) -> bytes:
        value, _ = assemble(_RATE.format(word))
        return ks.encode([ks.Record(0, 0, None, value)])

    path = tmp_path / "__cluster_metadata-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(log_of("2.5"))
    calls: list[list[Any]] = []
    for word in _DECIMALS:
        target = {"what": "value", "row": 0, "index": 0}
        calls += [["edit", 1, target, "/value", word], ["bytes", 1, 0, 1 << 20], ["undo", 1]]
    _, *answers = engine.call([path], *calls)
    for word, edited, data in zip(_DECIMALS, answers[::3], answers[1::3], strict=True):
        try:
            made = log_of(word)
        except KafkaSpecError:
            assert "error" in edited, word
            continue
        assert _bytes(data) == made, (word, edited)
