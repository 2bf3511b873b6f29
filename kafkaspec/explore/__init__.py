"""The explorer's server: one page and the bytes of files, for a browser on the same machine."""

from __future__ import annotations
