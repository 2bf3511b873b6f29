"""Decoders of formats that need more of a record than its key or its value."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import pyarrow as pa

from kafkaspec.values.decoded import Decoded


@runtime_checkable
class RecordDecoder(Protocol):
    """Decodes records of one format to a column.

    Whoever has records asks ``isinstance(decoder, RecordDecoder)``, and else uses a ``Decoder``.
    """

    @property
    def type(self) -> pa.DataType:
        """The type of the column."""

    def decode_records(self, values: pa.Array, headers: pa.Array) -> Decoded:
        """Decode records.

        Args:
            values: ``binary``, as many.
            headers: lists of structs of ``key`` and ``value``, as many.

        A record never raises an error; see ``Decoder.decode``.
        """
