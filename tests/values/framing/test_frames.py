"""What stands before payloads, made by hand from the documentation of each registry."""

from __future__ import annotations

import struct
import zlib
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaspec._generated.python.model.schema_frame import IdFrame
from kafkaspec.codecs import get_codec
from kafkaspec.values.framing.frames import FRAMINGS, KeyKind, SchemaKey, Split

GUID = UUID("2809284b-6e54-d0d3-4017-715ffe5636bd")
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
Headers = list[tuple[str, bytes | None]]


def split(name: str, rows: list[bytes | None], headers: list[Headers] | None = None) -> Split:
    made = None
    if headers is not None:
        shown = [[{"key": key, "value": value} for key, value in row] for row in headers]
        made = pa.array(shown, HEADERS)
    return FRAMINGS[name](pa.array(rows, pa.binary()), made, "value")


def seen(found: Split) -> list[tuple[Any, bytes | None]]:
    """Return what each row names, and its payload."""
    keys = [None if code < 0 else found.schemas[code].value for code in found.codes.tolist()]
    return list(zip(keys, found.payloads.to_pylist(), strict=True))


def test_ids_and_guids_before_values() -> None:
    rows = [b"\0" + struct.pack(">i", 7) + b"abc", None, b"\1" + GUID.bytes + b"d", b"", b"\0\0"]
    found = split("confluent", [*rows, b"\2text"])
    nothing = (None, None)
    assert seen(found) == [(7, b"abc"), nothing, (GUID, b"d"), nothing, nothing, nothing]
    assert found.sizes.tolist()[:3] == [5, 0, 17]
    codes = {row: failure.code.value for row, failure in found.failures.items()}
    assert codes == {3: "not_framed", 4: "truncated", 5: "not_framed"}


def test_the_last_header_with_a_value_wins() -> None:
    other = UUID(int=1)
    name = "__value_schema_id"
    framed = b"\0" + struct.pack(">i", 7) + b"abc"
    headers: list[Headers] = [
        [(name, b"\1" + other.bytes), (name, b"\1" + GUID.bytes), (name, None)],
        [(name, b"\0" + struct.pack(">i", 9))],
        [("__key_schema_id", b"\1" + GUID.bytes)],
        [(name, b"\1" + GUID.bytes + b"\2\4")],  # indexes of a message of Protobuf
        [(name, b"nonsense")],
        [(name, b"\1" + GUID.bytes)],
    ]
    found = split("confluent", [b"bare", b"bare", framed, b"msg", framed, None], headers)
    wanted = [(GUID, b"bare"), (9, b"bare"), (7, b"abc"), (GUID, b"\2\4msg")]
    assert seen(found) == [*wanted, (None, None), (None, None)]
    assert found.sizes.tolist()[:4] == [0, 0, 5, -2]
    assert {row: each.code.value for row, each in found.failures.items()} == {4: "not_framed"}


def test_ids_of_eight_bytes() -> None:
    number = struct.pack(">q", 5)
    headers: list[Headers] = [[], [("apicurio.value.globalId", number)], []]
    found = split("apicurio", [b"\0" + number + b"x", b"bare", b"\0\0"], headers)
    assert seen(found) == [(5, b"x"), (5, b"bare"), (None, None)]


def test_single_objects() -> None:
    fingerprint = -7899391495722468953
    row = b"\xc3\x01" + fingerprint.to_bytes(8, "little", signed=True) + b"x"
    found = split("single-object", [row, b"\xc3\x01", b"\xc3"])
    assert seen(found) == [(fingerprint, b"x"), (None, None), (None, None)]
    assert found.schemas == [SchemaKey(KeyKind.FINGERPRINT, fingerprint)]


def test_glue_plain_and_compressed() -> None:
    packed = zlib.compress(b"hello" * 10)
    rows = [b"\3\0", b"\3\5" + GUID.bytes + packed, b"\3\0" + GUID.bytes + b"hi"]
    rows += [b"\3\5" + GUID.bytes + packed[:-3], b"\3\5" + GUID.bytes + packed + b"!", b"\3\7"]
    found = split("glue", [*rows, b"\3\5" + GUID.bytes + b"nonsense"])
    assert seen(found)[1:3] == [(GUID, b"hello" * 10), (GUID, b"hi")]
    codes = {row: failure.code.value for row, failure in found.failures.items()}
    assert codes == {
        0: "truncated",
        3: "truncated",
        4: "trailing",
        5: "not_framed",
        6: "malformed",
    }


def test_what_is_decompressed_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkaspec.values.framing.frames.UNPACKED_BYTES", 1 << 20)
    bomb = b"\3\5" + GUID.bytes + zlib.compress(bytes(900_000))
    found = split("glue", [bomb, bomb, None])
    assert [failure.code.value for failure in found.failures.values()] == ["bound"]
    assert found.payloads[0].as_py() == bytes(900_000)


def test_the_header_of_azure() -> None:
    name = "0123456789abcdef0123456789abcdef"
    headers: list[Headers] = [
        [("content-type", f"avro/binary+{name}".encode())],
        [("content-type", b"application/json")],
        [],
    ]
    found = split("azure", [b"a", b"b", b"c"], headers)
    assert seen(found) == [(name, b"a"), (None, None), (None, None)]
    assert len(found.failures) == 2


@given(st.integers(-(2**31), 2**31 - 1), st.binary(max_size=20), st.integers(0, 3))
def test_frames_are_those_of_the_specification(number: int, payload: bytes, before: int) -> None:
    """Codecs that are generated from it write the same, wherever in an array it stands."""
    codec = get_codec()
    value = IdFrame(schema_id=number, payload=payload)
    framed = bytes(codec.serialize("schema_frame.id_frame", value))
    rows = pa.array([b"x"] * before + [framed, None]).slice(before)
    found = FRAMINGS["confluent"](rows, None, "value")
    assert seen(found) == [(number, payload), (None, None)]


@given(st.lists(st.one_of(st.none(), st.binary(max_size=24)), max_size=12))
def test_any_bytes_have_a_schema_or_a_failure(rows: list[bytes | None]) -> None:
    for name in FRAMINGS:
        found = split(name, rows, [[] for _ in rows])
        assert len(found.payloads) == len(found.codes) == len(rows)
        for row, data in enumerate(rows):
            states = [data is None, found.codes[row] >= 0, row in found.failures]
            assert states.count(True) == 1, (name, row)
            assert (found.payloads[row].as_py() is None) == (found.codes[row] < 0)
