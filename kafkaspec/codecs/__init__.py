"""Codecs generated from the specification, behind one protocol."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec

from kafkaspec.codecs.base import NOWHERE, Buffer, Codec, Origin

_CODECS = {
    "python": ("kafkaspec.codecs.python", "PythonCodec", None),
    "kaitai": ("kafkaspec.codecs.kaitai", "KaitaiCodec", "kaitaistruct"),
    "construct": ("kafkaspec.codecs.construct", "ConstructCodec", "construct"),
}

DEFAULT_CODEC = "python"
"""What ``get_codec`` gives without a name."""

__all__ = ["DEFAULT_CODEC", "NOWHERE", "Buffer", "Codec", "Origin", "codec_names", "get_codec"]


def codec_names() -> tuple[str, ...]:
    """Names of the codecs whose packages are installed, the default first."""
    return tuple(
        name for name, (_, _, package) in _CODECS.items() if package is None or find_spec(package)
    )


@cache
def get_codec(name: str | None = None) -> Codec:
    """The codec of that name.

    Raises:
        ValueError: there is no codec of that name, or what it needs is not installed; the text
            says which extra brings it.
    """
    name = name or DEFAULT_CODEC
    if name not in _CODECS:
        raise ValueError(f"no codec {name!r}; there are {', '.join(_CODECS)}")
    module, class_name, package = _CODECS[name]
    if package is not None and find_spec(package) is None:
        raise ValueError(
            f"the codec {name} needs the package {package}: pip install 'kafkaspec[{name}]'"
        )
    codec: Codec = getattr(import_module(module), class_name)()
    return codec
