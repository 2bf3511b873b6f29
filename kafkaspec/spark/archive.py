"""Archive a virtual environment, so that the workers of a cluster have kafkaspec.

Python files alone (``--py-files``) are not enough: kafkaspec and pyarrow have native code.
"""

from __future__ import annotations

import sys
import tarfile
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from kafkaspec.output.atomic import file_aside

SUFFIXES: Final = (".tar.gz", ".tgz")
"""Endings by which Spark knows how to unpack the archive."""
_NEEDED: Final = ("kafkaspec", "pyarrow")
_OF_SPARK: Final = "/site-packages/pyspark/jars"
"""Hundreds of megabytes that a cluster has."""


def write_archive(file: str | Path, prefix: str | Path = sys.prefix) -> int:
    """Write a virtual environment as a file for Spark's option ``--archives``.

    The workers need the same Python as this machine at the same path: an environment links to it.

    Args:
        file: the archive, which must not exist yet.
        prefix: directory of the environment; that of this Python by default.

    Returns:
        The size of the archive in bytes.

    Raises:
        ValueError: another machine cannot use this environment, or no such archive can be
            written.
        OSError: a file cannot be read or written.
    """
    target, root = Path(file).absolute(), Path(prefix).resolve()
    _check(target, root)
    with (
        file_aside(target, replace=False) as output,
        tarfile.open(fileobj=output, mode="w:gz", compresslevel=6) as archive,
    ):
        for item in sorted(root.iterdir()):
            archive.add(item, item.name, filter=_wanted)
    return target.stat().st_size


def _wanted(item: tarfile.TarInfo) -> tarfile.TarInfo | None:
    item.uid = item.gid = 0
    item.uname = item.gname = ""
    return None if item.name.endswith(("/__pycache__", ".pyc", _OF_SPARK)) else item


def _check(target: Path, root: Path) -> None:
    if not target.name.endswith(SUFFIXES):
        raise ValueError(f"{target}: the name ends with {' or '.join(SUFFIXES)}")
    if target.exists():
        raise ValueError(f"{target} exists")
    if target.parent.resolve().is_relative_to(root):
        raise ValueError(f"{target} is in the environment {root}")
    if not (root / "pyvenv.cfg").exists():
        raise ValueError(
            f"{root} is not a virtual environment: make one with python -m venv, and install"
            " kafkaspec[spark] there"
        )
    for name in _NEEDED:
        place = _place(name, root)
        if place is None or not place.resolve().is_relative_to(root):
            where = "not installed" if place is None else f"in {place}"
            raise ValueError(
                f"{name} is {where}, not in the environment {root}: install kafkaspec[spark]"
                " there, not as an editable installation"
            )


def _place(name: str, root: Path) -> Path | None:
    """Return the directory of a package: in the environment, or where this Python finds it."""
    found = sorted(root.glob(f"lib/python3*/site-packages/{name}/__init__.py"))
    if found:
        return found[0].parent
    spec = find_spec(name)
    return Path(spec.origin).parent if spec is not None and spec.origin else None
