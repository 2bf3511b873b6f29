"""Checks of the text files of a log directory, by themselves and against its logs."""

from __future__ import annotations
