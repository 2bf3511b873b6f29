"""The dissector in Lua, read by tshark, names each byte as ``explain`` does."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final
from xml.etree.ElementTree import Element, iterparse

import pytest

import kafkaspec as ks
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.cli.commands.explain_data import explain_batch
from kafkaspec.codecs.references.kaitai.positions import FieldPosition
from kafkaspec.layout import Kind
from kafkaspec.log.batch import Batch
from tests.goldens import GOLDEN

TSHARK = shutil.which("tshark")
pytestmark = pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "generated" / "wireshark" / "kafkaspec.lua"
_VERSIONS: Final = ("0.8.2.2", "0.10.2.2", "2.8.2", "4.4.0")
_ENTRIES: Final = 2
"""Entries of each file that are compared."""
_READ: Final = ("none", "gzip")
"""Codecs whose payloads Lua reads."""
_UPPER_PDU: Final = 252
_FIELDS: Final = {
    f"kafkaspec.{key}.{field.id}": field
    for key, layout in LAYOUTS.items()
    for field in layout.fields
    if field.kind not in (Kind.GUARD, Kind.TYPE, Kind.CHOICE)
}
"""Fields that hold a value."""
_LEAVES: Final = {field.location: name for name, field in _FIELDS.items()}


def _is_number(name: str) -> bool:
    field = _FIELDS[name]
    if field.kind is Kind.SCALAR:
        return len(LAYOUTS[field.type].fields) < 2  # others have a size before their bytes
    return field.kind in (Kind.INTEGER, Kind.BITS)


def _tshark(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    assert TSHARK is not None
    command = [TSHARK, "-X", f"lua_script:{SCRIPT}", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, timeout=300)


def _tag(kind: int, text: bytes) -> bytes:
    return struct.pack(">HH", kind, len(text)) + text


_HEAD: Final = _tag(12, b"kafkaspec\0\0\0") + _tag(0, b"")


def _capture(path: Path, packets: Iterable[bytes], link: int = _UPPER_PDU) -> Path:
    """Write packets as Wireshark exports what a dissector is to read."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, link))
        for packet in packets:
            file.write(struct.pack("<IIII", 0, 0, len(packet), len(packet)) + packet)
    return path


def _packets(pdml: Path) -> Iterator[list[Element]]:
    """Yield the fields of each packet, in order."""
    for _, element in iterparse(pdml):
        if element.tag == "packet":
            yield list(element.iter("field"))
            element.clear()


def _read(field: Element) -> Any:
    """Return the value of a field as tshark says it."""
    shown, data = field.get("show", ""), field.get("value", "")
    if field.get("showname", "").endswith("(null)"):
        return None
    if not _is_number(field.get("name", "")):
        return bytes.fromhex(data)
    return shown == "True" if shown in ("True", "False") else int(shown)


def _expected(field: FieldPosition, shift: int | None) -> tuple[Any, ...]:
    value = bytes(field.value) if isinstance(field.value, bytes | memoryview) else field.value
    size = field.end - field.start
    if isinstance(value, bytes) or value is None:
        size = len(value or b"")  # without the size before it
    place = None if shift is None else field.end - size - shift
    return _LEAVES[field.location], place, size, value


def _sections(batch: Batch, segment: ks.Segment) -> Iterator[tuple[FieldPosition, int | None]]:
    """Yield the fields with values that ``explain`` shows, and what their positions count from."""
    for section in explain_batch(segment, batch.position, 0):
        entry = section.title.startswith("entry")
        if not entry and batch.compression_name not in _READ:
            continue
        shift: int | None = batch.position - len(_HEAD)
        if "control record" in section.title:
            shift = None  # the positions of explain are in the key or value
        elif not entry and batch.is_compressed:
            shift = 0
        for field in section.fields:
            if field.location in _LEAVES and (field.type or field.value is not None):
                yield field, shift


@pytest.mark.slow
def test_tshark_reads_what_explain_shows(tmp_path: Path) -> None:
    """Compares two entries of each of 100 golden files and more: 0 differences."""
    paths = [path for name in _VERSIONS for path in sorted((GOLDEN / name / "logs").rglob("*.log"))]
    wanted, packets, files = [], [], set()
    for path in paths:
        with ks.Segment(path) as segment:
            for batch in islice(segment, _ENTRIES):
                if batch.size > 4000:
                    continue
                files.add(path)
                packets.append(_HEAD + bytes(batch.data))
                wanted.append([_expected(*each) for each in _sections(batch, segment)])
    assert len(files) >= 100
    capture = _capture(tmp_path / "all.pcap", packets)
    pdml = tmp_path / "all.xml"
    done = _tshark("-r", capture, "-T", "pdml")
    assert done.returncode == 0, done.stderr.decode()
    pdml.write_bytes(done.stdout)
    compared = 0
    for fields, expected in zip(_packets(pdml), wanted, strict=True):
        found = [
            (field.get("name"), int(field.get("pos", "")), int(field.get("size", "")), _read(field))
            for field in fields
            if field.get("name") in _FIELDS
        ]
        kept = [
            (name, place if want[1] is not None else None, size, value)
            for (name, place, size, value), want in zip(found, expected, strict=True)
        ]
        assert kept == expected
        compared += len(kept)
    assert compared > 3000


