"""``kafkaspec --version``, which needs no other module of the command."""

from __future__ import annotations

from kafkaspec._version import __version__
from kafkaspec.codecs.installed import DEFAULT_CODEC, codec_names


def version_lines() -> list[str]:
    """Return the version, the codec that serves, and what is missing."""
    lines = [f"kafkaspec {__version__}, codec {DEFAULT_CODEC}"]
    if "native" not in codec_names():
        lines.append("the native codec was not built here; it needs a C compiler when installing")
    return lines
