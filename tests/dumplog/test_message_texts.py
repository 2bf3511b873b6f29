"""The decoders of the dump tool say the same of many records, by columns, as of each alone."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

import kafkaspec as ks
from kafkaspec.codecs import codec_names
from kafkaspec.dumplog.decoders import Coordinated, Metadata
from kafkaspec.dumplog.options import Texts
from kafkaspec.messages.lookup import key_says
from tests.cli.helpers import run
from tests.cli.test_dump_message_columns import pairs
from tests.dumplog.messages import DECODERS
from tests.goldens import GOLDEN

pytestmark = pytest.mark.skipif("native" not in codec_names(), reason="the extension was not built")

RELEASES = ("2.8", "3.2", "3.8", "4.0", "4.1", "4.3", "4.4")
OPTIONS = {topic: option for topic, option, _ in DECODERS}
JSON = {topic: ".".join(map(str, since)) for topic, _, since in DECODERS}
FIRST = {"__share_group_state": "4.0", "__remote_log_metadata": "3.9"}
"""Releases of decoders that came later."""


@contextmanager
def parsed_alone() -> Iterator[list[int]]:
    """Offsets of records that a decoder is asked for one by one."""
    found: list[int] = []
    for decoder in (Coordinated, Metadata):
        parse = decoder.parse

        def counted(self: object, record: ks.Record, parse: object = parse) -> Texts:
            found.append(record.offset)
            return parse(self, record)  # type: ignore[operator, no-any-return]

        patch = mock.patch.object(decoder, "parse", counted)
        patch.start()
    try:
        yield found
    finally:
        mock.patch.stopall()


def same(option: str, release: str, log: Path) -> tuple[int, int]:
    """Compare columns with the decoder in Python; records, and those that were asked for alone."""
    command = ("dump", "--format", "kafka", option, "--like", release, log)
    expected = run(*command, "--codec", "python")
    with parsed_alone() as alone:
        found = run(*command, "--codec", "native", "--jobs", "2")
    assert found.stdout_bytes == expected.stdout_bytes
    assert (found.stderr, found.exit_code) == (expected.stderr, expected.exit_code)
    assert expected.exit_code in (0, 1), expected.stderr
    return expected.stdout.count("\n| offset"), len(alone)


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("topic", OPTIONS)
def test_all_types_as_they_are_and_damaged(topic: str, release: str, tmp_path: Path) -> None:
    if release < FIRST.get(topic, ""):
        pytest.skip("there was no such decoder")
    rng = random.Random(f"texts of {topic} {release}")
    rows = list(pairs(topic, rng))
    rng.shuffle(rows)
    if key_says(topic):  # the tool ends at a record without a key
        rows.sort(key=lambda row: row[0] is None)
    log = tmp_path / f"{topic}-0" / f"{0:020}.log"
    log.parent.mkdir()
    records = [ks.Record(at, at, *row) for at, row in enumerate(rows)]
    log.write_bytes(b"".join(ks.encode(records[at : at + 9]) for at in range(0, len(rows), 9)))
    shown, _ = same(OPTIONS[topic], release, log)
    assert shown > (len(rows) // 2 if release >= JSON[topic] else 0)


@pytest.mark.slow
def test_columns_say_nearly_all_records_of_golden_logs() -> None:
    records = alone = 0
    for release in ("4.0.2", "4.1.2", "4.3.1", "4.4.0"):
        for topic in OPTIONS:
            for log in GOLDEN.glob(f"{release}/**/{topic}-0/*.log"):
                more, others = same(OPTIONS[topic], release.rpartition(".")[0], log)
                records, alone = records + more, alone + others
    assert records > 1000
    assert alone < records // 20, (alone, records)
