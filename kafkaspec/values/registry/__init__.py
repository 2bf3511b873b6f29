"""Schemas that lie beside the data: in the topic of a registry, or in files."""

from __future__ import annotations
