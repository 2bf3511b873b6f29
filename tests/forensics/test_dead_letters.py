"""``dlq``: dead letters of a broker of 4.4.0, and letters in the forms of all writers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import kafkaspec as ks
from kafkaspec._generated.layout.dead_letters import DEAD_LETTERS as WRITERS
from kafkaspec.cli.main import main
from kafkaspec.errors import KafkaSpecError
from kafkaspec.forensics.dead_letters import SourceState, export_originals, read_dead_letters
from kafkaspec.layout import DeadLetterLayout

BROKER = Path(__file__).parent / "dead_letters"
CLIENTS = BROKER.with_name("dead_letters_of_clients")
SPRING = BROKER.with_name("dead_letters_of_spring")
_REGISTRY = BROKER.parents[1] / "values" / "data" / "karapace" / "logs"
_BROKEN = (1, 4, 7)
_REJECTED = (1, 4, 7, 10)
"""Offsets that the members rejected: every third record, see ``ConsumeShared.java``."""
Headers = list[tuple[str, bytes | None]]
Content = tuple[bytes | None, bytes | None, Headers]


def _run(*arguments: Any) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["dlq", *map(str, arguments)])
    return result.exit_code, result.output


def _letters(*arguments: Any) -> tuple[int, list[dict[str, Any]]]:
    code, output = _run("--format", "json", *arguments)
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return code, [line for line in lines if line["type"] == "letter"]


def _written(writer: DeadLetterLayout, **fields: str | int) -> Headers:
    """Return the headers that a writer adds, by its own rule for numbers."""
    made: Headers = []
    for header in writer.headers:
        value = fields.pop(header.field, None)
        if isinstance(value, str):
            made.append((header.key, value.encode()))
        elif value is not None and writer.binary:
            made.append((header.key, value.to_bytes(int(header.type[1:]), "big")))
        elif value is not None:
            made.append((header.key, str(value).encode()))
    assert not fields, f"{writer.writer} has no header for {', '.join(fields)}"
    return made


def _log(place: Path, records: list[Content]) -> Path:
    with ks.SegmentWriter(place, sync=False) as writer:
        writer.append_records(
            [
                ks.Record(at, 1000 + at, key, value, tuple(headers))
                for at, (key, value, headers) in enumerate(records)
            ]
        )
    return place


def test_letters_of_a_broker_are_joined_with_what_it_rejected() -> None:
    code, found = _letters(BROKER)
    assert code == 0
    for group, state in (("copies", SourceState.SAME), ("references", SourceState.REFERENCE)):
        mine = [each for each in found if each["topic"] == f"dlq.{group}"]
        assert [each["source_offset"] for each in mine] == list(_REJECTED)
        assert {each["source_topic"] for each in mine} == {"orders"}
        assert {each["source_partition"] for each in mine} == {0}
        assert {each["group"] for each in mine} == {group}
        assert {each["writer"] for each in mine} == {"share-groups"}
        assert {each["delivery_count"] for each in mine} == {1}
        assert {each["source"] for each in mine} == {state}


@pytest.mark.parametrize("to", ["jsonl", "parquet", "segments"])
def test_the_originals_are_those_of_the_log(to: str, tmp_path: Path) -> None:
    out = tmp_path / f"out.{to}"
    assert _run(BROKER, "-o", out, "--to", to)[0] == 0
    with ks.Partition(BROKER / "orders-0") as log:
        wanted = [record for record in log.records() if record.offset in _REJECTED]
    if to == "segments":
        with ks.Partition(out / "orders-0") as log:
            assert list(log.records()) == wanted
        return
    if to == "parquet":
        rows = pq.read_table(out).to_pylist()
        values = [row["value"] for row in rows]
        headers = [tuple((h["key"].decode(), h["value"]) for h in row["headers"]) for row in rows]
    else:
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        values = [row["value"].encode() for row in rows]
        headers = [tuple((k, v.encode()) for k, v in row["headers"]) for row in rows]
    assert values == [record.value for record in wanted]
    assert headers == [record.headers for record in wanted]
    assert {row["copied_from"] for row in rows} == {"source"}


@pytest.mark.slow
def test_letters_without_their_log_keep_what_they_have(tmp_path: Path) -> None:
    """Those with key and value are written without the headers of the failure; others are lost.

    Kafka 4.4.0 copies key and value, and not the headers that the record had.
    """
    shutil.copytree(BROKER, tmp_path / "logs", ignore=shutil.ignore_patterns("orders-0"))
    code, found = _letters(tmp_path / "logs")
    assert code == 1
    assert {each["source"] for each in found} == {SourceState.NO_LOG}
    out = tmp_path / "out"
    assert _run(tmp_path / "logs", "-o", out, "--to", "segments")[0] == 1
    with ks.Partition(BROKER / "orders-0") as log:
        wanted = [record for record in log.records() if record.offset in _REJECTED]
    with ks.Partition(out / "orders-0") as log:
        made = list(log.records())
    assert [(r.offset, r.key, r.value, r.headers) for r in made] == [
        (r.offset, r.key, r.value, ()) for r in wanted
    ]
    assert _letters(tmp_path / "logs", "--sources", BROKER)[0] == 0


@pytest.mark.parametrize(
    ("writer", "exception", "connector"),
    [("connect", "org.apache.kafka.connect.errors.DataException", "sensors"),
     ("streams", "org.apache.kafka.common.errors.SerializationException", None)],
)  # fmt: skip
def test_letters_of_clients(
    writer: str, exception: str, connector: str | None, tmp_path: Path
) -> None:
    """Connect and Streams of 4.4.0: all their headers are known, and lead to the broken records."""
    topic = f"dlq.{writer}"
    code, found = _letters("--topic", topic, CLIENTS)
    assert code == 0
    assert [each["source_offset"] for each in found] == list(_BROKEN)
    assert {(each["writer"], each["source_topic"], each["source_partition"], each["source"],
             each["exception"], each["connector"]) for each in found} == {
        (writer, "readings", 0, SourceState.SAME, exception, connector)
    }  # fmt: skip
    (layout,) = (each for each in WRITERS if each.writer == writer)
    with ks.Partition(CLIENTS / f"{topic}-0") as log:
        for record in log.records():
            own = {key for key, _ in record.headers} - {"origin"}
            assert own == {header.key for header in layout.headers}
    out = tmp_path / "out"
    assert _run("--topic", topic, CLIENTS, "-o", out, "--to", "segments")[0] == 0
    with ks.Partition(CLIENTS / "readings-0") as log, ks.Partition(out / "readings-0") as made:
        assert list(made.records()) == [
            record for record in log.records() if record.offset in _BROKEN
        ]


@pytest.mark.parametrize("writer", WRITERS, ids=lambda each: each.writer)
def test_each_writer_is_understood(writer: DeadLetterLayout, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    _log(logs / "orders-3", [(b"k%d" % at, b"v%d" % at, []) for at in range(9)])
    last = _written(writer, topic="orders", partition=3, offset=5, message="bad")
    before = _written(writer, topic="retried", partition=0, offset=1)
    cut = _written(writer, topic="orders", partition=3, offset=200)
    letters: list[Content] = [
        (b"k5", b"v5", [*before, *last]),
        (b"k5", b"other", last),
        (None, None, last),
        (b"k", b"v", cut),
        (b"k", b"v", _written(writer, topic="none", partition=0, offset=0)),
        (b"k", b"v", _written(writer, topic="../none", partition=0, offset=0)),
        (b"k", b"v", [h for h in last if not h[0].endswith("offset")]),
        (b"k", b"v", [("trace", b"1")]),
    ]
    _log(logs / "dead-0", letters)
    code, found = _letters(logs)
    assert code == 1
    state = SourceState
    assert [(each["offset"], each["source"]) for each in found] == list(
        enumerate(
            [state.SAME, state.DIFFERENT, state.REFERENCE, state.BEYOND, state.NO_LOG,
             state.UNNAMED, state.UNNAMED]
        )
    )  # fmt: skip
    assert found[0]["source_topic"] == "orders"
    assert (found[0]["message"], found[0]["source_offset"]) == ("bad", 5)
    # No path comes from a header.
    assert _run(logs, "-o", tmp_path / "out", "--to", "segments")[0] == 1
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == ["none-0", "orders-3"]


def test_what_is_gone_has_the_reason_of_gaps(tmp_path: Path) -> None:
    """A letter about what the cleaner removed, what is damaged, and what retention deleted."""
    compacted = Path(__file__).parents[1] / "golden" / "4.4.0" / "logs" / "compacted-0"
    logs = tmp_path / "logs"
    shutil.copytree(compacted, logs / "compacted-0")
    with ks.Partition(compacted) as log:
        there = {record.offset for record in log.records(include_control=True)}
        end = log.log_end_offset
    removed = next(offset for offset in range(end) if offset not in there)
    with ks.SegmentWriter(logs / "damaged-0", sync=False) as log:
        for at in range(2):
            log.append_records([ks.Record(at, 0, b"k", b"v" * 50)])
    segment = next((logs / "damaged-0").glob("*.log"))
    data = bytearray(segment.read_bytes())
    data[100] ^= 1
    segment.write_bytes(data)
    with ks.SegmentWriter(logs / "deleted-0", 9, sync=False) as log:
        log.append_records([ks.Record(9, 0, b"k", b"v")])
    writer = WRITERS[0]
    about = [("compacted", removed), ("damaged", 0), ("deleted", 4)]
    _log(
        logs / "dead-0",
        [(b"", b"", _written(writer, topic=t, partition=0, offset=o)) for t, o in about],
    )
    code, found = _letters(logs)
    assert code == 1
    assert [(each["source"], each["why"]) for each in found] == [
        (SourceState.GONE, "compaction"), (SourceState.UNREADABLE, "unreadable"),
        (SourceState.GONE, "retention"),
    ]  # fmt: skip
    assert all(each["strength"] for each in found)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(WRITERS),
            st.sampled_from(["orders", "gone", "\ud800".encode("utf-8", "replace").decode()]),
            st.integers(0, 40),
            st.booleans(),
        ),
        min_size=1,
        max_size=60,
    )
)
def test_columns_agree_with_a_loop_over_records(
    tmp_path_factory: pytest.TempPathFactory, letters: list[Any]
) -> None:
    """Joined and exported in columns, letters are what a loop over ``Record`` makes of them."""
    work = tmp_path_factory.mktemp("letters")
    source: list[Content] = [
        (b"k%d" % at, None if at % 7 == 0 else b"v%d" % at, []) for at in range(30)
    ]
    _log(work / "orders-0", source)
    made, wanted = list[Content](), list[SourceState]()
    for writer, topic, offset, same in letters:
        key, value = b"k%d" % offset, b"v%d" % offset if same else b"x"
        made.append((key, value, _written(writer, topic=topic, partition=0, offset=offset)))
        if topic not in ("orders", "gone"):
            wanted.append(SourceState.UNNAMED)
        elif topic == "gone":
            wanted.append(SourceState.NO_LOG)
        elif offset >= len(source):
            wanted.append(SourceState.BEYOND)
        elif source[offset][:2] == (key, value):
            wanted.append(SourceState.SAME)
        else:
            wanted.append(SourceState.DIFFERENT)
    _log(work / "dead-0", made)
    with ks.LogDirectory(work) as directory:
        dead = read_dead_letters(directory.current, directory.current)
        assert dead.letters["source"].to_pylist() == wanted
        count = export_originals(dead, directory.current, work / "out.arrow", "arrow")
    with pa.OSFile(str(work / "out.arrow")) as file:
        rows = pa.ipc.open_file(file).read_all().to_pylist()
    places = {(topic, offset) for _, topic, offset, _ in letters if topic in ("orders", "gone")}
    assert [(row["topic"], row["offset"]) for row in rows] == sorted(places)
    assert count == len(rows)
    for row in rows:
        if row["copied_from"] == "source":
            assert (row["key"], row["value"]) == source[row["offset"]][:2]


def with_letters(place: Path, *topics: str) -> Path:
    """Return logs with a registry's topic, and letters about every second record of some topics."""
    shutil.copytree(_REGISTRY / "_schemas-0", place / "_schemas-0")
    letters: list[Content] = []
    for topic in topics:
        shutil.copytree(_REGISTRY / f"{topic}-0", place / f"{topic}-0")
        with ks.Partition(place / f"{topic}-0") as log:
            for record in list(log.records())[::2]:
                about = _written(WRITERS[0], topic=topic, partition=0, offset=record.offset)
                headers = [*record.headers, *about]
                letters.append((record.key, record.value, headers))
    _log(place / "dead-0", letters)
    return place


