"""Results of real brokers for partitions that we wrote, stored in ``results.json``.

``make test-kafka`` compares each run with what is kept; with ``RECORD=1`` it keeps the run instead.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("results.json")
Results = dict[str, dict[str, dict[str, Any]]]
"""By release, then by topic: how many records were served, of how many bytes."""


def load() -> Results:
    """Return all results, by release."""
    if not PATH.exists():
        return {}
    found: Results = json.loads(PATH.read_text(encoding="utf-8"))
    return found


def record(version: str, topics: dict[str, dict[str, Any]]) -> None:
    """Keep the results of one release; the others stay."""
    results = load()
    results[version] = topics
    ordered = {name: results[name] for name in sorted(results, key=_release)}
    lines = []
    for name, found in ordered.items():
        rows = [f"  {json.dumps(topic)}: {json.dumps(found[topic])}" for topic in sorted(found)]
        lines.append(f" {json.dumps(name)}: {{\n" + ",\n".join(rows) + "\n }")
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _release(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name.split("."))
