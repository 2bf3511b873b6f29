"""An environment with kafkaspec as a wheel installs it, to be archived for a cluster."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import kafkaspec
from kafkaspec import _native

PACKAGE = Path(kafkaspec.__file__).parent
GENERATED = Path(kafkaspec.__path__[0]).parent / "generated"


def modules() -> Iterator[tuple[Path, str]]:
    """Each file that a wheel has, with its place in it."""
    for root, name in ((PACKAGE, "kafkaspec"), (GENERATED, "kafkaspec/_generated")):
        for path in sorted(root.rglob("*.py")):
            inner = path.relative_to(root)
            if path.is_file() and inner.parts[0] not in ("_generated", "native"):
                yield path, f"{name}/{inner}"
    yield Path(_native.__file__), f"kafkaspec/{Path(_native.__file__).name}"


def environment(root: Path) -> Path:
    """Make a virtual environment with the package; return the directory of its packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", root], check=True)
    (site,) = root.glob("lib/python3*/site-packages")
    for path, name in modules():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, site / name)
    return site
