"""Write archives of a release again without what differs from build to build.

    python tools/release/normal.py FILE...

Order, times, owners, modes and compression of a wheel or sdist become the same wherever it is
built; what the files in it say stays. Needs nothing but Python, so that images of cibuildwheel
run it.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import tarfile
import time
import zipfile
from pathlib import Path

_EARLIEST = 315532800  # 1980, with which zip begins


def normalise(path: Path, epoch: int) -> None:
    """Write a ``.whl`` or ``.tar.gz`` again."""
    made = path.with_name(f".{path.name}")
    if path.name.endswith(".tar.gz"):
        _sdist(path, made, epoch)
    else:
        _wheel(path, made, epoch)
    made.replace(path)


def _wheel(path: Path, made: Path, epoch: int) -> None:
    date = time.gmtime(max(epoch, _EARLIEST))[:6]
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        names = [item.filename for item in old.infolist() if not item.is_dir()]
        for name in sorted(names, key=lambda name: (".dist-info/" in name, name)):
            runs = old.getinfo(name).external_attr >> 16 & 0o100
            item = zipfile.ZipInfo(name, date)
            item.compress_type = zipfile.ZIP_DEFLATED
            item.create_system = 3
            item.external_attr = (0o100755 if runs else 0o100644) << 16
            new.writestr(item, old.read(name), compresslevel=9)


def _sdist(path: Path, made: Path, epoch: int) -> None:
    held = io.BytesIO()
    with tarfile.open(path) as old, tarfile.open(fileobj=held, mode="w") as new:
        for item in sorted(old.getmembers(), key=lambda item: item.name):
            item.mtime, item.uid, item.gid, item.uname, item.gname = epoch, 0, 0, "", ""
            item.pax_headers = {}
            item.mode = 0o755 if item.isdir() or item.mode & 0o100 else 0o644
            new.addfile(item, old.extractfile(item) if item.isfile() else None)
    with made.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=epoch) as packed:
        packed.write(held.getvalue())


if __name__ == "__main__":
    for name in sys.argv[1:]:
        normalise(Path(name), int(os.environ["SOURCE_DATE_EPOCH"]))
