"""Exit codes of the command, the same for all of its commands."""

from __future__ import annotations

CLEAN = 0
"""Everything was read, and nothing is wrong."""
FINDINGS = 1
"""Everything was read, and something is wrong or was not found."""
USAGE = 2
"""Wrong usage, or something could not be read at all. Takes precedence over ``FINDINGS``."""
