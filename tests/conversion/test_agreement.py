"""The comparison says the same with and without columns of the core, and agrees with no change."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.codecs import codec_names, get_codec
from kafkaspec.conversion.choices import Choices
from kafkaspec.conversion.compare import compare
from kafkaspec.conversion.partition import PartitionConversion
from kafkaspec.conversion.report import SideComparison
from kafkaspec.model import Record
from tests.conversion.test_regrouped import regular
from tests.conversion.ways import log
from tests.extent import some
from tests.goldens import distinct
from tests.log import forge

pytestmark = pytest.mark.skipif("native" not in codec_names(), reason="there are no columns")

ROWS = 90
LONG = b"0123456789abcdef" * 3


def _records() -> list[Record]:
    chance = random.Random(1)
    return [
        Record(
            7 + row + row // 9, 1000 + row, chance.choice([None, b"", b"key", LONG]),
            chance.choice([b"", b"value", LONG]), (("a", b"x"), ("name", LONG), ("b", None)),
        )
        for row in range(ROWS)
    ]  # fmt: skip


def _changed(**parts: Any) -> Callable[[list[Record]], None]:
    def change(records: list[Record]) -> None:
        row = len(records) - 2
        assert any(getattr(records[row], name) != value for name, value in parts.items())
        records[row] = records[row]._replace(**parts)

    return change


CHANGES: dict[str, Callable[[list[Record]], None]] = {
    "timestamp": _changed(timestamp=1),
    "key": _changed(key=b"other"),
    "null key": lambda records: _changed(key=b"" if records[-2].key is None else None)(records),
    "value": _changed(value=b"other"),
    "null value": _changed(value=None),
    "end of a long value": _changed(value=LONG[:-1] + b"!"),
    "no header": _changed(headers=()),
    "key of a header": _changed(headers=(("a", b"x"), ("nam.", LONG), ("b", None))),
    "value of a header": _changed(headers=(("a", b"y"), ("name", LONG), ("b", None))),
    "long value of a header": _changed(headers=(("a", b"x"), ("name", LONG[1:]), ("b", None))),
    "null value of a header": _changed(headers=(("a", b"x"), ("name", LONG), ("b", b""))),
    "offset": lambda records: records.append(records.pop()._replace(offset=1000)),
    "one too many": lambda records: records.append(records[-1]._replace(offset=1000)),
    "one missing": lambda records: records.pop() and None,
}
HEADERS: dict[str, dict[str, Any]] = {
    "producer_id": {"producer_id": 4},
    "producer_epoch": {"producer_id": 4, "producer_epoch": 1},
    "sequence": {"base_sequence": 3},
    "transactional": {"transactional": True},
    "leader_epoch": {"partition_leader_epoch": 3},
    "timestamp_type": {"timestamp_type": "LogAppendTime", "max_timestamp": 1000},
    "delete_horizon": {"delete_horizon": 1000},
    "a reserved bit": {"header": {"attributes.reserved": 1}},
    "attributes of a record": {"fields": [{}] * (ROWS - 1) + [{"attributes": 1}]},
}


NAMED = {
    "timestamp_type": "timestamp",
    "a reserved bit": "attributes.reserved",
    "attributes of a record": "record.attributes",
}


def _both(conversion: PartitionConversion, plan: Choices) -> SideComparison:
    """What columns of the core say, and what record objects of the Python codec say too."""
    found, again = (
        compare(conversion, plan, get_codec(name), low=plan.start_offset)
        for name in ("native", "python")
    )
    assert again == found
    return found


OFFSETS: list[dict[str, Any]] = [
    {}, {"offsets": "renumber"}, {"offsets": "shift", "base_offset": 3},
]  # fmt: skip


def _converted(data: bytes, directory: Path, **choices: Any) -> tuple[PartitionConversion, Choices]:
    directory.mkdir(exist_ok=True)
    path, plan = directory / f"{0:020d}.log", Choices(**choices)
    path.write_bytes(data)
    conversion = PartitionConversion("", [path], directory / "out", plan, get_codec("native"))
    conversion.run()
    return conversion, plan


@pytest.mark.core
@pytest.mark.parametrize("compression", ["none", "lz4"])
def test_every_change_is_found_and_reported_as_ever(compression: str, tmp_path: Path) -> None:
    records = _records()
    data = b"".join(ks.encode(records[row : row + 30]) for row in range(0, ROWS, 30))
    options: dict[str, Any] = {"compression": compression}
    cases: list[tuple[str, Callable[[list[Record]], Any], dict[str, Any]]] = [
        *((name, change, {}) for name, change in CHANGES.items()),
        *((name, lambda _: None, header) for name, header in HEADERS.items()),
    ]
    for number, (name, change, header) in enumerate(cases):
        for choices in OFFSETS[: some(len(OFFSETS))]:
            place = tmp_path / f"{number}-{len(choices)}"
            conversion, plan = _converted(data, place, batch_bytes=2000, **options, **choices)
            (path,) = (place / "out").glob("*.log")
            made = list(ks.Segment(path).records())
            same = _both(conversion, plan)
            assert (same.records, same.differences) == (ROWS, 0), name
            assert set(HEADERS) - {"delete_horizon"} <= {
                *same.columns, "a reserved bit", "attributes of a record"
            }  # fmt: skip
            change(made)
            path.write_bytes(ks.encode(made, **options, **header))
            found = _both(conversion, plan)
            assert found.differences, name
            words = (NAMED.get(name, name), *header)
            assert not header or any(word in found.examples[0] for word in words), name


def _wrappers(reserved: int | None, *, before: bytes = b"") -> bytes:
    """Messages of which one has a reserved bit, in wrappers of 30 each."""
    inner = [
        forge.legacy(row % 30, b"value", attributes=0x10 if row == reserved else 0)
        for row in range(ROWS)
    ]
    return before + b"".join(
        forge.wrapper(row + 29, inner[row : row + 30], timestamp=1000) for row in range(0, ROWS, 30)
    )


@pytest.mark.parametrize("place", [0, 40, ROWS - 1])
@pytest.mark.parametrize("before", [b"", forge.legacy(0, b"alone")], ids=["", "mixed"])
def test_fields_of_messages_in_wrappers_are_compared(
    place: int, before: bytes, tmp_path: Path
) -> None:
    """They are in no column: of a wrapper, columns repeat the wrapper's own."""
    conversion, plan = _converted(_wrappers(place, before=before), tmp_path, batch_bytes=1 << 20)
    (path,) = (tmp_path / "out").glob("*.log")
    assert not _both(conversion, plan).differences
    for reserved in (None, (place + 1) % ROWS):
        path.write_bytes(_wrappers(reserved, before=before))
        found = _both(conversion, plan)
        assert found.differences == (1 if reserved is None else 2)
        assert all("attributes.reserved of the record" in text for text in found.examples)
        assert any(f"offset {place} " in f"{text} ".replace(":", " ") for text in found.examples)


