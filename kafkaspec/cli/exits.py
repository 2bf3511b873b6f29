"""Exit codes of the command, the same for all of its commands."""

from __future__ import annotations

CLEAN = 0
"""All was done, and nothing is wrong."""
FINDINGS = 1
"""Something is wrong or missing, was not found, or is among other files and cannot be read."""
USAGE = 2
"""Not done: wrong usage, a PATH of which nothing can be read, or no output. The highest counts."""
REFUSED = 3
"""Not done, though all could be read: somebody has to decide something first."""
