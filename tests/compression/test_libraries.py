"""Each codec is served in C, or the library is named that is missing."""

from __future__ import annotations

import pytest

from kafkaspec import compression
from kafkaspec.cli.version import missing_libraries
from kafkaspec.compression import CompressionType

native = pytest.importorskip("kafkaspec._native", reason="the extension was not built")


@pytest.mark.parametrize("codec", list(CompressionType)[1:], ids=lambda codec: codec.name.lower())
def test_a_payload_of_kafka_is_decompressed_in_c(codec: CompressionType, served: str) -> None:
    if codec.name.lower() not in [name for name, *_ in native.CODECS]:
        pytest.skip(" ".join(missing_libraries()) or "libraries in C are switched off")
    data = bytes(range(256)) * 99
    payload = compression.compress(codec, data, magic=2)
    form = compression.forms(native, (codec,), 2)[codec]
    if served == "PyPI":
        assert form is None
    else:
        assert form is not None
        assert native.decompress(form, payload, len(data)) == data
        assert native.decompress(form, payload, len(data) - 1) is None
