"""``legacy``: messages of magic 0 and 1, alone and in wrappers, and a log that was upgraded."""

from __future__ import annotations

from typing import Any

from kafkaspec import compression
from kafkaspec.layout.kinds import KINDS, require_kind
from kafkaspec.log.batch import LOG_APPEND_TIME
from kafkaspec.scenarios.partition import MadePartition
from kafkaspec.scenarios.scenario_plan import ScenarioPlan

_CODECS = [name for number, name in enumerate(compression.NAMES)
           if compression.is_allowed(number, min(KINDS))]  # fmt: skip


def legacy(plan: ScenarioPlan) -> None:
    """Plan the scenario."""
    old = [magic for magic, kind in KINDS.items() if not kind.has_record_sets]
    for magic in old:
        _append(plan, plan.partition(f"magic-{magic}"), magic, plan.most)
    upgraded = plan.partition("upgraded")
    for magic in sorted(KINDS):
        _append(plan, upgraded, magic, plan.most // len(KINDS))


def _append(plan: ScenarioPlan, made: MadePartition, magic: int, count: int) -> None:
    for number, size in enumerate(plan.sizes(count)):
        if number % 12 == 0:
            made.roll()
        # Each of them in turn, then at random.
        codec = _CODECS[number] if number < len(_CODECS) else plan.chance.choice(_CODECS)
        options: dict[str, Any] = {"magic": magic, "compression": codec}
        records = plan.records(made.end, size, magic=magic)
        if require_kind(magic).has_timestamps and not plan.chance.randrange(4):
            options |= {"timestamp_type": LOG_APPEND_TIME, "max_timestamp": plan.tick()}
        made.add(records, **options)
