"""The entries of one input in order, and the end of the log.

The end follows the rules of Kafka's readers (``FileLogInputStream``): the log ends without an error
where no byte is left after a magic, or where an entry reaches beyond the end. A size below that of
the smallest message is an error, but zeros to the end are what preallocation leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path, PurePath
from typing import Literal

from kafkaspec.codecs import Codec, Origin, get_codec
from kafkaspec.compression import default_bound
from kafkaspec.errors import KafkaSpecError, Reason, TruncatedError, make_error
from kafkaspec.files import names
from kafkaspec.files.indexes import is_zero
from kafkaspec.files.segment_files import SegmentFiles
from kafkaspec.io.local import Source, open_source
from kafkaspec.io.remote import as_path
from kafkaspec.io.window import MOST_AHEAD, Allocate, Cursor, Reading
from kafkaspec.layout.framing import FRAMING, HEADER_UP_TO_MAGIC, MINIMUM_MESSAGE, message_size
from kafkaspec.log.batch import Batch, Context
from kafkaspec.log.formats import Format, FormatName, format_named, format_of
from kafkaspec.model import Buffer
from kafkaspec.options import checked
from kafkaspec.policy import CrcPolicy, TailPolicy

_ZEROS_AT_ONCE = 16 << 20


@dataclass(frozen=True, slots=True)
class Tail:
    """Bytes at the end of a segment that are not an entry.

    Attributes:
        position: byte offset of the first one: the end of the log.
        size: number of bytes.
        reason: ``short``, fewer bytes than reach up to a magic byte; ``torn``, an entry that
            reaches beyond the end; ``zeros``, preallocated; ``corrupt``, a size that no entry can
            have, so that nothing after it can be found.
    """

    position: int
    size: int
    reason: Literal["short", "torn", "zeros", "corrupt"]

    def __str__(self) -> str:
        what = {
            "short": "are too few for a batch",
            "torn": "are the beginning of a batch that is cut off",
            "zeros": "are zeros, as in a preallocated segment that was not closed",
            "corrupt": "cannot be divided into batches",
        }[self.reason]
        return f"the last {self.size} bytes {what}"


class Entries(SegmentFiles):
    """The entries of a segment, and the files beside it: the base of ``Segment``.

    Attributes:
        path: path of the file, None for a buffer.
        name: name of the file in errors, None for a buffer without a name.
        base_offset: offset in the file name, None if it has none. Nothing else ties the entries to
            it: the first one may have a larger offset.
        size: number of bytes.
        modified: modification time of the file in ms since the Unix epoch, None for a buffer.
        format: format of the entries.
        codec: the codec that parses.
        tail: the bytes that ended the last pass of ``batches`` or ``scan`` over the file, None if
            the last entry ended where the file does, or if no pass has reached the end yet.
    """

    path: Path | None
    name: str | None
    base_offset: int | None
    size: int
    modified: int | None
    format: Format
    codec: Codec
    tail: Tail | None

    @checked
    def __init__(
        self,
        path_or_buffer: str | PathLike[str] | Buffer | Reading,
        *,
        codec: Codec | str | None = None,
        crc: CrcPolicy = "raise",
        tail: TailPolicy = "skip",
        max_output: int | None = None,
        base_offset: int | None = None,
        name: str | None = None,
        mapped: bool = True,
        log_format: FormatName | None = None,
    ) -> None:
        """Map a file, or take a buffer. Nothing is parsed yet.

        Args:
            path_or_buffer: a path, a URL, bytes, or an object that reads them in parts.
            codec: name or instance; the default codec if None.
            crc: ``raise``, reading records of a batch with a wrong CRC is an error; ``ignore``,
                no CRC is checked, and only ``Batch.crc_valid`` computes it. ``batches`` never
                checks one.
            tail: ``skip``, the log ends before what is not a whole entry, as for Kafka's reader,
                and before zeros (quirk Q43); ``raise``, such bytes are an error.
            max_output: maximum number of bytes that the payload of one batch may decompress to;
                256 MiB if None.
            base_offset: base offset that replaces the one in the file name.
            name: name of a buffer, for errors.
            log_format: what the file is, if its name does not say it: ``0.7`` (``.kafka``), or the
                id of a file of the specification that ends with log entries.
            mapped: False reads the file in parts and never maps it: slower, but a file that
                becomes shorter meanwhile is an error in every case. A file that does not fit into
                the address space is read in parts anyway.

        Raises:
            KafkaSpecError: ``unreadable``.
        """
        self.path = None
        self._source: Source | Reading
        if isinstance(path_or_buffer, bytes | bytearray | memoryview):
            self._source = Source.of_buffer(path_or_buffer, name)
        elif isinstance(path_or_buffer, Reading):
            self._source = path_or_buffer
        else:
            self.path = as_path(path_or_buffer)
            self._source = open_source(self.path, mapped)
        self.name = self._source.name
        self.size = self._source.size
        self.modified = self._source.modified
        self.tail = None
        parsed = None
        if self.path is not None:
            parsed = names.parse_segment(self.path.name)
        elif self.name and isinstance(path_or_buffer, Reading):
            parsed = names.parse_segment(PurePath(self.name).name)
        self._file_name = parsed
        if base_offset is None and parsed is not None and parsed.kind in names.SEGMENTS:
            base_offset = parsed.base_offset
        by_name = format_of(parsed.kind if parsed else "")
        self.format = format_named(log_format) if log_format else by_name
        self.codec = self.format.codec(codec if isinstance(codec, Codec) else get_codec(codec))
        self.base_offset = base_offset
        self._tail_policy: TailPolicy = tail
        bound = default_bound() if max_output is None else max_output
        self._context = Context(
            self.codec, self.name, crc, bound, self._source.check, base_offset or 0
        )

    # -- entries ----------------------------------------------------------------------------

    def entries(self, position: int = 0) -> Iterator[Batch]:
        """Yield the entries from a byte offset on, reading only headers.

        Raises:
            KafkaSpecError: an entry that cannot be parsed; with ``tail="raise"`` also bytes at
                the end that are not an entry.
        """
        for _, item in self._scan(position, stop=self._tail_policy == "skip"):
            if isinstance(item, KafkaSpecError):
                raise item
            yield item

    def scan(self, start_position: int = 0) -> Iterator[Batch | KafkaSpecError]:
        """Return the batches in order, with the error of each one that cannot be parsed.

        It continues after a broken entry as long as the size of the entry is sound, and ends if it
        is not (``tail`` is then ``corrupt``). ``tail`` says how the log ends, whatever the ``tail``
        option is. Checksums are not checked.

        Raises:
            CorruptError: ``changed``, the file became shorter.
        """
        return (item for _, item in self.scan_entries(start_position))

    def scan_entries(self, start_position: int = 0) -> Iterator[tuple[int, Batch | KafkaSpecError]]:
        """Return what ``scan`` does, each with the byte offset at which its entry begins."""
        return self._scan(start_position, stop=True)

    def batch_at(self, position: int, cursor: Cursor | None = None) -> Batch:
        """Return the batch that starts at a byte offset.

        Args:
            position: the byte offset.
            cursor: the cursor of the current pass.

        Raises:
            KafkaSpecError: there is none; a cut one is an error here.
        """
        if not 0 <= position <= self.size:
            detail = f"the file has {self.size} bytes, so that nothing starts at {position}"
            raise make_error(Reason.TRUNCATED, detail, file=self.name, offset=self.size)
        item, _ = self._read(cursor or self._source.cursor(), position, stop=False)
        if isinstance(item, Batch):
            return item
        assert isinstance(item, KafkaSpecError)
        raise item

    @property
    def crc(self) -> CrcPolicy:
        """Policy for a wrong CRC when records are read."""
        return self._context.crc

    @property
    def max_output(self) -> int:
        """Maximum number of bytes that the payload of one batch may decompress to."""
        return self._context.max_output

    def cursor(
        self, allocate: Allocate = bytearray, most: int = MOST_AHEAD, *, sparse: bool = False
    ) -> Cursor:
        """Return the bytes of the segment for one pass.

        Args:
            allocate: function that allocates memory for windows of a file that is not mapped.
            most: maximum number of bytes of a window.
            sparse: the pass reads only headers: windows begin small and leave out large batches.
        """
        return self._source.cursor(allocate, most, sparse=sparse)

    def around(self, cursor: Cursor, position: int) -> tuple[memoryview, int]:
        """Return a buffer with the bytes of the entry at ``position``, and its position."""
        framing = self.format.framing
        buffer, start = cursor.at(position, framing.up_to_magic)
        if start + len(buffer) < self.size and self.size - position >= framing.size:
            size = framing.size + framing.message_size(buffer, position - start)
            buffer, start = cursor.at(position, max(size, framing.up_to_magic))
        return buffer, start

    def check(self) -> None:
        """Check that the file is as long as when it was opened.

        Raises:
            CorruptError: ``changed``.
        """
        self._source.check()

    def close(self) -> None:
        """Release the mapping as soon as no object needs it."""
        self._source.close()
        self.close_indexes()

    @property
    def first(self) -> int:
        """Position of the first entry, after the header of the file if it has one."""
        return self.format.first

    def check_header(self) -> None:
        """Check what stands before the first entry.

        Raises:
            KafkaSpecError: it is not that of the format.
        """
        size = self.first
        if size:
            data, start = self._source.cursor().at(0, size)
            key = self.format.file
            self.codec.parse(key, data[-start:][:size], complete=True, origin=Origin(self.name, 0))

    def _scan(self, position: int, *, stop: bool) -> Iterator[tuple[int, Batch | KafkaSpecError]]:
        self.tail = None
        if position < self.first:
            self.check_header()
            position = self.first
        cursor = self._source.cursor()
        while position < self.size:
            item, end = self._read(cursor, position, stop=stop)
            if isinstance(item, Tail):
                self.tail = item
                return
            if end is None:
                torn = isinstance(item, TruncatedError)
                self.tail = Tail(position, self.size - position, "torn" if torn else "corrupt")
                yield position, item
                return
            yield position, item
            position = end

    def _read(
        self, cursor: Cursor, position: int, *, stop: bool
    ) -> tuple[Batch | KafkaSpecError | Tail, int | None]:
        """Return the entry at ``position``, and the position of the next one if it is known."""
        framing = self.format.framing
        left = self.size - position
        if stop and left <= framing.up_to_magic:
            return Tail(position, left, "short"), None
        self._source.check()
        buffer, start = self.around(cursor, position)
        at = position - start
        try:
            entry, end = self.codec.parse(
                framing.entry, buffer, at, len(buffer), origin=Origin(self.name, start)
            )
        except TruncatedError as error:
            return (Tail(position, left, "torn") if stop else error), None
        except KafkaSpecError as error:
            size = framing.message_size(buffer, at)
            if size >= framing.minimum_message:
                return error, position + framing.size + size
            if stop and size == 0 and self._is_zero(cursor, position):
                return Tail(position, left, "zeros"), None
            return error, None
        batch = self.format.batch(entry, position, buffer[at:end], self._context)
        return batch, start + end

    def _is_zero(self, cursor: Cursor, position: int) -> bool:
        """Return whether only zeros follow."""
        while (position := self._source.data_from(position)) < self.size:
            buffer, start = cursor.at(position, 1)
            piece = buffer[position - start :][:_ZEROS_AT_ONCE]
            if not is_zero(piece):
                return False
            position += len(piece)
        return True


def entry_end(segment: Entries, position: int) -> int | None:
    """Return the byte offset after an entry with any content; None if its size is broken."""
    if segment.size - position <= HEADER_UP_TO_MAGIC:
        return None
    buffer, base = segment.cursor(sparse=True).at(position, HEADER_UP_TO_MAGIC)
    size = message_size(buffer, position - base)
    return position + FRAMING + size if size >= MINIMUM_MESSAGE else None
