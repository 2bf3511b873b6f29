"""Take logs through the public interface; ``tools.native.coverage`` counts what runs meanwhile.

    python -m tools.native.driving DIRECTORY

``DIRECTORY`` is new. What is bad in a log is an error of ours, or counted; anything else fails.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, product
from pathlib import Path
from typing import Any, Final, get_args

import kafkaspec as ks
from kafkaspec.compression import NAMES
from kafkaspec.conformance.cases import Case
from kafkaspec.conformance.protocol import RequestKind
from kafkaspec.conformance.vectors import vector_cases
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files.names import LOG, segment_name
from kafkaspec.generation.corpus import corpus, random_cases
from kafkaspec.layout.kinds import KINDS, MAGICS
from kafkaspec.log.options import ByteLayout
from kafkaspec.policy import CrcPolicy, RaiseOrSkip, TailPolicy
from tests.cli.helpers import run

RANDOM: Final = 430, 31
"""Number of random cases, and their seed."""

_LOGS: Final = (RequestKind.LOG, RequestKind.CONTROL_RECORDS, RequestKind.COMMITTED_RECORDS)


def logs() -> dict[str, bytes]:
    """Return the bytes of all cases of logs by id, each once."""
    cases: Iterator[Case] = chain(corpus(0), vector_cases(), random_cases(*RANDOM))
    found = {case.data: case.id for case in cases if case.kind in _LOGS}
    return {name: data for data, name in found.items()}


def tried(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return what a call returns, or None where it refuses what it is given."""
    with suppress(KafkaSpecError, ValueError):
        return call(*arguments, **options)
    return None


def all_of(call: Callable[..., Iterable[Any]], **options: Any) -> list[Any]:
    """Return all that a call yields, or nothing where it refuses what it is given."""
    return tried(lambda: list(call(**options))) or []


def read(data: bytes) -> None:
    """Read a log in all ways that make objects or columns."""
    for crc, tail in product(get_args(CrcPolicy), get_args(TailPolicy)):
        tried(ks.decode, data, crc=crc)
        log = ks.Segment(data, crc=crc, tail=tail)
        for on_error in get_args(RaiseOrSkip):
            all_of(log.records, on_error=on_error, include_control=True)
        tried(log.batch_table)
        for batch in all_of(log.scan):
            if isinstance(batch, ks.Batch):
                all_of(batch.control_records)
        tried(log.find, max_timestamp=True)
        for layout in get_args(ByteLayout):
            for columns in masks(log):
                tried(
                    log.to_arrow, columns, header_keys="bytes", layout=layout, on_error="skip",
                    include_control=True,
                )  # fmt: skip
            tried(log.to_arrow, None, layout=layout)


def masks(log: ks.Segment) -> Iterator[Sequence[str] | None]:
    """Yield lists of columns: all by default, each alone, and all but each."""
    names = list(log.schema.names)
    yield None
    for name in names:
        yield [name]
        yield [other for other in names if other != name]


def write(data: bytes, out: Path) -> None:
    """Write the records of a log again, in all formats and from columns."""
    log = ks.Segment(data)
    out.mkdir()
    records = all_of(log.records)
    table = tried(log.to_arrow, layout="binary")
    for magic, codec in product(MAGICS, NAMES[: None if len(records) < 4 else 1]):
        tried(ks.encode, records, magic=magic, compression=codec)
        if table is None or not records:
            continue
        folder = out / f"{magic}-{codec}-0"
        with suppress(KafkaSpecError, ValueError), ks.SegmentWriter(folder, sync=False) as writer:
            tried(writer.append_columns, table, magic=magic, compression=codec)
            tried(writer.append_records, records, offsets="assign", magic=magic, compression=codec)


def commands(logs: Path, out: Path) -> None:
    """Put a log directory to the commands that read one."""
    for line in (
        ["verify"], ["dump", "--format", "json"], ["dump"], ["dump", "--format", "kafka"],
        ["gaps"], ["transactions"],
    ):  # fmt: skip
        run(*line, logs)
    run("index", logs, "-o", out / "index")
    run("salvage", logs, "-o", out / "salvage")
    run("export", logs, "-o", out / "export")
    for magic in MAGICS:
        to = out / f"convert-{magic}"
        run("convert", logs, "-o", to, "--magic", str(magic), "--on-error", "skip")


def beyond() -> None:
    """Write what does not fit, and read a record with more headers than the core takes."""
    record = ks.Record(7, 7, b"k", b"v", (("h", b""),))
    for magic, kind in KINDS.items():
        for name, number in product(kind.header, (-(1 << 63), -129, 1 << 62)):
            tried(ks.encode, [record], magic=magic, header={name: number})
    for number in (-129, 128):
        tried(ks.encode, [record], fields=[{"attributes": number}])
    many = ks.encode([record._replace(headers=(("", None),) * ((1 << 20) + 1))])
    for data in (many, many + bytes(256)):
        tried(ks.Segment(data).to_arrow)


def main(arguments: list[str]) -> int:
    """Drive."""
    out = Path(arguments[0])
    out.mkdir()
    os.fsync = lambda fd: None  # nothing of it is kept
    found = logs()
    after = next(data for name, data in found.items() if name.startswith("log/pairs"))
    for number, data in enumerate(found.values()):
        read(data)
        read(data + after + after)
        write(data, out / f"write-{number}")
        path = out / "logs" / f"case{number}-0" / segment_name(0, LOG)
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    commands(out / "logs", out)
    beyond()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
