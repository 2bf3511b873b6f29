"""Entries that are passed over because of their timestamps: what looking at each one says."""

from __future__ import annotations

import pytest

import kafkaspec as ks
from kafkaspec.codecs import codec_names
from kafkaspec.log.headers import skip_older
from tests import goldens

CODECS = [name for name in codec_names() if name in ("native", "python", "construct")]
VERSIONS = ("0.9.0.1", "0.10.2.2", "2.8.2", "4.3.1")
GOLDENS = [
    golden
    for golden in goldens.files(".log")
    if golden.path.stat().st_size and golden.path.parts[-4] in VERSIONS
]


@pytest.mark.parametrize("codec", CODECS)
def test_the_first_entry_that_is_young_enough(codec: str) -> None:
    legacy = 0
    for golden in GOLDENS:
        with ks.Segment(golden.path, codec=codec) as segment:
            entries = list(segment.batches())
            legacy += sum(batch.magic < 2 for batch in entries)
            stamps = {batch.max_timestamp for batch in entries}
            for wanted in sorted(stamps | {stamp + 1 for stamp in stamps})[:12]:
                young = (n for n, batch in enumerate(entries) if batch.max_timestamp >= wanted)
                first = next(young, len(entries))
                position, passed = skip_older(segment, 0, wanted)
                # It may stop early, before an entry that the codec does not scan.
                assert passed <= first
                assert position == (
                    entries[passed].position if passed < len(entries) else segment.size
                )
                if codec == "native":
                    assert passed == first
    assert legacy
