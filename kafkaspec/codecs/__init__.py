"""Codecs generated from the specification, with one protocol."""

from __future__ import annotations

import os
import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from kafkaspec.codecs.base import NOWHERE, Codec, Origin
from kafkaspec.codecs.headers import HeaderTable
from kafkaspec.model import Buffer

_CODECS = {
    "native": ("kafkaspec.codecs.native", "NativeCodec", "kafkaspec._native"),
    "python": ("kafkaspec.codecs.python", "PythonCodec", None),
    "kaitai": ("kafkaspec.codecs.references.kaitai", "KaitaiCodec", "kaitaistruct"),
    "construct": ("kafkaspec.codecs.references.construct", "ConstructCodec", "construct"),
}

ENVIRONMENT = "KAFKASPEC_CODEC"
"""The environment variable that names the default codec."""


def default_codec() -> str:
    """Return the default codec: from the environment, else the fastest."""
    return os.environ.get(ENVIRONMENT) or ("native" if _is_there("native") else "python")


def _is_there(name: str) -> bool:
    package = _CODECS[name][2]
    return package is None or find_spec(package) is not None


DEFAULT_CODEC = default_codec()
"""``default_codec()`` when the package was imported."""

__all__ = [
    "DEFAULT_CODEC",
    "NOWHERE",
    "Buffer",
    "Codec",
    "HeaderTable",
    "Origin",
    "codec_names",
    "get_codec",
]


def codec_names() -> tuple[str, ...]:
    """Return names of the codecs whose packages are installed, the default first."""
    return tuple(name for name in _CODECS if _is_there(name))


@cache
def get_codec(name: str | None = None) -> Codec:
    """Return the codec of that name.

    Raises:
        ValueError: there is no codec of that name, or what it needs is not installed; the text
            says which extra brings it.
    """
    if name is None and not _is_there("native") and not os.environ.get(ENVIRONMENT):
        # Said once: the result is cached.
        warnings.warn(
            f"the native codec was not built, the codec {DEFAULT_CODEC} serves: install kafkaspec "
            f"where there is a C compiler, or set {ENVIRONMENT}={DEFAULT_CODEC} to be content",
            RuntimeWarning,
            stacklevel=2,
        )
    name = name or DEFAULT_CODEC
    if name not in _CODECS:
        raise ValueError(f"no codec {name!r}; there are {', '.join(_CODECS)}")
    module, class_name, package = _CODECS[name]
    if not _is_there(name):
        remedy = f"needs the package {package}: pip install 'kafkaspec[{name}]'"
        if name == "native":
            remedy = "was not built: install kafkaspec where there is a C compiler"
        raise ValueError(f"the codec {name} {remedy}")
    codec: Codec = getattr(import_module(module), class_name)()
    return codec
