"""Protobuf: schemas from text or descriptors, and messages as columns."""

from __future__ import annotations
