"""Make ``docs/compatibility.md``: which release has which feature, and what was tried with it.

From three places: the table of versions, the manifests of the golden segments (read), and
``results.json`` (written, and served by a broker of that release).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tools.brokers.versions import NEVER, VERSIONS, Version
from tools.golden.keep import GOLDEN, MANIFEST
from tools.kafka import results

_READ, _LOADED, _PRODUCED = "r", "w", "p"


@dataclass(frozen=True)
class Feature:
    """A column of the page.

    Attributes:
        name: its heading.
        since: first release with it.
        scenarios: names of the golden scenarios that show it, a regular expression.
        topics: names of the partitions that we write with it, a regular expression, after
            ``plain-`` and ``whole-``.
        produced: topics that our batches were sent to with it, a regular expression.
    """

    name: str
    since: tuple[int, ...]
    scenarios: str
    topics: str
    produced: str = "(?!)"


FEATURES: tuple[Feature, ...] = (
    Feature("magic 0", (0, 8), r"format-0|format-mixed", r"magic-0-|compacted-0", r"0-"),
    Feature("magic 1", (0, 10), r"format-1|format-mixed", r"magic-1-|compacted-1", r"1-"),
    Feature("magic 2", (0, 11), r"(?!format)", r"magic-2-|compacted-2", r"2-"),
    Feature("mixed", (0, 10), r"format-mixed", r"mixed"),
    Feature("gzip", (0, 8), r".*gzip", r"magic-\d-gzip", r"\d-gzip"),
    Feature("snappy", (0, 8), r".*snappy", r"magic-\d-snappy", r"\d-snappy"),
    Feature("lz4", (0, 8, 2), r".*lz4", r"magic-\d-lz4", r"\d-lz4"),
    Feature("zstd", (2, 1), r".*zstd", r"magic-\d-zstd", r"\d-zstd"),
    Feature("append time", (0, 10), r".*log-append-time", r".*append-time"),
    Feature("headers", (0, 11), r"headers", r"magic-2-", r"2-"),
    Feature("idempotent", (0, 11), r"idempotent", r"idempotent"),
    Feature("transactions", (0, 11), r"transactions", r"transactions"),
    Feature("segments", (0, 8), r".*segments", r"segments"),
    Feature("gaps", (0, 8), r".*compacted", r"compacted"),
    Feature("emptied batch", (0, 11), r".*compacted-(idempotent|transactions)", r"emptied"),
    Feature("delete horizon", (3, 1), r"compacted", r"delete-horizon"),
)


@dataclass(frozen=True)
class Absent:
    """Marks that are missing in the cells of these releases and features.

    Attributes:
        marks: which ones.
        features: names of columns, a regular expression.
        reason: why, for the page.
        since: first release.
        until: first release that may have them again.
    """

    marks: str
    features: str
    reason: str
    since: tuple[int, ...] = (0,)
    until: tuple[int, ...] = NEVER

    def applies_to(self, feature: Feature, version: Version) -> bool:
        """Return whether the reason is for this cell."""
        fits = re.fullmatch(self.features, feature.name) is not None
        return fits and self.since <= version.release < self.until


ABSENT: tuple[Absent, ...] = (
    Absent(
        _READ,
        "segments|gaps",
        "0.8.0 has neither topic settings nor a cleaner; its golden topics have one segment each.",
        until=(0, 8, 1),
    ),
    Absent(
        _READ,
        "magic 0|magic 1|mixed",
        "Brokers from 3.0 on write magic 2 only (KIP-724), but serve what is there.",
        since=(3, 0),
    ),
    Absent(
        _PRODUCED,
        "magic 0|magic 1",
        "Brokers from 4.0 on refuse produce requests that carry magic 0 or 1 (KIP-896).",
        since=(4, 0),
    ),
    Absent(
        _PRODUCED,
        "mixed|append time|idempotent|transactions|segments|gaps|emptied batch|delete horizon",
        "What concerns whole logs, or needs a producer id, is not sent in plain requests.",
    ),
)
"""Why a mark is missing; any other that is missing is a test to be run."""


def _scenarios(version: Version) -> tuple[str, ...]:
    path = GOLDEN / version.name / MANIFEST
    if not path.is_file():
        return ()
    manifest = json.loads(path.read_text(encoding="utf-8"))
    return tuple(scenario["name"] for scenario in manifest["scenarios"])


def _read(feature: Feature, version: Version) -> bool:
    scenarios = _scenarios(version)
    if not scenarios:
        return False
    if feature.name == f"magic {version.native_magic}":
        return True
    return any(re.match(feature.scenarios, name) for name in scenarios)


def cell(feature: Feature, version: Version, found: Mapping[str, Any]) -> str:
    """Return the marks of a feature in a release; ``-`` if the release does not have it."""
    if version.release < feature.since:
        return "-"
    marks = ""
    if _read(feature, version):
        marks += _READ
    both = [
        {name for name in found if re.match(f"{form}-(?:{feature.topics})", name)}
        for form in ("plain", "whole")
    ]
    if all(both):
        marks += _LOADED
    if any(re.match(f"produced-(?:{feature.produced})", name) for name in found):
        marks += _PRODUCED
    return marks or "."


def missing(feature: Feature, version: Version, marks: str) -> str:
    """Return the marks that a cell lacks without a reason."""
    if marks == "-":
        return ""
    excused = "".join(absent.marks for absent in ABSENT if absent.applies_to(feature, version))
    return "".join(mark for mark in (_READ, _LOADED, _PRODUCED) if mark not in marks + excused)


def _names(absent: Absent) -> str:
    *names, last = absent.features.split("|")
    return f"{', '.join(names)} and {last}"


_HEAD = """\
<!-- Made by `make compatibility` from data. DO NOT EDIT. -->

