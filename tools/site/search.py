"""Ask the search of a built site, as the theme's own program ranks it, and compare."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

WANTED: Final = {
    "torn tail": "runbook.html",
    "broker does not start": "runbook.html",
    "consumer lag": "guide/groups.html",
    "last_offset_delta": "formats/recordbatch.html",
    "tombstone": "guide/compaction.html",
    "kubernetes": "guide/kubernetes.html",
    "SegmentWriter": "api/segmentwriter.html",
}
"""Words that people type, and the page that answers."""
_FIRST: Final = 3
"""Answers that one sees without scrolling."""


def answers(site: Path, queries: list[str]) -> list[list[str]]:
    """Return the pages that the search finds for each query, the best first. Needs Node.js."""
    (worker,) = (site / "assets" / "javascripts" / "workers").glob("search.*.min.js")
    (index, *_) = sorted((site / "search").glob("search_index.js*"))
    node = shutil.which("node")
    if node is None:
        raise FileNotFoundError("the search runs in Node.js")
    script = Path(__file__).with_name("search.js")
    done = subprocess.run(
        [node, script, worker, index, *queries], capture_output=True, text=True, check=True
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [list(dict.fromkeys(place.partition("#")[0] for place in each)) for each in found]


def missed(site: Path) -> Iterator[str]:
    """Yield the words for which the page that answers is not among the first."""
    for (words, page), found in zip(WANTED.items(), answers(site, [*WANTED]), strict=True):
        if page not in found[:_FIRST]:
            yield f"the search for {words!r} finds {', '.join(found[:_FIRST])} before {page}"
