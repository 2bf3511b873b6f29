"""Compressed payloads as Kafka reads and writes them, with a hard bound on every output.

A payload is accepted if and only if Kafka's own reader accepts it
(``org.apache.kafka.common.compress`` with the libraries that it uses); the module of each codec
names the quirks (Q11, Q12). Output has the framing that Kafka's producer writes, including block
sizes and header bytes.

The libraries are loaded when a codec is used for the first time: importing this package is cheap.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from itertools import accumulate
from types import ModuleType
from typing import TYPE_CHECKING, Final, cast

from kafkaspec._generated.python.model.recordbatch import CompressionType
from kafkaspec.compression.refusal import RefusalError, too_large
from kafkaspec.compression.registered import (
    CodecModule,
    missing_library,
    put_library,
    registered,
)
from kafkaspec.errors import KafkaSpecError, Reason, make_error
from kafkaspec.extension import WITHOUT, usable
from kafkaspec.jobs import inherit
from kafkaspec.layout.kinds import KINDS, header_field
from kafkaspec.layout.names import COMPRESSION

if TYPE_CHECKING:
    from typing_extensions import Buffer

native = usable()
"""The extension, None where it does not serve."""

__all__ = [
    "DEFAULT_MAX_OUTPUT",
    "NAMES",
    "CompressionType",
    "Into",
    "bounded",
    "compress",
    "compress_all",
    "decompress",
    "decompress_pieces",
    "default_bound",
    "forms",
    "into",
    "is_allowed",
    "is_coded",
    "name",
    "register",
    "spaced",
]

DEFAULT_MAX_OUTPUT: Final = 256 * 1024 * 1024
"""Default limit of the decompressed size of one payload in bytes: 256 MiB.

It must not refuse real data and must fit into the memory of a small machine. A broker accepts
batches of 1 MiB unless configured otherwise (``message.max.bytes``), and a producer fills a batch
before it compresses it, so real payloads are a few MiB; 256 MiB leaves room for clusters that
raised the limit to 100 MiB and more. Kafka itself has no limit.
"""

_BOUND: Final = ContextVar("bound", default=DEFAULT_MAX_OUTPUT)


@contextmanager
def bounded(max_output: int) -> Iterator[None]:
    """Let payloads of logs that are opened in the block decompress to as many bytes by default."""
    token = _BOUND.set(max_output)
    try:
        yield
    finally:
        _BOUND.reset(token)


def default_bound() -> int:
    """Return the limit of payloads of logs that are opened now: ``DEFAULT_MAX_OUTPUT``, usually."""
    return _BOUND.get()


def _set_bound(max_output: int) -> None:
    _BOUND.set(max_output)


inherit(default_bound, _set_bound)


NAMES: Final = tuple(kind.name.lower() for kind in CompressionType)
"""Names of all codecs by id, ``none`` first, as in Kafka's configuration."""

Into = Callable[[memoryview, memoryview], int]
"""See ``into``."""


InC = tuple[int, bytes, int, int]
"""A form of payloads for the extension: the codec's number in its table, and a ``PayloadForm``."""


_AT_ONCE: Final = 64 << 20
_IN_PIECES: Final = 16 << 20
"""Bytes of output that a codec may make at once, where its format allows it."""
_JOINED: Final = 32 << 20
"""Bytes of output from which on the result grows in place and is not joined at the end."""

in_c = os.environ.get(WITHOUT) != "none"
"""Whether the libraries in C that the extension was built with are used."""
_QUICK: Final = 256 << 10
"""Bytes of input and of output up to which the extension decompresses a single payload."""
quick_kinds = frozenset(CompressionType) - {CompressionType.ZSTD}
"""Kinds of which it does: for zstd, PyPI's library keeps a context from one call to the next."""

compressed_in_c = frozenset({CompressionType.GZIP, CompressionType.LZ4})
"""Kinds of which the extension compresses single payloads: libdeflate takes half the time of zlib;
for snappy and zstd, PyPI's library is as fast or faster."""
_LEAST: Final = 256
"""Bytes from which on it does: libdeflate only stores a few bytes, which zlib compresses."""

_KINDS: Final = {int(kind): kind for kind in CompressionType}


