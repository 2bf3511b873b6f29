"""Typed columns of keys and values, each row by its schema."""

from __future__ import annotations
