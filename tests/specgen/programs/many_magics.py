"""Use formats beside magic 2 that differ in more than a field. Run by test_public.py.

The first argument holds values of fields that cannot be made up from their type. Each function is
a check; the program says which failed and why.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import MISSING
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import kafkaspec as ks
from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.arrow.schema import COLUMNS, OWN_TYPES, WITHOUT_COLUMN
from kafkaspec.codecs import codec_names
from kafkaspec.conversion.fields import own_fields
from kafkaspec.layout import EntryKind, FieldLayout, Form, Kind
from kafkaspec.layout.kinds import KINDS, MAGICS
from tests.specgen.programs.checks import run

CODECS = codec_names()
VALUES: dict[str, Any] = ast.literal_eval(sys.argv[1]) if len(sys.argv) > 1 else {}
BATCHES = tuple(magic for magic in MAGICS if KINDS[magic].has_record_sets)
TIME = 1_700_000_000_000


def _values(key: str, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Values for the fields of a type that a writer may give, by dotted name."""
    for field in LAYOUTS[key].fields:
        name = prefix + field.id
        if field.derive or field.constant is not None or field.repeated:
            continue
        if field.kind is Kind.TYPE and LAYOUTS[field.type].form is Form.STRUCTURE:
            yield from _values(field.type, f"{name}.")
        elif name in VALUES:
            yield name, VALUES[name]
        elif (made := _made_up(field)) is not None:
            yield name, made


def _made_up(field: FieldLayout) -> Any:
    match field.kind:
        case Kind.INTEGER:
            return field.largest - 1
        case Kind.BITS:
            return True if field.boolean else 1
        case Kind.BYTES:
            return bytes(range(field.size)) or b"some"
        case Kind.SCALAR:
            return b"some" if "bytes" in LAYOUTS[field.type].scalar else 300
    return None


def header_of(kind: EntryKind) -> dict[str, Any]:
    own = {field.name for field in own_fields(kind).header}
    return {name: value for name, value in _values(kind.key) if name in own}


def fields_of(kind: EntryKind) -> dict[str, Any]:
    own = {field.name for field in own_fields(kind).record if "." not in field.name}
    return {name: value for name, value in _values(kind.record) if name in own}


def records(base: int, kind: EntryKind) -> list[ks.Record]:
    headers = (("h", b"1"), ("", None)) if kind.has_headers else ()
    found = [
        ks.Record(base, TIME + base, b"k", b"v" * 40, headers),
        ks.Record(base + 1, TIME + base + 5, b"", None),
        ks.Record(base + 3, TIME + base + 3, b"kk", b"x"),
    ]
    return [r if kind.has_timestamps else r._replace(timestamp=-1) for r in found]


def encode(base: int, magic: int, **options: Any) -> bytes:
    kind = KINDS[magic]
    if kind.has_record_sets and fields_of(kind):
        needed = {field.name for field in own_fields(kind).record if field.default is MISSING}
        least = {name: value for name, value in fields_of(kind).items() if name in needed}
        options["fields"] = [fields_of(kind), least, fields_of(kind)]
    options.setdefault("header", header_of(kind))
    return ks.encode(records(base, kind), magic=magic, **options)


def all_codecs_agree(root: Path) -> None:
    for magic, kind in KINDS.items():
        for name in ("none", "gzip", "lz4"):
            (data,) = {encode(7, magic, compression=name, codec=codec) for codec in CODECS}
            for codec in CODECS:
                assert ks.decode(data, codec=codec) == records(7, kind), (magic, name, codec)
                for batch in ks.Segment(data, codec=codec).batches():
                    for field, value in header_of(kind).items():
                        assert attrgetter(field)(batch.message) == value, (magic, codec, field)
                    if not kind.has_record_sets:
                        continue
                    first: Any = batch.record_set().records[0]  # type: ignore[attr-defined]
                    for field, value in fields_of(kind).items():
                        assert getattr(first, field) == value, (magic, codec, field)


def columns_have_room(root: Path) -> None:
    for magic in BATCHES:
        layout = {field.id: field for field in LAYOUTS[KINDS[magic].key].fields}
        epoch = layout["producer_epoch"].largest if "producer_epoch" in layout else -1
        given = {"producer_id": 5, "producer_epoch": epoch, "base_sequence": 9}
        data = encode(0, magic, **(given if epoch >= 0 else {}))
        for codec in CODECS:
            log = ks.Segment(data, codec=codec)
            (head,) = log.batch_table().to_pylist()
            rows = log.to_arrow(["producer_epoch", "sequence"]).to_pylist()
            assert {head["producer_epoch"], rows[0]["producer_epoch"]} == {epoch}, (magic, codec)
            assert head["base_sequence"] == rows[0]["sequence"] == (9 if epoch >= 0 else -1)


