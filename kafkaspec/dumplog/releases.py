"""The releases that the dump tool is known of, and their options; imported by every ``dump``."""

from __future__ import annotations

from typing import Final

from kafkaspec.release import Release

OLDEST: Final[Release] = (0, 8)
NEWEST: Final[Release] = (4, 3)
"""The last release that changed the text; later ones print the same as far as is known."""

OPTIONS_SINCE: Final[dict[str, Release]] = {
    "index-sanity-check": (0, 10),
    "skip-record-metadata": (2, 8),
    "max-bytes": (3, 3),
    "offsets-decoder": (0, 9),
    "transaction-log-decoder": (0, 11),
    "cluster-metadata-decoder": (2, 8),
    "remote-log-metadata-decoder": (3, 9),
    "share-group-state-decoder": (4, 0),
}
"""Options that the tool did not always have, with the first release that has them."""