def _fields(source: Path, *names: str, options: Iterable[str] = ()) -> list[list[str]]:
    """Return fields of each packet as tshark prints them."""
    chosen = [part for name in names for part in ("-e", name)]
    done = _tshark("-r", source, *options, "-T", "fields", *chosen)
    assert done.returncode == 0, done.stderr.decode()
    assert b"Lua" not in done.stderr, done.stderr.decode()
    return [line.split("\t") for line in done.stdout.decode().splitlines()]


@pytest.mark.slow
def test_a_segment_is_opened_entry_by_entry() -> None:
    (path,) = (GOLDEN / "4.4.0" / "logs" / "headers-0").glob("*.log")
    found = _fields(path, "kafkaspec.position", "kafkaspec.recordbatch.record.offset")
    with ks.Segment(path) as segment:
        wanted = [
            [str(batch.position), ",".join(str(record.offset) for record in batch.records())]
            for batch in segment
        ]
    assert found == wanted


@pytest.mark.slow
def test_an_index_is_read_by_the_name_of_its_type() -> None:
    path = max(GOLDEN.glob("4.4.0/logs/*/*.timeindex"), key=lambda path: path.stat().st_size)
    data = path.read_bytes()
    entry = LAYOUTS["index.time_index"].fields[0].type
    name = f"kafkaspec.{entry}.{LAYOUTS[entry].fields[0].id}"
    ((found,),) = _fields(path, name, options=("-o", "kafkaspec.type:index.time_index"))
    size = LAYOUTS[entry].fixed_size
    assert size
    wanted = [int.from_bytes(data[at : at + 8], "big") for at in range(0, len(data), size)]
    assert list(map(int, found.split(","))) == wanted


@pytest.mark.slow
def test_what_is_cut_or_wrong_is_said(tmp_path: Path) -> None:
    (source,) = (GOLDEN / "4.4.0" / "logs" / "plain-0").glob("*.log")
    data = bytearray(source.read_bytes())
    with ks.Segment(source) as segment:
        batches = list(islice(segment, 3))
    data = data[: batches[2].end - 5]
    data[batches[1].position + 61] = 0xFF  # the size of the first record
    path = tmp_path / "torn.log"
    path.write_bytes(data)
    found = _fields(path, "kafkaspec.position", "_ws.expert.message")
    assert [row[0] for row in found] == [str(batch.position) for batch in batches]
    assert found[0][1] == ""
    assert "recordbatch.framed_record.len_body is not valid" in found[1][1]
    assert "bytes are needed" in found[2][1]
    other = tmp_path / "other.bin"
    other.write_bytes(b"no log" * 100)
    assert _tshark("-r", other).returncode != 0


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _segment_of_tcp(data: bytes, source: int, target: int, number: int, other: int) -> bytes:
    """Return an IPv4 packet with a segment of TCP."""
    head = struct.pack(">HHIIBBHHH", source, target, number, other, 5 << 4, 0x18, 65535, 0, 0)
    size = 20 + len(head) + len(data)
    addresses = bytes([127, 0, 0, 1]) * 2
    return struct.pack(">BBHHHBBH", 0x45, 0, size, 0, 0, 64, 6, 0) + addresses + head + data


def _framed(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


@pytest.mark.parametrize("version", ["0.10.2.2", "4.4.0"])
@pytest.mark.slow
def test_batches_in_produce_and_fetch_are_read(tmp_path: Path, version: str) -> None:
    (path,) = (GOLDEN / version / "logs" / "plain-0").glob("*.log")
    with ks.Segment(path) as segment:
        batches = list(islice(segment, 3))
    data = path.read_bytes()[: batches[-1].end]
    topic = _text("plain")
    records = struct.pack(">ii", 0, len(data)) + data
    produce = struct.pack(">hhi", 0, 2, 7) + _text("c") + struct.pack(">hii", 1, 1000, 1)
    produce += topic + struct.pack(">i", 1) + records
    fetch = struct.pack(">hhi", 1, 4, 8) + _text("c") + struct.pack(">iiiibi", -1, 9, 1, 99, 0, 1)
    fetch += topic + struct.pack(">iiqi", 1, 0, 0, 99)
    answer = struct.pack(">iii", 8, 0, 1) + topic + struct.pack(">iihqqi", 1, 0, 0, 9, 9, 0)
    answer += records[4:]
    sent, asked, got = map(_framed, (produce, fetch, answer))
    packets = [
        _segment_of_tcp(sent, 40000, 9092, 1, 1),
        _segment_of_tcp(asked, 40000, 9092, 1 + len(sent), 1),
        _segment_of_tcp(got, 9092, 40000, 1, 1 + len(sent) + len(asked)),
    ]
    capture = _capture(tmp_path / "kafka.pcap", packets, link=101)
    found = _fields(capture, "kafkaspec.recordbatch.entry.base_offset", "_ws.expert.message")
    offsets = ",".join(str(batch.base_offset) for batch in batches)
    assert [row[0] for row in found] == [offsets, "", offsets]
