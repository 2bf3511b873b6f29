"""Every test of compression runs with each provider: libraries in C, linked or loaded; PyPI's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import providers, served_by


@pytest.fixture(scope="module", autouse=True, params=providers("C", "loaded", "PyPI"))
def served(request: pytest.FixtureRequest) -> Iterator[str]:
    """Return who serves."""
    with served_by(request.param):
        yield request.param
