"""Results of real brokers for partitions that we wrote, stored in ``results.json``.

``make test-kafka`` compares each run with what is kept; with ``RECORD=1`` it keeps the run instead.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools.brokers.versions import VERSIONS
from tools.golden.keep import in_lines

PATH = Path(__file__).with_name("results.json")
Results = dict[str, dict[str, dict[str, Any]]]
"""By release, then by topic: how many records were served, of how many bytes."""


def load(path: Path = PATH) -> Results:
    """Return all results, by release."""
    if not path.exists():
        return {}
    found: Results = json.loads(path.read_text(encoding="utf-8"))
    return found


def record(version: str, topics: dict[str, dict[str, Any]]) -> None:
    """Keep the results of one release; the others stay."""
    results = load() | {version: dict(sorted(topics.items()))}
    ordered = {each.name: results[each.name] for each in VERSIONS if each.name in results}
    PATH.write_text(in_lines(ordered), encoding="utf-8")
