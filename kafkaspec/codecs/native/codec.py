"""The codec: record objects and whole record sets in C, everything else as the Python codec does.

What C accepts, the Python codec accepts with the same values. What C refuses, the Python codec
reads again, so that every error has its reason, its byte and its path from one place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, ClassVar, Final

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.codecs.base import NOWHERE, Codec, Origin, PlainRecords
from kafkaspec.codecs.headers import HeaderTable
from kafkaspec.codecs.native.core import DEFAULT_PACKAGE, Core, Kind, load_core
from kafkaspec.codecs.native.names import (
    BATCH_MAGIC,
    COMPRESSION,
    IS_CONTROL,
    MAGIC,
    POSITION,
    ROWS,
    SIZE,
)
from kafkaspec.codecs.native.scan import scan
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.layout import TypeLayout
from kafkaspec.layout.kinds import record_classes
from kafkaspec.model import Buffer, Record

_AT_ONCE: Final = 64
"""Headers that are read at once: few enough that they stay in the cache."""
_PLAIN: Final = (POSITION, SIZE, MAGIC, COMPRESSION, IS_CONTROL, ROWS)
"""Columns of a scan that records of plain batches are made with."""

_ENTRY = LAYOUTS["recordbatch.entry"]
_FRAMING = sum(field.size for field in _ENTRY.fields)
_MESSAGE = f"/{_ENTRY.fields[-1].id}/{LAYOUTS['recordbatch.message'].fields[0].id}"


class NativeCodec(Codec):
    """Reads and writes with the generated C core.

    Args:
        package: where the generated modules are; the extension for any but the installed ones is
            ``<package>._native``.

    Raises:
        ImportError: the extension was not built.
    """

    name: ClassVar[str] = "native"

    def __init__(self, package: str = DEFAULT_PACKAGE) -> None:
        self._package = package
        self.core: Core = load_core(package)
        self.reference = PythonCodec(package)
        self._kinds = {kind.key: kind for kind in self.core.kinds.values()}
        self._by_class: dict[type, Kind] = {}
        self._plain_roles = tuple(self.core.scan_names.index(name) for name in _PLAIN)

    def _parse(
        self,
        type_key: str,
        buffer: Buffer,
        start: int,
        end: int,
        parameters: Sequence[Any],
        complete: bool,
    ) -> tuple[Any, int]:
        """Read objects of the typed model: those of the Python codec."""
        return self.reference.parse(
            type_key, buffer, start, end, parameters=parameters, complete=complete
        )

    def serialize(
        self, type_key: str, value: Any, *, parameters: Sequence[Any] = (), raw: bool = False
    ) -> bytes:
        """As ``Codec.serialize``."""
        return self.reference.serialize(type_key, value, parameters=parameters, raw=raw)

    def kind_of(self, message: Any) -> Kind:
        """The kind of entry that an object of the typed model is."""
        kind = self._by_class.get(type(message))
        if kind is None:
            name = type(message).__name__
            kind = next(
                kind
                for kind in self._kinds.values()
                if "".join(part.capitalize() for part in kind.key.split(".")[1].split("_")) == name
            )
            self._by_class[type(message)] = kind
        return kind

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
            return self.reference.scan(buffer, start, limit=limit, capacity=capacity)
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
            self._plain_roles,
            BATCH_MAGIC,
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
            return self.reference.decode_records(batch, payload, origin=origin)
        return records

    def encode_records(
        self,
        batch: Any,
        records: Sequence[Record],
        fields: Sequence[Mapping[str, Any]] | None = None,
        *,
        whole: bool = False,
    ) -> bytes:
        """The bytes of records behind a header.

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

    def batch_of(self, records: Sequence[Record]) -> bytes:
        """An entry that gives just these records again, whatever they come from."""
        kind = next(kind for kind in self.core.kinds.values() if kind.is_batch)
        model = import_module(f"{self._package}.python.model.{kind.key.split('.')[0]}")
        batch = model.RecordBatch(
            base_offset=records[0].offset if records else 0,
            last_offset_delta=0,
            base_timestamp=records[0].timestamp if records else 0,
            max_timestamp=0,
            num_records=len(records),
            records=b"",
        )
        return self.encode_records(batch, records, whole=True)

    def explain(self, buffer: Buffer, position: int, *, verify: bool = True) -> list[Record]:
        """The records of an entry of magic 2 that is not compressed, by the Python codec.

        For entries that the core refuses: this raises the error that they deserve.

        Raises:
            KafkaSpecError: what is wrong with the entry. If nothing is, it has become another
                since the core looked at it.
        """
        entry, _ = self.reference.parse("recordbatch.entry", buffer, position, origin=NOWHERE)
        layout = import_module(f"{self._package}.layout").LAYOUTS[self.kind_of(entry.message).key]
        if verify:
            self._verify(memoryview(buffer), position, entry, layout)
        payload = getattr(entry.message, "records", None)
        if payload is not None and not entry.message.attributes.compression:
            path = f"{_MESSAGE}/{layout.fields[-1].id}"
            start = position + self.kind_of(entry.message).header_size
            origin = Origin(position=start, path=path)
            return self.reference.decode_records(entry.message, payload, origin=origin)
        detail = "the entry cannot be read, or was changed while it was read"
        raise make_error(Reason.CHANGED, detail, offset=position)

    def _verify(self, buffer: memoryview, position: int, entry: Any, layout: TypeLayout) -> None:
        checksum = layout.checksum
        if checksum is None:
            return
        end = position + _FRAMING + entry.len_message
        data = buffer[position + _FRAMING : end]
        computed = getattr(self.core.module, checksum.algorithm)(data[checksum.start :])
        stored = getattr(entry.message, checksum.field)
        if computed != stored:
            raise make_error(
                Reason.CHECKSUM_MISMATCH,
                f"stored {checksum.algorithm} is {stored:#010x},"
                f" of the bytes it is {computed:#010x}",
                offset=position + _FRAMING + checksum.position,
                path=f"{_MESSAGE}/{checksum.field}",
                spec=next(f.location for f in layout.fields if f.id == checksum.field),
            )

    def _framed(self, batch: Any, payload: bytes) -> bytes:
        """An entry whose header only the Python codec can write."""
        model = import_module(type(batch).__module__)
        message = replace(batch, records=payload)
        entry = model.Entry(base_offset=batch.base_offset, message=message)
        return self.reference.serialize("recordbatch.entry", entry)

    def _unencodable(
        self, batch: Any, kind: Kind, records: Sequence[Record], whole: bool
    ) -> KafkaSpecError:
        """What does not fit: found by writing record by record."""
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
