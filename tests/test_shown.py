"""Sizes, durations and warnings as people see them."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kafkaspec as ks
from kafkaspec.shown import clocks_text, duration_text, size_text, warned
from tests.goldens import GOLDEN

_POWERS = {name: 1024**power for power, name in enumerate(("B", "KiB", "MiB", "GiB", "TiB"))}
_UNITS = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "day": 86_400_000, "days": 86_400_000}


@given(st.integers(0, 2**49))
def test_a_size_is_right_to_the_digit_that_is_shown(size: int) -> None:
    number, unit = size_text(size).split()
    assert float(number) < 1024
    assert abs(float(number) * _POWERS[unit] - size) <= 0.0501 * _POWERS[unit]
    if "." not in number:
        assert int(number) * _POWERS[unit] == size


def test_sizes_of_few_bytes_and_whole_units() -> None:
    assert [size_text(size) for size in (0, 1, 1023, 1024, 1536, 1024**2 - 1, 5 * 1024**3)] == [
        "0 B", "1 B", "1023 B", "1 KiB", "1.5 KiB", "1.0 MiB", "5 GiB",
    ]  # fmt: skip


@pytest.mark.slow
@given(st.integers(0, 2**50))
def test_a_duration_is_right_to_its_last_unit(milliseconds: int) -> None:
    parts = re.findall(r"([\d.,]+) (\w+)", duration_text(milliseconds))
    assert 1 <= len(parts) <= 2
    total = sum(float(number.replace(",", "")) * _UNITS[unit] for number, unit in parts)
    steps = ((10 * _UNITS["day"], _UNITS["day"]), (_UNITS["day"], _UNITS["h"]),
             (_UNITS["h"], _UNITS["min"]), (_UNITS["min"], _UNITS["s"]), (0, 1))  # fmt: skip
    last = next(last for least, last in steps if milliseconds >= least)
    assert 0 <= milliseconds - round(total) < last


def test_durations_have_the_units_of_people() -> None:
    long = timedelta(milliseconds=95_221_225_150)
    assert duration_text(95_221_225_150) == f"{long.days:,} days"
    texts = [duration_text(each) for each in (0, 480, 12_300, 312_000, 11_040_000, 97_200_000)]
    assert texts == ["0 ms", "480 ms", "12.3 s", "5 min 12 s", "3 h 4 min", "1 day 3 h"]
    with pytest.raises(ValueError, match="whose clock"):
        duration_text(-1)
    assert clocks_text(-3_200) == "producer 3.2 s ahead"
    assert clocks_text(3_200) == duration_text(3_200)


def test_a_warning_is_about_the_line_of_the_caller() -> None:
    with pytest.warns(RuntimeWarning, match="text") as caught:
        warned("text", RuntimeWarning)
    assert {each.filename for each in caught} == {__file__}


_PROGRAM = """\
import kafkaspec as ks
with ks.open({path!r}) as log:
    list(log.records(on_error="skip"))  # my own line
"""


@pytest.mark.slow
def test_python_shows_no_line_of_ours(tmp_path: Path) -> None:
    source = next((GOLDEN / "2.8.2" / "logs" / "plain-0").glob("*.log"))
    data = bytearray(source.read_bytes())
    data[9150] ^= 1
    damaged = tmp_path / source.name
    damaged.write_bytes(data)
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM.format(path=str(damaged)))
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert f"{program}:3: RuntimeWarning: left out: " in done.stderr
    assert "# my own line" in done.stderr
    assert str(Path(ks.__file__).parent) not in done.stderr
    command = [sys.executable, "-m", "kafkaspec", "dump", "--on-error", "skip", str(damaged)]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    assert "kafkaspec/" not in said.replace(str(tmp_path), "")
