"""Which codecs there are, and which of them serves. No codec is imported to know it."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Final

CODECS: Final = {
    "native": ("kafkaspec.codecs.native", "NativeCodec", "kafkaspec._native"),
    "python": ("kafkaspec.codecs.python", "PythonCodec", None),
    "kaitai": ("kafkaspec.codecs.references.kaitai", "KaitaiCodec", "kaitaistruct"),
    "construct": ("kafkaspec.codecs.references.construct", "ConstructCodec", "construct"),
}
"""Module and class of each codec, and the package that it needs, if any."""

ENVIRONMENT = "KAFKASPEC_CODEC"
"""The environment variable that names the default codec."""


def default_codec() -> str:
    """Return the default codec: from the environment, else the fastest."""
    return os.environ.get(ENVIRONMENT) or ("native" if is_installed("native") else "python")


def is_installed(name: str) -> bool:
    """Return whether what a codec needs is installed."""
    package = CODECS[name][2]
    return package is None or find_spec(package) is not None


def codec_names() -> tuple[str, ...]:
    """Return names of the codecs whose packages are installed, the default first."""
    return tuple(name for name in CODECS if is_installed(name))


DEFAULT_CODEC = default_codec()
"""``default_codec()`` when the package was imported."""
