"""The text of files of real brokers is that of the release's own dump tool, line for line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import pytest

from kafkaspec.codecs import get_codec
from kafkaspec.conformance.goldens import DUMP, read_dumps
from kafkaspec.dumplog.decoders import decoder_of
from kafkaspec.dumplog.dump import Dump
from kafkaspec.dumplog.options import DumpOptions
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from tests.goldens import GOLDEN, VERSIONS, release
from tools.brokers.versions import NEVER, by_name

DECODERS = {
    "__consumer_offsets": (0, 9),
    "__transaction_state": (0, 11),
    "__cluster_metadata": (3, 0),
    "__share_group_state": (4, 0),
    "__remote_log_metadata": (3, 8),
}
"""Topics with the first release of which the golden text was made with their decoder."""

_SET = re.compile(r"(?<= payload: )(.*,partitions=)(\[|(?:Hash)?Set\()(.*)([])])(,txnLast.*)")
EXCEPTION = "org.apache.kafka.common.errors."
"""Begin of an exception at which the tool ends; we say in our own words what is wrong."""


def cases(version: str) -> Iterator[tuple[Path, Path, str]]:
    """Yield the log directory, each dumped file below it, and its text."""
    for path in sorted((GOLDEN / version).rglob(DUMP)):
        for name, text in read_dumps(path.parent).items():
            yield path.parent / "logs", Path(name), text


def options(version: tuple[int, ...], name: Path) -> DumpOptions:
    """Those with which the golden text was made."""
    if name.suffix not in (names.LOG, names.CHECKPOINT):
        return DumpOptions()
    topic = "__cluster_metadata" if name.suffix == names.CHECKPOINT else name.parent.name[:-2]
    parse = None
    if version >= DECODERS.get(topic, NEVER):
        parse = decoder_of(topic, version, get_codec())
    return DumpOptions(deep=True, content=version >= (0, 8, 1), parse=parse)


def as_set(line: str) -> str:
    """The line with the partitions of a transaction in order: they come from a hash set."""
    match = _SET.search(line)
    if match is None:
        return line
    head, opens, places, closes, tail = match.groups()
    ordered = ",".join(sorted(place.strip() for place in places.split(",")))
    return line[: match.start()] + head + opens + ordered + closes + tail


@pytest.mark.parametrize("version", VERSIONS)
def test_text_is_that_of_the_tool(version: str) -> None:
    tool = release(by_name(version).dumped_by or version)
    compared = 0
    for logs, name, expected in cases(version):
        wanted, exception, _ = expected.partition(EXCEPTION + "Corrupt")
        found: list[str] = []
        dump = Dump(tool, options(tool, name), found=found.append, said=found.append)
        text = ""
        try:
            for line in dump.lines(logs / name):
                text += line if isinstance(line, str) else bytes(line).decode()
        except KafkaSpecError as error:
            found.append(str(error))
        text += "".join(f"{line}\n" for line in dump.reports())
        pairs = zip_longest(text.replace(f"{logs}/", "").split("\n"), wanted.split("\n"))
        for ours, theirs in pairs:
            assert ours == theirs or as_set(ours or "") == as_set(theirs or ""), (
                f"{version} {name}\n  ours  {ours}\n  Kafka {theirs}"
            )
        assert not exception or found, f"{version} {name}: {exception}"
        compared += wanted.count("\n")
    assert compared > 100
