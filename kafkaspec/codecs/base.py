"""The protocol of all codecs: bytes and a position in, objects of the typed model out, and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from kafkaspec._generated.python.runtime import signed64
from kafkaspec.codecs.headers import Scan
from kafkaspec.errors import KafkaSpecError, Reason, TruncatedError, make_error
from kafkaspec.layout import Kind as LayoutKind
from kafkaspec.layout import kinds, names
from kafkaspec.model import Buffer, Record

if TYPE_CHECKING:
    from kafkaspec.codecs.native.core import Core


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a buffer, for errors.

    Attributes:
        file: path or name of the file, None for a bare buffer.
        position: absolute byte offset of the buffer's first byte in the file; of decompressed
            data, that of the compressed payload.
        decompressed: whether the buffer is decompressed data.
        path: path of the buffer's content in the data, put before the path of the field.
        skipped: bytes of the data that lie before the buffer.
    """

    file: str | None = None
    position: int = 0
    decompressed: bool = False
    path: str = ""
    skipped: int = 0

    def after(self, size: int) -> Origin:
        """Return the place of the data after its first ``size`` bytes."""
        return replace(self, skipped=self.skipped + size)

    def under(self, path: str) -> Origin:
        """Return the same place with ``path`` appended to the path."""
        # As ``replace`` does, which takes several times as long.
        return Origin(self.file, self.position, self.decompressed, self.path + path, self.skipped)

    def locate(self, error: KafkaSpecError) -> KafkaSpecError:
        """Make the offset of an error, relative to the start of the buffer, relative to here."""
        if error.position is not None:
            if self.decompressed:
                error.inner_position = error.position + self.skipped
                error.position = self.position
            else:
                error.position += self.position + self.skipped
        error.file = self.file
        error.path = self.path + error.path
        return error


NOWHERE = Origin()


def bounded(buffer: Buffer, start: int, end: int | None) -> tuple[Buffer, int]:
    """Return the buffer as a sequence of single bytes, and the end of its readable part.

    Raises:
        ValueError: the buffer has no bytes ``start`` to ``end``.
    """
    if isinstance(buffer, memoryview) and (buffer.format != "B" or buffer.ndim != 1):
        buffer = buffer.cast("B")
    end = len(buffer) if end is None else end
    if not 0 <= start <= end <= len(buffer):
        raise ValueError(f"no bytes {start} to {end} in a buffer of {len(buffer)}")
    return buffer, end


Parser = Callable[..., tuple[Any, int]]
"""Function of a buffer, start and end of what to read, whether it is complete, and the parameters
of the type; see ``Codec.parse``. The bounds were checked; errors count from the buffer's start."""


class FieldPlace(NamedTuple):
    """A number in some bytes: its value, position, path and place in the specification."""

    value: int
    position: int
    path: str
    location: str


@dataclass(frozen=True, slots=True)
class Survey:
    """The common facts of the entries at the start of a buffer.

    Attributes:
        size: number of bytes of the entries.
        count: number of entries; all of them are plain messages.
        untimed: number of those of a kind without timestamps.
        first: offset of the first one.
        last: offset of the last one.
    """

    size: int
    count: int
    untimed: int
    first: int
    last: int

    def add(self, after: Survey) -> Survey:
        """Return what these entries and those after them have in common."""
        return Survey(
            self.size + after.size,
            self.count + after.count,
            self.untimed + after.untimed,
            self.first if self.count else after.first,
            after.last if after.count else self.last,
        )


class PlainRecords(Protocol):
    """Records of some batches, one at a time.

    Attributes:
        end: end of the last of these batches, or of one that was passed over, so far.
    """

    @property
    def end(self) -> int: ...

    def __iter__(self) -> Iterator[Record]: ...


