"""``retention``: logs whose first segments, or the first records of a segment, are deleted."""

from __future__ import annotations

from kafkaspec.scenarios.partition import MadePartition
from kafkaspec.scenarios.scenario_plan import DAY_MS, ScenarioPlan

_SEGMENTS = 6


def retention(plan: ScenarioPlan) -> None:
    """Plan the scenario."""
    whole, inside, all_ = (plan.partition("events", number) for number in range(3))
    for made in (whole, inside, all_):
        made.epoch = plan.chance.randrange(3)
        for number in range(_SEGMENTS):
            made.roll()
            for count in plan.sizes(plan.most // _SEGMENTS):
                made.add(plan.records(made.end, count), compression=plan.compression())
            made.epoch += plan.chance.randrange(2)
            if made is whole and number % 2:
                plan.advance(DAY_MS // 2)
    bases = list(whole.entries)
    _delete(whole, bases[plan.chance.randint(1, 2)])
    # DeleteRecords: to an offset inside of a segment, which stays.
    bases = list(inside.entries)
    at = plan.chance.randint(1, _SEGMENTS - 1)
    begin, end = bases[at], [*bases, inside.end][at + 1]
    _delete(inside, plan.chance.randrange(begin + 1, end))
    # All records are too old: the broker rolls an empty segment, and deletes the others.
    all_.roll()
    _delete(all_, all_.end)


def _delete(made: MadePartition, start: int) -> None:
    """Raise the log start offset, and delete the segments that end before it."""
    bases = list(made.entries)
    ends = [*bases[1:], made.end + 1]
    made.dropped = {base for base, end in zip(bases, ends, strict=True) if end <= start}
    made.start = start
    made.facts["deleted"] = {
        "offsets": [0, start],
        "segments": sorted(made.dropped),
        "records": sum(record.offset < start for record in made.records),
    }
