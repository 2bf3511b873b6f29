"""The partitions of one topic of a log directory."""

from __future__ import annotations

import pytest

import kafkaspec as ks
from tests.goldens import GOLDEN


def test_the_partitions_of_one_topic() -> None:
    with ks.LogDirectory(GOLDEN / "4.3.1" / "logs") as log:
        assert len(log.topics) > 3
        for topic in log.topics:
            chosen = log.of_topic(topic)
            expected = [item.path for item in log.current if item.topic == topic]
            assert [item.path for item in chosen.partitions] == expected
            assert chosen.topics == [topic]
        assert len(log.partitions) > len(chosen.partitions)


def test_a_topic_that_is_not_there() -> None:
    with (
        ks.LogDirectory(GOLDEN / "4.3.1" / "logs") as log,
        pytest.raises(KeyError, match="nothing"),
    ):
        log.of_topic("nothing")
