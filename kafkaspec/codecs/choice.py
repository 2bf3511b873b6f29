"""The codec of a name."""

from __future__ import annotations

import os
import warnings
from functools import cache
from importlib import import_module

from kafkaspec.codecs.base import Codec
from kafkaspec.codecs.installed import CODECS, DEFAULT_CODEC, ENVIRONMENT, is_installed


@cache
def get_codec(name: str | None = None) -> Codec:
    """Return the codec of that name.

    Raises:
        ValueError: there is no codec of that name, or what it needs is not installed; the text
            says which extra brings it.
    """
    if name is None and not is_installed("native") and not os.environ.get(ENVIRONMENT):
        # Said once: the result is cached.
        warnings.warn(
            f"the native codec was not built, the codec {DEFAULT_CODEC} serves: install kafkaspec "
            f"where there is a C compiler, or set {ENVIRONMENT}={DEFAULT_CODEC} to be content",
            RuntimeWarning,
            stacklevel=2,
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
