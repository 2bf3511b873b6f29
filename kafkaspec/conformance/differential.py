"""Compare two testees on very many logs: mutations of the cases, many of them in one request.

Answers are digests, and only a log about which they differ is asked for again alone. The logs
follow from a seed: sizes are always right, and checksums mostly, so that what is compared is how
records are read.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Final, TypedDict

from kafkaspec.conformance.cases import Case, Items
from kafkaspec.conformance.made import made_cases, sized
from kafkaspec.conformance.payloads import changed
from kafkaspec.conformance.process import BreakdownError, StartError, Testee
from kafkaspec.conformance.protocol import ANSWERS, SKIPPED, RequestKind, digest, encode_bytes
from kafkaspec.conformance.vectors import vector_cases
from kafkaspec.errors import KafkaSpecError
from kafkaspec.layout import names
from kafkaspec.layout.framing import LOG_FRAMING
from kafkaspec.log.segment import Segment

AT_ONCE: Final = 2_000
"""Logs in a request."""
_LARGEST: Final = 2_000
"""Bytes of a log that is mutated; more would say the same more slowly."""
_SEALED: Final = 0.9
"""Part of the logs whose checksum is made right again."""
SMALLEST: Final = LOG_FRAMING.size + LOG_FRAMING.minimum_message
"""Bytes of the smallest log: readers of files and of buffers see less in two ways (Q8)."""
_TRIES: Final = 200
"""Questions for the smallest log that shows a difference."""
_BYTES: Final = (0, 1, 0x7F, 0x80, 0xFF)
"""Bytes at which numbers and varints change."""


MEMORY: Final = "Q5"
UNREAD: Final = "Q9"
QUIRKS: Final = (MEMORY, UNREAD)
"""Numbers of the quirks of Kafka that can explain a difference."""
_NO_MEMORY: Final = "OutOfMemoryError"


class DifferenceSums(TypedDict):
    """The sums of a comparison.

    Attributes:
        against: name of the second testee.
        seed: of the logs.
        cases: number of logs.
        accepted: number of logs that both decode to the same.
        refused: number of logs that both refuse.
        skipped: number of logs that a testee does not support.
        differences: number of logs about which they differ in a way that is not known.
        known: number of logs by the quirk of Kafka that explains the difference, of those that the
            caller knows; one of 0 is stale.
    """

    against: str
    seed: int
    cases: int
    accepted: int
    refused: int
    skipped: int
    differences: int
    known: dict[str, int]


@dataclass(frozen=True)
class Difference:
    """A log that two testees read in two ways.

    Attributes:
        case: ``seed/number``, which makes the same log again.
        data: the log in hexadecimal, made smaller where it still shows the difference, unless a
            testee breaks down.
        first: what the first testee says.
        second: what the second one says.
        quirk: number of the quirk of Kafka that explains it, "" for none.
    """

    case: str
    data: str
    first: str
    second: str
    quirk: str = ""

    @property
    def group(self) -> tuple[str, str]:
        """The texts of both without numbers: a group has one cause, most likely."""
        first, second = (_without_numbers(text) for text in (self.first, self.second))
        return first, second


def _without_numbers(text: str) -> str:
    return re.sub(r"\d+", "#", text)[:60]


def mutations(seed: int, more: Sequence[Case] = ()) -> Iterator[bytes]:
    """Yield logs without end; a seed gives the same ones in each run of a version.

    Args:
        seed: of all that is random.
        more: cases whose logs are mutated, too.
    """
    cases = (*vector_cases(), *made_cases(), *more)
    corpus = [c.data for c in cases if c.kind is RequestKind.LOG and 0 < len(c.data) <= _LARGEST]
    chance = random.Random(seed)  # no secret
    while True:
        data = bytearray(chance.choice(corpus))
        for _ in range(chance.choice((1, 1, 1, 2, 3, 5))):
            _mutate(data, corpus, chance)
        made = sized(data, sealed=chance.random() < _SEALED)
        if len(made) >= SMALLEST:
            yield made


def _mutate(data: bytearray, corpus: Sequence[bytes], chance: random.Random) -> None:
    """Change some bytes after the framing of the first entry."""
    start = LOG_FRAMING.size
    if len(data) <= start:
        return
    place = chance.randrange(start, len(data))
    match chance.randrange(6):
        case 0:
            data[place] ^= 1 << chance.randrange(8)
        case 1:
            data[place] = chance.choice(_BYTES)
        case 2:
            data[place] = (data[place] + chance.choice((-2, -1, 1, 2))) & 0xFF
        case 3:
            del data[place : place + chance.randint(1, 4)]
        case 4:
            data[place:place] = bytes(chance.choice(_BYTES) for _ in range(chance.randint(1, 4)))
        case _:
            other = chance.choice(corpus)
            begin = chance.randrange(len(other))
            data[place : place + 8] = other[begin : begin + chance.randint(1, 12)]


class LogComparison:
    """Two testees that get the same logs.

    Args:
        first: a testee.
        second: another one.
        seed: of the logs.
        more: as for ``mutations``.
        known: numbers of quirks whose differences are counted only, of ``QUIRKS``.
    """

    def __init__(
        self,
        first: Testee,
        second: Testee,
        seed: int,
        more: Sequence[Case] = (),
        known: Iterable[str] = (),
    ) -> None:
        self._both = first, second
        self._more = more
        self._known = dict.fromkeys(known, 0)
        self._seed = seed
        self._counts: Counter[str] = Counter()

    @property
    def sums(self) -> DifferenceSums:
        """The sums so far."""
        counts, name = self._counts, self._both[1].hello.name
        return {
            "against": name, "seed": self._seed,
            "cases": counts.total() + sum(self._known.values()),
            "accepted": counts["accepted"], "refused": counts["refused"],
            "skipped": counts["skipped"], "differences": counts["differences"],
            "known": dict(self._known),
        }  # fmt: skip

    def run(
        self, count: int, advance: Callable[[int], None] = lambda _: None
    ) -> Iterator[Difference]:
        """Compare this many logs, and yield the differences; some thousands are in memory at once.

        Args:
            count: number of logs.
            advance: is called with the number of logs that were compared since.

        Raises:
            StartError: a testee does not start, or does not read logs.
        """
        if deaf := [each.hello for each in self._both if RequestKind.LOG not in each.hello.kinds]:
            raise StartError(f"{deaf[0].name} does not read {RequestKind.LOG}")
        logs = enumerate(islice(mutations(self._seed, self._more), count))
        some = list(islice(logs, AT_ONCE))
        with ThreadPoolExecutor(len(self._both)) as pool:
            while some:
                answers = pool.map(partial(digests, logs=[log for _, log in some]), self._both)
                following = list(islice(logs, AT_ONCE))  # made while both are at work
                for (number, log), one, other in zip(some, *answers, strict=True):
                    yield from self._judged(number, log, one, other)
                advance(len(some))
                some = following

    def _judged(
        self, number: int, log: bytes, one: str | None, other: str | None
    ) -> Iterator[Difference]:
        if one == other and one not in (_BROKEN, SKIPPED):
            self._counts["refused" if one is None else "accepted"] += 1
            return
        outcome = self._outcome(log)
        quirk = self._quirk(log) if outcome == "differences" else ""
        if quirk in self._known:
            self._known[quirk] += 1
            return
        self._counts[outcome] += 1
        if outcome == "differences":
            broken = any(_FAILED in _asked(testee, log) for testee in self._both)
            small = log if broken else self._smallest(log)  # each try would start it again
            first, second = (_said(_asked(testee, small)) for testee in self._both)
            yield Difference(f"{self._seed}/{number}", small.hex(), first, second, quirk)

    def _quirk(self, log: bytes) -> str:
        """Return the quirk that explains a difference, "" for none.

        Without what Q9 is about there is none; the JVM says by itself that it ran out of memory.
        """
        other = _without_unread(log)
        if other is not None and self._outcome(other) in ("accepted", "refused"):
            return UNREAD
        said = (str(_asked(testee, log).get("error")) for testee in self._both)
        return MEMORY if any(_NO_MEMORY in text for text in said) else ""

    def _outcome(self, log: bytes) -> str:
        """Ask both alone: a digest says less than an answer."""
        first, second = answers = [_asked(testee, log) for testee in self._both]
        if any(_FAILED in answer for answer in answers):
            return "differences"
        if any(SKIPPED in answer for answer in answers):
            return "skipped"
        if refusals := sum("error" in answer for answer in answers):
            return "refused" if refusals == len(answers) else "differences"
        same = Items(first["records"]).failure(second, RequestKind.LOG) is None
        return "accepted" if same else "differences"

    def _smallest(self, log: bytes) -> bytes:
        """Return the log with bytes taken out while both still differ."""
        left, size = _TRIES, max(1, (len(log) - LOG_FRAMING.up_to_magic) // 2)
        while size and left > 0:
            place = LOG_FRAMING.up_to_magic
            while place < len(log) and left > 0:
                less = sized(bytearray(log[:place] + log[place + size :]), sealed=True)
                left -= 1
                if len(less) >= SMALLEST and self._outcome(less) == "differences":
                    log = less
                else:
                    place += size
            size //= 2
        return log


def _without_unread(log: bytes) -> bytes | None:
    """Return a log whose batch without records has no payload; None for another log."""
    try:
        batches = list(Segment(log, crc="ignore").batches())
    except KafkaSpecError:
        return None
    for batch in batches:
        kind = batch.kind
        if len(batches) == 1 and batch.is_compressed and not getattr(batch.message, kind.count, 1):
            return changed(log, {names.COMPRESSION: 0, kind.payload: b""})
    return None


_FAILED: Final = "failed"
"""Member of what stands for an answer that did not come."""
_BROKEN: Final = "broken"


def digests(testee: Testee, logs: Sequence[bytes]) -> list[str | None]:
    """Return the digest of each log, as ``digest`` does for the answers of a testee."""
    if RequestKind.BATCH in testee.hello.kinds:
        request = {
            "id": "batch", "kind": RequestKind.BATCH.value, "of": RequestKind.LOG.value,
            "items": [encode_bytes(log) for log in logs],
        }  # fmt: skip
        try:
            found: list[str | None] = testee.ask(request).get(ANSWERS[RequestKind.BATCH], [])
        except BreakdownError:  # which of them did it is found alone
            pass
        else:
            if len(found) == len(logs):
                return found
    answers = [_asked(testee, log) for log in logs]
    return [_BROKEN if _FAILED in answer else digest(answer) for answer in answers]


def _asked(testee: Testee, log: bytes) -> dict[str, Any]:
    case = Case("log", RequestKind.LOG, log, Items(None))
    try:
        return testee.ask(case.request(testee.hello))
    except BreakdownError as error:
        return {_FAILED: f"{error.failure}: {error}"}


def _said(answer: dict[str, Any]) -> str:
    if "records" in answer:
        return f"decodes {len(answer['records'])}: {str(answer['records'])[:300]}"
    return str(answer.get("error") or answer.get(SKIPPED) or answer.get(_FAILED))[:300]
