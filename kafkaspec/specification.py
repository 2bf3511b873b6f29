"""The place of the specification."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent


def spec_files() -> dict[str, Path]:
    """Return the Kaitai Struct files by the names that errors cite (``recordbatch.ksy``).

    Those of an installation, or ``spec/`` of a checkout. Any tool of Kaitai's reads them.
    """
    places = (_HERE / "_spec", _HERE.parent / "spec")
    place = next(place for place in places if place.is_dir())
    return {path.relative_to(place).as_posix(): path for path in sorted(place.rglob("*.ksy"))}
