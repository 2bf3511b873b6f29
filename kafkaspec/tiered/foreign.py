"""Other software that keeps records of Kafka's topics, recognized by the names of its files.

None of it can be read here: these are not segments of Kafka.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from kafkaspec.errors import KafkaSpecError
from kafkaspec.io.remote import is_directory
from kafkaspec.tiered.objects import reading_of

_MOST_FOLDERS: Final = 60
_MOST_FILES: Final = 400
"""Files of each folder whose names are looked at."""
_DEPTH: Final = 8

_NAMES: Final = (
    (
        re.compile(r"\d+-\d+-\d+-\d+-v1\.log\.\d+|\d+-\d+-v1\.log(\.\d+)?"),
        "a segment of Redpanda, in Redpanda's own format, not Kafka's",
    ),
    (
        re.compile(r".+\+\d+\+\d{10}\.[a-z][a-z0-9.]*"),
        "a file of Confluent's S3 connector: values of records, and no log",
    ),
    (
        re.compile(r"segment_partition_\d{3}_from_offset_\d{10}_(records|index)"),
        "a file of itadventurer/kafka-backup, in its own format, not Kafka's",
    ),
    (
        re.compile(r"segment-\d{20}\.bin(\.zst|\.lz4|\.gz)?"),
        "a file of osodevops/kafka-backup, in its own format, not Kafka's",
    ),
    (
        re.compile(r".+-\d+-\d{1,20}\.(jsonl?|csv|parquet|avro)(\.gz|\.snappy|\.zst)?"),
        "a file of an S3 connector, such as Aiven's: values of records, and no log",
    ),
)
"""Names of files, and what such a file is."""

_REDPANDA_MANIFEST: Final = re.compile(r"[0-9a-f]{8}/meta/[^/]+/[^/]+/\d+_\d+/manifest\.(bin|json)")
_AUTOMQ_MAGIC: Final = (0x88E241B785F4CFF7).to_bytes(8, "big")
_AUTOMQ: Final = "an object of AutoMQ, with records of many streams, in AutoMQ's own format"


def what_it_is(path: Path) -> str | None:
    """Return what other software wrote a file, as the end of a sentence; None if unknown."""
    known = _by_name(path)
    if known is not None:
        return known
    with suppress(KafkaSpecError, OSError):
        reading = reading_of(path)
        try:
            size = len(_AUTOMQ_MAGIC)
            if reading.size > size and reading.read(reading.size - size, size) == _AUTOMQ_MAGIC:
                return _AUTOMQ
        finally:
            reading.close()
    return None


def found_below(place: Path) -> str:
    """Return a sentence about what other software keeps below a directory, or ""."""
    level, looked, probed = [place], 0, False
    for _ in range(_DEPTH):
        below: list[Path] = []
        for folder in level:
            looked += 1
            with suppress(KafkaSpecError, OSError):
                children = sorted(folder.iterdir())
                for child in children[:_MOST_FILES]:
                    if is_directory(child):
                        below.append(child)
                        continue
                    known = _by_name(child)
                    if known is None and not probed and "." not in child.name:
                        probed, known = True, what_it_is(child)
                    if known is not None:
                        return f": {child} is {known}"
        level = below[: _MOST_FOLDERS - looked]
        if not level:
            break
    return ""


def _by_name(path: Path) -> str | None:
    for pattern, text in _NAMES:
        if pattern.fullmatch(path.name):
            return f"by its name, {text}"
    if _REDPANDA_MANIFEST.search(str(path).replace("\\", "/")):
        return "by its path, a manifest of Redpanda, whose segments are in Redpanda's own format"
    return None