def name(codec: int) -> str:
    """Return the name of ``codec`` in Kafka's configuration: ``none``, ``gzip``, ``snappy``, ...

    Raises:
        UnsupportedError: there is no such codec (``UNSUPPORTED_COMPRESSION``).
    """
    return _known(codec).name.lower()


def decompress(
    codec: int, data: Buffer, *, magic: int, max_output: int = DEFAULT_MAX_OUTPUT
) -> bytes:
    """Decompress ``data``.

    The limit is checked while decompressing; a size that the data claims is never trusted. In
    addition to the output, a call needs at most about 10 MB, and for zstd the window, up to
    128 MiB; for data that is made to grow, zstd needs up to twice 64 MiB.

    Args:
        codec: compression id, ``CompressionType``.
        data: the whole payload, any contiguous buffer; neither result nor error keeps it.
        magic: magic of the batch or wrapper message that holds the payload.
        max_output: largest size of the output in bytes.

    Raises:
        CorruptError: not a valid stream (``DECOMPRESSION_FAILED``) or more output than
            ``max_output`` (``DECOMPRESSED_TOO_LARGE``).
        UnsupportedError: no such codec, or zstd below magic 2 (``UNSUPPORTED_COMPRESSION``).
    """
    found = _quick(codec, data, magic, max_output)
    if found is not None:
        return found
    pieces = _pieces(codec, data, magic, max_output, _AT_ONCE)
    del data  # this frame lives as long as an error does
    return _joined(pieces)


def _quick(codec: int, data: Buffer, magic: int, max_output: int) -> bytes | None:
    """Decompress a small payload of a producer in C; None if it is another one."""
    if native is None or codec not in quick_kinds:
        return None
    form = forms(native, (codec,), magic)[codec]
    if form is None or memoryview(data).nbytes > _QUICK:
        return None
    found: bytes | None = native.decompress(form, data, min(max_output, _QUICK))
    return found


def decompress_pieces(
    codec: int, data: Buffer, *, magic: int, max_output: int = DEFAULT_MAX_OUTPUT
) -> Iterator[bytes | memoryview]:
    """Decompress ``data`` piece by piece, so that the whole output is never in memory.

    A piece has at most 16 MiB; one of snappy is a whole block, of whatever size. Arguments and
    errors are those of ``decompress``.
    """
    return _pieces(codec, data, magic, max_output, _IN_PIECES)


def _pieces(
    codec: int, data: Buffer, magic: int, max_output: int, most: int
) -> Iterator[bytes | memoryview]:
    kind = _allowed(codec, magic)
    try:
        with memoryview(data) as view, view.cast("B") as octets:
            if kind is not CompressionType.NONE:
                yield from _load(kind).pieces(octets, magic=magic, max_output=max_output, most=most)
            elif len(octets) > max_output:
                raise too_large("none", max_output)
            else:
                yield bytes(octets)
        return
    except RefusalError as refusal:
        reason, detail = refusal.reason, refusal.detail
    del data
    raise make_error(reason, detail)


def _joined(pieces: Iterator[bytes | memoryview]) -> bytes:
    """Join pieces of memory; large output is never there twice."""
    found: list[bytes | memoryview] = []
    size = 0
    for piece in pieces:
        found.append(piece)
        size += len(piece)
        if size > _JOINED:
            break
    else:
        return bytes(found[0]) if len(found) == 1 else b"".join(found)
    whole = BytesIO()
    while found:
        whole.write(found.pop(0))
    for piece in pieces:
        whole.write(piece)
    return whole.getvalue()


def into(codec: int, magic: int) -> Into:
    """Return a function that decompresses payloads of Kafka's producers into the caller's memory.

    The function takes a payload and the memory, both as bytes, and returns the number of bytes
    written. It returns -1 if the payload has another form, is broken, or has more output than the
    memory can hold; then the content of the memory is undefined, and the caller has to use
    ``decompress``, which handles all forms and raises the errors. For many small payloads the
    function takes half the time.

    Args:
        codec: compression id, ``CompressionType``.
        magic: magic of the batches or wrapper messages that hold the payloads.
    """
    kind = _KINDS.get(codec, CompressionType.NONE)
    if kind is CompressionType.NONE or not is_coded(kind, magic):
        return _refuse
    return _load(kind).decompress_into


def _refuse(data: memoryview, target: memoryview) -> int:
    return -1


