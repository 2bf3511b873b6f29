"""JSON of messages is written as Jackson and ``Double.toString`` of Java write it."""

from __future__ import annotations

import pytest

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec._generated.python.model import client_quota_record as quota
from kafkaspec.layout.names import json_name
from kafkaspec.messages.json_text import SHOWN_BEFORE, json_text, message_fields
from kafkaspec.messages.lookup import by_name


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


@pytest.mark.parametrize("name", SHOWN_BEFORE)
def test_fields_that_are_shown_before_others_are_of_the_specification(name: str) -> None:
    message, field = name.split(".")
    file = by_name(message)[0].id
    parts = [part for key, part in LAYOUTS.items() if key.split(".")[0] == file]
    names = {json_name(each.id, each.original_id) for part in parts for each in part.fields}
    tagged = {json_name(each.id, each.original_id) for part in parts for each in part.fields
              if part.key.endswith("_tag")}  # fmt: skip
    assert {field, *SHOWN_BEFORE[name]} <= names
    assert field in tagged
