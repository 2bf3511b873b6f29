"""Run a version's own dump tool over kept files and cut its text up by file."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from tools.golden.maven import ToolError
from tools.golden.processes import java_command
from tools.golden.versions import Version

_SECONDS = 300
_TABLES = frozenset({".index", ".timeindex", ".txnindex", ".snapshot"})
_DECODERS = {
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
    "__cluster_metadata": "--cluster-metadata-decoder",
}
# What a logging binding prints to standard error when it has nothing to log with.
_LOGGING_NOISE = re.compile(r"^(log4j:|SLF4J:|\d{4}-\d\d-\d\d .*(WARN|ERROR) |.* WARN ).*\n?", re.M)


class DumpTool:
    """The dump tool of one version, run inside a log directory."""

    def __init__(self, version: Version, jars: Path, work: Path) -> None:
        self._version = version
        self._command = java_command(work, [f"{jars}/*"], version.jvm_flags)

    def dump(self, logs: Path, files: Iterable[Path]) -> dict[Path, str]:
        """Text about every file by its path below ``logs``; what it cannot read is left out.

        One process reads as many files as possible.
        """
        groups: dict[tuple[str, ...], list[Path]] = {}
        for path in sorted(files):
            options = self._options(path)
            if options is not None:
                groups.setdefault(options, []).append(path)
        texts: dict[Path, str] = {}
        for options, members in groups.items():
            texts |= self._dump_group(logs, options, members)
        return texts

    def _options(self, path: Path) -> tuple[str, ...] | None:
        if path.suffix in _TABLES:
            return ()
        if path.suffix not in {".log", ".checkpoint"}:
            return None
        if path.suffix == ".checkpoint" and self._version.release < (3, 3):
            return None
        topic = path.parent.name.rpartition("-")[0]
        decoder = _DECODERS.get(topic)
        if path.suffix == ".checkpoint":
            decoder = _DECODERS["__cluster_metadata"]
        return ("--deep-iteration", "--print-data-log", *([decoder] if decoder else []))

    def _dump_group(
        self, logs: Path, options: Sequence[str], files: Sequence[Path]
    ) -> dict[Path, str]:
        """Complaints come after everything else and do not always name their file: then halve."""
        text, complaints, failed = self._run(logs, options, files)
        if len(files) == 1:
            if failed and not text:
                raise ToolError(f"dump tool failed on {files[0]}:\n{complaints}")
            return {files[0]: text + complaints}
        parts = re.split(r"^(?=Dumping )", text, flags=re.M)[1:]
        if complaints or failed or len(parts) != len(files):
            middle = len(files) // 2
            return self._dump_group(logs, options, files[:middle]) | self._dump_group(
                logs, options, files[middle:]
            )
        return dict(zip(files, parts, strict=True))

    def _run(
        self, logs: Path, options: Sequence[str], files: Sequence[Path]
    ) -> tuple[str, str, bool]:
        names = ",".join(path.as_posix() for path in files)
        done = subprocess.run(
            [*self._command, self._version.dump_class, *options, "--files", names],
            capture_output=True,
            timeout=_SECONDS,
            cwd=logs,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        output, errors = (
            stream.decode("utf-8", "replace").replace(f"{logs}/", "")
            for stream in (done.stdout, done.stderr)
        )
        return output, _LOGGING_NOISE.sub("", errors), done.returncode != 0
