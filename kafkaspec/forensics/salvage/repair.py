"""Give broken entries back the bytes that they must have had."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.checksum import CHECKSUMS
from kafkaspec.errors import KafkaSpecError
from kafkaspec.intact.crc import flipped_bit
from kafkaspec.intact.heads import Head, head_at
from kafkaspec.intact.walk import Broken, IntactRun
from kafkaspec.layout import framing, names
from kafkaspec.layout.kinds import KINDS, MAGICS
from kafkaspec.log.legacy import has_relative_offsets
from kafkaspec.log.segment import Segment
from kafkaspec.results import Strength

Repair = Literal["bits", "headers"]
"""What to repair: single bits that the checksum names, or fields that no checksum covers."""

_MAGIC: Final = framing.HEADER_UP_TO_MAGIC - 1
_SIZE: Final = framing.field_of(framing.ENTRY, "len_message")
_SIZE_AT: Final = framing.field_position(LAYOUTS[framing.ENTRY], "len_message")
_OFFSET: Final = framing.field_of(framing.ENTRY, names.BASE_OFFSET)
_EPOCH: Final = framing.field_of(framing.RECORD_BATCH, names.LEADER_EPOCH)
_EPOCH_AT: Final = framing.FRAMING + framing.field_position(
    LAYOUTS[framing.RECORD_BATCH], names.LEADER_EPOCH
)
_SOME: Final = 1 << 40
"""An offset from which those inside a wrapper can be counted back."""
_AROUND: Final = 3
"""Entries that are compared where leader epochs fall."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """An entry as it must have been."""

    data: bytes
    head: Head
    what: str
    strength: Strength


def repaired(
    buffer: memoryview,
    broken: Broken,
    last: int,
    limit: int,
    epoch: int | None,
    how: frozenset[Repair],
) -> Repaired | None:
    """Return a broken entry as it must have been between two others, None if nothing says it."""
    for head, data, what in _candidates(buffer, broken, how):
        done = list(what)
        strength = Strength.STRONG if "bit" in " ".join(what) else Strength.PROOF
        if not (last < head.first and head.last < limit):
            found = _moved(data, head, last, limit) if "headers" in how else None
            if found is None:
                continue
            head, strength = found
            done.append("base offset")
        has_epoch = KINDS[head.magic].has_leader_epochs and epoch is not None
        if has_epoch and "headers" in how and head.leader_epoch != epoch:
            _put_epoch(data, epoch)
            strength = Strength.LIKELY  # the neighbours have it; nothing covers it
            done.append("leader epoch")
        if done and _reads(data, head):
            return Repaired(bytes(data), head, ", ".join(done), strength)
    return None


def moved(buffer: memoryview, run: IntactRun, last: int, limit: int) -> Repaired | None:
    """Return a sound entry with another base offset, which no checksum covers."""
    head = head_at(buffer, run.start)
    if head is None:
        return None
    data = bytearray(buffer[run.start : run.end])
    found = _moved(data, head, last, limit)
    if found is None or not _reads(data, found[0]):
        return None
    return Repaired(bytes(data), found[0], "base offset", found[1])


def with_epoch(buffer: memoryview, position: int, start: int, end: int) -> Repaired | None:
    """Return the entry with a wrong leader epoch at a place where epochs fall.

    It is the one whose neighbours have the same epoch.

    Args:
        position: byte offset of the entry after which the epoch falls, or that has a lower one.
        start: byte offset of the first entry of the run.
    """
    heads: list[Head] = []
    at = position
    while at < end and len(heads) < _AROUND:
        head = head_at(buffer, at)
        if head is None or not KINDS[head.magic].has_record_sets:
            return None
        heads.append(head)
        at = head.end
    if len(heads) < _AROUND:
        return None
    one, two, three = heads
    if two.leader_epoch == three.leader_epoch:
        wrong, epoch = one, two.leader_epoch
    elif one.leader_epoch == three.leader_epoch:
        wrong, epoch = two, one.leader_epoch
    else:
        return None
    data = bytearray(buffer[wrong.position : wrong.end])
    _put_epoch(data, epoch)
    found = replace(wrong, leader_epoch=epoch)
    return Repaired(bytes(data), found, "leader epoch", Strength.LIKELY)


def _moved(data: bytearray, head: Head, last: int, limit: int) -> tuple[Head, Strength] | None:
    """Give an entry the offset after another; return how well that is proven, None if it cannot."""
    first, span = last + 1, head.last - head.first
    if head.count is None:  # a wrapper: what is in it says how many offsets it has
        try:
            _put_offset(data, _SOME)
            records = Segment(bytes(data), crc="ignore").batch_at(0).records()
            span = records[-1].offset - records[0].offset
            if not has_relative_offsets(KINDS[head.magic]):
                first = records[0].offset
        except (KafkaSpecError, IndexError):
            return None
    if span < 0 or not last < first <= first + span < limit:
        return None
    end = first + span
    _put_offset(data, end if head.count is None else first)
    exact = first == last + 1 and end + 1 == limit
    return replace(head, first=first, last=end), Strength.STRONG if exact else Strength.LIKELY


def _put_epoch(data: bytearray, epoch: int | None) -> None:
    if epoch is not None:
        data[_EPOCH_AT : _EPOCH_AT + _EPOCH.size] = epoch.to_bytes(_EPOCH.size, "big", signed=True)


def _put_offset(data: bytearray, offset: int) -> None:
    data[: _OFFSET.size] = offset.to_bytes(_OFFSET.size, "big")


def _candidates(
    buffer: memoryview, broken: Broken, how: frozenset[Repair]
) -> Iterator[tuple[Head, bytearray, list[str]]]:
    """Yield the entry with right checksums: as it would be if it had this magic or that."""
    stored = buffer[broken.start + _MAGIC]
    for magic in reversed(MAGICS):
        head = head_at(buffer, broken.start, magic)
        if head is None:
            continue
        size = broken.end - broken.start
        data, what = bytearray(buffer[broken.start : broken.end]), list[str]()
        if head.size != size:
            data[_SIZE_AT : _SIZE_AT + _SIZE.size] = (size - framing.FRAMING).to_bytes(
                _SIZE.size, "big"
            )
            what.append("size")
        if magic != stored and head.covered - broken.start > _MAGIC:
            data[_MAGIC] = magic
            what.append("magic")
        if what and "headers" not in how:
            continue
        covered = head.covered - broken.start
        difference = head.crc ^ CHECKSUMS[head.algorithm](data[covered:])
        if difference:
            if "bits" not in how:
                continue
            if difference.bit_count() == 1:
                place = difference.bit_length() - 1
                byte, bit = head.crc_bytes - 1 - place // 8, place % 8
                data[head.crc_position - broken.start + byte] ^= 1 << bit
                what.append(f"bit {bit} of byte {head.crc_position + byte}, in the checksum")
            else:
                found = flipped_bit(head.algorithm, difference, len(data) - covered)
                if found is None:
                    continue
                byte, bit = covered + found[0], found[1]
                data[byte] ^= 1 << bit
                what.append(f"bit {bit} of byte {broken.start + byte}")
        now = head_at(memoryview(bytes(data)), 0)
        if now is None or now.magic != magic or not (now.is_plausible or "headers" in how):
            continue
        yield replace(now, position=broken.start), data, what


def _reads(data: bytearray, head: Head) -> bool:
    """Return whether an entry is sound and all of its records can be read."""
    try:
        segment = Segment(bytes(data))
        batch = segment.batch_at(0)
        if batch.size != len(data):
            return False
        offset = head.first - 1
        for record in batch.records():
            if not offset < record.offset <= head.last:
                return batch.is_wrapper
            offset = record.offset
    except KafkaSpecError:
        return False
    return True