def _dumped(log: Path) -> dict[int, dict[str, Any]]:
    """Return what ``dump`` shows of typed keys and values, by offset."""
    arguments = ["dump", "--value", "decode", "--key-format", "auto", "--format", "json", str(log)]
    result = CliRunner().invoke(main, arguments)
    rows = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    return {
        row["offset"]: {name: row[name] for name in row if name.startswith(("key", "value"))}
        for row in rows
    }


def _without_nulls(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: each for name, each in value.items() if each is not None}


_TOPICS = ("orders", "bad", "proto-mixed", "headers")


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.slow
def test_letters_are_typed_as_their_topics_are(there: bool, tmp_path: Path) -> None:
    """In JSON and text: what ``dump`` shows of the same records, the reasons why they fail too."""
    logs = with_letters(tmp_path / "logs", *_TOPICS)
    wanted = {topic: _dumped(logs / f"{topic}-0") for topic in _TOPICS}
    if not there:
        for topic in _TOPICS:
            shutil.rmtree(logs / f"{topic}-0")
    options = ["--value", "decode", "--key-format", "auto"]
    code, found = _letters(logs, *options)
    assert code == 1  # some values of "bad" do not decode
    assert len(found) == sum(len(rows) // 2 + len(rows) % 2 for rows in wanted.values())
    for letter in found:
        row = wanted[letter["source_topic"]][letter["source_offset"]]
        assert letter["source"] == (SourceState.SAME if there else SourceState.NO_LOG)
        if there:
            assert letter["letter_record"] == letter["source_record"] == row, letter
            continue
        assert letter["source_record"] is None
        # Of several types of records, only those that letters are about are known.
        assert _without_nulls(letter["letter_record"]["value"]) == _without_nulls(row["value"])
    text = _run(logs, *options, "--show-letters")[1]
    assert text.count("    source: " if there else "    letter: ") == min(len(found), 50)
    assert "letter_record" not in _letters(logs)[1][0]


@pytest.mark.slow
def test_typed_originals_are_those_of_export(tmp_path: Path) -> None:
    """In folders by topic as Parquet, as JSON lines in one file, as Parquet of one topic."""
    logs = with_letters(tmp_path / "logs", *_TOPICS)
    options = ["--value", "decode", "--key-format", "auto"]
    wanted: dict[str, list[dict[str, Any]]] = {}
    for topic in _TOPICS:
        out = tmp_path / f"{topic}.parquet"
        arguments = ["export", *options, "--topic", topic, str(logs), "-o", str(out)]
        assert CliRunner().invoke(main, arguments).exit_code in (0, 1)
        wanted[topic] = pq.read_table(out).to_pylist()[::2]
    assert _run(logs, *options, "-o", tmp_path / "folders", "--split-by", "topic")[0] == 1
    for topic, rows in wanted.items():
        (path,) = (tmp_path / "folders" / f"topic={topic}").iterdir()
        found = pq.ParquetFile(path).read().to_pylist()
        for row in found:
            assert row.pop("copied_from") == "source"
        typed = [name for name in found[0] if name.startswith(("key", "value"))]
        assert [{name: row[name] for name in typed} for row in found] == [
            {name: row[name] for name in typed} for row in rows
        ]
        assert [row["offset"] for row in found] == [row["offset"] for row in rows]
    assert _run(logs, *options, "-o", tmp_path / "one.jsonl")[0] == 1
    lines = [json.loads(line) for line in (tmp_path / "one.jsonl").read_text().splitlines()]
    assert [line["topic"] for line in lines] == [
        topic for topic in sorted(wanted) for _ in wanted[topic]
    ]
    code, output = _run(logs, *options, "-o", tmp_path / "several.parquet")
    assert (code, "split by topic" in output) == (2, True)
    assert not (tmp_path / "several.parquet").exists()
    one = with_letters(tmp_path / "one", "orders")
    assert _run(one, *options, "-o", tmp_path / "one.parquet")[0] == 0
    assert pq.read_table(tmp_path / "one.parquet")["value"].to_pylist() == [
        row["value"] for row in wanted["orders"]
    ]


@pytest.mark.slow
def test_rows_without_a_value_follow_the_option(tmp_path: Path) -> None:
    logs = with_letters(tmp_path / "logs", "bad")
    decode = ["--value", "decode", "--on-value-error"]
    assert _run(logs, *decode, "skip", "-o", tmp_path / "kept.jsonl")[0] == 1
    with ks.Partition(logs / "bad-0") as log:
        kept = log.to_typed(on_value_error="skip").read_all()["offset"].to_pylist()
    lines = (tmp_path / "kept.jsonl").read_text().splitlines()
    assert [json.loads(line)["offset"] for line in lines] == [each for each in kept if not each % 2]
    assert _run(logs, *decode, "raise", "-o", tmp_path / "none.jsonl")[0] == 2
    assert not (tmp_path / "none.jsonl").exists()


def test_letters_of_spring() -> None:
    """Spring's own class: a listener that fails, and keys that cannot be read."""
    failed = "org.springframework.kafka.listener.ListenerExecutionFailedException"
    unread = "org.springframework.kafka.support.serializer.DeserializationException"
    (layout,) = (each for each in WRITERS if each.writer == "spring")
    known = {header.key for header in layout.headers}
    for topic, group, exception, offsets in (
        ("dlq.spring", "listeners", failed, list(_BROKEN)),
        ("dlq.spring.keys", "readers", unread, list(range(9))),
    ):
        code, found = _letters("--topic", topic, SPRING)
        assert code == 0
        assert [each["source_offset"] for each in found] == offsets
        assert {(each["writer"], each["source_topic"], each["source_partition"], each["source"],
                 each["group"], each["exception"]) for each in found} == {
            ("spring", "readings", 0, SourceState.SAME, group, exception)
        }  # fmt: skip
        with ks.Partition(SPRING / "readings-0") as log:
            times = {record.offset: record.timestamp for record in log.records()}
        for each in found:
            assert each["source_timestamp"] == times[each["source_offset"]]
            assert each["source_timestamp_type"] == "CreateTime"
            assert each["message"]
            assert each["stacktrace"]
        with ks.Partition(SPRING / f"{topic}-0") as log:
            for record in log.records():
                assert {key for key, _ in record.headers} - {"origin"} <= known


@pytest.mark.parametrize("topic", ["dlq.spring", "dlq.spring.keys"])
def test_what_spring_took_is_what_the_log_has(topic: str, tmp_path: Path) -> None:
    """Without the log, letters give back keys and values, and the headers that the record had."""
    shutil.copytree(SPRING / f"{topic}-0", tmp_path / "logs" / f"{topic}-0")
    out = tmp_path / "out"
    assert _run(tmp_path / "logs", "-o", out, "--to", "segments")[0] == 1
    with ks.Partition(SPRING / "readings-0") as log, ks.Partition(out / "readings-0") as made:
        whole = {record.offset: record for record in log.records()}
        for record in made.records():
            was = whole[record.offset]
            assert (record.key, record.value, record.headers) == (was.key, was.value, was.headers)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--to", "jsonl"], "go with -o"),
        (["--split-by", "topic"], "go with -o"),
        (["-o", "out", "--to", "segments", "--value", "decode"], "as they are"),
        (["--value", "decode", "--show-letters"], "no schemas"),
        (["--value", "nonsense"], "--show-letters, -o, or --format json"),
        (["--value", "nonsense", "--show-letters"], "no format 'nonsense'"),
        (["--schemas", "x"], "--value decode"),
        (["-o", "out.txt"], "name the format"),
        (["--topic", "none"], "there is no topic 'none'"),
    ],
)
def test_wrong_usage_says_what_there_is(arguments: list[str], text: str) -> None:
    code, output = _run(BROKER, *arguments)
    assert code == 2
    assert text in output


