"""Run a version's own dump tool over kept files, one text a file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from kafkaspec._generated.layout.topics import Topic
from tools.brokers.maven import ToolError
from tools.brokers.programs import Program, decoded
from tools.brokers.versions import NEVER, Version

_TABLES = frozenset({".index", ".timeindex", ".txnindex", ".snapshot"})
# The option that shows what is in an internal topic, and the first release with it.
_DECODERS: dict[str, tuple[str, tuple[int, int]]] = {
    Topic.CONSUMER_OFFSETS: ("--offsets-decoder", (0, 9)),
    Topic.TRANSACTION_STATE: ("--transaction-log-decoder", (0, 11)),
    Topic.CLUSTER_METADATA: ("--cluster-metadata-decoder", (3, 0)),
    Topic.SHARE_GROUP_STATE: ("--share-group-state-decoder", (4, 0)),
    Topic.REMOTE_LOG_METADATA: ("--remote-log-metadata-decoder", (3, 8)),
}
# What a logging binding prints to standard error when it has nothing to log with.
_LOGGING_NOISE = re.compile(r"^(log4j:|SLF4J:|\d{4}-\d\d-\d\d .*(WARN|ERROR) |.* WARN ).*\n?", re.M)


def dump(version: Version, work: Path, logs: Path, files: Iterable[Path]) -> dict[Path, str]:
    """Return the text of every readable file by its path below ``logs``.

    Errors of the tool, from standard error, follow its text.

    Args:
        version: whose dump tool.
        work: a directory for what the tool needs.
        logs: a log directory.
        files: paths below it.

    Raises:
        ToolError: the tool fails, and says nothing about a file.
    """
    texts = {}
    with Program(version, work, "Dump") as program:
        for path in sorted(files):
            options = _options(version, path)
            if options is None:
                continue
            answer = program.ask("Dump", version.dump_class, str(logs / path), *options)[0]
            text, errors = (
                (decoded(part) or b"").decode("utf-8", "replace").replace(f"{logs}/", "")
                for part in answer[:2]
            )
            if answer[2] != "ok" and not text:
                raise ToolError(f"dump tool failed on {path}, {answer[2]}:\n{errors}")
            texts[path] = text + _LOGGING_NOISE.sub("", errors)
    return texts


def _options(version: Version, path: Path) -> tuple[str, ...] | None:
    """Return the options for a file, None for one that the tool does not read."""
    if path.suffix in _TABLES:
        return ()
    topic = path.parent.name.rpartition("-")[0]
    if path.suffix == ".checkpoint" and version.release >= (3, 3):
        topic = Topic.CLUSTER_METADATA
    elif path.suffix != ".log":
        return None
    if version.release < (0, 8, 1):
        return ("--deep-iteration",)  # with its data it dies at the first null value
    decoder, since = _DECODERS.get(topic, ("", NEVER))
    known = [decoder] if version.release >= since else []
    return ("--deep-iteration", "--print-data-log", *known)
