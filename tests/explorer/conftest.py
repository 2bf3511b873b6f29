from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.explorer.testee import Engine


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    process = Engine()
    yield process
    process.close()
