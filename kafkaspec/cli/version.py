"""``kafkaspec --version``, which needs no other module of the command."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec

from kafkaspec._version import __version__
from kafkaspec.codecs.installed import DEFAULT_CODEC, codec_names
from kafkaspec.extension import PACKAGES, WITHOUT, usable


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
    return lines
