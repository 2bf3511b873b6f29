"""How the keys and values of a topic are read: found out before, from a sample and the schemas."""

from __future__ import annotations
