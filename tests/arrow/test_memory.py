"""A segment that is larger than all memory that a process may have."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec.codecs import codec_names
from kafkaspec.log.options import CHUNK_BYTES
from tests.arrow import forge

pytest.importorskip("pyarrow")

pytestmark = pytest.mark.slow

MEBIBYTE = 1 << 20
# 48 MiB are needed, each time, with the settings of the allocator; without them 50 to 110 or more.
ROOM = 112 * MEBIBYTE
# The limit counts address space, used or not. The system's allocator keeps 64 MiB of it for each
# thread that allocates, and raises with each large block that is freed the size up to which
# blocks come from its heap, where pieces of other sizes are of no use: both depend on how threads
# meet. So there is one arena, and the size is fixed; what is freed is free.
ALLOCATOR = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": str(128 << 10)}

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
def held():
    # Bytes of memory that are in use and no page of a file.
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon"))
before = most = held()
rows = size = 0
segment = ks.open(path, codec=codec)
for batch in segment.to_batches(["offset", "value"], layout=sys.argv[5]):
    assert batch.column(0)[0].as_py() == rows
    rows += batch.num_rows
    most = max(most, held())
    size += sum(len(value) for value in batch.column(1).slice(0, 2).to_pylist())
print(limit, rows, pa.default_memory_pool().max_memory(), most - before)
"""


@pytest.mark.memory
@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS and /proc/self/statm")
@pytest.mark.parametrize(
    ("pool", "compression", "layout"),
    [
        *itertools.product(["system"], ["none", "zstd"], ["view", "binary"]),
        ("default", "none", "binary"),
        ("default", "zstd", "view"),
    ],
)
def test_larger_than_the_memory_limit(
    tmp_path: Path, pool: str, compression: str, layout: str
) -> None:
    """With Arrow's own pool the limit holds too, but says less.

    mimalloc takes 1 GiB of address space before it is asked for anything, which counts as used when
    the limit is set: the limit is larger than the segment then. So what is in use is looked at
    there, and with the system's pool besides.
    """
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
        env={"PATH": "", "OMP_NUM_THREADS": "1"}
        | ALLOCATOR
        | ({"ARROW_DEFAULT_MEMORY_POOL": pool} if pool != "default" else {}),
    )
    size = path.stat().st_size
    path.unlink()
    assert done.returncode == 0, done.stderr
    limit, rows, peak, held = (int(word) for word in done.stdout.split())
    assert rows == count * len(records)
    if pool == "system":
        assert size > limit
    assert size > 4 * ROOM
    assert held < ROOM
    assert peak < 8 * CHUNK_BYTES
