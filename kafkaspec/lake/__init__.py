"""Segments as tables of a lake, Delta or Iceberg: what an increment reads, writes and commits.

Nothing here needs Spark: its job deals the work to tasks and commits in the driver.
"""

from __future__ import annotations
