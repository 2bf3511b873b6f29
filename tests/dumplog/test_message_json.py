"""JSON of messages is written as Jackson and ``Double.toString`` of Java write it."""

from __future__ import annotations

import pytest

from kafkaspec._generated.python.model import client_quota_record as quota
from kafkaspec.messages.json_text import json_text, message_fields


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("é €", '"é €"'),
        ('"\\/', '"\\"\\\\/"'),
        ("\b\f\n\r\t", '"\\b\\f\\n\\r\\t"'),
        ("\x00\x1f\x7f", '"\\u0000\\u001F\x7f"'),
        ("\\u001f\x1f", '"\\\\u001f\\u001F"'),
    ],
)
def test_strings(text: str, expected: str) -> None:
    assert json_text(text) == expected
    assert json_text({text: [text, None]}) == f"{{{expected}:[{expected},null]}}"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1024.0, "1024.0"), (0.001, "0.001"), (9999999.5, "9999999.5"), (-0.0, "-0.0"),
        (1e7, "1.0E7"), (0.0001, "1.0E-4"), (123456789.125, "1.23456789125E8"),
        (-1.5e300, "-1.5E300"), (float("nan"), '"NaN"'), (float("-inf"), '"-Infinity"'),
    ],
)  # fmt: skip
def test_numbers_with_a_point(value: float, expected: str) -> None:
    record = quota.ClientQuotaRecord(
        entity=[quota.EntityData(entity_type=b"user\x01", entity_name=None)],
        key=b"rate", value=value, remove=0,
    )  # fmt: skip
    assert json_text(message_fields("ClientQuotaRecord", record)) == (
        '{"entity":[{"entityType":"user\\u0001","entityName":null}],"key":"rate",'
        f'"value":{expected},"remove":false}}'
    )
