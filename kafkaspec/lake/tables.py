"""Opens a lake of either format."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

if not all(map(find_spec, ("pyarrow", "deltalake", "pyiceberg"))):
    raise ImportError("lakes need more libraries: pip install 'kafkaspec[lake]'")

from kafkaspec.errors import unreadable
from kafkaspec.lake.base import Lake
from kafkaspec.lake.delta import DeltaLake
from kafkaspec.lake.schema import PROGRESS
from kafkaspec.lake.store import Store


def open_lake(
    place: str,
    to: str | None = None,
    *,
    catalog: Mapping[str, str] | None = None,
    create: bool = False,
) -> Lake:
    """Open the tables in a place.

    Args:
        place: directory or URL.
        to: the format, ``delta`` or ``iceberg``; None for that of the lake, Delta if there is none.
        catalog: properties of PyIceberg's catalogue; without any, a local lake has one of its own.
        create: whether the lake may be new.

    Raises:
        KafkaSpecError: ``unreadable``: there is no lake, or it has another format.
    """
    store = Store(place)
    if not create and not store.exists(PROGRESS):
        raise unreadable(place, "no lake is there: it would have a table of progress")
    return DeltaLake(store)
