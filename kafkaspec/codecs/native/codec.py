"""The codec: record objects and whole record sets in C, everything else as the Python codec does.

What C accepts, the Python codec accepts with the same values. What C refuses, the Python codec
reads again, so that every error has its reason, its byte and its path from one place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, ClassVar, Final

from kafkaspec.codecs.base import NOWHERE, Origin, PlainRecords
from kafkaspec.codecs.headers import HeaderTable
from kafkaspec.codecs.native.core import DEFAULT_PACKAGE, Core, Kind, load_core
from kafkaspec.codecs.native.scan import scan
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.layout.kinds import record_classes
from kafkaspec.model import Buffer, Record

_AT_ONCE: Final = 64
"""Headers that are read at once: few enough that they stay in the cache."""


class NativeCodec(PythonCodec):
    """Reads and writes with the generated C core.

    Args:
        package: where the generated modules are; the extension for any but the installed ones is
            ``<package>._native``.

    Raises:
        ImportError: the extension was not built.
    """

    name: ClassVar[str] = "native"

    def __init__(self, package: str = DEFAULT_PACKAGE) -> None:
        super().__init__(package)
        self.core: Core = load_core(package)

    def kind_of(self, message: Any) -> Kind:
        """Return the kind of entry that an object of the typed model is."""
        return self.core.kind_of(message)

    def scan(
        self,
        buffer: Buffer,
        start: int = 0,
        *,
        limit: int | None = None,
        capacity: int | None = None,
    ) -> HeaderTable | None:
        """As ``Codec.scan``: every kind of entry, all in one table."""
        if limit is not None and limit > len(buffer):
            return super().scan(buffer, start, limit=limit, capacity=capacity)
        table = scan(self.core, buffer, start, capacity=capacity)
        return table if table.count else None

    def plain_records(
        self, buffer: Buffer, start: int, verify: bool, check: Callable[[], object] | None = None
    ) -> PlainRecords:
        """As ``Codec.plain_records``."""
        core = self.core
        table = scan(core, buffer, start, capacity=_AT_ONCE)
        found: PlainRecords = core.module.Records(
            buffer,
            start,
            table.values,
            table.capacity,
            table.count,
            core.plain_roles,
            core.module.VERIFY if verify else 0,
            Record,
            core.record_plan,
            core.record_text,
            check,
        )
        return found

    def decode_records(
        self, batch: Any, payload: Buffer, *, origin: Origin = NOWHERE
    ) -> list[Record]:
        """As ``Codec.decode_records``."""
        kind = self.kind_of(batch)
        core = self.core
        records: list[Record] | None = core.module.payload_objects(
            kind.number,
            kind.used_header(batch),
            batch.num_records,
            payload,
            Record,
            core.record_plan,
            core.record_text,
        )
        if records is None:
            return super().decode_records(batch, payload, origin=origin)
        return records

    def encode_records(
        self,
        batch: Any,
        records: Sequence[Record],
        fields: Sequence[Mapping[str, Any]] | None = None,
        *,
        whole: bool = False,
    ) -> bytes:
        """Return the bytes of records after a header.

        Args:
            batch: header of the typed model. Offsets and timestamps of the records count from it.
            records: what to write.
            fields: see ``Codec.encode_records``.
            whole: the whole entry, header and checksum included, with the records as they are and
                not compressed; else the record set alone. Of a legacy message always the entries,
                one a record, with what the header says of magic and attributes.

        Raises:
            KafkaSpecError: ``unencodable``.
        """
        kind = self.kind_of(batch)
        core = self.core
        items = records if isinstance(records, list) else list(records)
        if kind.is_batch and not whole and (fields is not None or record_classes(batch).missing):
            return super().encode_records(batch, items, fields)
        if whole and kind.is_batch and not kind.header_size:
            return self._framed(batch, self.encode_records(batch, items))
        header = kind.header(batch)
        try:
            data: bytes | None = core.module.encode_objects(
                kind.number,
                header,
                items,
                core.record_plan,
                core.record_text,
                whole and kind.is_batch,
            )
        except (TypeError, OverflowError, UnicodeEncodeError) as error:
            if kind.is_batch and not whole:
                return super().encode_records(batch, items)
            raise make_error(Reason.UNENCODABLE, str(error)) from None
        if data is None and kind.is_batch and not whole:
            return super().encode_records(batch, items)
        if data is None:
            raise self._unencodable(batch, kind, items, whole)
        return data

    def encode_columns(
        self, message: Any, rows: int, columns: Mapping[str, Any], *, whole: bool = False
    ) -> bytes | None:
        """As ``Codec.encode_columns``."""
        kind = self.kind_of(message)
        if kind.is_batch and (record_classes(message).missing or (whole and not kind.header_size)):
            return None
        return self.core.encode(message, rows, columns, whole=whole and kind.is_batch)

    def _framed(self, batch: Any, payload: bytes) -> bytes:
        """Return an entry whose header only the Python codec can write."""
        model = import_module(type(batch).__module__)
        message = replace(batch, records=payload)
        entry = model.Entry(base_offset=batch.base_offset, message=message)
        return super().serialize("recordbatch.entry", entry)

    def _unencodable(
        self, batch: Any, kind: Kind, records: Sequence[Record], whole: bool
    ) -> KafkaSpecError:
        """Return the error for a value that does not fit, found by writing record by record."""
        core = self.core
        for record in records:
            data = core.module.encode_objects(
                kind.number,
                kind.header(batch),
                [record],
                core.record_plan,
                core.record_text,
                False,
            )
            if data is None:
                detail = f"the record with offset {record.offset} does not fit the batch"
                return make_error(Reason.UNENCODABLE, detail)
        what = "the header" if whole else "the records"
        return make_error(Reason.UNENCODABLE, f"{what} of the batch cannot be written")
