"""Files and options of which Kafka's tool was asked, its answers, and ours."""

from __future__ import annotations

import itertools
import json
import lzma
import random
import struct
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

import kafkaspec as ks
from kafkaspec.cli.main import main
from kafkaspec.release import parse_release
from tests.dumplog.messages import DECODERS, log_of, negative_tags
from tests.goldens import GOLDEN

ANSWERS = Path(__file__).with_name("answers.json.xz")
"""What the tools of some releases said; ``make test-kafka RECORD=1`` writes it."""

BASE = f"{0:020d}"
LOG, INDEX, TIME_INDEX = f"{BASE}.log", f"{BASE}.index", f"{BASE}.timeindex"

_DEEP, _DATA = "--deep-iteration", "--print-data-log"
_SKIP, _VERIFY, _SANITY = "--skip-record-metadata", "--verify-index-only", "--index-sanity-check"


@dataclass(frozen=True)
class Case:
    """A file below the directory that ``prepare`` fills, the options, and the first release."""

    file: str
    options: tuple[str, ...] = ()
    since: tuple[int, ...] = (0, 11)

    def __str__(self) -> str:
        return " ".join((self.file, *self.options))


CASES = [
    *(
        Case(f"{name}/{LOG}", options)
        for name in ("headers", "transactions", "mixed", "wrong-crc", "torn", "zeros")
        for options in ((), (_DEEP,), (_DATA,), (_DATA, _DEEP))
    ),
    Case(f"text/{LOG}", (_DATA, _DEEP)),
    *(
        Case(f"{name}/{LOG}", (_DATA, _SKIP), (2, 8))
        for name in ("headers", "transactions", "mixed", "text")
    ),
    *(
        Case(f"{name}/{LOG}", (*options, "--max-bytes", most), (3, 3))
        for name in ("headers", "torn")
        for most in ("0", "89", "300", "100000")
        for options in ((), (_DATA,))
    ),
    *(
        Case(f"{name}/{file}", options)
        for name in ("segments", "wrong", "padded", "transactions")
        for file in (INDEX, TIME_INDEX)
        for options in ((), (_VERIFY,), (_SANITY,))
    ),
    Case(f"transactions/{BASE}.txnindex"),
    Case(f"transactions/{28:020d}.snapshot"),
    Case(f"segments/{LOG}.deleted"),
    *(Case(f"{topic}-0/{LOG}", (option, _SKIP), since) for topic, option, since in DECODERS),
    Case(f"negative-tags/{LOG}", ("--offsets-decoder", _SKIP), (4, 4)),
]


def prepare(directory: Path) -> None:
    """Write the files of the cases."""
    golden = GOLDEN / "2.8.2" / "logs"
    names = {
        "headers": "headers-0", "transactions": "transactions-0", "mixed": "format-mixed-gzip-0",
        "segments": "segments-0",
    }  # fmt: skip
    folders = {
        name: {
            path.name: path.read_bytes()
            for path in (golden / source).iterdir()
            if path.name.startswith(BASE) or path.suffix == ".snapshot"
        }
        for name, source in names.items()
    }
    log = folders["headers"][LOG]
    segments = folders["segments"]
    segments[f"{LOG}.deleted"] = log
    folders["text"] = {LOG: malformed_text()}
    folders["wrong-crc"] = {LOG: log[:-1] + bytes([log[-1] ^ 1])}
    folders["torn"] = {LOG: log[:-5]}
    folders["zeros"] = {LOG: log + bytes(100)}
    first, second = _positions(segments[LOG])[:2]
    entries = struct.pack(">iiii", 1, first, 7, second)
    times = struct.pack(">qiqi", 1_609_459_999_999, 0, 1_609_459_200_001, 1)
    folders["wrong"] = segments | {INDEX: entries, TIME_INDEX: times}
    folders["padded"] = segments | {
        INDEX: segments[INDEX] + bytes(16), TIME_INDEX: segments[TIME_INDEX] + bytes(24)
    }  # fmt: skip
    folders |= {f"{topic}-0": {LOG: log_of(topic)} for topic, *_ in DECODERS}
    folders["negative-tags"] = {LOG: negative_tags()}
    for name, files in folders.items():
        (directory / name).mkdir()
        for file, data in files.items():
            (directory / name / file).write_bytes(data)


