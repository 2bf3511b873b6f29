"""The stored files of a run, and their manifest."""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import re
import shutil
import tarfile
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any

from kafkaspec.conformance.goldens import DUMP, PRODUCED

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"
MANIFEST = "manifest.json"
LOGS = "logs"
RECOVERED = "recovered"
REMOTE = "remote"
_LIMIT = 300_000
"""Bytes of the logs of a partition of an internal topic that is kept, and of one of its indexes."""
_LEFT_OUT = re.compile(r"\.lock|.*\.(deleted|cleaned|swap|tmp|part)")


def files_below(directory: Path) -> list[Path]:
    """Return all files below, as sorted paths relative to ``directory``."""
    found = (p.relative_to(directory) for p in directory.rglob("*") if p.is_file())
    return sorted(found, key=lambda path: path.as_posix())


def copy_logs(logs: Path, target: Path, topics: Container[str] | None = None) -> None:
    """Copy a stopped broker's log directory without lock files and unused internal partitions.

    With ``topics`` only their partitions: the indexes of others are 10 MiB each after a kill.
    """
    target.mkdir(parents=True)
    for path in sorted(logs.iterdir()):
        if path.is_dir() and _wanted(path, topics):
            shutil.copytree(path, target / path.name, ignore=_left_out)
        elif path.is_file() and not _LEFT_OUT.fullmatch(path.name):
            shutil.copy2(path, target / path.name)


def _left_out(partition: str, names: list[str]) -> set[str]:
    """Return the names of files that are not kept: indexes as large as they were made, too."""
    left_out = {name for name in names if _LEFT_OUT.fullmatch(name)}
    if Path(partition).name.startswith("__"):
        indexes = (name for name in names if name.endswith("index"))
        left_out |= {n for n in indexes if (Path(partition) / n).stat().st_size > _LIMIT}
    return left_out


def _wanted(partition: Path, topics: Container[str] | None) -> bool:
    if topics is not None:
        return partition.name.rpartition("-")[0] in topics
    if not partition.name.startswith("__"):
        return True
    return 0 < sum(path.stat().st_size for path in partition.glob("*.log")) < _LIMIT


def write_dump(target: Path, texts: Mapping[Path, str]) -> None:
    """Write ``dump.tar.xz``: one text for each dumped file, under its path and ``.txt``.

    The same texts give the same archive: it holds no times and no owners.
    """
    with tarfile.open(target / DUMP, "w:xz", preset=9) as archive:
        for path, text in sorted(texts.items()):
            data = text.encode()
            member = tarfile.TarInfo(f"{path.as_posix()}.txt")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


def write_produced(target: Path, lines: Iterable[dict[str, Any]]) -> None:
    """Write ``produced.jsonl.xz``: one object in each line."""
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (target / PRODUCED).write_bytes(lzma.compress(text.encode(), preset=9))


def read_manifest(directory: Path) -> dict[str, Any]:
    """Return what ``write_manifest`` wrote into a version's folder."""
    facts: dict[str, Any] = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    return facts


def write_manifest(target: Path, facts: dict[str, Any]) -> None:
    """Write ``manifest.json``: the facts, and size and SHA-256 of every other file."""
    files = {
        path.as_posix(): {"sha256": _sha256(target / path), "bytes": (target / path).stat().st_size}
        for path in files_below(target)
        if path.as_posix() != MANIFEST
    }
    (target / MANIFEST).write_text(in_lines({**facts, "files": files}), encoding="utf-8")


def in_lines(facts: Mapping[str, Any]) -> str:
    """Return JSON with one line for each member, and for each element of a long member."""

    def compact(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)

    members = []
    for name, value in facts.items():
        text = compact(value)
        if isinstance(value, list) and value:
            text = "[\n  " + ",\n  ".join(map(compact, value)) + "\n ]"
        elif isinstance(value, dict) and value:
            items = (f"{compact(key)}: {compact(item)}" for key, item in value.items())
            text = "{\n  " + ",\n  ".join(items) + "\n }"
        members.append(f" {compact(name)}: {text}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def verify(directory: Path) -> list[str]:
    """Return differences between a version's folder and its manifest; empty if there are none."""
    manifest = directory / MANIFEST
    if not manifest.is_file():
        return [f"{directory.name}: no {MANIFEST}"]
    listed: dict[str, dict[str, Any]] = read_manifest(directory)["files"]
    present = {path.as_posix() for path in files_below(directory)} - {MANIFEST}
    problems = [f"{directory.name}/{name}: not in the manifest" for name in present - set(listed)]
    for name, facts in listed.items():
        path = directory / name
        if name not in present:
            problems.append(f"{directory.name}/{name}: missing")
        elif path.stat().st_size != facts["bytes"] or _sha256(path) != facts["sha256"]:
            problems.append(f"{directory.name}/{name}: contents changed")
    return sorted(problems)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
