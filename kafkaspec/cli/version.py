"""``kafkaspec --version``, which needs no other module of the command."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec

from kafkaspec._version import __version__
from kafkaspec.codecs.installed import DEFAULT_CODEC, codec_names
from kafkaspec.extension import PACKAGES, WITHOUT, usable
from kafkaspec.libraries import command


def version_lines() -> list[str]:
    """Return the version, the codec that serves, who decompresses, and what is missing."""
    lines = [f"kafkaspec {__version__}, codec {DEFAULT_CODEC}"]
    linked: Sequence[tuple[str, str, str]] = ()
    if "native" not in codec_names():
        lines.append("the native codec was not built here; it needs a C compiler when installing")
    elif (native := usable()) is None:
        lines.append("the native codec is stale; make generate or an installation builds it again")
    elif os.environ.get(WITHOUT) != "none":
        linked = native.CODECS
    serving = {
        name: package if find_spec(package) else "zlib" for name, package in PACKAGES.items()
    }
    serving |= {name: f"{library} {version}".rstrip() for name, library, version in linked}
    lines.append("decompression: " + ", ".join(f"{name} by {by}" for name, by in serving.items()))
    return [*lines, *missing_libraries()]


def missing_libraries() -> list[str]:
    """Return a line that names the libraries in C that are not used, and what mends it.

    It is left out if all of them are used, or none is wanted.
    """
    native = usable()
    if native is None or not native.MISSING or os.environ.get(WITHOUT) == "none":
        return []
    absent = {name for name, why in native.MISSING if why == native.NOT_INSTALLED}
    named = ", ".join(f"{name} ({why})" for name, why in native.MISSING)
    mended = command(absent)
    return [
        f"slower without libraries in C: {named}" + (f"; to mend it: {mended}" if mended else "")
    ]
