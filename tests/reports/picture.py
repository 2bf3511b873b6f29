"""Take the picture of a report in the documentation: ``python -m tests.reports.picture FILE``."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import kafkaspec as ks
from tests.explorer.browser import started

TOPICS: Final = {
    "clicks": ("none", 3),
    "orders": ("zstd", 3),
    "payments": ("lz4", 2),
    "invoices": ("snappy", 1),
    "inventory": ("gzip", 1),
}
"""Compression and partitions of each topic."""
_BEGIN: Final = 1_790_000_000_000
_HOUR: Final = 3_600_000
_HOURS: Final = 36
_BATCH: Final = 40


def logs(into: Path) -> None:
    """Write a log directory with a day and a half of records, more by day than by night."""
    into.mkdir()
    chance = random.Random(7)
    for topic, (codec, partitions) in TOPICS.items():
        for number in range(partitions):
            with ks.SegmentWriter(into / f"{topic}-{number}", sync=False) as writer:
                offset = 0
                for hour in range(_HOURS):
                    batches = 2 + round(4 * max(0, math.sin(2 * math.pi * (hour - 6) / 24)))
                    for batch in range(batches):
                        since = _BEGIN + hour * _HOUR + batch * _HOUR // batches
                        records = [_record(chance, topic, offset + n, since) for n in range(_BATCH)]
                        writer.append(ks.encode(records, compression=codec))
                        offset += _BATCH


def _record(chance: random.Random, topic: str, offset: int, since: int) -> ks.Record:
    key = f"{topic[:2]}-{chance.randrange(400):03d}".encode() if chance.random() < 0.8 else None
    value = f'{{"{topic}": {offset}, "amount": {chance.randrange(9000)}, "currency": "EUR"}}'
    gone = key is not None and chance.random() < 0.01
    time = since + offset % _BATCH * 10_000 - chance.randrange(3000)
    return ks.Record(offset, time, key, None if gone else value.encode() * chance.randrange(1, 6))


def main(into: Path) -> None:
    """Make the report of a log directory, and take the picture of its first screen."""
    with TemporaryDirectory() as folder, started() as browser:
        logs(Path(folder) / "kafka-logs")
        command = [
            sys.executable,
            "-m",
            "kafkaspec",
            "stats",
            "kafka-logs",
            "--html",
            "report.html",
        ]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        report = Path(folder) / "report.html"
        # A report names the directory in full: here as brokers have it, and not a temporary one.
        text = report.read_text("utf-8").replace(str(Path(folder).resolve()), "/var/lib")
        report.write_text(text, "utf-8")
        page = browser.new_page(viewport={"width": 1280, "height": 1040}, color_scheme="light")
        page.goto(report.as_uri())
        page.screenshot(path=into)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
