"""Large batches come as columns in pieces: the same rows as their records."""

from __future__ import annotations

from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.codecs import codec_names
from kafkaspec.columns import reader
from kafkaspec.log import pieces
from tests.log import forge, grown
from tests.log.test_pieces import MEBIBYTE, grown_by, measured

pytest.importorskip("pyarrow")

COLUMNS = ["offset", "timestamp", "key", "value", "headers", "batch_position", "sequence"]


@pytest.mark.slow
@measured
@pytest.mark.parametrize("layout", ["view", "binary"])
def test_millions_of_rows_of_a_few_bytes(tmp_path: Path, layout: str) -> None:
    what = f"lambda path: sum(len(b) for b in ks.open(path).to_batches(layout={layout!r}))"
    found, size = grown_by(tmp_path, what, grown.records(8_000_000))
    assert found == "8000000"
    assert size < 192 * MEBIBYTE


@pytest.mark.slow
@measured
def test_millions_of_messages_in_a_wrapper(tmp_path: Path) -> None:
    """A payload of 102 MB, of which a few are held."""
    what = "lambda path: sum(len(b) for b in ks.open(path).to_batches())"
    found, size = grown_by(tmp_path, what, grown.wrapper(3_000_000))
    assert found == "3000000"
    assert size < 128 * MEBIBYTE


@pytest.mark.slow
def test_rows_are_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches before and after a large one too, in both layouts and every codec."""
    small = [forge.record(0, b"small", headers=[(b"a", b"1")])]
    many = [
        forge.record(n, b"v" * (n % 50), key=b"k", headers=[(b"h", b"x" * 20)] * (n % 3))
        for n in range(300)
    ]
    compressed = grown.repeated(grown.RECORD, 300)
    segment = b"".join(
        [
            forge.batch(0, small),
            forge.batch(10, many, producer=(7, 0, 5)),
            forge.batch(400, compressed, count=300, attributes=grown.ZSTD, last_offset_delta=299),
            forge.batch(900, small),
        ]
    )
    wanted = list(ks.decode(segment))
    table = ks.Segment(segment).to_arrow(COLUMNS)
    assert table["offset"].to_pylist() == [record.offset for record in wanted]
    monkeypatch.setattr(reader, "WHOLE_BYTES", 1000)
    monkeypatch.setattr(pieces, "PIECE_BYTES", 1000)
    for codec in codec_names():
        for layout in ("view", "binary"):
            made = ks.Segment(segment, codec=codec).to_arrow(COLUMNS, layout=layout)
            assert made.cast(table.schema).to_pylist() == table.to_pylist(), (codec, layout)


@pytest.mark.core
def test_an_error_comes_after_the_batches_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "WHOLE_BYTES", 1000)
    monkeypatch.setattr(pieces, "PIECE_BYTES", 1000)
    good, bad = forge.batch(0, [forge.record(0, b"good")]), grown.records(400, said=401)
    for codec in codec_names():
        batches = ks.Segment(good + bad, codec=codec).to_batches()
        assert len(batches.read_next_batch()) == 1, codec
        with pytest.raises(ks.KafkaSpecError) as raised:
            batches.read_next_batch()
        assert raised.value.path == "/message/content/records/records/400/len_body", codec
