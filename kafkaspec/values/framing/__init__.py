"""Frames: bytes before a payload, or headers of its record, that name its schema."""

from __future__ import annotations