class Codec(ABC):
    """A codec made from the specification. All of them give the same results and errors."""

    name: ClassVar[str]

    core: Core | None = None
    """The core in C that reads and writes columns, where the codec has one."""

    def parse(
        self,
        type_key: str,
        buffer: Buffer,
        start: int = 0,
        end: int | None = None,
        *,
        parameters: Sequence[Any] = (),
        complete: bool = False,
        origin: Origin = NOWHERE,
    ) -> tuple[Any, int]:
        """Read one value of a type.

        Args:
            type_key: ``recordbatch.entry``, ``index.time_index_entry`` and so on.
            buffer: the bytes; they are not changed.
            start: where the value begins.
            end: where the buffer ends for this value; its length by default.
            parameters: arguments of the type, in the order of the specification.
            complete: the buffer is known to be whole, so that a field beyond ``end`` is an
                ``overrun`` and not ``truncated``.
            origin: where the buffer comes from.

        Returns:
            The value, an object of the typed model (or int, bytes, None for a scalar), and the
            position after it.

        Raises:
            KafkaSpecError: and nothing else, whatever the bytes are. ``offset`` is where the
                failing field begins.
        """
        buffer, end = bounded(buffer, start, end)
        try:
            return self.parser(type_key)(buffer, start, end, complete, *parameters)
        except KafkaSpecError as error:
            raise origin.locate(error) from None

    def serialize(
        self, type_key: str, value: Any, *, parameters: Sequence[Any] = (), raw: bool = False
    ) -> bytes:
        """Write one value of a type.

        Derived fields (lengths, counts, checksums) are computed and ``valid`` is checked. With
        ``raw`` the stored derived fields and constants are written as they are and nothing is
        checked but that the numbers fit: for forging broken bytes in tests.

        Raises:
            KafkaSpecError: reason ``unencodable``, with the path of the field.
        """
        return self.write(type_key, value, parameters, raw)

    @abstractmethod
    def parser(self, type_key: str) -> Parser:
        """Return the function that reads one value of a type.

        Raises:
            KeyError: the specification has no such type.
        """

    @abstractmethod
    def write(self, type_key: str, value: Any, parameters: Sequence[Any], raw: bool) -> bytes:
        """Write one value of a type; see ``serialize``."""

    def scan(
        self,
        buffer: Buffer,
        start: int = 0,
        *,
        limit: int | None = None,
        capacity: int | None = None,
        spare: Scan | None = None,
    ) -> Scan | None:
        """Return the headers of the entries from ``start`` on by columns, while they are regular.

        For planning: anything unusual about an entry ends the table, and ``parse`` then finds the
        exact result or error. A codec need not know all kinds of entries here, or any.

        Args:
            buffer: entries.
            start: where the first one begins.
            limit: where the input ends that the buffer is the beginning of. Then headers are
                enough: an entry may reach beyond the buffer.
            capacity: maximum number of entries.
            spare: what an earlier call returned and nobody reads any more, for its memory.

        Returns:
            None if there is no such entry at ``start``.
        """
        return None

    def scan_file(self, file: int, start: int, limit: int, capacity: int) -> Scan | None:
        """Return what ``scan`` does of an open file, of which hardly more than headers is read.

        An optional fast path: where bytes cannot be read, the table ends as where an entry is
        unusual, and whoever reads them again finds the error.

        Args:
            file: descriptor of a local file.
            start: where the first entry begins.
            limit: where the input ends.
            capacity: maximum number of entries.

        Returns:
            None also if the codec has no such path.
        """
        return None

    def plain_records(
        self,
        buffer: Buffer,
        start: int,
        verify: bool,
        most: int,
        check: Callable[[], object] | None = None,
        headers: tuple[Scan, bytes | bytearray] | None = None,
    ) -> PlainRecords | None:
        """Return the records of batches from ``start`` on that need only decoding.

        An optional fast path: it ends at anything unusual about an entry, which the caller then
        reads entry by entry. A codec without such a path returns None.

        Args:
            buffer: entries.
            start: where the first one begins.
            verify: whether a wrong checksum counts as unusual.
            most: bytes from which on a batch counts as unusual.
            check: raises an error if the buffer may no longer be read. It is called before each
                batch, and records are made from a copy of the batch. None: it may always be read.
            headers: those of the entries, as ``scan`` returns them, and a byte for each one to look
                at: 0, or 1 if it is passed over. Then control batches are data as well.

        Returns:
            The records of the first batches, as long as they are uncompressed data batches; no
            records if the first entry is something else.
        """
        return None

    def encode_columns(
        self, message: Any, rows: int, columns: Mapping[str, Any], *, whole: bool = False
    ) -> bytes | None:
        """Return the same as ``encode_records``, for records in columns.

        An optional fast path: ``encode_records`` writes the same, and says what does not fit.

        Args:
            message: header of the typed model, with the number of the records.
            rows: how many there are.
            columns: by name, ids of the specification: 64-bit integers; of bytes validity (or
                None), 32-bit offsets and data; of a list 32-bit offsets, and its parts as columns.
                A column that is missing has the default of the specification.
            whole: write the whole entry of a batch, with header and checksum, not compressed.

        Returns:
            A record set; if the header is that of a legacy message, entries of one record each.
            None if the codec does not write such columns, or something does not fit.
        """
        return None

    def survey(self, payload: Buffer, verify: bool) -> Survey | None:
        """Return what the messages of a wrapper have in common; None if one is not regular.

        An optional fast path, for whole messages of known magics, none of them compressed.

        Args:
            payload: value of the wrapper after decompression, which may end within a message: see
                ``Survey.size``.
            verify: whether all checksums have to match.
        """
        return None

    def message_records(
        self, payload: Buffer, start: int, shift: int, time: int | None
    ) -> tuple[list[Record], int]:
        """Return some of the messages that ``survey`` found as records, and the position after.

        Args:
            payload: value of the wrapper after decompression.
            start: position of the first message.
            shift: number to add to each offset.
            time: timestamp of all of them; None to keep their own.
        """
        raise NotImplementedError

    def whole_records(self, batch: Any, data: Buffer, most: int) -> tuple[int, int]:
        """Return how many whole records ``data`` begins with, and where the last one ends.

        Args:
            batch: ``RecordBatch`` of the typed model.
            data: records after decompression; they may be cut at any byte.
            most: number of records to stop at.

        Raises:
            KafkaSpecError: the first record is none, whatever may follow ``data``; the error says
                where in ``data`` and in the record.
        """
        field = kinds.records_field(batch)
        parse = self.parser(field.type)
        buffer, end = bounded(data, 0, None)
        count = position = 0
        while count < most:
            try:
                _, position = parse(buffer, position, end, False, batch)
            except TruncatedError:
                break
            except KafkaSpecError:
                if not count:
                    raise
                break
            count += 1
        return count, position

    def count_headers(self, batch: Any, data: Buffer) -> FieldPlace | None:
        """Return the number of headers of the first record, and the place where it stands.

        Returns None if the format has no headers, or if the number cannot be read.
        """
        kind = kinds.kind_of(batch)
        field = kinds.records_field(batch)
        frame = kinds.layout_of(batch, field.type)
        buffer, end = bounded(data, 0, None)
        position, path = 0, ""
        fields = list(kinds.layout_of(batch, kind.record).fields)
        if frame.key != kind.record:
            fields.insert(0, frame.fields[0])
            path = f"/{frame.fields[1].id}"
        for item in fields:
            start = position
            if start >= end:
                return None
            if item.kind is LayoutKind.SCALAR:
                try:
                    value, position = self.parser(item.type)(buffer, position, end, False)
                except KafkaSpecError:
                    return None
            else:
                value, position = None, position + item.size
            if item.derive == "count" and item.derive_from == names.HEADERS:
                return FieldPlace(value, start, f"{path}/{item.id}", item.location)
        return None

    def decode_records(
        self, batch: Any, payload: Buffer, *, origin: Origin = NOWHERE
    ) -> list[Record]:
        """Return all records of a magic 2 batch as users see them.

        Args:
            batch: ``RecordBatch`` of the typed model.
            payload: its records after decompression.
            origin: origin of the payload.

        Raises:
            KafkaSpecError: as ``parse`` of ``recordbatch.record_set``.
        """
        kind = kinds.kind_of(batch)
        record_set, _ = self.parse(
            kind.record_set, payload, parameters=(batch,), complete=True, origin=origin
        )
        return [
            Record(
                record.offset,
                record.timestamp if kind.has_timestamps else -1,
                record.key,
                record.value,
                tuple(
                    (header.key.decode("utf-8", "surrogateescape"), header.value)
                    for header in (record.headers if kind.has_headers else ())
                ),
            )
            for record in record_set.records
        ]

    def encode_records(
        self,
        batch: Any,
        records: Sequence[Record],
        fields: Sequence[Mapping[str, Any]] | None = None,
    ) -> bytes:
        """Return the record set of a batch, not compressed: the reverse of ``decode_records``.

        Args:
            batch: header of the typed model, with the number of the records. What offsets and
                timestamps count from is taken from it.
            records: the records, in the order in which they are stored.
            fields: of each record, the fields that ``Record`` does not have, by their ids. What
                is not given has the default of the specification. ``headers`` of the typed model
                take the place of those of the record, for a format that has more in them.

        Raises:
            KafkaSpecError: reason ``unencodable``.
        """
        if not all(isinstance(record, Record) for record in records):
            raise make_error(Reason.UNENCODABLE, "what is to be written is not a Record")
        kind, classes = kinds.kind_of(batch), kinds.record_classes(batch)
        header_key, header_value = (
            name.rpartition(".")[2] for name in (names.HEADER_KEY, names.HEADER_VALUE)
        )
        base_offset = getattr(batch, names.BASE_OFFSET)
        base_timestamp = getattr(batch, names.BASE_TIMESTAMP, 0)
        made = []
        for record, more in zip(records, fields or repeat({}, len(records)), strict=True):
            own = kinds.record_arguments(classes.record, kind.record, more)
            if not classes.missing <= own.keys():
                wanted = ", ".join(sorted(classes.missing - own.keys()))
                detail = f"record {record.offset} needs a value for {wanted}: there is no default"
                raise make_error(Reason.UNENCODABLE, detail)
            known = {
                names.TIMESTAMP: record.timestamp,
                names.TIMESTAMP_DELTA: signed64(record.timestamp - base_timestamp),
                names.OFFSET: record.offset,
                names.OFFSET_DELTA: record.offset - base_offset,
                names.KEY: record.key,
                names.VALUE: record.value,
            }
            if own.keys() & known.keys():
                given = ", ".join(sorted(own.keys() & known.keys()))
                detail = f"fields cannot set {given}: the record says it"
                raise make_error(Reason.UNENCODABLE, detail)
            values = {name: known[name] for name in known.keys() & classes.stored}
            values[classes.parameter] = batch
            if record.headers:
                if names.HEADERS not in classes.stored:
                    detail = f"record {record.offset}: magic {kind.magic} has no headers"
                    raise make_error(Reason.UNENCODABLE, detail)
                values[names.HEADERS] = [
                    classes.header(**{header_key: _header_key(record, key), header_value: value})
                    for key, value in record.headers
                ]
            made.append(classes.record(**(values | dict(own))))
        record_set = classes.record_set(**{classes.parameter: batch, "records": made})
        return self.serialize(kind.record_set, record_set, parameters=(batch,))


def _header_key(record: Record, key: str) -> bytes:
    try:
        return key.encode("utf-8", "surrogateescape")
    except (AttributeError, UnicodeEncodeError):
        detail = f"record {record.offset}: header key {key!r} is not text"
        raise make_error(Reason.UNENCODABLE, detail) from None
