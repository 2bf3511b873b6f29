"""Records of Kafka Connect's internal topics: offsets, states, settings without their secrets."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from kafkaspec.values.decoded import Decoder
from kafkaspec.values.json_schema.reading import JsonDecoder, JsonRowDecoder
from kafkaspec.values.json_schema.shapes import Integer, Object, Shape, String, wrong
from kafkaspec.values.json_schema.text import parse, to_text
from kafkaspec.values.options import Bounds

HIDDEN: Final = "[hidden]"
"""What stands for a secret, as in Kafka's own logs."""

PUBLIC: Final = frozenset(
    {
        "name", "connector.class", "task.class", "tasks.max", "topics", "topics.regex",
        "key.converter", "value.converter", "header.converter", "transforms", "predicates",
        "errors.tolerance", "errors.log.enable", "errors.retry.timeout",
        "errors.retry.delay.max.ms", "errors.deadletterqueue.topic.name",
        "config.action.reload", "exactly.once.support", "offset-syncs.topic.location",
    }
)  # fmt: skip
"""Properties of connectors whose values are not secrets; that of any other may be."""


class OffsetKey(Shape):
    """Keys of source offsets: the name of a connector, and which part of its source it is."""

    type = pa.struct([("connector", pa.string()), ("partition", pa.string())])

    def read(self, value: Any) -> Any:
        if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], str):
            raise wrong("the name of a connector and a partition", value)
        return {"connector": value[0], "partition": to_text(value[1])}


def status(bounds: Bounds) -> Decoder:
    """Return the decoder of states of connectors and tasks, and of topics that they use."""
    topic = Object(
        {
            "topic": String(), "connector": String(), "task": Integer(),
            "discoverTimestamp": Integer(),
        }
    )  # fmt: skip
    fields: dict[str, Shape] = {name: String() for name in ("state", "trace", "worker_id")}
    more = {"generation": Integer(), "version": String(), "topic": topic}
    return JsonDecoder(Object(fields | more), bounds)


def configuration(bounds: Bounds) -> Decoder:
    """Return the decoder of configurations: JSON text without what may be a secret."""
    return JsonRowDecoder(pa.string(), lambda data: to_text(_public(parse(data, bounds))), bounds)


def _public(value: Any) -> Any:
    """Return a value of the topic without what may be a secret.

    Names of properties stay, and so do the values of public ones. What is known by its form has
    nothing secret: a wanted state, the number of tasks, and that a connector restarts.
    """
    if not isinstance(value, dict):
        return HIDDEN
    shown: dict[str, Any] = {}
    for name, item in value.items():
        if name == "properties" and isinstance(item, dict):
            shown[name] = {
                each: kept if each in PUBLIC and isinstance(kept, str) else HIDDEN
                for each, kept in item.items()
            }
        elif name in _PLAIN and isinstance(item, str | int | bool | None):
            shown[name] = item
        else:
            shown[name] = HIDDEN
    return shown


_PLAIN: Final = frozenset(
    {
        "state", "state.v2", "tasks", "only-failed", "include-tasks", "algorithm",
        "creation-timestamp", "level",
    }
)  # fmt: skip
"""Fields that are not secrets, of target states, commits, restarts, levels of loggers and keys."""
