"""The codec on the generated C core: columns and record objects at the speed of memory."""

from __future__ import annotations

from kafkaspec.codecs.native.codec import NativeCodec
from kafkaspec.codecs.native.core import Core, load_core

__all__ = ["Core", "NativeCodec", "load_core"]