def new_fields_are_columns(root: Path) -> None:
    """By their ids, with null in entries of other formats; an array is refused by its name."""
    seen = set()
    for magic in BATCHES:
        given = {**header_of(KINDS[magic]), **fields_of(KINDS[magic])}
        data = encode(7, magic) + encode(17, 0)
        for codec in CODECS:
            log = ks.Segment(data, codec=codec)
            for name, value in given.items():
                if name in OWN_TYPES:
                    found = log.to_arrow([name]).column(0).to_pylist()
                    assert found[::2] == [value, value, None], (magic, codec, name, found)
                    seen.add(name)
    there = frozenset().union(*(KINDS[m].header | KINDS[m].fields for m in BATCHES))
    assert seen == OWN_TYPES.keys() & there
    for name in WITHOUT_COLUMN:
        with pytest.raises(ValueError, match=name):
            ks.Segment(b"").to_arrow([name])


def what_has_no_place_is_refused(root: Path) -> None:
    for magic, kind in KINDS.items():
        for codec in CODECS:
            found = [r._replace(headers=(("h", b"1"),)) for r in records(7, kind)]
            header = header_of(kind)
            cases: list[dict[str, Any]] = [
                {"header": header | {name: 1}}
                for name in ("magic", "crc", "base_offset", "attributes.none", "none")
            ]
            if kind.has_record_sets:
                more = [fields_of(kind) | {name: 1} for name in ("none", "offset", "key")]
                cases += [{"header": header, "fields": [fields] * 3} for fields in more]
            if not kind.has_headers:
                cases.append({"header": header})
            for case in cases:
                taken = found if not kind.has_headers and len(case) == 1 else records(7, kind)
                try:
                    ks.encode(taken, magic=magic, codec=codec, **case)
                except ks.KafkaSpecError as error:
                    reason: ks.Reason | None = error.reason
                else:
                    reason = None
                assert reason is ks.Reason.UNENCODABLE, (magic, codec, case, reason)


def partition(root: Path, magics: tuple[int, ...]) -> Path:
    with ks.SegmentWriter(root / "t-0", segment_bytes=2000, index_interval_bytes=100) as writer:
        for number in range(24):
            magic = magics[number % len(magics)]
            names = ("none", "gzip", "snappy", "lz4")
            writer.append(encode(10 * number, magic, compression=names[number % 4]))
    return root / "t-0"


def partitions(root: Path) -> None:
    path = partition(root, MAGICS)
    expected = None
    for codec in CODECS:
        assert ks.verify(path, codec=codec).findings == [], codec
        log = ks.Partition(path, codec=codec)
        found = log.to_arrow(list(COLUMNS)).to_pylist(), log.batch_table().to_pylist()
        expected = expected or found
        assert found == expected, codec
        assert [record.offset for record in log.records(start_offset=41)][:2] == [41, 43]
    ks.rebuild_indexes(path, root / "again", index_interval_bytes=100)
    for made in (root / "again").rglob("*.*index"):
        assert made.read_bytes() == (path / made.name).read_bytes(), made.name


def _stored(path: Path) -> list[Any]:
    """All records with the fields of their batch and their own that no conversion knows."""
    found = []
    for batch in ks.Partition(path, codec="python").batches():
        own = own_fields(batch.kind)
        head = [attrgetter(field.name)(batch.message) for field in own.header]
        for record in batch.record_set().records:  # type: ignore[attr-defined]
            rest = [getattr(record, f.name) for f in own.record if "." not in f.name]
            found.append((head, rest, record.offset, record.timestamp, record.key, record.value))
    return found


def conversions_keep_all(root: Path) -> None:
    for magic in BATCHES:
        (root / str(magic)).mkdir()
        path = partition(root / str(magic), (magic,))
        for number, choices in enumerate(({}, {"batch_bytes": 150}, {"compression": "none"})):
            for codec in ("native", "python"):
                out = root / f"{magic}-{number}-{codec}-0"
                report = ks.convert(path, out, codec=codec, **choices)  # type: ignore[arg-type]
                assert report.clean, (magic, choices, report.partitions)
                assert not report.losses.counts, (magic, choices)
                assert _stored(out) == _stored(path), (magic, codec, choices)


def damage_is_found_alike(root: Path) -> None:
    for magic in MAGICS:
        data = encode(0, magic)
        file = root / f"{0:020d}.log"
        for position in range(0, len(data), 3):
            broken = bytearray(data)
            broken[position] ^= 0x10
            file.write_bytes(broken)
            found = {
                str([(f.position, f.reason, f.path) for f in ks.verify(file, codec=c).findings])
                for c in (CODECS if position % 60 == 0 else ("native", "python"))
            }
            assert len(found) == 1, (magic, position, found)


CHECKS: tuple[Callable[[Path], None], ...] = (
    all_codecs_agree,
    columns_have_room,
    new_fields_are_columns,
    what_has_no_place_is_refused,
    partitions,
    conversions_keep_all,
    damage_is_found_alike,
)

if __name__ == "__main__":
    run(CHECKS)
