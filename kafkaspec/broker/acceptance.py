"""Check entries before they are appended, as a leader checks them against its log."""

from __future__ import annotations

from collections.abc import Iterator
from operator import gt, le
from typing import Final

from kafkaspec.broker.index_rules import IndexBuilder
from kafkaspec.broker.producer_state import read_marker
from kafkaspec.broker.profiles import Profile
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.files.indexes import LARGEST_RELATIVE_OFFSET, OffsetIndex
from kafkaspec.layout.framing import field_of
from kafkaspec.layout.stand_ins import UNKNOWN
from kafkaspec.log.batch import NONE, crc_error
from kafkaspec.log.header_table import HeaderTable

LARGEST_SEGMENT: Final = field_of(OffsetIndex.type_key, "position").largest
"""Most bytes of a segment that a broker opens: an index cannot hold larger positions."""


def first_refused(
    headers: HeaderTable, next_offset: int, profile: Profile
) -> tuple[int, KafkaSpecError] | None:
    """Return the first entry that cannot be appended, and why."""
    found: list[tuple[int, KafkaSpecError]] = []
    number = headers.wrong_checksum()
    if number is not None:
        found.append((number, crc_error(headers.batch(number))))
    if max(headers.magic) > profile.magic:
        number = next(n for n, magic in enumerate(headers.magic) if magic > profile.magic)
        detail = f"the profile of Kafka {profile.since} does not know magic {headers.magic[number]}"
        found.append((number, refusal(headers, number, detail)))
    number = _disorder(headers, next_offset)
    if number is not None:
        before = headers.last_offset[number - 1] if number else next_offset - 1
        first, last = headers.first_offset[number], headers.last_offset[number]
        what = f"{first} to {last}" if first != UNKNOWN else f"up to {last}"
        detail = f"its offsets, {what}, do not follow {before}"
        found.append((number, refusal(headers, number, detail)))
    if profile.producer_state and any(headers.control):
        found += unreadable_markers(headers)
    return min(found, key=lambda item: item[0], default=None)


def unreadable_markers(headers: HeaderTable) -> Iterator[tuple[int, KafkaSpecError]]:
    """Yield the first transaction marker that cannot be read, and why."""
    for number, control in enumerate(headers.control):
        if control and headers.producer_id[number] > NONE:
            try:
                read_marker(headers, number)
            except KafkaSpecError as error:
                yield number, error
                return


def too_large(headers: HeaderTable, indexes: IndexBuilder) -> tuple[int, KafkaSpecError] | None:
    """Return number 0 and why the entries cannot be one append; None if they can."""
    first, last = headers.first_offset[0], headers.last_offset[-1]
    if not indexes.fits(last):
        first = headers.first_offset_of(0)
    size = headers.end - headers.position[0]
    if size > LARGEST_SEGMENT:
        return 0, refusal(headers, 0, f"an append of {size} bytes does not fit into a segment")
    if first != UNKNOWN and last - first > LARGEST_RELATIVE_OFFSET:
        return 0, refusal(headers, 0, f"offsets {first} to {last} do not fit into a segment")
    return None


def refusal(headers: HeaderTable, number: int, detail: str) -> KafkaSpecError:
    """Return the error for an entry that cannot be appended."""
    return make_error(Reason.UNENCODABLE, detail, offset=headers.position[number])


def _disorder(headers: HeaderTable, next_offset: int) -> int | None:
    """Return the first entry whose offsets do not follow those before it."""
    first, last = list(headers.first_offset), list(headers.last_offset)
    before = [next_offset - 1, *last[:-1]]
    if all(map(gt, first, before)) and all(map(le, first, last)):
        return None
    for number, (begin, end, previous) in enumerate(zip(first, last, before, strict=True)):
        if end <= previous or (begin != UNKNOWN and not previous < begin <= end):
            return number
    return None
