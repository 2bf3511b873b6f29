"""What the loader of a broker makes of a partition directory, by Kafka and by kafkaspec."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable
from pathlib import Path

from kafkaspec.analysis import Area, BrokerAction, verify
from kafkaspec.files.names import PRODUCER_SNAPSHOT
from kafkaspec.log.partition import Partition
from tests.kafka.loader_cases import Case
from tools.kafka.loader import Answer, Loaded, answer

INDEX_INTERVAL_BYTES = 400


def write(files: dict[str, bytes], directory: Path) -> Path:
    """Write the files of a partition into an empty directory."""
    directory.mkdir(exist_ok=True, parents=True)
    for old in directory.iterdir():
        old.unlink()
    for name, data in files.items():
        (directory / name).write_bytes(data)
    return directory


_LOSES = (BrokerAction.CUTS_LOG, BrokerAction.EMPTIES_SEGMENT)
_DECIDED = (*_LOSES, BrokerAction.SPLITS_SEGMENT, BrokerAction.REFUSES_LOG)


def verify_agrees(directory: Path, files: dict[str, bytes], theirs: Answer) -> bool:
    """Return whether the findings of ``verify`` say what the loader does after a crash."""
    report = verify(directory, index_interval_bytes=INDEX_INTERVAL_BYTES)
    of_log = [item for item in report.findings if item.area is not Area.OFFSET_INDEX]  # clean stop
    actions = {finding.action for finding in of_log if finding.action in _DECIDED}
    if theirs.outcome == "refuses":
        return BrokerAction.REFUSES_LOG in actions
    if theirs.outcome == "splits":
        return BrokerAction.SPLITS_SEGMENT in actions
    sizes = {int(name[:20]): len(data) for name, data in files.items() if name.endswith(".log")}
    kept = dict(theirs.sizes) == sizes
    return BrokerAction.REFUSES_LOG not in actions and actions.isdisjoint(_LOSES) is kept


def forgets(directory: Path) -> bool:
    """Return whether ``verify`` says that a broker forgets producers, right after the stop."""
    stopped = max(batch.max_timestamp for batch in Partition(directory).batches())
    for path in directory.glob(f"*{PRODUCER_SNAPSHOT}"):
        os.utime(path, ns=((stopped + 1) * 1_000_000,) * 2)
    findings = verify(directory, index_interval_bytes=INDEX_INTERVAL_BYTES).findings
    return any(item.action is BrokerAction.FORGETS_PRODUCERS for item in findings)


_MEMORY = ("OutOfMemoryError", "exceeds the configured maximum record size")


def lacks_memory(loaded: Loaded) -> bool:
    """Return whether the loader allocates what records claim to be, and fails (quirk Q5)."""
    return any(text in loaded.error for text in _MEMORY)


RECORDED = Path(__file__).with_name("loader_answers.json")
RECORDED_WITH = "4.3.1"
RECORDED_OF_EACH = 30
"""Cases of each maker in ``RECORDED``."""


def digest(files: dict[str, bytes], *, clean: bool) -> str:
    """Return a short checksum of files and stop."""
    data = bytes((clean,)) + b"".join(
        name.encode() + content for name, content in sorted(files.items())
    )
    return f"{zlib.crc32(data):08x}"


def recorded(version: str, cases: Iterable[tuple[Case, Loaded]]) -> str:
    """Return the answers of a loader as text, for tests without Kafka."""
    rows = [
        [digest(case.files, clean=case.clean), *answer(loaded, case.files)]
        for case, loaded in cases
        if not lacks_memory(loaded)
    ]
    lines = ",\n".join(json.dumps(row) for row in rows)
    head = f'{{"made_by": "make test-kafka RECORD=1", "kafka": "{version}", "answers": ['
    return f"{head}\n{lines}]}}\n"
