"""What brokers make of log directories at their start, and what ``diagnose`` says of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.forensics.doctor import Diagnosis, diagnose
from tests.goldens import GOLDEN
from tests.kafka.start_cases import PARTITIONS, Case
from tools.kafka.starting import Started, Tree

RECORDED: Final = Path(__file__).with_name("start_answers.json")
RECORDED_WITH: Final = ("3.9.2", "4.3.1")
"""The last of 3, and the last whole release."""

_UNIQUE = re.compile(r"\.[0-9a-f]{32}-")

_NOTHING: Final = "nothing"
"""The case without damage."""

Answer = list[Any]
"""Whether the broker starts, and what its partitions are then, for each log directory."""


def recorded() -> dict[str, dict[str, Answer]]:
    """Return the answers by release and case."""
    found: dict[str, dict[str, Answer]] = json.loads(RECORDED.read_text(encoding="utf-8"))
    for answers in found.values():
        whole = answers[_NOTHING][1][0]
        for name, (_, trees) in answers.items():
            if trees and name != _NOTHING:
                changed = {**whole, **trees[0]}
                trees[0] = {key: files for key, files in changed.items() if files is not None}
    return found


def record(version: str, started: Mapping[str, Answer]) -> None:
    """Record the answers of a release, a line for each case: what differs from that without one."""
    text = RECORDED.read_text(encoding="utf-8") if RECORDED.exists() else "{}"
    known: dict[str, dict[str, Answer]] = json.loads(text)
    whole = started[_NOTHING][1][0]
    known[version] = {
        name: [starts, [_unlike(tree, {} if at else whole) for at, tree in enumerate(trees)]]
        for name, (starts, trees) in started.items()
    }
    known[version][_NOTHING] = started[_NOTHING]
    parts = []
    for release, answers in sorted(known.items()):
        lines = ",\n".join(
            f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items()
        )
        parts.append(f"{json.dumps(release)}: {{\n{lines}}}")
    RECORDED.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")


def _unlike(tree: Tree, whole: Tree) -> dict[str, Any]:
    names = sorted(tree.keys() | whole.keys())
    return {name: tree.get(name) for name in names if tree.get(name) != whole.get(name)}


def of(started: Started) -> Answer:
    """Return the answer to record, without partitions that the broker made for its cluster."""
    trees = [
        {name: files for name, files in tree.items() if _is_of_cases(name)}
        for tree in started.trees
    ]
    return [started.starts, trees if started.starts else []]


def _is_of_cases(name: str) -> bool:
    """Return whether a directory is one of those that the cases are about."""
    golden = GOLDEN / RECORDED_WITH[-1] / "logs" / name
    return not golden.is_dir() or name in PARTITIONS


def differences(case: Case, version: str, theirs: Answer, place: Path) -> list[str]:
    """Return what ``diagnose`` says otherwise than a broker did.

    Args:
        case: the case.
        version: release of the broker.
        theirs: its answer.
        place: an empty directory.
    """
    directories = case.make(version, place)
    diagnosis = diagnose(directories, profile=version)
    starts, trees = theirs
    if diagnosis.starts is not starts:
        kinds = [f"{item.kind} {item.effect}" for item in diagnosis.troubles]
        return [f"{case.name}: starts {starts}, we say {diagnosis.starts}: {kinds}"]
    return [f"{case.name}: {item}" for item in _told(diagnosis, trees)] if starts else []


def _told(diagnosis: Diagnosis, trees: list[Tree]) -> Iterable[str]:
    for outcome in diagnosis.outcomes:
        root = outcome.path.parent
        if root in diagnosis.offline or outcome.topic == Topic.CLUSTER_METADATA:
            continue
        name = _UNIQUE.sub(".*-", outcome.becomes)
        became: Any = trees[diagnosis.directories.index(root)].get(name)
        if became != outcome.segments_after:
            yield f"{name} is {became}, we say {outcome.segments_after}"
