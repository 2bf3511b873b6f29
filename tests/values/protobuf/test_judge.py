"""Both ways to decode equal what Google's library reads, for random schemas and messages."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.message import DecodeError

from kafkaspec.values.decoded import Code
from kafkaspec.values.options import Options
from kafkaspec.values.protobuf.decoder import DecodingWay, compile_protobuf
from tests.values.protobuf.random_schemas import Messages, Schemas, definition, drops_entries, told
from tests.values.protobuf.schemas import official
from tests.values.shown_protobuf import shown, truncated

SCHEMAS = int(os.environ.get("PROTOBUF_SCHEMAS", "150"))
"""How many schemas; PROTOBUF_SCHEMAS=2000 for the full extent."""
ROWS = 40
OPTIONS = (
    Options(oneof_case=True, enums="int", defaults=True),
    Options(unknown_fields=True, oneof_case=True),
)
OURS = {Code.RANGE, Code.MISSING_REQUIRED, Code.DEPTH, Code.BOUND}
"""What we refuse and Google's library reads; also texts of proto2 that are not UTF-8."""


WAYS: tuple[DecodingWay, ...] = ("fast", "exact")


def payloads(seed: int, message: Any) -> list[bytes]:
    """Return random messages, half of them damaged."""
    made = Messages(seed)
    whole = [made.fill(message()).SerializePartialToString() for _ in range(ROWS // 2)]
    return whole + [made.damaged(data, made.r.choice(whole)) for data in whole]


@pytest.mark.slow
def test_random_schemas() -> None:
    seen = Counter[str]()
    for seed in range(SCHEMAS):
        file = Schemas(seed).file()
        schema = definition(file)
        name = f"r.{file.message_type[-1].name}"
        message = official(schema, name)
        data = payloads(seed, message)
        array = pa.array([*data, None])
        fast = compile_protobuf(schema, name)
        exact = compile_protobuf(schema, name, way="exact")
        assert fast.type == exact.type
        one, other = fast.decode(array), exact.decode(array)
        one.values.validate(full=True)
        assert one.values.type == fast.type == other.values.type
        assert one.failures == other.failures, seed
        assert str(one.values.to_pylist()) == str(other.values.to_pylist()), seed
        seen["fast" if fast.is_fast else "exact"] += 1
        if seed % 5 == 0:
            found = [
                compile_protobuf(schema, name, options=options, way=way).decode(array)
                for way in WAYS
                for options in OPTIONS
            ]
            for first, second in zip(found[:2], found[2:], strict=True):
                assert first.failures == second.failures, seed
                assert str(first.values.to_pylist()) == str(second.values.to_pylist()), seed
        for row, payload in enumerate(data):
            where = f"schema {seed}, row {row}: {payload.hex()}"
            failure = one.failures.get(row)
            assert one.values[row].is_valid == (failure is None), where
            try:
                judged = message.FromString(payload)
            except DecodeError:
                assert failure is not None, where
                assert failure.code in {Code.MALFORMED, Code.TRUNCATED, Code.BAD_UTF8, Code.DEPTH}
                seen["refused"] += 1
                continue
            if failure is None and drops_entries(judged):
                seen["dropped"] += 1
            elif failure is None:
                assert shown(one.values[row], message.DESCRIPTOR) == truncated(told(judged)), where
                seen["read"] += 1
            else:
                assert failure.code in OURS or (
                    failure.code is Code.BAD_UTF8 and file.syntax != "proto3"
                ), f"{where}: {failure}"
                seen[failure.code] += 1
    assert min(seen["fast"], seen["exact"]) > SCHEMAS / 10, seen
    assert seen["dropped"] < seen["read"] / 50
    assert min(seen["read"], seen["refused"]) > 5 * SCHEMAS, seen
    assert seen[Code.RANGE] > SCHEMAS / 10, seen
