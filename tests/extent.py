"""How much of the tests runs: all of it, or what ``make quick`` takes."""

from __future__ import annotations

quick = False
"""Whether ``--quick`` was given; set before any test module is imported."""
