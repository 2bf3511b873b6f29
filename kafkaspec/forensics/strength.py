"""Strength and assumptions; they are in ``kafkaspec.results`` now."""

from kafkaspec.results import Assumption, Strength

__all__ = ["Assumption", "Strength"]
