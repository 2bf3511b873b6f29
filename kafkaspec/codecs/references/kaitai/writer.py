"""A checked tree of Kaitai objects to bytes."""

from __future__ import annotations

from functools import cache, partial
from importlib import import_module
from io import BytesIO
from typing import Any


@cache
def _runtime() -> Any:
    return import_module("kaitaistruct")


@cache
def _growing_stream() -> Any:
    """Return a stream without an end, to measure a size; Kaitai has only fixed streams."""

    class GrowingStream(_runtime().KaitaiStream):  # type: ignore[misc]
        tail = 0
        """Bytes of the structure that will reach to the end, which asks how many are left."""

        def _ensure_bytes_left_to_write(self, n: int, pos: int) -> None:
            pass

        def is_eof(self) -> bool:
            return False

        def size(self) -> int:
            # Bytes of a substream are passed over now and written at the end.
            size: int = max(super().size(), self._io.tell() + self.tail)
            return size

    return GrowingStream


def reach_end(tree: Any, last: Any) -> None:
    """Let a tree say how many bytes its last structure takes, which reaches to the end."""
    tail, write_all = len(written(last)), tree._write__seq

    def write_tree(stream: Any) -> None:
        stream.tail = tail
        write_all(stream)

    tree._write__seq = write_tree


def written(tree: Any) -> bytes:
    """Return the bytes of a checked tree whose size is not known yet."""
    stream = _growing_stream()(BytesIO())
    for step in (partial(tree._write__seq, stream), stream.write_back_child_streams):
        try:
            step()
        except _runtime().ConsistencyError as error:
            # "The stream must end here, 0 bytes are left": what reaches to the end was written.
            if error.expected != 0 or error.actual != stream.tail:
                raise
    content: bytes = stream.to_byte_array()
    return content


def write(tree: Any) -> bytes:
    """Return the bytes of a checked tree, by a stream of exactly their size."""
    size = len(written(tree))
    stream = _runtime().KaitaiStream(BytesIO(bytearray(size)))
    tree._write__seq(stream)
    end = stream.pos()
    stream.write_back_child_streams()
    if end != size:
        raise ValueError(f"{end} bytes were written where {size} were measured")
    content: bytes = stream.to_byte_array()
    return content
