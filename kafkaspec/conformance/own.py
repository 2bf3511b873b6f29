"""Cases from any segments, indexes, snapshots and text files: the answers are those of our codecs.

No producer and no dump tool says what is in them, so that the authority is two codecs of ours,
which must agree. A case says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from kafkaspec._generated.layout.texts import TEXTS
from kafkaspec.codecs import get_codec
from kafkaspec.conformance.cases import Case, Items, Refusal
from kafkaspec.conformance.protocol import ANSWERS, RequestKind
from kafkaspec.conformance.serving import answered
from kafkaspec.conformance.testee import handlers_of
from kafkaspec.conformance.written import judges
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.log.segment import Segment

PIECE: Final = 1 << 20
"""Bytes of a case, at most: a larger segment is several, each of whole entries."""

KINDS: Final = {
    names.LOG: RequestKind.LOG,
    names.OFFSET_INDEX: RequestKind.OFFSET_INDEX,
    names.TIME_INDEX: RequestKind.TIME_INDEX,
    names.TRANSACTION_INDEX: RequestKind.TRANSACTION_INDEX,
    names.PRODUCER_SNAPSHOT: RequestKind.PRODUCER_SNAPSHOT,
}
"""Kinds of request by the suffix of a file."""
_CATEGORIES: Final = {
    RequestKind.LOG: "segment",
    RequestKind.CONTROL_RECORDS: "control",
    RequestKind.COMMITTED_RECORDS: "committed",
    RequestKind.PRODUCER_SNAPSHOT: "snapshot",
    RequestKind.TEXT: "text",
}


class OwnCasesError(Exception):
    """A path has no cases, or our codecs do not agree about it; the text says which file."""


def own_cases(path: Path, left_out: Callable[[Path], None] = lambda _: None) -> Iterator[Case]:
    """Yield the cases of a file, or of all files of a directory and below.

    Args:
        path: the file or directory.
        left_out: is called with each partition, or segment that was named alone, that has
            transactions and is too large for a case about its committed records.

    Raises:
        OwnCasesError: there is none, one cannot be read, or our codecs do not agree about it.
    """
    paths = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    found = False
    for each in paths:
        kind = _kind_of(each)
        if kind is not None:
            found = True
            yield from _File(path, each, kind).cases()
    if not found:
        raise OwnCasesError(
            f"{path} holds no segment, index, snapshot or checkpoint, and no VERSION/logs"
        )
    logs = [each for each in paths if each.suffix == names.LOG and _kind_of(each)]
    for folder, group in groupby(sorted(logs, key=_folder), key=_folder):
        yield from _committed(path, folder, list(group), left_out)


def _kind_of(path: Path) -> RequestKind | None:
    segment = names.parse_segment(path.name)
    if segment is not None:
        return None if segment.state else KINDS.get(segment.kind)
    if path.name in TEXTS:
        return RequestKind.TEXT
    return RequestKind.LOG if names.parse_checkpoint(path.name) else None


def _folder(path: Path) -> Path:
    return path.parent


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise OwnCasesError(f"{path}: {error.strerror}") from None


@dataclass(frozen=True)
class _File:
    """A file below the path that was given."""

    root: Path
    path: Path
    kind: RequestKind
    extra: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def _name(self) -> str:
        below = self.path.relative_to(self.root if self.root.is_dir() else self.root.parent)
        return f"{self.root.name}/{below.as_posix()}" if self.root.is_dir() else below.as_posix()

    def cases(self) -> Iterator[Case]:
        """Yield a case for each piece, and one for control records in it."""
        data, extra = _read(self.path), dict[str, Any]()
        if self.kind in (RequestKind.OFFSET_INDEX, RequestKind.TIME_INDEX):
            extra = {"base_offset": names.offset_in(self.path.name) or 0}
        if self.kind is RequestKind.TEXT:
            extra = {"file": self.path.name}
        if self.kind is not RequestKind.LOG:
            yield case_of(self._name, self.kind, data, extra)
            return
        pieces = list(_pieces(data))
        for start, end in pieces:
            name = self._name if len(pieces) == 1 else f"{self._name}@{start}"
            yield case_of(name, self.kind, data[start:end])
            control = case_of(name, RequestKind.CONTROL_RECORDS, data[start:end])
            if isinstance(control.expected, Items) and control.expected.items:
                yield control


def _pieces(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the ranges of whole entries; the last one takes what cannot be read."""
    start = 0
    if len(data) > PIECE:
        try:
            for batch in Segment(data, crc="ignore").batches():
                if batch.position > start and batch.position + batch.size - start > PIECE:
                    yield start, batch.position
                    start = batch.position
        except KafkaSpecError:  # codecs say so of the last piece
            pass
    yield start, len(data)


def _committed(
    root: Path, folder: Path, paths: list[Path], left_out: Callable[[Path], None]
) -> Iterator[Case]:
    """Yield a case of the segments of a partition with transactions that are not too large."""
    named = folder if root.is_dir() else root
    if sum(path.stat().st_size for path in paths) > PIECE:
        if any(map(_has_transactions, paths)):
            left_out(named)
        return
    if any(map(_has_transactions, paths)):
        data = b"".join(map(_read, paths))
        name = f"{root.name}/{folder.relative_to(root).as_posix()}" if root.is_dir() else root.name
        yield case_of(name, RequestKind.COMMITTED_RECORDS, data)


def _has_transactions(path: Path) -> bool:
    """Return whether a segment has control batches; those that cannot be read are cases."""
    try:
        return any(batch.is_control for batch in Segment(_read(path), crc="ignore").batches())
    except KafkaSpecError:
        return False


def case_of(name: str, kind: RequestKind, data: bytes, extra: dict[str, Any] | None = None) -> Case:
    """Return a case whose answer our codecs give.

    Raises:
        OwnCasesError: they do not agree.
    """
    request = {"id": "", "kind": kind.value} | (extra or {})
    answers = {each: answered(request, handlers_of(get_codec(each)), data) for each in judges()}
    (first, answer), *others = answers.items()
    member = ANSWERS[kind]
    for other, found in others:
        if (found.get(member), found.get("reason")) != (answer.get(member), answer.get("reason")):
            raise OwnCasesError(
                f"{name}: codecs {first} and {other} do not agree; please report it"
            )
    expected: Items | Refusal
    if "error" in answer:
        reason = answer.get("reason")
        expected = Refusal(frozenset({reason}) if reason else frozenset())
    else:
        expected = Items(answer[member])
    why = f"No broker says so: the answer is that of our codecs, {' and '.join(answers)}."
    return Case(f"{_CATEGORIES.get(kind, 'index')}/{name}", kind, data, expected, why, extra or {})
