"""The numbers of a summary as metrics, for Prometheus' collector of text files."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kafkaspec.output.atomic import file_aside, writing

_NOT_A_NAME = re.compile(r"[^a-zA-Z0-9_]")


def write_metrics(file: Path, summary: Mapping[str, Any]) -> None:
    """Write metrics to a file, which is replaced when the new one is whole.

    Raises:
        KafkaSpecError: ``unreadable``: it cannot be written.
    """
    with writing(file), file_aside(file, replace=True) as out:
        out.write(metrics(summary).encode())


def metrics(summary: Mapping[str, Any]) -> str:
    """Return the members of a summary as gauges, for Prometheus' collector of text files.

    A number is a gauge, ``kafkaspec_verify_batches``; of counts by word, each is one with the label
    ``kind``. The time of the run is one too.
    """
    prefix = f"kafkaspec_{_NOT_A_NAME.sub('_', summary['command'])}"
    lines: list[str] = []
    for name, value in summary.items():
        if isinstance(value, bool | int | float):
            lines += _gauge(f"{prefix}_{name}", {"": value})
        elif isinstance(value, Mapping):
            lines += _gauge(f"{prefix}_{name}_by_kind", value)
    lines += _gauge(f"{prefix}_last_run_timestamp_seconds", {"": round(time.time(), 3)})
    return "\n".join(lines) + "\n"


def _gauge(name: str, values: Mapping[str, Any]) -> Iterator[str]:
    yield f"# TYPE {name} gauge"
    for kind, value in values.items():
        label = f"{{kind={json.dumps(kind, ensure_ascii=False)}}}" if kind else ""
        yield f"{name}{label} {value if not isinstance(value, bool) else int(value)}"
