"""Checks of the text files of a log directory: as such, and against the logs beside them."""

from __future__ import annotations