@pytest.mark.parametrize("named", [True, False])
def test_a_segment_alone_gives_what_its_letters_have(named: bool, tmp_path: Path) -> None:
    """Also one that is apart, so that nothing says its topic."""
    log = next((BROKER / "dlq.copies-0").glob("*.log"))
    path = log if named else Path(shutil.copy(log, tmp_path / "apart.log"))
    assert _run(path, "-o", tmp_path / "out.jsonl")[0] == 1
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["offset"] for row in rows] == list(_REJECTED)
    assert {row["copied_from"] for row in rows} == {"letter"}


def test_what_headers_do_not_say_is_a_question_mark(tmp_path: Path) -> None:
    about = _written(WRITERS[0], topic="orders", offset=5)
    log = _log(tmp_path / "dead-0", [(b"k", b"v", [*about, ("__dlq.errors.partition", b"9" * 30)])])
    assert "dead-0 offset 0: orders-? offset 5 [unnamed]" in _run(log, "--show-letters")[1]


def test_an_output_that_exists_stays(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text("mine")
    code, output = _run(BROKER, "-o", tmp_path / "out.jsonl")
    assert (code, "exists already" in output) == (2, True)
    with ks.LogDirectory(BROKER) as logs:
        dead = read_dead_letters(logs.current, logs.current)
        with pytest.raises(KafkaSpecError, match="exists already"):
            export_originals(dead, logs.current, tmp_path / "out.jsonl", "jsonl")
    assert (tmp_path / "out.jsonl").read_text() == "mine"
    assert _run(BROKER, "-o", BROKER / "out.jsonl")[0] == 2
    assert not (BROKER / "out.jsonl").exists()
