"""Run a version's own dump tool over kept files, one text a file."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tools.golden.maven import ToolError
from tools.golden.processes import java_command
from tools.golden.versions import Version

_SECONDS = 600
_TABLES = frozenset({".index", ".timeindex", ".txnindex", ".snapshot"})
# The option that shows what is in an internal topic, and the first release with it.
_DECODERS = {
    "__consumer_offsets": ("--offsets-decoder", (0, 9)),
    "__transaction_state": ("--transaction-log-decoder", (0, 11)),
    "__cluster_metadata": ("--cluster-metadata-decoder", (3, 0)),
    "__share_group_state": ("--share-group-state-decoder", (4, 0)),
    "__remote_log_metadata": ("--remote-log-metadata-decoder", (3, 8)),
}
# What a logging binding prints to standard error when it has nothing to log with.
_LOGGING_NOISE = re.compile(r"^(log4j:|SLF4J:|\d{4}-\d\d-\d\d .*(WARN|ERROR) |.* WARN ).*\n?", re.M)


class DumpTool:
    """The dump tool of one version, run inside a log directory."""

    def __init__(self, version: Version, jars: Path, classes: Path, work: Path) -> None:
        self._version = version
        command = java_command(work, [classes, f"{jars}/*"], version.jvm_flags)
        self._command = [*command, "DumpAll", version.dump_class]

    def dump(self, logs: Path, files: Iterable[Path]) -> dict[Path, str]:
        """Return the text of every readable file by its path below ``logs``.

        Errors of the tool, from standard error, follow its text.
        """
        options = {path: self._options(path) for path in sorted(files)}
        lines = ("\t".join((p.as_posix(), *o)) + "\n" for p, o in options.items() if o is not None)
        done = subprocess.run(
            self._command,
            input="".join(lines).encode(),
            capture_output=True,
            timeout=_SECONDS,
            cwd=logs,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        if done.returncode:
            raise ToolError(f"dump tool ended with {done.returncode}: {done.stderr[-4000:]!r}")
        return self._texts(done.stdout, f"{logs}/")

    def _options(self, path: Path) -> tuple[str, ...] | None:
        if path.suffix in _TABLES:
            return ()
        if path.suffix not in {".log", ".checkpoint"}:
            return None
        if path.suffix == ".checkpoint" and self._version.release < (3, 3):
            return None
        topic = path.parent.name.rpartition("-")[0]
        if path.suffix == ".checkpoint":
            topic = "__cluster_metadata"
        decoder, since = _DECODERS.get(topic, ("", ()))
        if self._version.release < (0, 8, 1):
            return ("--deep-iteration",)  # with its data it dies at the first null value
        known = decoder and self._version.release >= since
        return ("--deep-iteration", "--print-data-log", *([decoder] if known else []))

    def _texts(self, output: bytes, prefix: str) -> dict[Path, str]:
        texts: dict[Path, str] = {}
        position = 0
        while position < len(output):
            end = output.index(b"\n", position)
            path, size, size_of_errors, ended = output[position:end].decode().split("\t")
            start, position = end + 1, end + 1 + int(size) + int(size_of_errors)
            text, errors = (
                part.decode("utf-8", "replace").replace(prefix, "")
                for part in (
                    output[start : start + int(size)], output[start + int(size) : position],
                )
            )  # fmt: skip
            if ended != "ok" and not text:
                raise ToolError(f"dump tool failed on {path}, {ended}:\n{errors}")
            texts[Path(path)] = text + _LOGGING_NOISE.sub("", errors)
        return texts
