"""Conditions on records, written as in SQL: parsed here, evaluated on Arrow columns.

A condition is also turned into ranges of offsets and timestamps and into partitions, so that what
cannot have a wanted record is not read.
"""

from __future__ import annotations
