"""Exit codes of the command, the same for all of its commands."""

from __future__ import annotations

CLEAN = 0
"""All was read, and nothing is wrong."""
FINDINGS = 1
"""All was read, and something is wrong, or what was looked for is not there."""
USAGE = 2
"""Wrong usage, or something could not be read at all. Outweighs ``FINDINGS``."""
