"""The table of scenarios: what is written into which topic, and which versions can do it.

A scenario is data: settings, producers and a list of steps.  It applies to every version that has
the features, the codecs and the message format that it needs.  ``{segment.bytes}`` as the name of a
topic setting stands for the name this setting has in the version, ``{native}`` as a message format
for the version's own.
"""

from __future__ import annotations

from tools.brokers.versions import Version
from tools.golden import keep
from tools.golden.model import Scenario
from tools.golden.scenarios import brokers, files, producing, transactions

SCENARIOS: tuple[Scenario, ...] = (
    *brokers.epochs(),  # first: a restart is the end of every segment's index that is open then
    *producing.plain(),
    *producing.codecs(),
    *producing.levels(),
    *producing.large(),
    *producing.headers(),
    *producing.times(),
    *producing.idempotent(),
    *transactions.transactions(),
    *transactions.fenced(),
    *transactions.version_2(),
    *files.compaction(),
    *files.segments(),
    *files.old_formats(),
    *brokers.deletion(),
    *brokers.groups(),
    *brokers.unclean(),
    *brokers.tiered(),
    *brokers.administered(),
)


# Their files are kept for every new version; of the others only for those that are kept in full.
_EVERYWHERE = frozenset({
    "empty", "plain", "codec-none", "codec-gzip", "codec-snappy", "codec-lz4", "codec-zstd",
    "headers", "create-time", "log-append-time", "idempotent",
    "transactions", "transactions-open", "transaction-version-2",
    "compacted", "compacted-transactions", "segments", "format-mixed-none",
    "leader-epochs", "deleted-records",
    "groups", "groups-transactional", "groups-consumer", "groups-share",
    "tiered", "tiered-deleted",
    "administered", "administered-deleted", "administered-features", "administered-streams",
})  # fmt: skip


def for_version(version: Version, *, everything: bool = False) -> tuple[Scenario, ...]:
    """Return the scenarios of ``version``, in the order of the table.

    Those whose files are kept, as its manifest says if it has one; with ``everything`` all that it
    can run.
    """
    manifest = keep.GOLDEN / version.name
    rows = keep.read_manifest(manifest)["scenarios"] if manifest.is_dir() else []
    there = {row["name"] for row in rows}

    def is_kept(scenario: Scenario) -> bool:
        if rows:
            is_wanted = scenario.name in _EVERYWHERE and not scenario.sample
            return is_wanted or scenario.name in there
        return version.full or scenario.name in _EVERYWHERE

    return tuple(
        scenario
        for scenario in SCENARIOS
        if scenario.applies_to(version) and (everything or is_kept(scenario))
    )
