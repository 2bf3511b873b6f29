"""Vectors: known encodings, a verdict for every rule, the same file every time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.specgen.loader import load
from tools.specgen.model import DeriveFunction, Scalar
from tools.specgen.vectors.changes import varint_forms
from tools.specgen.vectors.emit import emit, quirks
from tools.specgen.vectors.encode import checksum, varint

ROOT = Path(__file__).parents[2]


def test_checksums_of_the_catalogue() -> None:
    # Check values of CRC-32/ISO-HDLC and CRC-32/ISCSI: of the nine digits.
    assert checksum(DeriveFunction.CRC32, b"123456789") == 0xCBF43926
    assert checksum(DeriveFunction.CRC32C, b"123456789") == 0xE3069283


@pytest.mark.parametrize(
    ("scalar", "value", "data"),
    [
        # Pairs of Kafka's ByteUtilsTest, whose unsigned -1 is 2^32 - 1 here.
        (Scalar.UNSIGNED_VARINT32, 0, "00"),
        (Scalar.UNSIGNED_VARINT32, 8191, "ff3f"),
        (Scalar.UNSIGNED_VARINT32, 1048576, "808040"),
        (Scalar.UNSIGNED_VARINT32, 4294967295, "ffffffff0f"),
        (Scalar.VARINT32, 0, "00"),
        (Scalar.VARINT32, -1, "01"),
        (Scalar.VARINT32, 63, "7e"),
        (Scalar.VARINT32, -64, "7f"),
        (Scalar.VARINT32, 64, "8001"),
        (Scalar.VARINT32, -8193, "818001"),
        (Scalar.VARINT32, 2147483647, "feffffff0f"),
        (Scalar.VARINT32, -2147483648, "ffffffff0f"),
        (Scalar.VARINT64, 9223372036854775807, "feffffffffffffffff01"),
        (Scalar.VARINT64, -9223372036854775808, "ffffffffffffffffff01"),
    ],
)
def test_varints(scalar: Scalar, value: int, data: str) -> None:
    assert varint(scalar, value).hex() == data


def test_forms_of_a_varint() -> None:
    forms = {name: (data.hex(), fault) for name, _, data, fault in varint_forms(Scalar.VARINT32, 3)}
    assert forms == {
        "non_minimal": ("8600", ""),
        "longest": ("8680808000", ""),
        "surplus_bits": ("8680808070", ""),
        "too_long": ("868080808000", "varint_too_long"),
    }
    last = {name: data[-1] for name, _, data, _ in varint_forms(Scalar.VARINT64, 3)}
    assert last["surplus_bits"] == 0x7E


def test_quirks_are_the_sentences_that_name_one() -> None:
    doc = "Bytes that follow. Quirk Q4: any negative size\nis null. Written as -1 (quirk Q7). End."
    assert quirks(doc) == ["Quirk Q4: any negative size is null.", "Written as -1 (quirk Q7)."]


@pytest.mark.slow
def test_each_type_has_vectors_and_the_files_are_small_and_stable() -> None:
    model = load(ROOT / "spec")
    outputs = emit(model)
    assert outputs == emit(model)
    assert sum(len(output.text) for output in outputs) < 1_250_000
    types = {
        vector["type"]
        for output in outputs
        for vector in json.loads(output.text)["vectors"]
        if vector["name"].endswith("base") and vector["verdict"] == "accept"
    }
    assert types == {type_.key for type_ in model.all_types() if type_.fields}


def test_every_bound_is_met_and_crossed(tmp_path: Path) -> None:
    """A type with one bound of each kind: the verdicts that one would write by hand."""
    (tmp_path / "small.ksy").write_text(
        """
meta: {id: small, endian: be}
seq:
  - {id: a, type: s1, valid: {min: -3, max: 5}}
  - {id: b, type: u2, valid: 513}
  - {id: len_c, -derive: len(c), type: u1}
  - {id: c, size: len_c}
  - {id: end, size: 0, valid: {expr: _io.eof}}
""",
        encoding="utf-8",
    )
    (output,) = emit(load(tmp_path))
    verdicts = {
        vector["name"]: (vector["hex"], vector["reason"], vector["path"], vector["offset"])
        for vector in json.loads(output.text)["vectors"]
    }
    assert verdicts == {
        "base": ("05020103616263", "", "", None),
        "a.-4": ("fc020103616263", "invalid_value", "/a", 0),
        "a.-3": ("fd020103616263", "", "", None),
        "a.-2": ("fe020103616263", "", "", None),
        "a.4": ("04020103616263", "", "", None),
        "a.6": ("06020103616263", "invalid_value", "/a", 0),
        "a.-4.cut": ("fc0201036162", "invalid_value", "/a", 0),
        "a.-3.cut": ("fd0201036162", "truncated", "/c", 4),
        "a.-2.cut": ("fe0201036162", "truncated", "/c", 4),
        "a.4.cut": ("040201036162", "truncated", "/c", 4),
        "a.5.cut": ("050201036162", "truncated", "/c", 4),
        "a.6.cut": ("060201036162", "invalid_value", "/a", 0),
        "a.minimum": ("80020103616263", "invalid_value", "/a", 0),
        "a.maximum": ("7f020103616263", "invalid_value", "/a", 0),
        "a.sign_flip": ("fb020103616263", "invalid_value", "/a", 0),
        "b.512": ("05020003616263", "invalid_value", "/b", 1),
        "b.514": ("05020203616263", "invalid_value", "/b", 1),
        "b.512.cut": ("050200036162", "invalid_value", "/b", 1),
        "b.514.cut": ("050202036162", "invalid_value", "/b", 1),
        "b.minimum": ("05000003616263", "invalid_value", "/b", 1),
        "b.maximum": ("05ffff03616263", "invalid_value", "/b", 1),
        "len_c.maximum": ("050201ff616263", "truncated", "/c", 4),
        "c.empty": ("05020100", "", "", None),
        "c.not_text": ("0502010300ff80", "", "", None),
        "nothing": ("", "truncated", "/a", 0),
        "a.last": ("05", "truncated", "/b", 1),
        "b.cut": ("0502", "truncated", "/b", 1),
        "b.last": ("050201", "truncated", "/len_c", 3),
        "len_c.last": ("05020103", "truncated", "/c", 4),
        "trailing_byte": ("0502010361626300", "trailing_bytes", "/end", 7),
    }
