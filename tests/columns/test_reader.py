"""The reader of columns: whole segments of real brokers, by codecs with and without a core."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from kafkaspec.codecs import Codec, codec_names
from kafkaspec.codecs.native.core import Core
from kafkaspec.columns.memory import Columns, Layout
from kafkaspec.columns.reader import Reader
from kafkaspec.columns.wanted import Wanted
from kafkaspec.errors import KafkaSpecError
from kafkaspec.log.encoding import encode
from kafkaspec.log.headers import divided, header_tables
from kafkaspec.log.segment import Segment
from kafkaspec.model import Record
from tests import goldens
from tests.codecs.native_cases import NAMES, golden_segments, integers, records
from tests.loops import each

pytestmark = pytest.mark.usefixtures("libraries")

CODECS = [name for name in ("native", "python") if name in codec_names()]
POSITION = "batch.position"
SOME = list(golden_segments())[::10]


class Noted(Reader):
    """Remembers which entries went through records."""

    def _add(self, batch: Any) -> Iterator[Columns]:
        self.noted: list[int] = [*getattr(self, "noted", []), batch.position]
        return super()._add(batch)


def expected_of(data: Any) -> list[Record]:
    with Segment(data, codec="python") as segment:
        return [record for batch in segment.batches() for record in batch.records()]


def read(
    data: bytes,
    codec: str | Codec,
    layout: Layout = Layout.VIEW,
    max_bytes: int = 1 << 20,
    within: tuple[int, int | None] = (0, None),
) -> tuple[list[Record], list[int]]:
    """The records of all columns, control records too, and entries that C left to objects."""
    found: list[Record] = []
    with Segment(data, codec=codec) as segment:
        start, end = within
        wanted = Wanted(
            include_control=True, max_bytes=max_bytes, start_position=start, end_position=end
        )
        reader = Noted(segment, (*NAMES, POSITION), wanted, layout=layout)
        positions = {batch.position for batch in segment.batches()}
        for columns in reader:
            assert columns.rows
            where = integers(columns.columns[POSITION])[: columns.rows]
            assert {columns.start + position for position in where} <= positions
            sources = columns.sources
            found += records(columns.columns, columns.rows, columns.layout, tuple(sources))
    return found, getattr(reader, "noted", [])


@pytest.mark.slow
@each("golden", golden_segments())
def test_golden_segments(golden: goldens.Golden) -> None:
    data = golden.path.read_bytes()
    expected = expected_of(data)
    for codec in CODECS:
        for layout, size in ((Layout.VIEW, 1 << 20), (Layout.BINARY, 1), (Layout.VIEW, 5000)):
            found, noted = read(data, codec, layout, size)
            assert found == expected
            assert noted == [] or codec != "native", "real segments need no help"


RECORDS = [Record(10 + i, 1000 + i, b"k%d" % i, b"value %d" % i * (i % 9)) for i in range(20)]


@pytest.mark.core
@pytest.mark.parametrize("codec", CODECS)
def test_errors_are_those_of_the_batches(codec: str) -> None:
    """A segment with one broken byte: the error of the batch that holds it, to the byte."""
    chance = random.Random(5)
    data = encode(RECORDS) + encode(RECORDS, compression="zstd")
    data += encode(RECORDS, magic=1, compression="gzip")
    for _ in range(300):
        broken = bytearray(data)
        broken[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        outcomes: list[Any] = []
        for attempt in (expected_of, lambda bad: read(bad, codec)[0]):
            try:
                outcomes.append(attempt(bytes(broken)))
            except KafkaSpecError as error:
                outcomes.append((error.reason, error.position, error.inner_position, error.path))
        assert outcomes[0] == outcomes[1]


def test_a_codec_without_a_core_gives_the_same_columns() -> None:
    """All that the core knows of records and their entries, but what only it can know."""
    names = [
        name
        for name in Core(pytest.importorskip("kafkaspec._native")).columns
        if name in NAMES or name == "sequence" or name.startswith("batch.")
    ]
    # The length before a message is no field of it.
    framing = {"batch.len_message"}
    names = [name for name in names if name not in framing]
    data = b"".join(
        encode(RECORDS, magic=magic, compression=compression, **extra)  # type: ignore[arg-type]
        for magic, extra in (
            (2, {"producer_id": 7, "producer_epoch": 1, "base_sequence": 3}),
            (1, {}),
        )
        for compression in ("none", "gzip")
    )
    found = []
    for codec in ("native", "python"):
        numbers: dict[str, list[int]] = {name: [] for name in names if name not in NAMES[2:]}
        with Segment(data, codec=codec) as segment:
            for columns in Reader(segment, names, Wanted()):
                for name, values in numbers.items():
                    column = integers(columns.columns[name])[: columns.rows].tolist()
                    values += [columns.start + n for n in column] if name == POSITION else column
        found.append(numbers)
    assert found[0] == found[1]


@pytest.mark.core
@each("golden", golden_segments())
def test_ranges_have_the_records_of_the_whole(golden: goldens.Golden, libraries: str) -> None:
    if libraries == "PyPI" and golden not in SOME:
        return  # a library does not know of ranges, and the whole is compared above
    data = golden.path.read_bytes()
    for codec in CODECS:
        whole = read(data, codec)[0]
        with Segment(data, codec=codec) as segment:
            for most in (1500, 1 << 30):
                tables = header_tables(segment)
                parts = [part for table in tables for part in divided(table, most)]
                parts.append((parts[-1][1] if parts else 0, segment.size))  # what is not regular
                assert [start for start, _ in parts[1:]] == [end for _, end in parts[:-1]]
                starts = {batch.position for batch in segment.batches()} | {segment.size}
                assert {start for start, _ in parts} <= starts
                found = [record for part in parts for record in read(data, codec, within=part)[0]]
                assert found == whole