def forms(module: ModuleType, codecs: Container[int], magic: int) -> tuple[InC | None, ...]:
    """Return the forms of payloads that an extension decompresses, as its ``unpack`` takes them.

    Args:
        module: the extension.
        codecs: the codecs that are asked for; libraries of others are not loaded.
        magic: magic of the batches or wrapper messages that hold the payloads.

    Returns:
        A form for each codec, by compression id; None where the extension has no library for it.
    """
    return tuple(
        _form(module, kind, magic) if kind in codecs and in_c else None for kind in CompressionType
    )


@cache
def _form(module: ModuleType, kind: CompressionType, magic: int) -> InC | None:
    number = _number(module, kind)
    return None if number is None or not is_coded(kind, magic) else (number, *_load(kind).READ)


@cache
def _number(module: ModuleType, kind: CompressionType) -> int | None:
    """Return the number of a codec in the table of an extension; None: it has no library for it."""
    names = [name for name, _, _ in module.CODECS]
    return names.index(kind.name.lower()) if kind.name.lower() in names else None


def compress(codec: int, data: Buffer, *, magic: int, level: int | None = None) -> bytes:
    """Compress and frame ``data`` as Kafka's producer does for ``magic``.

    Args:
        codec: compression id, ``CompressionType``.
        data: any contiguous buffer.
        magic: magic of the batch or wrapper message that will hold the payload. LZ4 for magic 0
            has the wrong header checksum that its readers expect.
        level: as in ``compression.{gzip,lz4,zstd}.level`` (KIP-390); None is Kafka's default.

    Raises:
        KafkaSpecError: the codec has no such level (``UNENCODABLE``).
        UnsupportedError: no such codec, or zstd below magic 2 (``UNSUPPORTED_COMPRESSION``).
    """
    kind = _allowed(codec, magic)
    try:
        with memoryview(data) as view, view.cast("B") as octets:
            if kind is CompressionType.NONE:
                return bytes(octets)
            if kind in compressed_in_c and len(octets) >= _LEAST:
                found = _compressed(kind, octets, array("q", (0, len(octets))), magic, level)
                if found is not None:
                    return bytes(found[0])
            return _load(kind).compress(octets, magic=magic, level=level)
    except RefusalError as refusal:
        reason, detail = refusal.reason, refusal.detail
    del data  # this frame lives as long as the error does
    raise make_error(reason, detail)


def compress_all(
    codec: int,
    data: Buffer,
    places: array[int],
    *,
    magic: int,
    level: int | None = None,
    gap: int = 0,
) -> tuple[bytearray, array[int]]:
    """Compress many parts of ``data``, each as a separate payload.

    The bytes are those of ``compress``. Where the extension makes them this is one call, which
    holds the GIL only at its beginning and end: threads that each have a range of batches run side
    by side. Give it ranges of some MiB; the output has room for the worst case first.

    Args:
        codec: compression id, ``CompressionType``.
        data: any contiguous buffer.
        places: position and size of the first part in bytes, then of the next one, 64-bit integers
            (``array("q")``). Parts may overlap.
        magic: as of ``compress``.
        level: as of ``compress``.
        gap: bytes before each payload that the caller fills in.

    Returns:
        The payloads one after the other, and the position at which each of them ends.

    Raises:
        ValueError: a part does not lie in ``data``.
        KafkaSpecError: as of ``compress``.
    """
    kind = _allowed(codec, magic)
    parts = list(zip(places[::2], places[1::2], strict=True))
    try:
        with memoryview(data) as view, view.cast("B") as octets:
            if any(start < 0 or size < 0 or start + size > len(octets) for start, size in parts):
                raise ValueError("a part does not lie in the data")
            if kind is not CompressionType.NONE:
                _load(kind).written(magic=magic, level=level)  # refuses a level
                if kind in compressed_in_c and min(places[1::2], default=0) >= _LEAST:
                    found = _compressed(kind, octets, places, magic, level, gap)
                    if found is not None:
                        return found
            return spaced(
                [
                    compress(codec, octets[start : start + size], magic=magic, level=level)
                    for start, size in parts
                ],
                gap,
            )
    except RefusalError as refusal:
        reason, detail = refusal.reason, refusal.detail
    del data  # this frame lives as long as the error does
    raise make_error(reason, detail)


