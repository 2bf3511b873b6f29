"""Try an installed kafkaspec on segments that a broker wrote.

    python tools/release/trial.py tests/golden/4.4.0/logs

The native codec and the one in Python read the same records, and ``verify`` finds nothing. Runs
with any Python that has kafkaspec, on all systems: cibuildwheel calls it for each wheel.
"""

from __future__ import annotations

import sys
from pathlib import Path

import kafkaspec as ks
from kafkaspec.cli.version import version_lines


def main(folder: Path) -> None:
    """Read the plain partitions and those of each compression."""
    if (Path(ks.__file__).parents[1] / "pyproject.toml").exists():
        raise SystemExit("this is the kafkaspec of the checkout, not an installed one")
    print(*version_lines(), sep="\n")
    names = sorted(path.name for path in folder.iterdir() if path.name.startswith("codec-"))
    records = 0
    for name in ["plain-0", *names]:
        native = list(ks.open(folder / name, codec="native").records())
        if native != list(ks.open(folder / name, codec="python").records()) or not native:
            raise SystemExit(f"{name}: the codecs do not read the same")
        result = ks.verify(folder / name)
        if result.findings:
            raise SystemExit(f"{name}: {result.findings}")
        records += len(native)
    print(f"{len(names) + 1} partitions, {records} records, Python {sys.version.split()[0]}: good")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