PLANS: list[dict[str, Any]] = [
    {"batch_bytes": 700},
    {"batch_bytes": 5000, "compression": "lz4", "leader_epoch": 4},
    {"batch_bytes": 900, "compression": "none", "offsets": "renumber", "base_offset": 3},
    {"batch_bytes": 900, "offsets": "shift", "base_offset": 99, "start_offset": 40},
    {"magic": 1, "compression": "none"},
    {"magic": 0, "compression": "gzip", "offsets": "renumber"},
]
OF_GOLDENS = ("0.10.2.2", "1.1.1", "4.3.1")


@pytest.mark.core
@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_logs_of_all_sorts_compare_as_ever(plan: dict[str, Any], tmp_path: Path) -> None:
    for seed in range(some(2)):
        for make in (log, regular):
            place = tmp_path / f"{make.__name__}-{seed}"
            conversion, choices = _converted(make(seed), place, on_error="skip", **plan)
            found = _both(conversion, choices)
            assert not found.differences


@pytest.mark.slow
@pytest.mark.parametrize("plan", PLANS[:4], ids=str)
@pytest.mark.parametrize("version", OF_GOLDENS)
def test_goldens_compare_as_ever(version: str, plan: dict[str, Any], tmp_path: Path) -> None:
    records = 0
    for number, golden in enumerate(distinct(".log", version=version, among=OF_GOLDENS)):
        conversion, choices = _converted(golden.path.read_bytes(), tmp_path / str(number), **plan)
        found = _both(conversion, choices)
        assert not found.differences
        records += found.records
    assert records
