"""Which codecs there are, and which of them serves; a codec is imported when it is asked for."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from kafkaspec.shown import warned

if TYPE_CHECKING:
    from kafkaspec.codecs.base import Codec

CODECS: Final = {
    "native": ("kafkaspec.codecs.native.codec", "NativeCodec", "kafkaspec._native"),
    "python": ("kafkaspec.codecs.python", "PythonCodec", None),
    "kaitai": ("kafkaspec.codecs.references.kaitai.codec", "KaitaiCodec", "kaitaistruct"),
    "construct": ("kafkaspec.codecs.references.construct.codec", "ConstructCodec", "construct"),
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


@cache
def get_codec(name: str | None = None) -> Codec:
    """Return the codec of that name.

    Raises:
        ValueError: there is no codec of that name, or what it needs is not installed; the text
            says which extra brings it.
    """
    if name is None and not is_installed("native") and not os.environ.get(ENVIRONMENT):
        # Said once: the result is cached.
        warned(
            f"the native codec was not built, the codec {DEFAULT_CODEC} serves: install kafkaspec "
            f"where there is a C compiler, or set {ENVIRONMENT}={DEFAULT_CODEC} to be content",
            RuntimeWarning,
        )
    name = name or DEFAULT_CODEC
    if name not in CODECS:
        raise ValueError(f"no codec {name!r}; there are {', '.join(CODECS)}")
    module, class_name, package = CODECS[name]
    if not is_installed(name):
        remedy = f"needs the package {package}: pip install 'kafkaspec[{name}]'"
        if name == "native":
            remedy = "was not built: install kafkaspec where there is a C compiler"
        raise ValueError(f"the codec {name} {remedy}")
    codec: Codec = getattr(import_module(module), class_name)()
    return codec
