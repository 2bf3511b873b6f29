"""Decode the messages of a record type whatever release wrote them, into one type of array."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from kafkaspec.arrow.messages.layouts import decode_layouts, type_of_layouts
from kafkaspec.codecs import get_codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import MessageLayout
from kafkaspec.messages.lookup import written_by


def decode(
    layouts: Sequence[MessageLayout],
    data: pa.Array,
    release: str | None,
    on_error: Callable[[int, KafkaSpecError], None],
) -> pa.StructArray:
    """Return messages in the type of the newest layout; null where they cannot be decoded.

    Without a release, all layouts are tried, as ``decode_layouts`` does. Fields that the newest one
    does not have are left out, those that an older one lacks are null.

    Args:
        layouts: of the messages, the newest first.
        data: their bytes, null for none.
        release: that wrote them; None if it is not known.
        on_error: called with the number of a row and the error of the first layout tried.
    """
    tried = written_by(layouts, release) or layouts
    return decode_layouts(get_codec(), tried, data, type_of_layouts(tuple(layouts)), on_error)
