"""The text of files of real brokers is that of the release's own dump tool, line for line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkaspec.conformance.goldens import DUMP, read_dumps
from kafkaspec.dumplog.dump import Dump
from kafkaspec.dumplog.options import Options
from kafkaspec.files import names
from tests.goldens import GOLDEN, VERSIONS, release
from tools.brokers.versions import by_name

INTERNAL = (
    "__consumer_offsets", "__transaction_state", "__cluster_metadata", "__share_group_state",
    "__remote_log_metadata",
)  # fmt: skip
EXCEPTION = "org.apache.kafka.common.errors."
"""Begin of an exception at which the tool ends; we say in our own words what is wrong."""


def cases(version: str) -> Iterator[tuple[Path, Path, str]]:
    """Yield the log directory, each dumped file below it, and its text."""
    for path in sorted((GOLDEN / version).rglob(DUMP)):
        for name, text in read_dumps(path.parent).items():
            yield path.parent / "logs", Path(name), text


def options(version: tuple[int, ...], name: Path) -> Options:
    """Those with which the golden text was made."""
    if name.suffix not in (names.LOG, names.CHECKPOINT):
        return Options()
    return Options(deep=True, content=version >= (0, 8, 1))


@pytest.mark.parametrize("version", VERSIONS)
def test_text_is_that_of_the_tool(version: str) -> None:
    tool = release(by_name(version).dumped_by or version)
    compared = 0
    for logs, name, expected in cases(version):
        topic = name.parent.name.rpartition("-")[0]
        if (topic in INTERNAL and name.suffix == names.LOG) or name.suffix == names.CHECKPOINT:
            continue
        wanted, exception, _ = expected.partition(EXCEPTION)
        found: list[str] = []
        dump = Dump(tool, options(tool, name), found=found.append, said=found.append)
        text = ""
        try:
            for line in dump.lines(logs / name):
                text += line if isinstance(line, str) else bytes(line).decode()
        except Exception as error:
            found.append(str(error))
        text += "".join(f"{line}\n" for line in dump.reports())
        assert text.replace(f"{logs}/", "") == wanted, f"{version} {name}"
        assert not exception or found, f"{version} {name}: {exception}"
        compared += wanted.count("\n")
    assert compared > 100
