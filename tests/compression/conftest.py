"""Every test of compression runs with the libraries of the extension, and with those of PyPI."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def served(libraries: str) -> str:
    """Return ``C`` or ``PyPI``: who serves."""
    return libraries
