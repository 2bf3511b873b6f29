"""A segment that is larger than all memory that a process may have."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.codecs import codec_names
from kafkaspec.log.columnar import CHUNK_BYTES
from tests.arrow import forge

pytest.importorskip("pyarrow")

MEBIBYTE = 1 << 20
ROOM = 112 * MEBIBYTE

_READ = """
import resource, sys
import pyarrow as pa, pyarrow.compute as pc
import kafkaspec as ks
path, codec, room = sys.argv[1], sys.argv[2], int(sys.argv[3])
# All modules and codecs are loaded before memory is counted.
for record in ks.decode(open(path, "rb").read(int(sys.argv[4])), codec=codec):
    pass
ks.Segment(open(path, "rb").read(int(sys.argv[4])), codec=codec).to_arrow(layout="binary")
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + room
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
rows = size = 0
segment = ks.open(path, codec=codec)
for batch in segment.to_batches(["offset", "value"], layout=sys.argv[5]):
    assert batch.column(0)[0].as_py() == rows
    rows += batch.num_rows
    size += sum(len(value) for value in batch.column(1).slice(0, 2).to_pylist())
print(limit, rows, pa.default_memory_pool().max_memory())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS and /proc/self/statm")
@pytest.mark.parametrize("layout", ["view", "binary"])
@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_larger_than_the_memory_limit(tmp_path: Path, compression: str, layout: str) -> None:
    chance = random.Random(5)
    records = [
        ks.Record(number, forge.START, None, chance.randbytes(10_000)) for number in range(100)
    ]
    batch = ks.encode(records, compression=compression)
    path = tmp_path / f"{0:020d}.log"
    count = 512 * MEBIBYTE // len(batch)
    forge.repeated(path, batch, count, len(records))
    codec = codec_names()[0]
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(path), codec, str(ROOM), str(len(batch)), layout],
        capture_output=True,
        text=True,
        env={"PATH": "", "ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"},
    )
    size = path.stat().st_size
    path.unlink()
    assert done.returncode == 0, done.stderr
    limit, rows, peak = (int(word) for word in done.stdout.split())
    assert rows == count * len(records)
    assert size > limit
    assert peak < 8 * CHUNK_BYTES