# Releases of Kafka, and what was tried with each

- **r**, read: `tests/golden` has segments that a broker of the release wrote with the feature.
  Every codec reads them; the records are compared with what the producers were acknowledged and
  with the text of that release's own dump tool.
- **w**, written: a broker of the release was given partitions that kafkaspec wrote, once as plain
  `.log` files and once by `SegmentWriter` with all their other files, after a clean stop and as
  after a crash. It loaded them without a complaint and served every record to its own consumer with
  equal offset, timestamp, key, value and headers, in both isolation levels. It answered lookups by
  offset and, from 0.10.1, by timestamp as `kafkaspec find` does, appended at our log end offset,
  and recovered the indexes that `kafkaspec index` makes.
- **p**, produced: a broker took batches of ours in a plain produce request, and served them.
- `-`: the release does not have the feature.

Plain `.log` files have two limits. Releases from 1.1 to 2.2 do not notice after a clean stop that
an index is missing and rebuild nothing, so that lookups by time only know the time of the file,
and transactions are forgotten. 0.8.0 does not start without indexes; `kafkaspec index` made them
there. 0.8.0 also recovers the last segment only, and its consumer does not get past offsets that
are missing at the end of a segment; the partitions had none.

Where a mark is missing:

{absences}

`make test-kafka` runs brokers again and compares the results with the data of this page,
`tools/kafka/results.json`. `make test-kafka RECORD=1` stores new data.

"""


def page() -> str:
    """Return the page."""
    kept = results.load()
    absences = (f"- **{absent.marks}** for {_names(absent)}: {absent.reason}" for absent in ABSENT)
    lines = [
        *_HEAD.format(absences="\n".join(absences)).splitlines(),
        "| release | " + " | ".join(feature.name for feature in FEATURES) + " |",
        "|---|" + "---|" * len(FEATURES),
    ]
    for version in VERSIONS:
        cells = [cell(feature, version, kept.get(version.name, {})) for feature in FEATURES]
        lines.append(f"| {version.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
