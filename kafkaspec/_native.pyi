"""The extension module; see kafkaspec/codecs/native/module.c."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar

from typing_extensions import Buffer

SPECIFICATION: str
SOURCES: str
OK: int
IRREGULAR: int
CHECKSUM: int
GROW: int
SHORT: int
RANGE: int
INTEGER: int
BYTES: int
NULLABLE_BYTES: int
LIST: int
VIEW: int
BINARY: int
SPAN: int
SLACK: int
BATCH_FIELDS: int
POSITION: int
SIZE: int
PAYLOAD: int
PAYLOAD_POSITION: int
PAYLOAD_SIZE: int
ROWS: int
FLAGS: int
VERIFY: int
ENTRIES: int
BOUNDED: int
CONTROL: int
APART: int
CUT: int
COMPRESSED: int
UNTIMED: int
ENDED: int
OTHERWISE: int
MARKERS: int
ARENA: int
OTHER_FORM: int
NO_ROOM: int
MOST_BYTES: int
LINE_PIECES: int
LINE_DEPTH: int
PATTERN_PARTS: int

COLUMNS: tuple[tuple[str, int, int, int], ...]
KINDS: tuple[tuple[str, tuple[str, ...], int, int, int, int], ...]
SCAN: tuple[str, ...]
CRC_KERNELS: tuple[str, ...]
CODECS: tuple[tuple[str, str, str], ...]
MISSING: tuple[tuple[str, str], ...]
NOT_INSTALLED: str
USE_NONE: int
USE_LOADED: int
USE_ALL: int

_T = TypeVar("_T")

def scan(
    buffer: Buffer, start: int, end: int, columns: Buffer, present: Buffer, capacity: int, /
) -> tuple[int, int, int]: ...
def name_items(record: type[tuple[Any, ...]], /) -> None: ...
def select(
    values: Buffer,
    capacity: int,
    first: int,
    count: int,
    roles: tuple[int, ...],
    rules: tuple[int, ...],
    left_out: Buffer | None,
    batches: Buffer,
    /,
) -> tuple[int, int, int, int]: ...
def decode(
    buffers: tuple[Buffer, ...],
    batches: Buffer,
    first: int,
    count: int,
    layout: int,
    outputs: tuple[Any, ...],
    capacities: tuple[int, ...],
    state: Buffer,
    /,
) -> tuple[int, int, int]: ...

class Records(Generic[_T]):
    end: int
    def __new__(
        cls,
        buffer: Buffer,
        start: int,
        values: Buffer,
        capacity: int,
        count: int,
        roles: tuple[int, ...],
        flags: int,
        most: int,
        record: type[_T],
        plan: tuple[int, ...],
        text: int,
        check: Callable[[], object] | None,
        skipped: Buffer | None,
        /,
    ) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> _T: ...

def payload_objects(
    kind: int,
    header: tuple[int, ...],
    rows: int,
    payload: Buffer,
    record: type[_T],
    plan: tuple[int, ...],
    text: int,
    /,
) -> list[_T] | None: ...
def encode(
    kind: int, header: tuple[int, ...], rows: int, inputs: tuple[Any, ...], wrap: bool, /
) -> bytes | None: ...
def encode_objects(
    kind: int,
    header: tuple[int, ...],
    records: tuple[Any, ...],
    plan: tuple[int, ...],
    text: int,
    /,
) -> bytes | None: ...
def same(one: Any, other: Any, first: int, second: int, rows: int, /) -> bool: ...
def count(values: Buffer, rows: int, value: int, /) -> int: ...
def memory(size: int, /) -> bytearray: ...
def json_lines(
    plan: tuple[tuple[bytes, int, tuple[bytes, ...], int], ...],
    columns: tuple[tuple[Any, ...] | None, ...],
    first: int,
    rows: int,
    how: int,
    out: Buffer,
    /,
) -> tuple[int, int, int]: ...
def hashes(
    pads: bytes,
    rows: int,
    validity: Buffer | None,
    offsets: Buffer,
    data: Buffer,
    plainly: bool = False,
    /,
) -> bytes: ...
def json_read(
    plan: tuple[tuple[int, int, int, bool, int, bytes], ...],
    rows: int,
    first: int,
    offsets: Buffer,
    data: Buffer,
    skip: int,
    drop: int,
    depth: int,
    /,
) -> tuple[Memory, tuple[tuple[int, int, Memory | None, Memory, Memory], ...]]: ...
def intact(
    buffer: Buffer,
    start: int,
    positions: Buffer,
    sizes: Buffer,
    checksums: Buffer,
    count: int,
    skip: int,
    castagnoli: bool,
    /,
) -> int: ...
def parts(
    bounds: Buffer,
    facts: tuple[Buffer, ...],
    traits: tuple[Buffer, ...],
    batches: int,
    offsets: Buffer,
    timestamps: Buffer,
    sizes: tuple[Buffer | None, ...],
    limit: int,
    overhead: int,
    out: Buffer,
    /,
) -> tuple[int, int]: ...
def joined(
    parts: Buffer,
    first: int,
    count: int,
    offsets: Buffer,
    timestamps: Buffer,
    limit: int,
    delta: int,
    /,
) -> int: ...
def encode_groups(
    kind: int,
    values: Buffer,
    capacity: int,
    groups: int,
    members: tuple[int, ...],
    firsts: Buffer,
    rows: int,
    inputs: tuple[Any, ...],
    out: Buffer,
    ends: Buffer,
    /,
) -> int: ...
def hop(
    kind: int, source: Buffer | int, position: int, limit: int, capacity: int, /
) -> tuple[bytearray, bytearray]: ...
def headed(
    kind: int,
    values: Buffer,
    capacity: int,
    count: int,
    members: tuple[int, ...],
    out: Buffer,
    ends: Buffer,
    /,
) -> int: ...
def unpack(
    region: Buffer,
    values: Buffer,
    capacity: int,
    count: int,
    batches: Buffer,
    first: int,
    arena: Buffer,
    used: int,
    most: int,
    forms: tuple[tuple[int, bytes, int, int] | None, ...],
    inner: tuple[tuple[int, bytes, int, int] | None, ...],
    /,
) -> tuple[int, int, int]: ...
def decompress(
    form: tuple[int, bytes, int, int], payload: Buffer, most: int, /
) -> bytes | None: ...
def find_libraries(
    which: int, /
) -> tuple[tuple[tuple[str, str, str], ...], tuple[tuple[str, str], ...]]: ...
def compress(
    form: tuple[int, bytes, int, int],
    level: int,
    data: Buffer,
    places: Buffer,
    gap: int,
    ends: Buffer,
    /,
) -> bytearray: ...
def crc32c(data: Buffer, /) -> int: ...
def crc32(data: Buffer, /) -> int: ...
def checksums(kernel: int, data: Buffer, /) -> tuple[int, int]: ...
def messages_decode(
    columns: Buffer,
    lines: Buffer,
    rows: int,
    first: int,
    layout: int,
    validity: Buffer | None,
    places: Buffer,
    data: tuple[Buffer, ...],
    /,
) -> tuple[Memory, tuple[Any, ...]]: ...
def messages_encode(
    columns: Buffer, lines: Buffer, values: tuple[Any, ...], /
) -> tuple[Memory, Memory] | tuple[int, int]: ...
def messages_texts(
    programs: tuple[tuple[Buffer, Buffer, int], ...],
    plan: Buffer,
    literals: bytes,
    rows: int,
    first: int,
    layout: int,
    validity: Buffer | None,
    places: Buffer,
    data: tuple[Buffer, ...],
    views: Buffer,
    number: int,
    /,
) -> tuple[Memory, Memory, Memory]: ...

class Memory:
    def __buffer__(self, flags: int, /) -> memoryview: ...
