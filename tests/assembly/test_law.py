"""``assemble(listing(x)) == x``: for files of brokers, vectors, and damaged files."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.assembly import assemble, listing, listing_as
from kafkaspec.assembly.grammar import REST
from kafkaspec.files.names import is_text
from kafkaspec.layout import Form
from kafkaspec.messages import topic_of
from tests import goldens

VECTORS = Path(__file__).parents[2] / "generated" / "vectors"
MOST = 8_000
"""Bytes of a golden file that is taken: every field is an object."""
SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint")


def _law(path: Path, *, decode: bool = True) -> str:
    """Check the law for a file; return its text."""
    text = "\n".join(listing(path, decode=decode))
    data, follows = assemble(text, path.name)
    assert data == path.read_bytes(), f"{path}: other bytes\n{text}"
    assert not follows, f"{path}: {follows}"
    return text


@pytest.mark.slow
def test_files_of_every_release() -> None:
    """Segments, indexes, snapshots and text files; all bytes of a clean log are named."""
    seen = set()
    for golden in goldens.files(*SUFFIXES, ""):
        known = golden.path.suffix or is_text(golden.path.name)
        if known and 0 < golden.path.stat().st_size <= MOST:
            # test_messages.py has the messages
            text = _law(golden.path, decode=topic_of(golden.path) is None)
            assert f"{REST}:" not in text, golden
            seen.add(golden.path.suffix)
    assert seen == {*SUFFIXES, ""}


def _vectors() -> list[dict[str, Any]]:
    """Vectors of structures whose parameters are numbers; others are inside of a batch."""
    return [
        vector
        for path in sorted(VECTORS.glob("*.json"))
        for vector in json.loads(path.read_text(encoding="utf-8"))["vectors"]
        if all(isinstance(item, int) for item in vector["parameters"])
        and LAYOUTS[vector["type"]].form is not Form.SCALAR
    ]


@pytest.mark.slow
def test_every_vector(tmp_path: Path) -> None:
    """Also those that are refused; of those that are accepted, no byte is without a field."""
    path = tmp_path / "bytes"
    for vector in _vectors():
        path.write_bytes(bytes.fromhex(vector["hex"]))
        text = "\n".join(listing_as(path, vector["type"], vector["parameters"]))
        where = (vector["type"], vector["name"], text)
        data, follows = assemble(text)
        assert data.hex() == vector["hex"], where
        assert not follows, where
        if vector["verdict"] == "accept" and vector["end"] == len(data):
            assert f"{REST}:" not in text, where


@pytest.mark.slow
def test_damaged_segments(tmp_path: Path) -> None:
    """Bytes that change, go away or come in, anywhere in files of every magic and codec."""
    chance = random.Random(31)
    paths = [
        golden.path for golden in goldens.files(".log") if 0 < golden.path.stat().st_size < 3000
    ]
    path = tmp_path / f"{0:020}.log"
    for _ in range(400):
        data = bytearray(chance.choice(paths).read_bytes())
        for _ in range(chance.choice((1, 1, 2, 5))):
            place = chance.randrange(len(data))
            match chance.choice("ccccdit"):
                case "c":
                    data[place] = chance.randrange(256)
                case "d":
                    del data[place : place + chance.randrange(1, 9)]
                case "i":
                    data[place:place] = chance.randbytes(5)
                case "t":
                    del data[place:]
            data = data or bytearray(b"x")
        path.write_bytes(data)
        _law(path)
