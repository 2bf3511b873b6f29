"""Convert entries with a field before their message, which has no default.

Run by test_public.py on a specification with ``entry_field``. The program ends with an error if the
field of any entry is lost or changed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import kafkaspec as ks
from kafkaspec.codecs import codec_names

TERMS = (3, 3, -8)
"""Values of the field; batches of the same value may be combined, others must not."""
PLANS: tuple[dict[str, Any], ...] = (
    {}, {"compression": "gzip"}, {"compression": "none"}, {"batch_bytes": 90},
    {"batch_bytes": 1 << 20}, {"offsets": "renumber", "base_offset": 7}, {"start_offset": 1},
)  # fmt: skip


def source(path: Path, magic: int, compression: str) -> Path:
    path.mkdir(parents=True)
    made = b""
    for number, term in enumerate(TERMS):
        time = 1_000 if magic else -1
        records = [ks.Record(3 * number + n, time, b"k", b"v" * 30) for n in range(3)]
        made += ks.encode(records, magic=magic, compression=compression, header={"term": term})
    (path / f"{0:020d}.log").write_bytes(made)
    return path


def terms(path: Path) -> list[tuple[bytes | None, int]]:
    """Of each record, the field of its entry."""
    found = []
    for item in ks.Partition(path, codec="python").batches():
        message: Any = item.message
        found += [(record.value, message.term) for record in item.records()]
    return found


def main(root: Path) -> int:
    """Convert in all ways; return in how many."""
    count = 0
    for magic in (0, 1, 2):
        for compression in ("none", "gzip"):
            path = source(root / f"{magic}-{compression}" / "t-0", magic, compression)
            expected = terms(path)
            assert [term for _, term in expected] == [term for term in TERMS for _ in range(3)]
            for codec in codec_names():
                # The codecs that are but a second opinion have no way of their own for a plan.
                plans = PLANS if codec in ("native", "python") else PLANS[-1:]
                for to in (0, 1, 2, None):
                    for plan in plans:
                        count += 1
                        out = root / f"out-{count}"
                        report = ks.convert(path, out, codec=codec, magic=to, **plan)
                        case = (magic, compression, codec, to, plan)
                        assert report.clean, (case, report.partitions)
                        assert terms(out) == expected[plan.get("start_offset", 0) :], case
                        lost = set(report.losses.fields)
                        assert lost <= {"record.term"}, (case, lost)
                        wrapped = magic < 2 and compression == "gzip"
                        assert wrapped or not lost, (case, lost)
    return count


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(f"{main(Path(place))} conversions keep the field")
