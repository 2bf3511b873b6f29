"""``verify`` with several codecs names the field that one reads wrongly, and both values."""

from __future__ import annotations

from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec.analysis.reasons import FindingReason
from kafkaspec.codecs import installed
from kafkaspec.codecs.python import PythonCodec
from tests.cli.helpers import run
from tests.goldens import GOLDEN

LOG = GOLDEN / "4.3.1" / "logs" / "segments-0" / "00000000000000000000.log"


class _Liar(PythonCodec):
    """Reads one field of a header and one value of each other batch wrongly."""

    name = "liar"

    def parse(self, type_key: str, *args: Any, **options: Any) -> tuple[Any, int]:
        value, end = super().parse(type_key, *args, **options)
        if type_key == "recordbatch.entry" and value.base_offset == 0:
            value.message.producer_epoch = 77
        return value, end

    def decode_records(self, *args: Any, **options: Any) -> list[ks.Record]:
        first, *others = super().decode_records(*args, **options)
        return [first._replace(value=b"a lie"), *others]


def test_a_codec_that_lies_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(installed.CODECS, "liar", (__name__, "_Liar", None))
    report = ks.verify(LOG, codec="native,python,liar")
    found = [item for item in report.findings if item.reason is FindingReason.CODECS_DISAGREE]
    batches = list(ks.Segment(LOG).batches())
    assert report.codecs == ("native", "python", "liar")
    assert {item.codec for item in found} == {"liar"}
    header, *values = found
    assert header.message.endswith("the headers differ: producer_epoch -1, or 77")
    assert [item.position for item in values] == [batch.position for batch in batches]
    for batch, item in zip(batches, values, strict=True):
        first = batch.records()[0]
        assert first.value is not None
        assert f"offset {first.offset} differs: value {len(first.value)} bytes: " in item.message
        assert f"or 5 bytes: {b'a lie'.hex(' ')}" in item.message


def test_the_command_takes_several_codecs() -> None:
    assert "codecs native, python agree" in run("verify", LOG, "--codec", "native,python").stdout
    result = run("verify", LOG, "--codec", "native,pyhton")
    assert result.exit_code == 2
    assert "pyhton" in result.stderr
