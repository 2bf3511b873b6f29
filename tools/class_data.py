"""Class data of JVMs that live for seconds: most of their time goes into loading the same classes.

A JVM may leave an archive of the classes that it has loaded, and others with the same start of
their class path map it into memory (JEP 350, Java 13). A JVM to which an archive does not belong
goes without it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

_QUIET = ("-XX:+IgnoreUnrecognizedVMOptions", "-Xlog:disable")


class ClassData:
    """The archive for a class path.

    Args:
        home: the directory of a cache.
        java: the command.
        class_path: whatever follows it on the class path of a JVM does not matter.
    """

    def __init__(self, home: Path, java: str, class_path: Sequence[str]) -> None:
        classes = Path(java).resolve().parents[1] / "lib" / "modules"
        places = [classes, *(Path(entry.removesuffix("*")) for entry in class_path)]
        known = [(str(path), path.stat().st_mtime_ns) for path in places if path.exists()]
        name = hashlib.sha256(repr(known).encode()).hexdigest()[:16]
        self._path = home / "class-data" / f"{name}.jsa"
        self._made = self._path.with_name(f"{name}.{os.getpid()}.{id(self)}")

    def read(self) -> list[str]:
        """Return the options of a JVM that takes its classes from the archive, if there is one."""
        return [*_QUIET, f"-XX:SharedArchiveFile={self._path}"] if self._path.exists() else []

    def made(self) -> list[str]:
        """Return those of a JVM that leaves the archive at its end, unless there is one."""
        if self._path.exists():
            return self.read()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError:  # a cache that others have filled
            return []
        return [*_QUIET, f"-XX:ArchiveClassesAtExit={self._made}"]

    def keep(self) -> None:
        """Keep what such a JVM has left: call it when the JVM has ended as it should."""
        if self._made.exists():
            self._made.replace(self._path)

    def drop(self) -> None:
        """Remove what is not kept: call it when the JVM has ended."""
        self._made.unlink(missing_ok=True)