def spaced(payloads: Sequence[bytes | memoryview], gap: int) -> tuple[bytearray, array[int]]:
    """Return payloads one after the other with a gap before each, and the position after each."""
    blank = bytes(gap)
    joined = bytearray().join(part for payload in payloads for part in (blank, payload))
    return joined, array("q", accumulate(gap + len(payload) for payload in payloads))


def _compressed(
    kind: CompressionType,
    data: memoryview,
    places: array[int],
    magic: int,
    level: int | None,
    gap: int = 0,
) -> tuple[bytearray, array[int]] | None:
    """Compress parts of ``data`` in C; None where the extension cannot."""
    form, level = _load(kind).written(magic=magic, level=level)
    number = _number(native, kind) if native is not None and in_c else None
    if native is None or number is None or max(places[1::2], default=0) > native.MOST_BYTES:
        return None
    ends = array("q", bytes(8 * (len(places) // 2)))
    return native.compress((number, *form), level, data, places, gap, ends), ends


def _known(codec: int) -> CompressionType:
    kind = _KINDS.get(codec)
    if kind is None:
        raise _unsupported(f"there is no compression with id {codec}")
    return kind


def is_allowed(codec: int, magic: int) -> bool:
    """Return whether entries of a magic may hold payloads of a codec.

    KIP-110: messages and wrappers reject zstd, whoever wrote it. The specification says so.
    """
    return codec in _meant(magic)


@cache
def _meant(magic: int) -> frozenset[int]:
    """Return the ids that mean something in the headers of a magic."""
    known = header_field(KINDS[magic], COMPRESSION).known
    return frozenset(k for k in _KINDS if known is None or known[0] <= k <= known[1])


def is_coded(codec: int, magic: int) -> bool:
    """Return whether payloads of a codec in entries of a magic can be read and written here.

    A codec of the specification that has no module here can, where a library is registered for it.
    """
    if not is_allowed(codec, magic):
        return False
    kind = _KINDS[codec]
    return kind is CompressionType.NONE or _codec(kind) is not None


def _allowed(codec: int, magic: int) -> CompressionType:
    kind = _known(codec)
    if not is_allowed(kind, magic):
        raise _unsupported(f"{kind.name.lower()} is not allowed in magic {magic}")
    if not is_coded(kind, magic):
        raise _unsupported(missing_library(kind.name.lower(), codec))
    return kind


def _unsupported(detail: str) -> KafkaSpecError:
    return make_error(Reason.UNSUPPORTED_COMPRESSION, detail)


def _load(kind: CompressionType) -> CodecModule:
    codec = _codec(kind)
    assert codec is not None, kind
    return codec


@cache
def _codec(kind: CompressionType) -> CodecModule | None:
    """Return the module of a codec, or the library that is registered for it; None without."""
    module = kind.name.lower()
    if find_spec(f"{__name__}.{module}"):
        return cast(CodecModule, import_module(f"{__name__}.{module}"))
    return registered(module)


def register(
    name: str,
    *,
    compress: Callable[[memoryview, int | None], bytes],
    decompress: Callable[[memoryview, int], bytes],
) -> None:
    """Register the library of a codec that the specification names and kafkaspec has no module for.

    It holds in this process, and in those that kafkaspec starts. A package registers its library in
    every process, Spark's too, by an entry point of the group ``kafkaspec.compression``: its name
    is that of the codec, its object has these two functions as attributes.

    Args:
        name: one of ``NAMES``.
        compress: returns the payload for the bytes of records; gets the bytes and the level, None
            for the default.
        decompress: returns the bytes of a payload; gets the payload, and the largest number of
            bytes that it may return. What it raises says that the payload is broken; it need not
            compare the size with the bound, but should not use much more memory than that.

    Raises:
        ValueError: there is no such codec, it has a module here, or the functions cannot be
            pickled, as those of a module can.
    """
    if name not in NAMES:
        raise ValueError(f"no codec {name!r}; the specification has {', '.join(NAMES)}")
    if name == NAMES[0] or find_spec(f"{__name__}.{name}"):
        raise ValueError(f"{name} is read and written without another library")
    put_library(name, compress, decompress)
    _codec.cache_clear()
    _form.cache_clear()
