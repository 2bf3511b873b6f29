"""The reference codec: classes of the official Kaitai Struct compiler with the common protocol.

``positions`` of the codec says where each field of a value lies, which no other codec does.
"""

from __future__ import annotations

from kafkaspec.codecs.references.kaitai.codec import KaitaiCodec
from kafkaspec.codecs.references.kaitai.positions import FieldPosition, with_error

__all__ = ["FieldPosition", "KaitaiCodec", "with_error"]
