"""Formats by name, and the formats of topics whose names say what is in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from kafkaspec.values.decoded import Decoder, RecordDecoder
from kafkaspec.values.definition import SchemaError
from kafkaspec.values.fixed import internal
from kafkaspec.values.fixed.cloud_events import CloudEventsDecoder
from kafkaspec.values.fixed.connect_json import PAYLOAD, SCHEMA, connect_decoder
from kafkaspec.values.fixed.debezium import DebeziumDecoder, envelope_shape
from kafkaspec.values.fixed.layouts import Suffix, layout_decoder
from kafkaspec.values.fixed.serializers import SERIALIZERS, ListDecoder, constant_size
from kafkaspec.values.fixed.streams import (
    SuffixedKeyDecoder,
    SuppressedDecoder,
    join_side_key,
    join_side_value,
)
from kafkaspec.values.json_schema.reading import (
    JsonDecoder,
    infer_json,
    sample_values,
    text_decoder,
)
from kafkaspec.values.json_schema.shapes import JsonText
from kafkaspec.values.options import AUTO, BYTES, DECODE, DEFAULT_OPTIONS, Options

Inner = Callable[[str], Decoder]
"""Returns the decoder of a format that is not a fixed one, by its name."""

_NAME: Final = re.compile(r"([a-z0-9-]+)(?:<(.+)>)?", re.DOTALL)
_DEEPEST: Final = 16


@dataclass(frozen=True, slots=True)
class _Asked:
    """The arguments for making a decoder."""

    options: Options
    sample: pa.Array | None
    secrets: bool
    inner: tuple[Decoder, ...]


_Make = Callable[[_Asked], Decoder | RecordDecoder]


def _suffixed(key: str) -> _Make:
    return lambda asked: SuffixedKeyDecoder(asked.inner[0], Suffix(key))


def _always(decoder: Decoder) -> _Make:
    return lambda _: decoder


def _debezium(asked: _Asked) -> Decoder:
    bounds = asked.options.bounds
    values = [] if asked.sample is None else sample_values(asked.sample, bounds)
    has_schemas = values and isinstance(values[0], dict) and values[0].keys() == {SCHEMA, PAYLOAD}
    inner = (
        connect_decoder(asked.sample, bounds)
        if has_schemas
        else JsonDecoder(envelope_shape(values), bounds)
    )
    decoder = DebeziumDecoder(inner)
    assert decoder.type is not None  # refuses what has no envelopes
    return decoder


CONNECT_CONFIG: Final = "connect-config"
"""Values of Connect's topic of configurations, which have passwords and keys."""

_PLAIN: Final[dict[str, _Make]] = {
    **{name: _always(decoder) for name, decoder in SERIALIZERS.items()},
    "json": lambda asked: text_decoder(asked.options.bounds),
    "json-inferred": lambda asked: (
        text_decoder(asked.options.bounds)
        if asked.sample is None
        else infer_json(asked.sample, asked.options)
    ),
    "connect-json": lambda asked: connect_decoder(asked.sample, asked.options.bounds),
    "debezium": _debezium,
    "cloudevents": lambda asked: CloudEventsDecoder(asked.options.bounds),
    **{
        f"mm2-{name}": _always(layout_decoder(f"mirror_maker.{name.replace('-', '_')}"))
        for name in (
            "heartbeat-key", "heartbeat-value", "checkpoint-key", "checkpoint-value",
            "offset-sync-key", "offset-sync-value",
        )
    },
    "connect-offset-key": lambda asked: JsonDecoder(internal.OffsetKey(), asked.options.bounds),
    "connect-offset-value": lambda asked: JsonDecoder(JsonText(), asked.options.bounds),
    "connect-status": lambda asked: internal.status(asked.options.bounds),
    CONNECT_CONFIG: lambda asked: (text_decoder if asked.secrets else internal.configuration)(
        asked.options.bounds
    ),
}  # fmt: skip
_AROUND: Final[dict[str, _Make]] = {
    "list": lambda asked: ListDecoder(
        asked.inner[0], constant_size(asked.inner[0]), asked.options.bounds.items
    ),
    "streams-windowed": _suffixed("streams.windowed_suffix"),
    "streams-window-store": _suffixed("streams.window_store_suffix"),
    "streams-session": _suffixed("streams.session_suffix"),
    "streams-join-side-key": lambda asked: join_side_key(asked.inner[0]),
    "streams-join-side-value": lambda asked: join_side_value(asked.inner[0], asked.inner[-1]),
    "streams-suppress": lambda asked: SuppressedDecoder(asked.inner[0]),
}

