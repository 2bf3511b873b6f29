"""Segments, indexes and snapshots on disk, made by hand for the tests of ``verify``."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

import crc32c

from kafkaspec.analysis import Finding, Report, verify

ABORT, COMMIT = 0, 1
TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x10, 0x20, 0x40
ZSTD = 4


def write_segment(
    directory: Path,
    log: bytes,
    *,
    base: int = 0,
    index: Iterable[tuple[int, int]] | bytes | None = (),
    timeindex: Iterable[tuple[int, int]] | bytes | None = None,
    txnindex: Iterable[tuple[int, int, int, int]] | bytes | None = None,
) -> Path:
    """A segment and the files beside it.

    Args:
        log: its bytes.
        base: offset in the name.
        index: pairs of relative offset and position; None for no file.
        timeindex: pairs of timestamp and relative offset.
        txnindex: producer, first, last and last stable offset.
    """
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{base:020}.log"
    path.write_bytes(log)
    for suffix, layout, entries in (
        (".index", ">ii", index),
        (".timeindex", ">qi", timeindex),
        (".txnindex", ">hqqqq", None if txnindex is None else with_version(txnindex)),
    ):
        if entries is None:
            continue
        data = (
            entries
            if isinstance(entries, bytes)
            else b"".join(struct.pack(layout, *entry) for entry in entries)
        )
        path.with_suffix(suffix).write_bytes(data)
    return path


def with_version(
    entries: Iterable[tuple[int, int, int, int]] | bytes,
) -> bytes | list[tuple[int, ...]]:
    """Entries of a transaction index with version 0 in front."""
    return entries if isinstance(entries, bytes) else [(0, *entry) for entry in entries]


def snapshot(
    entries: Iterable[tuple[int, int, int, int, int, int, int, int]],
    *,
    version: int = 1,
    surplus: bytes = b"",
    crc: int | None = None,
) -> bytes:
    """A producer snapshot: id, epoch, last sequence, last offset, delta, time, coordinator, txn."""
    packed = [struct.pack(">qhiqiqiq", *entry) for entry in entries]
    body = struct.pack(">i", len(packed)) + b"".join(packed) + surplus
    return struct.pack(">hI", version, crc32c.crc32c(body) if crc is None else crc) + body


def marker(kind: int) -> tuple[bytes, bytes]:
    """Key and value of a transaction marker."""
    return struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 0)


def reported(report: Report) -> list[tuple[str, str, str]]:
    """Severity, area and reason of each finding."""
    return [shape(finding) for finding in report.findings]


def shape(finding: Finding) -> tuple[str, str, str]:
    return str(finding.severity), str(finding.area), str(finding.reason)


def verify_log(directory: Path, log: bytes, *, base: int = 0) -> Report:
    """Verify a partition of one segment with an empty index."""
    write_segment(directory / "t-0", log, base=base)
    return verify(directory / "t-0")
