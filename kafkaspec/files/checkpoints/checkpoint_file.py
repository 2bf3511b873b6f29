"""The common format of all checkpoints: a version, a count, and a line for each entry.

Kafka: ``CheckpointFile`` and its ``CheckpointReadBuffer``. A file of zero bytes, or of one line,
has no entries; Kafka creates such a file when it starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Generic, TypeVar

from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.files.checkpoints.text import INT_BITS, Text, fields, shown, value_text
from kafkaspec.layout import TextLayout

T = TypeVar("T")


@dataclass(frozen=True)
class CheckpointFormat(Generic[T]):
    """A kind of checkpoint.

    Attributes:
        layout: what the specification says of it.
        entry: makes an entry of the values of a line, by their attributes, and of its position.
    """

    layout: TextLayout
    entry: Callable[..., T]

    def parse(self, data: bytes, *, file: str | None = None) -> tuple[T, ...]:
        """Parse the entries of a checkpoint, in the order of the file.

        Args:
            data: all bytes of the file.
            file: its name in errors.

        Raises:
            CorruptError: a line is malformed, or their number differs from line 2.
            UnsupportedError: another version than 0.
        """
        entries: list[T] = []
        for item in self._scan(Text(data, file)):
            if isinstance(item, KafkaSpecError):
                raise item
            entries.append(item)
        return tuple(entries)

    def read(self, path: str | PathLike[str]) -> tuple[T, ...]:
        """Read the entries of the checkpoint at ``path``.

        Raises:
            KafkaSpecError: ``unreadable``, and as ``parse``.
        """
        text = Text.load(path)
        return self.parse(text.data, file=text.file)

    def scan(self, path: str | PathLike[str]) -> list[T | KafkaSpecError]:
        """Read the entries of the checkpoint at ``path``, and the error of each malformed line.

        Raises:
            KafkaSpecError: ``unreadable``, or the first two lines are malformed.
        """
        return list(self._scan(Text.load(path)))

    def serialize(self, entries: Iterable[T]) -> bytes:
        """Serialize entries as Kafka does, with the line ends of all platforms except Windows.

        The order stays: Kafka sorts leader epochs, and has partitions in that of a hash map.

        Raises:
            KafkaSpecError: ``unencodable``: a value does not fit.
        """
        keys, version = self.layout.keys, str(self.layout.versions[-1])
        lines = [
            " ".join(value_text(key, getattr(entry, key.attribute)) for key in keys)
            for entry in entries
        ]
        return "".join(f"{line}\n" for line in (version, str(len(lines)), *lines)).encode()

    def _scan(self, text: Text) -> Iterator[T | KafkaSpecError]:
        """Yield the entries in order, with the error of each malformed line."""
        # Nothing is allocated for the count, as Kafka does: a broker runs out of memory if it is
        # wrong and large.
        lines = text.lines()
        first = next(lines, None)
        if first is None:
            return
        version = text.number(first, INT_BITS, "/version")
        if not self.layout.knows(version):
            detail = f"version {version} is none of {', '.join(map(str, self.layout.versions))}"
            raise text.error(Reason.UNSUPPORTED_VERSION, detail, first, "/version")
        second = next(lines, None)
        if second is None:
            return
        announced = text.number(second, INT_BITS, "/count")
        keys = self.layout.keys
        number = 0
        for number, line in enumerate(lines, 1):
            path = f"/entries/{number - 1}"
            found = fields(line)
            try:
                if len(found) != len(keys):
                    detail = f"{shown(line.text)} has {len(found)} fields, not {len(keys)}"
                    raise text.error(Reason.INVALID_VALUE, detail, line, path)
                values = {
                    key.attribute: text.value(key, piece, f"{path}/{key.attribute}")
                    for key, piece in zip(keys, found, strict=True)
                }
                yield self.entry(**values, position=found[0].position)
            except KafkaSpecError as error:
                yield error
        if number != announced:
            reason = Reason.TRUNCATED if number < announced else Reason.INVALID_VALUE
            detail = f"{announced} entries are announced, but {number} follow"
            yield text.error(reason, detail, second, "/count")
