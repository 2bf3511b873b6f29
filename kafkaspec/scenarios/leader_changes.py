"""``leader-changes``: two replicas, whose leader changes, and what the followers truncate.

One of them stopped as leader, before the other one had fetched its last batches: it has yet to
truncate. The log of the controllers has the control records of its elections.
"""

from __future__ import annotations

from typing import Any

from kafkaspec._generated.layout.topics import Topic
from kafkaspec._generated.python.model.control_record import (
    ControlRecordType,
    LeaderChangeMessage,
    Voter,
)
from kafkaspec.scenarios.partition import MadePartition
from kafkaspec.scenarios.scenario_plan import ScenarioPlan

_CHANGES = 5
BROKERS = ("broker-0", "broker-1")


def leader_changes(plan: ScenarioPlan) -> None:
    """Plan the scenario."""
    chance = plan.chance
    replicas = [plan.partition("orders", directory=name) for name in BROKERS]
    controller = plan.partition(Topic.CLUSTER_METADATA, directory=BROKERS[0])
    epoch, leader = chance.randrange(3), 0
    truncated: list[list[dict[str, Any]]] = [[], []]
    for number in range(_CHANGES):
        ahead, behind = replicas[leader], replicas[1 - leader]
        ahead.epoch = epoch
        _write(plan, ahead, plan.most // (2 * _CHANGES))
        behind.fetch(ahead)
        common = ahead.end
        _write(plan, ahead, chance.randint(1, max(1, plan.most // (4 * _CHANGES))))
        _elect(plan, controller, leader, number)
        # The leader stops with batches that the other one lacks, which becomes leader.
        leader, epoch = 1 - leader, epoch + chance.randint(1, 3)
        replicas[leader].epoch = epoch
        _write(plan, replicas[leader], 3)
        cut = {"offset": common, "removed": [common, ahead.end], "epoch": ahead.epoch}
        if number + 1 < _CHANGES:
            ahead.truncate(common)
            ahead.fetch(behind)
            truncated[1 - leader].append(cut)
        else:
            ahead.facts["truncates"] = cut
            ahead.high_watermark = common
    for made, cuts in zip(replicas, truncated, strict=True):
        made.facts["truncated"] = cuts
    for made in replicas:
        made.facts["leader"] = made is replicas[leader]


def _write(plan: ScenarioPlan, made: MadePartition, count: int) -> None:
    for size in plan.sizes(count, 4):
        if made.end and not plan.chance.randrange(8):
            made.roll()
        made.add(plan.records(made.end, size), compression=plan.compression())


def _elect(plan: ScenarioPlan, made: MadePartition, leader: int, epoch: int) -> None:
    """Append the first control record of a controller that was elected."""
    made.epoch = epoch
    voters = [Voter(voter_id=node) for node in range(3)]
    body = LeaderChangeMessage(leader_id=leader, voters=voters, granting_voters=voters[:2])
    made.control(ControlRecordType.LEADER_CHANGE, body, plan.tick())
    made.facts.setdefault("elections", []).append(
        {"offset": made.end - 1, "epoch": epoch, "leader": leader}
    )
