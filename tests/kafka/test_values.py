"""Keys and values that Kafka's serializers and Streams write mean to us what was given to them."""

from __future__ import annotations

import base64
import json
import subprocess
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kafkaspec.values.fixed import RecordDecoder, fixed
from kafkaspec.values.options import Options
from tools.brokers.maven import java_tool, jvm, resolve
from tools.brokers.versions import by_name

_SOURCE = Path(__file__).with_name("ValueWriter.java")
_CLASS = f"org.apache.kafka.streams.state.internals.{_SOURCE.stem}"
_ROWS = 300
_JUDGE = by_name("4.3.1")


def _plain(value: Any) -> Any:
    """Return a value in the form of the judge: fields of a struct in order, times as numbers."""
    if isinstance(value, dict):
        return [len(item) if name == "headers" else _plain(item) for name, item in value.items()]
    if isinstance(value, datetime):
        return (value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    return value


def test_values_of_kafkas_own_classes(tmp_path: Path) -> None:
    jars = f"{resolve(_JUDGE)}/*"
    command = [
        java_tool("javac"),
        "-nowarn",
        "-encoding",
        "UTF-8",
        "-cp",
        jars,
        "-d",
        str(tmp_path),
    ]
    subprocess.run([*command, str(_SOURCE)], check=True, capture_output=True)
    run = [*jvm(), "-cp", f"{tmp_path}:{jars}", _CLASS, str(_ROWS)]
    done = subprocess.run(run, check=True, capture_output=True, text=True)
    rows = defaultdict(list)
    for line in done.stdout.splitlines():
        name, data, meaning = line.split("\t")
        rows[name].append((base64.b64decode(data), json.loads(meaning)))
    assert len(rows) == 13
    for name, pairs in rows.items():
        assert len(pairs) == _ROWS
        values = pa.array([data for data, _ in pairs], pa.binary())
        decoder = fixed(name, Options())
        if isinstance(decoder, RecordDecoder):
            headers = pa.array([[{"key": "v", "value": b"\3"}]] * _ROWS)
            decoded = decoder.decode_records(values, headers)
        else:
            decoded = decoder.decode(values)
        assert not decoded.failures, name
        found = [_plain(value) for value in decoded.values.to_pylist()]
        assert found == [meaning for _, meaning in pairs], name


pytestmark = pytest.mark.kafka