_MOST_INNER: Final = {"streams-join-side-value": 2}

FIXED_FORMATS: Final = (*_PLAIN, *(f"{name}<FORMAT>" for name in _AROUND))
"""Names of formats without a schema; ``FORMAT`` stands for that of what is inside."""

TOPICS: Final = (
    (r"heartbeats|.+\.heartbeats", "mm2-heartbeat-key", "mm2-heartbeat-value"),
    (r".+\.checkpoints\.internal", "mm2-checkpoint-key", "mm2-checkpoint-value"),
    (r"mm2-offset-syncs\..+\.internal", "mm2-offset-sync-key", "mm2-offset-sync-value"),
    (r"mm2-offsets\..+\.internal|connect-offsets", "connect-offset-key", "connect-offset-value"),
    (r"mm2-status\..+\.internal|connect-status", "text", "connect-status"),
    (r"mm2-configs\..+\.internal|connect-configs", "text", CONNECT_CONFIG),
)
"""Names of topics as patterns, and the formats of their keys and values."""


def topic_formats(topic: str) -> tuple[str, str] | None:
    """Return the formats of keys and values that the name of a topic says, None for none."""
    for pattern, key, value in TOPICS:
        if re.fullmatch(pattern, topic):
            return key, value
    return None


def fixed(
    name: str,
    options: Options,
    *,
    sample: pa.Array | None = None,
    secrets: bool = False,
    inner: Inner | None = None,
) -> Decoder | RecordDecoder:
    """Return the decoder of a format that has no schema, ``long`` or ``list<string>``.

    Args:
        name: one of ``FIXED_FORMATS``.
        options: how values become columns.
        sample: some values, from which ``connect-json``, ``debezium`` and ``json-inferred`` take
            the type of the column. Without them the first and the last one have JSON text.
        secrets: whether ``connect-config`` shows passwords and keys.
        inner: returns decoders of formats within others that are none of ``FIXED_FORMATS``.
    """
    return _Names(options, sample, secrets, inner).decoder(name, 0)


def check_format(name: str) -> None:
    """Refuse what is not the name of a format that needs no schema, and no ``decode`` or ``auto``.

    Raises:
        SchemaError: it is not.
    """
    if name not in (BYTES, DECODE, AUTO):
        fixed(name, DEFAULT_OPTIONS)


@dataclass(frozen=True, slots=True)
class _Names:
    options: Options
    sample: pa.Array | None
    secrets: bool
    inner: Inner | None

    def decoder(self, name: str, level: int) -> Decoder | RecordDecoder:
        found = _NAME.fullmatch(name.strip())
        outer, within = found.groups() if found else (name, None)
        if level <= _DEEPEST:
            if within is None and outer in _PLAIN:
                return _PLAIN[outer](self._asked(()))
            if within is not None and outer in _AROUND:
                inner = self._inner(within, level + 1)
                if len(inner) <= _MOST_INNER.get(outer, 1):
                    return _AROUND[outer](self._asked(inner))
        if level and self.inner is not None and outer not in _AROUND:
            return self.inner(name.strip())
        raise SchemaError(f"no format {name[:80]!r}; there are {', '.join(FIXED_FORMATS)}")

    def _asked(self, inner: tuple[Decoder, ...]) -> _Asked:
        return _Asked(self.options, self.sample, self.secrets, inner)

    def _inner(self, names: str, level: int) -> tuple[Decoder, ...]:
        decoders = []
        for name in _parts(names):
            decoder = self.decoder(name, level)
            if isinstance(decoder, RecordDecoder):
                raise SchemaError(f"{name} needs headers, and is within no other format")
            decoders.append(decoder)
        return tuple(decoders)


def _parts(names: str) -> list[str]:
    """Return names between commas that are not within another name."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(names):
        depth += (character == "<") - (character == ">")
        if character == "," and not depth:
            parts.append(names[start:place])
            start = place + 1
    return [*parts, names[start:]]
