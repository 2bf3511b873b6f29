"""Which commands are measured, in which ways, and along which axes their inputs grow."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.growth.inputs import AXES
from kafkaspec.files.names import LOG, segment_name

LOGS: Final = (
    "partitions", "segments", "batches", "producers", "keys", "open transactions",
    "aborted transactions", "broken batches", "cut batches", "files", "records of a batch",
    "size of a record",
)  # fmt: skip
"""The axes of all that reads any log."""
INTACT: Final = tuple(name for name in LOGS if name not in ("broken batches", "cut batches"))
"""Those of a command that refuses a damaged log, or reads it up to the first damage."""
assert AXES.keys() >= set(LOGS)


@dataclass(frozen=True)
class Way:
    """A command line that is measured.

    Attributes:
        arguments: ``{path}`` is the input, ``{logs}`` the log directory with it, ``{file}`` its
            first segment, ``{out}`` a name that is free, ``{size}`` how much of the axis there is.
        axes: names of the axes along which its input grows.
        module: that runs it.
    """

    arguments: str
    axes: Sequence[str] = LOGS

    module: str = "kafkaspec"

    def command(self, path: Path, out: Path, size: int) -> list[str]:
        """Return the command line for an input."""
        words = shlex.split(self.arguments)
        logs = path if path.name == "logs" else path.parent
        file = path / segment_name(0, LOG)
        return [
            sys.executable, "-m", self.module,
            *(word.format(path=path, logs=logs, file=file, out=out, size=size) for word in words),
        ]  # fmt: skip

    @property
    def title(self) -> str:
        """The command with the options that matter."""
        words = shlex.split(self.arguments)
        plain = " ".join(word for word in words if "{" not in word and word != "-o")
        return plain if self.module == "kafkaspec" else f"planning {plain}".rstrip()


WAYS: Final[dict[str, list[Way] | str]] = {
    "verify": [Way("verify {path}")],
    "conform": "its cases are those of the kit, and its time is that of the program that it tries",
    "generate": [Way("generate {out} --count {size}", ["random logs"])],
    "dump": [
        Way("dump --format json {path}"),
        Way("dump --format json --isolation read_committed {path}"),
        Way("dump --batches --format json {path}"),
        Way("dump --format kafka --print-data-log {file}", ["batches", "records of a batch"]),
    ],
    "find": [Way("find --offset {size} {path}"), Way("find --key absent {path}")],
    "explain": [Way("explain --offset 1 {path}", ["segments", "batches", "files"])],
    "explore": "it serves a page that reads the files in the browser",
    "export": [Way("export --on-error skip {path} -o {out}.parquet")],
    "stats": [Way("stats {path}")],
    "sql": [Way("sql {path} 'SELECT count(*) FROM t'")],
    "convert": [Way("convert {path} -o {out}", INTACT)],
    "index": [Way("index {path} -o {out}")],
    "assemble": [Way("assemble {path} -o {out}", ["batches as text"])],
    "groups": [Way("groups {path}", ["groups"])],
    "cluster": [Way("cluster {path}", ["partitions of a cluster"])],
    "schemas": [Way("schemas {path}", ["subjects", "schemas"])],
    "remote": [Way("remote {path}", ["remote segments"])],
    "restore": [Way("restore {logs}")],
    "dlq": [Way("dlq {path}")],
    "salvage": [Way("salvage {path} -o {out}")],
    "doctor": [Way("doctor {logs}")],
    "transactions": [Way("transactions {path}", [*LOGS, "transactional ids"])],
    "producers": [Way("producers {path}")],
    "gaps": [Way("gaps {path}")],
    "compaction": [
        Way("compaction --config cleanup.policy=compact {path}"),
        Way("compaction --config cleanup.policy=compact --show-records {path}"),
    ],
    "retention": [Way("retention {path}")],
    "diff": [Way("diff {path} {path}")],
    "redact": [Way("redact --key k --on-error skip {path} -o {out}")],
    "partitions": [Way("partitions {path}")],
    "spec": "it compares specifications, of which there is one",
    "spark": [
        Way("{path}", LOGS, "benchmarks.growth.planning"),
        Way("{path} lake {out}", ["partitions", "segments"], "benchmarks.growth.planning"),
        Way("{path} state {out}", ["partitions", "segments"], "benchmarks.growth.planning"),
    ],
}
