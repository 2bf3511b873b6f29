"""Take what brokers of a release did from another tree of this repository."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tools.golden import keep
from tools.kafka import results
from tools.kafka.release import ROOT


def main(tree: str, step: str, release: str) -> None:
    """Take the golden segments (``golden``) or the results for our partitions (``judge``)."""
    if step == "golden":
        golden = keep.GOLDEN.relative_to(ROOT) / release
        shutil.copytree(Path(tree) / golden, ROOT / golden, dirs_exist_ok=True)
    else:
        kept = Path(tree) / results.PATH.relative_to(ROOT)
        results.record(release, results.load(kept)[release])


if __name__ == "__main__":
    main(*sys.argv[1:])
