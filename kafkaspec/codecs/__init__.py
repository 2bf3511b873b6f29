"""Codecs generated from the specification, with one protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkaspec.lazy import attach

if TYPE_CHECKING:
    from kafkaspec.codecs.base import NOWHERE as NOWHERE
    from kafkaspec.codecs.base import Codec as Codec
    from kafkaspec.codecs.base import Origin as Origin
    from kafkaspec.codecs.headers import Scan as Scan
    from kafkaspec.codecs.installed import DEFAULT_CODEC as DEFAULT_CODEC
    from kafkaspec.codecs.installed import codec_names as codec_names
    from kafkaspec.codecs.installed import get_codec as get_codec
    from kafkaspec.model import Buffer as Buffer

    __all__: list[str]
else:
    __getattr__, __dir__, __all__ = attach(__name__)
