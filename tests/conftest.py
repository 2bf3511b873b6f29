"""Fixtures for all tests."""

from __future__ import annotations

import pytest

from kafkaspec.codecs import Codec, codec_names, get_codec


@pytest.fixture(params=codec_names())
def codec(request: pytest.FixtureRequest) -> Codec:
    """Each codec in turn."""
    return get_codec(request.param)
