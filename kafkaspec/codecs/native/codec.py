"""The codec: record objects and whole record sets in C, everything else as the Python codec does.

What C accepts, the Python codec accepts with the same values. What C refuses, the Python codec
reads again, so that every error has its reason, its byte and its path from one place.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from types import MemberDescriptorType
from typing import Any, ClassVar, Final

from kafkaspec.codecs.base import NOWHERE, Origin, PlainRecords, Survey
from kafkaspec.codecs.headers import Hopped, Scan
from kafkaspec.codecs.native.core import DEFAULT_PACKAGE, Core, CoreKind, load_core
from kafkaspec.codecs.native.scan import EntryTable, scan, survey
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.errors import Reason, make_error
from kafkaspec.layout import HeaderColumns, names
from kafkaspec.layout.kinds import record_classes
from kafkaspec.model import Buffer, Record

_AT_ONCE: Final = 64
"""Headers that are read at once: few enough that they stay in the cache."""


_MOST_HEADERS: Final = (1 << 12) - 8
"""Headers of a table that leaves payloads aside: it stays in the cache, and an interrupt is heard
within a few ms."""
_MESSAGES: Final = (1 << 14) - 8
"""Messages of a wrapper that are read at once."""


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
        if not isinstance(vars(Record)[Record._fields[0]], MemberDescriptorType):
            self.core.module.name_items(Record)

    def scan(
        self,
        buffer: Buffer,
        start: int = 0,
        *,
        limit: int | None = None,
        capacity: int | None = None,
        spare: Scan | None = None,
    ) -> Scan | None:
        """As ``Codec.scan``: every kind of entry, all in one table."""
        if limit is not None and limit > len(buffer):
            return self._hopped(buffer, start, limit, capacity)
        again = spare if isinstance(spare, EntryTable) else None
        table = scan(self.core, buffer, start, capacity=capacity, spare=again)
        return table if table.count else None

    def scan_file(self, file: int, start: int, limit: int, capacity: int) -> Scan | None:
        """As ``Codec.scan_file``."""
        return self._hopped(file, start, limit, capacity)

    def _hopped(
        self, source: Buffer | int, start: int, limit: int, capacity: int | None
    ) -> Scan | None:
        """Return the headers of a buffer, or of an open file, up to ``limit``."""
        most = _MOST_HEADERS if capacity is None else min(capacity, _MOST_HEADERS)

        def hop(kind: HeaderColumns) -> Hopped:
            here = self.core.kinds[kind.key]
            if not here.header_size:  # of another specification
                return [start], b""
            ends, headers = self.core.module.hop(here.number, source, start, limit, most)
            return array("q", bytes(ends)), headers

        return self._first(hop)

    def plain_records(
        self,
        buffer: Buffer,
        start: int,
        verify: bool,
        most: int,
        check: Callable[[], object] | None = None,
        headers: tuple[Scan, bytes | bytearray] | None = None,
    ) -> PlainRecords | None:
        """As ``Codec.plain_records``."""
        core = self.core
        table, skipped = headers or (scan(core, buffer, start, capacity=_AT_ONCE), None)
        if not isinstance(table, EntryTable):
            return None
        count = table.count if skipped is None else len(skipped)
        found: PlainRecords = core.module.Records(
            buffer, start, table.values, table.capacity, count, core.plain_roles,
            core.module.VERIFY if verify else 0, most, Record, core.record_plan, core.record_text,
            check, skipped,
        )  # fmt: skip
        return found

    def survey(self, payload: Buffer, verify: bool) -> Survey | None:
        """As ``Codec.survey``."""
        return survey(self.core, payload, verify)

    def message_records(
        self, payload: Buffer, start: int, shift: int, time: int | None
    ) -> tuple[list[Record], int]:
        """As ``Codec.message_records``."""
        core = self.core
        table = scan(core, payload, start, capacity=_MESSAGES)
        timestamp = -1 if time is None else core.columns[names.TIMESTAMP].number
        records = core.module.entry_objects(
            payload, start, table.position - start, table.count, 0,
            core.columns[names.OFFSET].number, shift, timestamp, time or 0,
            Record, core.record_plan, core.record_text,
        )  # fmt: skip
        if records is None:
            raise RuntimeError("messages that were surveyed cannot be read")
        return records, table.position

    def whole_records(self, batch: Any, data: Buffer, most: int) -> tuple[int, int]:
        """As ``Codec.whole_records``; a record that C refuses is read by the Python codec."""
        core = self.core
        kind = core.kind_of(batch)
        rows = min(most, len(data) // kind.record_size)
        header = list(kind.header(batch, used=True))
        while rows > 0:
            header[kind.names.index(names.NUM_RECORDS)] = rows
            status, found, end = core.module.whole(kind.number, tuple(header), rows, data)
            if status == core.module.OK or found == rows:
                return rows, end
            rows = found
        return super().whole_records(batch, data, min(most, 1))

    def decode_records(
        self, batch: Any, payload: Buffer, *, origin: Origin = NOWHERE
    ) -> list[Record]:
        """As ``Codec.decode_records``."""
        core = self.core
        kind = core.kind_of(batch)
        records: list[Record] | None = core.module.payload_objects(
            kind.number, kind.header(batch, used=True), getattr(batch, names.NUM_RECORDS), payload,
            Record, core.record_plan, core.record_text,
        )  # fmt: skip
        if records is None:
            return super().decode_records(batch, payload, origin=origin)
        return records

    def encode_records(
        self,
        batch: Any,
        records: Sequence[Record],
        fields: Sequence[Mapping[str, Any]] | None = None,
    ) -> bytes:
        """As ``Codec.encode_records``; after the header of a legacy message, entries of one record.

        Those have what the header says of magic and attributes.
        """
        kind = self.core.kind_of(batch)
        items = tuple(records)  # the core must not see a list that changes
        if kind.is_batch and (fields is not None or record_classes(batch).missing):
            return super().encode_records(batch, items, fields)
        try:
            data = self._encoded(kind, batch, items)
        except (TypeError, OverflowError, UnicodeEncodeError) as error:
            if not kind.is_batch:
                raise make_error(Reason.UNENCODABLE, str(error)) from None
            data = None
        if data is not None:
            return data
        if kind.is_batch:
            return super().encode_records(batch, items)
        for record in items:
            if self._encoded(kind, batch, (record,)) is None:
                detail = f"the record with offset {record.offset} does not fit the message"
                raise make_error(Reason.UNENCODABLE, detail)
        raise make_error(Reason.UNENCODABLE, "the records cannot be written")

    def _encoded(self, kind: CoreKind, batch: Any, records: tuple[Record, ...]) -> bytes | None:
        core = self.core
        data: bytes | None = core.module.encode_objects(
            kind.number, kind.header(batch), records, core.record_plan, core.record_text
        )
        return data

    def encode_columns(
        self, message: Any, rows: int, columns: Mapping[str, Any], *, whole: bool = False
    ) -> bytes | None:
        """As ``Codec.encode_columns``."""
        kind = self.core.kind_of(message)
        if kind.is_batch and (record_classes(message).missing or (whole and not kind.header_size)):
            return None
        return self.core.encode(message, rows, columns, whole=whole and kind.is_batch)
