"""Lines, fields and numbers as Java reads them. Expected values: the JDK's documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.files.checkpoints.text import INT_BITS, LONG_BITS, Text, TextPiece, fields
from kafkaspec.io import local
from tests.files.checkpoints.hostile import parsed


def test_a_line_ends_with_any_of_three_line_ends() -> None:
    lines = list(Text(b"a\nb\rc\r\nd\n\re").lines())
    assert [line.text for line in lines] == ["a", "b", "c", "d", "", "e"]
    assert [line.position for line in lines] == [0, 2, 4, 7, 9, 10]
    assert [line.line for line in lines] == [1, 2, 3, 4, 5, 6]


def test_nothing_behind_the_last_line_end_is_a_line() -> None:
    assert [line.text for line in Text(b"a\n").lines()] == ["a"]
    assert list(Text(b"").lines()) == []


@given(st.binary(max_size=200))
def test_lines_lie_where_they_say(data: bytes) -> None:
    lines = parsed(lambda content: list(Text(content).lines()), data)
    if lines is None:
        with pytest.raises(UnicodeDecodeError):
            data.decode()
        return
    for line in lines:
        assert data[line.position :].startswith(line.text.encode())
    assert [line.text for line in lines] == re.split("\r\n|\r|\n", data.decode())[: len(lines)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a b c", ["a", "b", "c"]),
        ("a \t\x0b\f  b", ["a", "b"]),
        (" a b", ["", "a", "b"]),  # Java keeps an empty field in front
        ("a b  ", ["a", "b"]),  # and none after them
        ("", [""]),
        ("  ", []),
        ("a\u00a0b\u2003c", ["a\u00a0b\u2003c"]),  # Java's \s is ASCII
    ],
)
def test_fields(line: str, expected: list[str]) -> None:
    assert [piece.text for piece in fields(TextPiece(line, 0, 1))] == expected


@pytest.mark.slow
@given(st.text(max_size=50).filter(lambda text: not re.search("[\r\n]", text)))
def test_fields_lie_where_they_say(line: str) -> None:
    data = line.encode()
    for piece in fields(TextPiece(line, 0, 1)):
        assert data[piece.position :].startswith(piece.text.encode())


@pytest.mark.parametrize(
    ("digits", "bits", "expected"),
    [
        ("0", INT_BITS, 0),
        ("+7", INT_BITS, 7),
        ("-0", INT_BITS, 0),
        ("00012", INT_BITS, 12),
        ("2147483647", INT_BITS, 2**31 - 1),
        ("-2147483648", INT_BITS, -(2**31)),
        ("9223372036854775807", LONG_BITS, 2**63 - 1),
        ("\u0664\u0662", INT_BITS, 42),  # Character.digit takes the digits of any script
    ],
)
def test_numbers(digits: str, bits: int, expected: int) -> None:
    assert Text(b"").number(TextPiece(digits, 0, 1), bits, "") == expected


@pytest.mark.parametrize(
    ("digits", "bits"),
    [
        ("", INT_BITS),
        ("+", INT_BITS),
        ("+-1", INT_BITS),
        ("1_0", LONG_BITS),
        (" 1", LONG_BITS),
        ("1 ", LONG_BITS),
        ("0x1", LONG_BITS),
        ("1.0", LONG_BITS),
        ("2147483648", INT_BITS),
        ("9223372036854775808", LONG_BITS),
        ("9" * 100_000, LONG_BITS),
    ],
)
def test_texts_that_are_no_numbers(digits: str, bits: int) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        Text(bytes(99), "a").number(TextPiece(digits, 17, 3), bits, "/x")
    error = caught.value
    assert (error.reason, error.file, error.position, error.path) == (
        Reason.INVALID_VALUE,
        "a",
        17,
        "/x",
    )
    assert len(str(error)) < 200
    assert error.detail.startswith("line 3: ")


def test_a_file_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "leader-epoch-checkpoint"
    path.write_bytes(b"0\n0\n")
    monkeypatch.setattr(local, "SIDE_FILE_BYTES", 4)
    assert Text.load(path).data == b"0\n0\n"
    monkeypatch.setattr(local, "SIDE_FILE_BYTES", 3)
    with pytest.raises(KafkaSpecError) as caught:
        Text.load(path)
    assert caught.value.reason is Reason.UNREADABLE


def test_a_directory_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(KafkaSpecError) as caught:
        Text.load(tmp_path)
    assert caught.value.reason is Reason.UNREADABLE
