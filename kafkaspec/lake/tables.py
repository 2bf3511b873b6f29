"""Opens a lake of either format."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

if not all(map(find_spec, ("pyarrow", "deltalake", "pyiceberg"))):
    raise ImportError("lakes need more libraries: pip install 'kafkaspec[lake]'")

from kafkaspec.errors import unreadable
from kafkaspec.lake.base import Lake
from kafkaspec.lake.delta import DeltaLake
from kafkaspec.lake.iceberg import CATALOG, IcebergLake
from kafkaspec.lake.manifest import DELTA_LOG
from kafkaspec.lake.schema import PROGRESS
from kafkaspec.lake.store import Store

__all__ = ["open_lake"]

FORMATS: Final = {DeltaLake.to: DELTA_LOG, IcebergLake.to: "metadata"}
"""Formats of a lake, with the directory that each table of one has."""


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
        KafkaSpecError: ``unreadable``: no lake is there, or it has another format.
        ValueError: the format is unknown, or has no catalogue.
    """
    if to not in (None, *FORMATS):
        raise ValueError(f"unknown format {to!r}; there are {', '.join(FORMATS)}")
    store = Store(place)
    found = next((name for name, log in FORMATS.items() if store.exists(f"{PROGRESS}/{log}")), None)
    if found is None and not create:
        raise unreadable(place, "no lake is there: it would have a table of progress")
    if catalog and to is None and found is None:
        to = IcebergLake.to
    if found and to not in (None, found):
        raise unreadable(place, f"its tables are {found}, not {to}")
    to = found or to or DeltaLake.to
    if to == IcebergLake.to:
        lake = IcebergLake(store, catalog)
        if found and lake.has_none():
            what = f"its catalogue, {CATALOG}, is not there; name the one it has by --catalog"
            raise unreadable(place, what)
        if found and PROGRESS not in lake.tables() and (not create or _has_snapshots(store)):
            detail = "the catalogue has no table of progress, but the lake has: give --catalog"
            raise unreadable(place, f"{detail} as when the lake was made")
        return lake
    if catalog:
        raise ValueError(f"a catalogue is for iceberg, and {place} is {to}")
    return DeltaLake(store)


def _has_snapshots(store: Store) -> bool:
    """Return whether an increment was committed, or at least begun in a table that was there."""
    names = store.names(f"{PROGRESS}/{FORMATS[IcebergLake.to]}")
    return any(name.startswith("snap-") for name in names)
