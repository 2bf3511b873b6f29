"""Protobuf values to columns: ours, the bulk library below it, and Google's library."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from ptars import HandlerPool

from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number, times
from benchmarks.timing import Candidate, measure
from kafkaspec.values.definition import Definition, SchemaType
from kafkaspec.values.protobuf.decoder import compile_protobuf

_ROWS = 100_000
_SOME = 5_000
"""Rows of what takes long."""
_BULK_GATE = 0.7
_PEER_GATE = 7.0
_TEXT = """syntax = "proto3";
message Order {
  int64 id = 1;
  string customer = 2;
  double price = 3;
  bool paid = 4;
  int32 quantity = 5;
  string city = 6;
  repeated int32 tags = 7;
  optional string note = 8;
  bytes digest = 9;
}
"""
_FIELDS = ("id", "customer", "price", "paid", "quantity", "city", "digest")
_OURS, _EXACT = "`compile_protobuf`, fast", "`compile_protobuf`, exact"
_BULK, _PEER, _PARSE = (
    "`ptars` alone",
    "`protobuf` (upb) and columns",
    "`protobuf` (upb), parse only",
)
_DAMAGED = "`compile_protobuf`, fast, one row in 1,000 damaged"


def _class() -> Any:
    """Return the class of messages as programs have it: from descriptors, without our reader."""
    file = FileDescriptorProto(name="order.proto", syntax="proto3")
    message = file.message_type.add(name="Order")
    kinds = ("INT64", "STRING", "DOUBLE", "BOOL", "INT32", "STRING", "INT32", "STRING", "BYTES")
    names = (*_FIELDS[:6], "tags", "note", "digest")
    for place, (name, kind) in enumerate(zip(names, kinds, strict=True), 1):
        field = message.field.add(name=name, number=place)
        field.type = getattr(field, f"TYPE_{kind}")
        field.label = field.LABEL_REPEATED if name == "tags" else field.LABEL_OPTIONAL
        if name == "note":
            field.proto3_optional = True
            field.oneof_index = 0
            message.oneof_decl.add(name="_note")
    pool = DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName("Order"))


def _payloads(message: Any, rows: int) -> list[bytes]:
    chance = random.Random(20240229)
    return [
        message(
            id=chance.getrandbits(40),
            customer=f"customer {row}",
            price=chance.random() * 100,
            paid=row % 2 == 0,
            quantity=row % 100,
            city=chance.choice(("Berlin", "Paris", "Reykjavik")),
            tags=[chance.randrange(1000) for _ in range(row % 4)],
            note=None if row % 3 else f"a note of row {row}",
            digest=chance.randbytes(8),
        ).SerializeToString()
        for row in range(rows)
    ]


def _with_google(message: Any, payloads: list[bytes]) -> int:
    """Parse messages and make columns of them; return the number of rows."""
    found = [message.FromString(payload) for payload in payloads]
    columns = [pa.array([getattr(one, name) for one in found]) for name in _FIELDS]
    columns.append(pa.array([list(one.tags) for one in found], pa.list_(pa.int32())))
    columns.append(pa.array([one.note if one.HasField("note") else None for one in found]))
    return len(pa.StructArray.from_arrays(columns, [str(place) for place in range(len(columns))]))


def run(settings: Settings) -> Outcome:
    """Rates of one process."""
    message = _class()
    payloads = _payloads(message, min(_ROWS, settings.size(64 * _ROWS) // 64))
    array, some = pa.array(payloads), payloads[:_SOME]
    damaged = pa.array(
        [row[:-1] if not place % 1000 else row for place, row in enumerate(payloads)]
    )
    definition = Definition(SchemaType.PROTOBUF, _TEXT)
    fast = compile_protobuf(definition, "Order")
    exact = compile_protobuf(definition, "Order", way="exact")
    handler = HandlerPool([message.DESCRIPTOR.file]).get_for_message(message.DESCRIPTOR)
    found = fast.decode(pa.array(some))
    if found.failures or not found.values.equals(exact.decode(pa.array(some)).values):
        raise AssertionError("the two ways differ")
    candidates = [
        Candidate(_OURS, lambda: len(fast.decode(array).values), len(array)),
        Candidate(_BULK, lambda: handler.array_to_record_batch(array).num_rows, len(array)),
        Candidate(_PEER, lambda: _with_google(message, some), len(some)),
        Candidate(_PARSE, lambda: len([message.FromString(row) for row in some]), len(some)),
        Candidate(_DAMAGED, lambda: len(fast.decode(damaged).values), len(array)),
        Candidate(_EXACT, lambda: len(exact.decode(pa.array(some)).values), len(some)),
    ]
    times_ = measure(candidates, settings.rounds(9))
    table = Table(
        "Protobuf messages of nine fields, one thread",
        ("work", "ns a record", "million records a second", "ratio to `protobuf` and columns"),
        notes=[
            f"{len(array):,} messages of {array.nbytes // len(array)} bytes on average. Bytes are"
            " checked before `ptars` reads them: alone it takes what Google's library refuses."
        ],
    )
    for candidate in candidates:
        spent = times_.median(candidate.name)
        ratio = 1 / times_.ratio(candidate.name, _PEER)
        table.rows.append((candidate.name, number(spent), number(1e3 / spent), times(ratio)))
    outcome = Outcome(tables=[table])
    outcome.figures += [
        Figure(
            "Protobuf values to columns, `ptars` alone ÷ ours",
            times_.ratio(_BULK, _OURS), _BULK_GATE,
        ),
        Figure(
            "Protobuf values to columns against `protobuf` (upb) and columns",
            1 / times_.ratio(_OURS, _PEER), _PEER_GATE,
        ),
    ]  # fmt: skip
    return outcome


CASE = Case("protobuf", "Values of Protobuf", run)
