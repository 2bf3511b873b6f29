"""Converting a segment that is larger than all memory that the process may use for it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.log.pieces import MOST_RECORDS
from tests.arrow import forge
from tests.log import grown

pytestmark = pytest.mark.slow

MEBIBYTE = 1 << 20

# RssAnon counts memory in use that is no page of a file; it is looked at whenever the conversion
# says how far it is, which is at least every few MiB. Measured with segments of 96 and 288 MiB: 145
# and 155 MiB with records that are put in other batches.
_CONVERT = """
import json, sys
import kafkaspec as ks
small, path, out, choices = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
def held():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon"))
ks.convert(small, out + "-small", **choices)  # all modules are loaded before memory is counted
before = most = held()
done = calls = 0
def progress(name, size):
    global most, done, calls
    most, done, calls = max(most, held()), done + size, calls + 1
report = ks.convert(path, out, progress=progress, **choices)
(partition,) = report.partitions
print(json.dumps([most - before, done, calls, partition.comparison.records,
                  partition.comparison.differences, len(partition.findings)]))
"""


@pytest.mark.parametrize(
    ("data", "choices"),
    [
        (grown.records(MOST_RECORDS + 1), {"batch_bytes": 1000}),
        (grown.records(MOST_RECORDS + 1), {"end_offset": 5}),
        (grown.wrapper(MOST_RECORDS + 1), {"magic": 2}),
        (grown.wrapper(MOST_RECORDS + 1, surplus=b"cut"), {"magic": 1, "compression": "lz4"}),
    ],
    ids=["in other batches", "a part", "messages", "messages, the last one cut"],
)
def test_a_batch_with_too_many_records_is_not_written_again(
    tmp_path: Path, data: bytes, choices: dict[str, Any]
) -> None:
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(data)
    with pytest.raises(ks.KafkaSpecError, match="more than 1048576 records") as raised:
        ks.convert(path, tmp_path / "out", **choices)
    assert raised.value.reason is ks.Reason.TOO_LARGE


@pytest.mark.memory
@pytest.mark.skipif(sys.platform != "linux", reason="RssAnon in /proc/self/status")
@pytest.mark.parametrize(
    ("magic", "choices", "segment", "most_held"),
    [
        (2, {"leader_epoch": 4}, 192, 96),
        (2, {"compression": "lz4", "batch_bytes": 100_000}, 384, 224),
        (2, {"magic": 1}, 192, 96),
        (1, {"magic": 2}, 192, 96),
    ],
    ids=["as it is", "in other batches", "to magic 1", "to magic 2"],
)
def test_a_segment_larger_than_what_may_be_held(
    tmp_path: Path, magic: int, choices: dict[str, Any], segment: int, most_held: int
) -> None:
    """Sizes in MiB."""
    chance = random.Random(5)
    records = [
        ks.Record(number, forge.START, None, chance.randbytes(5_000)) for number in range(40)
    ]
    small, large = tmp_path / "small-0", tmp_path / "large-0"
    name = f"{0:020d}.log"
    if magic == 1:  # the offset of a single message is the base offset of its entry
        records = records[:1]
    batch = ks.encode(records, magic=magic)
    for path, size in ((small, MEBIBYTE), (large, segment * MEBIBYTE)):
        path.mkdir()
        forge.repeated(path / name, batch, size // len(batch), len(records))
    done = subprocess.run(
        [sys.executable, "-c", _CONVERT, small, large, tmp_path / "out-0", json.dumps(choices)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    most, read, calls, compared, differences, findings = json.loads(done.stdout)
    assert compared == segment * MEBIBYTE // len(batch) * len(records)
    assert (differences, findings) == (0, 0)
    assert read == 2 * (large / name).stat().st_size  # once to convert, once to compare
    assert calls > segment // 16
    assert most < most_held * MEBIBYTE