def _positions(log: bytes) -> list[int]:
    return [batch.position for batch in ks.Segment(log).batches()]


def malformed_text() -> bytes:
    """A log whose keys, values and names of headers are hardly ever UTF-8."""
    chance = random.Random(13)
    parts = (
        b"\x41", b"\x80", b"\xbf", b"\xc1", b"\xc3", b"\xe0", b"\xe2", b"\xed", b"\x9f", b"\xa0",
        b"\xf0", b"\xf4", b"\x90", b"\x8f", b"\xf5", b"\xff", "é".encode(), "€".encode(),
        "𝄞".encode(), b"\xed\xa0\x80", b"plain ASCII of more than eight bytes",
    )  # fmt: skip
    texts = [b"".join(pair) for pair in itertools.product(parts, repeat=2)]
    texts += [b"".join(chance.choices(parts, k=chance.randrange(3, 12))) for _ in range(500)]
    records = [
        ks.Record(
            offset, 1_609_459_200_000 + offset,
            None if chance.random() < 0.1 else chance.choice(texts),
            None if chance.random() < 0.1 else text,
            ((_name(chance.choice(texts)), b"v"),) * chance.randrange(3),
        )
        for offset, text in enumerate(texts)
    ]  # fmt: skip
    return b"".join(
        ks.encode(records[first : first + 200]) for first in range(0, len(records), 200)
    )


def _name(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")


@dataclass(frozen=True)
class Answer:
    """What the tool printed to stdout and stderr, and whether it came to its end."""

    out: str
    err: str
    ended: bool


def ours(directory: Path, release: str, case: Case) -> tuple[Answer, int]:
    """What our command prints, and its exit code."""
    arguments = ["dump", "--format", "kafka", "--like", release, *case.options]
    result = CliRunner().invoke(main, [*arguments, str(directory / case.file)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    found = [line for line in result.stderr.splitlines() if not line.startswith("kafkaspec: ")]
    texts = (result.stdout_bytes.decode(), "".join(f"{line}\n" for line in found))
    out, err = (text.replace(f"{directory}/", "") for text in texts)
    return Answer(out, err, True), result.exit_code


def differences(case: Case, answer: Answer, mine: Answer, code: int) -> list[str]:
    """What is not as the tool has it."""
    found = []
    if mine.out != answer.out:
        pairs = itertools.zip_longest(mine.out.splitlines(), answer.out.splitlines())
        one, other = next((pair for pair in pairs if pair[0] != pair[1]), ("", ""))
        found.append(f"{case}\n  ours  {one}\n  Kafka {other}")
    if answer.ended and mine.err != answer.err:
        found.append(f"{case}, stderr\n  ours  {mine.err}\n  Kafka {answer.err}")
    if not answer.ended and code == 0:
        found.append(f"{case}: the tool fails, and we do not")
    return found


def read_answers() -> dict[str, dict[str, Answer]]:
    """By release and text of the case."""
    loaded = json.loads(lzma.decompress(ANSWERS.read_bytes()))["answers"]
    return {
        release: {case: Answer(*answer) for case, answer in answers.items()}
        for release, answers in loaded.items()
    }


def write_answers(found: dict[str, dict[str, Answer]]) -> None:
    """Keep what the tools of some releases said; what others said stays."""
    answers = {
        release: {case: [item.out, item.err, item.ended] for case, item in answers.items()}
        for release, answers in sorted(
            (read_answers() | found).items(), key=lambda each: parse_release(each[0])
        )
    }
    made = {"made_by": "make test-kafka RECORD=1", "answers": answers}
    ANSWERS.write_bytes(lzma.compress(json.dumps(made).encode(), preset=9))
