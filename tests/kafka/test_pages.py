"""The pages in ``docs/`` say what the data says that they are made from."""

from __future__ import annotations

import pytest

from tools.kafka.pages import DOCS, pages


@pytest.mark.parametrize("name", pages())
def test_page_is_made_from_the_data(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == pages()[name]
