"""A file system in memory that notes each request, as a store would charge for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.memory import MemoryFileSystem

SCHEME = "counted"


class Counted(MemoryFileSystem):  # type: ignore[misc]
    """Notes what is asked of it. Without versions, so that each range costs a question too."""

    protocol = SCHEME
    store: dict[str, Any] = {}  # noqa: RUF012  # as in its base
    pseudo_dirs = [""]  # noqa: RUF012
    stats: list[str] = []  # noqa: RUF012
    listings: list[str] = []  # noqa: RUF012
    reads: list[tuple[str, int, int]] = []  # noqa: RUF012

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        stripped: str = super()._strip_protocol(str(path).replace(f"{SCHEME}://", "memory://"))
        return stripped

    def info(self, path: str, **options: Any) -> Any:
        self.stats.append(path)
        return super().info(path, **options)

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        self.listings.append(path)
        return super().ls(path, detail=detail, **options)

    def cat_file(self, path: str, start: Any = None, end: Any = None, **options: Any) -> bytes:
        data: bytes = super().cat_file(path, start=start, end=end, **options)
        self.reads.append((path, start, start + len(data)))
        return data

    @classmethod
    def forget(cls) -> None:
        """Forget the requests."""
        for noted in (cls.stats, cls.listings, cls.reads):
            noted.clear()

    @classmethod
    def of(cls, suffix: str) -> Counter[str]:
        """The range reads by file, of files whose names end so."""
        return Counter(path for path, _, _ in cls.reads if path.endswith(suffix))

    @classmethod
    def bytes_of(cls, suffix: str) -> int:
        """The bytes that were read of files whose names end so."""
        return sum(end - start for path, start, end in cls.reads if path.endswith(suffix))


@contextmanager
def counted(directory: Path) -> Iterator[str]:
    """The URL of a copy of a directory in memory; requests are noted from here on."""
    fsspec.register_implementation(SCHEME, Counted, clobber=True)
    system = fsspec.filesystem(SCHEME)
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    for path in sorted(item for item in directory.rglob("*") if item.is_file()):
        system.pipe_file(f"/{directory.name}/{path.relative_to(directory)}", path.read_bytes())
    Counted.forget()
    yield f"{SCHEME}://{directory.name}"
    system.store.clear()
    system.pseudo_dirs[:] = [""]
