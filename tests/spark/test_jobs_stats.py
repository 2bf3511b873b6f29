"""``stats`` and ``conformance``: against ``verify``, the producers and codecs that lie."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

import numpy as np
from click.testing import CliRunner

import kafkaspec as ks
from kafkaspec.analysis.parts import WHOLE, spans_of
from kafkaspec.cli.main import main
from kafkaspec.codecs import installed
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.log.segment import Segment
from kafkaspec.spark.jobs import plots
from kafkaspec.spark.jobs.conformance import Part, compare
from kafkaspec.spark.jobs.stats import Place, read_headers, stats
from tests.goldens import GOLDEN, compacted, produced

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOGS = GOLDEN / "0.11.0.3" / "logs"


def test_totals_are_those_of_verify_and_of_the_producers(
    spark: SparkSession, tmp_path: Path
) -> None:
    found = stats(spark, str(LOGS))
    rows = {f"{row.topic}-{row.partition}": row for row in found.partitions.collect()}
    verified = Counter[str]()
    for result in ks.verify(LOGS).files:
        if result.kind == "segment":
            verified[result.partition.rsplit("/", 1)[-1]] += result.batches
    assert {name: row.batches for name, row in rows.items()} == dict(verified)
    for name, records in produced("0.11.0.3").items():
        if name not in compacted("0.11.0.3"):
            assert rows[name].records == len(records)
    sizes = sum(path.stat().st_size for path in LOGS.glob("*/*.log"))
    assert sum(row.file_bytes for row in rows.values()) == sizes
    assert sum(row.bytes for row in rows.values()) == sizes
    ratios = {(r.topic, r.compression): r.ratio for r in found.codecs.collect()}
    assert ratios["codec-none", "none"] is None
    assert ratios["codec-gzip", "gzip"] > 1
    gaps = {row.topic for row in found.gaps.select("topic").distinct().collect()}
    assert "compacted" in gaps
    assert "plain" not in gaps
    assert found.producers.where("topic = 'idempotent'").count() > 0
    pytest.importorskip("matplotlib")
    for path in plots.plot(found, tmp_path):
        assert path.read_bytes().startswith(b"\x89PNG")
    found.unpersist()


def test_pictures_show_what_is_missing_and_what_is_equal(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    first, later = datetime(2023, 11, 14, 22, tzinfo=UTC), datetime(2026, 11, 14, 22, tzinfo=UTC)
    hours = [first, first + timedelta(hours=1), later]
    counts = plots.Counts(
        {1024: 3, 8192: 4},
        [("gzip", 5 << 20, 2.5), ("none", 30 << 20, None)],
        [(topic, hour, 7) for topic in ("stock", "orders", "bills", "tax") for hour in hours]
        + [("alone", first, 9)],
    )
    sizes, compression, time = (item.axes[0] for item in plots.figures(counts))
    texts = [label.get_text() for label in sizes.get_xticklabels()]
    assert texts == ["1 KiB", "2 KiB", "4 KiB", "8 KiB"]
    assert [bar.get_height() for bar in sizes.patches] == [3, 0, 0, 4]  # type: ignore[attr-defined]
    ticks = compression.yaxis.get_major_formatter()
    assert [ticks(at) for at in (0, 8 << 20, 512 << 10)] == ["0 B", "8 MiB", "512 KiB"]
    assert all(int(at) & (int(at) - 1) == 0 for at in compression.get_yticks()[1:3])
    assert time.get_xlabel() == "hour (UTC)"
    assert {line.get_label() for line in time.lines} == {
        "alone",
        "bills, orders, stock and 1 more",
    }
    line = next(line for line in time.lines if "bills" in str(line.get_label()))
    seen = np.asarray(line.get_ydata())
    assert np.isnan(seen).tolist() == [False, False, True, False]  # three years are no line
    assert len({line.get_linewidth() for line in time.lines}) == 2
    empty = plots.figures(plots.Counts({}, [], []))
    for number, figure in enumerate([*empty, *plots.figures(counts)]):
        figure.savefig(tmp_path / f"{number}.png")


def test_unreadable_batches_are_rows(tmp_path: Path) -> None:
    data = bytearray((GOLDEN / "4.3.1/logs/plain-0/00000000000000000000.log").read_bytes())
    sound = [len(batch) for batch in read_headers(_place(tmp_path, data))]
    positions = [batch.position for batch in Segment(tmp_path / "x-0" / NAME).batches()]
    data[positions[1] + 16] = 9  # a magic that nobody knows
    rows = [row for batch in read_headers(_place(tmp_path, data)) for row in batch.to_pylist()]
    assert len(rows) == sum(sound)
    assert [row["position"] for row in rows if row["error"]] == [positions[1] + 16]
    assert "value 9 is not allowed" in next(row["error"] for row in rows if row["error"])
    gone = Place(str(tmp_path / "no.log"), None, None, True)
    (batch,) = read_headers(gone)
    assert "unreadable" in batch.to_pylist()[0]["error"]


NAME = "00000000000000000000.log"


def _place(folder: Path, data: bytes | bytearray) -> Place:
    path = folder / "x-0" / NAME
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return Place(str(path), "x", 0, True)


def test_wrappers_say_how_many_records_they_hold() -> None:
    folder = GOLDEN / "0.10.2.2" / "logs" / "codec-gzip-0"
    rows = [
        row
        for path in sorted(folder.glob("*.log"))
        for batch in read_headers(Place(str(path), "t", 0, True))
        for row in batch.to_pylist()
    ]
    assert sum(row["num_records"] for row in rows) == len(produced("0.10.2.2")["codec-gzip-0"])
    assert sum(row["uncompressed"] for row in rows) > sum(row["payload"] for row in rows) > 0


class _Liar(PythonCodec):
    """Reads one field of a header and one value of a record wrongly."""

    name = "liar"

    def parse(self, type_key: str, *args: Any, **options: Any) -> tuple[Any, int]:
        value, end = super().parse(type_key, *args, **options)
        if type_key == "recordbatch.entry" and value.base_offset == 0:
            value.message.producer_epoch = 77
        return value, end

    def decode_records(self, *args: Any, **options: Any) -> list[ks.Record]:
        first, *others = super().decode_records(*args, **options)
        return [first._replace(value=b"a lie"), *others]


def test_a_codec_that_lies_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    path = next((GOLDEN / "4.3.1/logs/segments-0").glob("0*0.log"))
    place = (__name__, "_Liar", None)
    monkeypatch.setitem(installed.CODECS, "liar", place)
    (batch,) = compare(Part(str(path), "segments", 0, WHOLE, ("native", "python", "liar")))
    *rows, part = batch.to_pylist()
    batches = list(Segment(path).batches())
    assert part["batches"] == len(batches)
    assert part["differences"] == len(rows)
    assert {row["other_codec"] for row in rows} == {"liar"}
    header, *values = [row for row in rows if row["position"] == 0]
    assert (header["path"], header["value"], header["other_value"]) == (
        "producer_epoch",
        "-1",
        "77",
    )
    first = Segment(path).batch_at(0).records()[0].value
    assert first is not None
    assert values[0]["path"] == "records/0/value"
    assert first[:20].hex(" ") in values[0]["value"]
    assert b"a lie".hex(" ") in values[0]["other_value"]


def test_parts_compare_each_batch_once() -> None:
    path = GOLDEN / "4.3.1/logs/segments-0" / NAME
    spans = spans_of(path, 300)
    assert len(spans) > 1
    rows = [
        row
        for span in spans
        for batch in compare(Part(str(path), "segments", 0, span, ("native", "python")))
        for row in batch.to_pylist()
    ]
    assert sum(row["batches"] for row in rows) == len(list(Segment(path).batches()))
    assert not any(row["differences"] for row in rows)


def test_the_commands(spark: SparkSession) -> None:
    logs = str(GOLDEN / "2.8.2" / "logs" / "transactions-0")
    run = CliRunner().invoke(main, ["spark", "conformance", logs, "--format", "json"])
    assert run.exit_code == 0, run.output
    summary = json.loads(run.stdout.splitlines()[-1])
    totals = ks.verify(logs).totals
    assert (summary["batches"], summary["records"]) == (totals.batches, totals.records)
    assert summary["codecs"] == list(installed.codec_names())
    run = CliRunner().invoke(main, ["spark", "stats", logs])
    assert run.exit_code == 0, run.output
    assert "1 partition, " in run.stdout
