"""Times as ``datetime``, ISO text or milliseconds, wherever one is asked for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kafkaspec as ks
from kafkaspec.cli.options import Timestamp
from kafkaspec.state.groups import read_groups
from kafkaspec.times import Time, milliseconds
from tests.goldens import GOLDEN

LOGS = GOLDEN / "4.4.0" / "logs"
EAST = timezone(timedelta(hours=5, minutes=30))
MS = 1609459220123
SAME: list[Any] = [
    MS,
    str(MS),
    "2021-01-01T00:00:20.123Z",
    "2021-01-01T00:00:20.123",
    "2021-01-01 05:30:20.123+05:30",
    datetime(2021, 1, 1, 0, 0, 20, 123_000),
    datetime(2021, 1, 1, 0, 0, 20, 123_999, UTC),
    datetime(2021, 1, 1, 5, 30, 20, 123_000, EAST),
    np.int64(MS),
]


@pytest.mark.parametrize("time", SAME, ids=repr)
def test_the_same_time_in_all_forms(time: Any) -> None:
    assert milliseconds(time) == MS
    if isinstance(time, str | int):
        assert Timestamp().convert(time, None, None) == MS


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2021-13-01", "1.5", "0001-01-01T00:00:00+24:00"]
)
def test_no_time_is_a_value_error_that_names_the_option(text: str) -> None:
    with ks.open(LOGS) as log:
        readers: list[Callable[..., Any]] = [
            lambda **given: list(log.records(**given)), log.to_batches, log.to_arrow,
        ]  # fmt: skip
        for read in readers:
            with pytest.raises(ValueError, match=r"^start_timestamp: .* ISO 8601, such as"):
                read(start_timestamp=text)
        with pytest.raises(ValueError, match=r"^timestamp: .* ISO 8601, such as"):
            log.find(timestamp=text)


@pytest.mark.parametrize("wrong", [1.5, True, timedelta(1), b"0", object()])
def test_what_is_no_time_at_all_is_a_type_error(wrong: Any) -> None:
    with pytest.raises(TypeError, match="neither a datetime"), ks.open(LOGS) as log:
        log.to_batches(end_timestamp=wrong)


def test_a_time_before_the_calendar_of_another_zone() -> None:
    """Python cannot shift it to UTC, but it is a time."""
    first = datetime(1, 1, 1, tzinfo=EAST)
    expected = milliseconds(datetime(1, 1, 1)) - (5 * 60 + 30) * 60_000
    assert milliseconds(first) == milliseconds(first.isoformat()) == expected


def whole_and_half() -> tuple[list[int], datetime]:
    """The timestamps of a partition, and one in the middle."""
    with ks.open(LOGS / "plain-0") as log:
        stamps = sorted({record.timestamp for record in log.records()})
    middle = stamps[len(stamps) // 2]
    return stamps, datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=middle)


def forms(moment: datetime) -> list[Time]:
    return [moment, moment.astimezone(EAST), moment.isoformat(), moment.replace(tzinfo=None)]


@pytest.mark.slow
@pytest.mark.parametrize("place", [".", "plain-0", "segment"])
def test_every_reader_takes_every_form(place: str) -> None:
    path = next((LOGS / "plain-0").glob("*.log")) if place == "segment" else LOGS / place
    _, moment = whole_and_half()
    ms = milliseconds(moment)
    with ks.open(path) as log:
        readers: list[Callable[..., Any]] = [
            lambda time: list(log.records(start_timestamp=time)),
            lambda time: list(log.records(end_timestamp=time)),
            lambda time: log.to_arrow(start_timestamp=time).num_rows,
            lambda time: log.to_batches(end_timestamp=time).read_all().num_rows,
            lambda time: repr(log.find(timestamp=time)),
        ]
        for read in readers:
            expected = read(ms)
            assert all(read(time) == expected for time in forms(moment))
        assert 0 < len(readers[0](ms)) < len(list(log.records()))


def test_conversion_and_encoding_take_every_form(tmp_path: Path) -> None:
    _, moment = whole_and_half()
    counts = set()
    for number, time in enumerate([milliseconds(moment), *forms(moment)]):
        done = ks.convert(LOGS / "plain-0", tmp_path / str(number), end_timestamp=time)
        assert not done.partitions[0].findings
        counts.add(len(list(ks.Partition(tmp_path / str(number)).records())))
    assert len(counts) == 1
    given = [ks.Record(0, MS, None, b"")]
    made = {
        ks.encode(given, timestamp_type="LogAppendTime", max_timestamp=time, delete_horizon=time)
        for time in SAME
    }
    assert len(made) == 1


def test_states_take_every_form() -> None:
    with ks.Partition(next(LOGS.glob("__consumer_offsets-*"))) as log:
        stamps = sorted(record.timestamp for record in log.records())
        moment = datetime.fromtimestamp(stamps[len(stamps) // 2] // 1000, UTC)
        expected = read_groups(log, at=milliseconds(moment)).offsets
        for time in forms(moment):
            assert read_groups(log, at=time).offsets.equals(expected)
