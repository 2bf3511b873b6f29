"""The scenarios by name, and the function that writes one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Final

from kafkaspec.broker.profiles import DEFAULT_PROFILE, Profile, get_profile
from kafkaspec.options import one_of
from kafkaspec.scenarios.cluster import cluster
from kafkaspec.scenarios.compaction import compaction
from kafkaspec.scenarios.consumer_groups import consumer_groups
from kafkaspec.scenarios.damage import damage
from kafkaspec.scenarios.groups import groups
from kafkaspec.scenarios.leader_changes import leader_changes
from kafkaspec.scenarios.legacy import legacy
from kafkaspec.scenarios.retention import retention
from kafkaspec.scenarios.scenario_plan import ScenarioPlan
from kafkaspec.scenarios.transactions import transactions
from kafkaspec.times import Time, milliseconds

SCENARIOS: Final[Mapping[str, Callable[[ScenarioPlan], None]]] = {
    "transactions": transactions,
    "compaction": compaction,
    "leader-changes": leader_changes,
    "retention": retention,
    "damage": damage,
    "groups": groups,
    "consumer-groups": consumer_groups,
    "cluster": cluster,
    "legacy": legacy,
}
"""The function that plans each scenario."""
RECORDS: Final = 200
"""Most records in a partition, unless it is said."""
LEAST_RECORDS: Final = 100
"""Fewer do not show all that a scenario is about."""
MOST_RECORDS: Final = 100_000
"""More do not fit into the memory of a small machine: a scenario is made before it is written."""
NOW: Final = 1_767_225_600_000
"""2026-01-01T00:00:00Z in ms: when the brokers of a scenario stopped, unless it is said."""


def scenario(
    name: str,
    out: str | PathLike[str],
    *,
    seed: int = 0,
    records: int = RECORDS,
    now: Time = NOW,
    profile: str | Profile = DEFAULT_PROFILE,
) -> dict[str, Any]:
    """Write a scenario: log directories, and beside them ``expected.json`` that says what is true.

    The same arguments give the same files, whatever the time and the machine.

    Args:
        name: one of ``SCENARIOS``.
        out: directory to write. It need not exist, but that above it has to; it must be empty.
        seed: all that is random follows from it.
        records: most records in a partition, ``LEAST_RECORDS`` to ``MOST_RECORDS``.
        now: when the brokers stopped; all that happened is older.
        profile: version of Kafka whose files to write, from 3.1 on.

    Returns:
        The content of ``expected.json``.

    Raises:
        KafkaSpecError: ``unreadable``: the directory is not empty, or cannot be written.
        ValueError: no such scenario or profile, or too few or too many records.
    """
    plan = scenario_plan(name, seed=seed, records=records, now=now, profile=profile)
    plan.write(Path(out))
    return plan.expected()


def scenario_rules(profile: str | Profile) -> Profile:
    """Return the rules by which a version of Kafka writes a scenario.

    Raises:
        ValueError: there is no such version, or it does not know all that a scenario has.
    """
    rules = get_profile(profile) if isinstance(profile, str) else profile
    if not rules.batch_horizons:
        raise ValueError("a scenario needs a version from 3.1 on, which knows delete horizons")
    return rules


def scenario_plan(
    name: str,
    *,
    seed: int = 0,
    records: int = RECORDS,
    now: Time = NOW,
    profile: str | Profile = DEFAULT_PROFILE,
) -> ScenarioPlan:
    """Return a scenario that is not written yet; for the arguments see ``scenario``."""
    if name not in SCENARIOS:
        raise one_of("scenario", name, SCENARIOS)
    if not LEAST_RECORDS <= records <= MOST_RECORDS:
        raise ValueError(f"records must be {LEAST_RECORDS} to {MOST_RECORDS}, not {records}")
    rules = scenario_rules(profile)
    plan = ScenarioPlan(name, seed, milliseconds(now, "now"), records, rules)
    SCENARIOS[name](plan)
    return plan
