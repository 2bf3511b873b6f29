"""A broker on the loopback, for clients whose decoders have no other door.

It answers four requests, in versions that clients have known for years: which versions there are,
the cluster of one broker with one topic, no coordinator, and fetches. Each case is a partition.
"""

from __future__ import annotations

import socketserver
import struct
import threading
from collections.abc import Callable
from typing import Final

TOPIC: Final = "log"
PARTITIONS: Final = 64
"""So many, so that what comes late for a case is not taken for the answer to the next."""

_PRODUCE, _FETCH, _METADATA, _FIND_COORDINATOR, _API_VERSIONS = 0, 1, 3, 10, 18
_VERSIONS: Final = {_PRODUCE: 7, _FETCH: 4, _METADATA: 4, _FIND_COORDINATOR: 0, _API_VERSIONS: 0}
_UNSUPPORTED_VERSION, _COORDINATOR_NOT_AVAILABLE = 35, 15
_HEADER = struct.Struct(">hhi")
_TIMES: Final = 40
"""Fetches from the start that get the bytes: a client that asks again has read nothing."""
_IDLE: Final = 0.005
"""Seconds before an empty answer."""


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing: what a client does with its connection is its answer."""


class FakeBroker:
    """The broker. Start it, ``put`` the bytes of each case, and read their partition.

    Attributes:
        port: where it listens.
    """

    def __init__(self) -> None:
        self._logs: dict[int, bytes] = {}
        self._given = 0
        self._cases = 0
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def put(self, data: bytes) -> int:
        """Return the partition that has these bytes; the one before loses its bytes."""
        self._cases += 1
        partition = self._cases % PARTITIONS
        self._given, self._logs = 0, {partition: data}
        return partition

    def _handler(self) -> type[socketserver.StreamRequestHandler]:
        answers: dict[int, Callable[[bytes], bytes]] = {
            _FETCH: self._fetch,
            _METADATA: self._metadata,
            _FIND_COORDINATOR: lambda _: (
                _int16(_COORDINATOR_NOT_AVAILABLE) + struct.pack(">ihi", -1, 0, -1)
            ),
            _API_VERSIONS: lambda _: _int16(0) + _versions(),
        }

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                while head := self.rfile.read(4):
                    request = self.rfile.read(int.from_bytes(head, "big"))
                    key, version, correlation = _HEADER.unpack_from(request)
                    if key == _API_VERSIONS and version > _VERSIONS[key]:
                        answer = _int16(_UNSUPPORTED_VERSION) + _versions()
                    else:
                        answer = answers[key](_after_client(request))
                    self.wfile.write(struct.pack(">ii", len(answer) + 4, correlation) + answer)

        return Handler

    def _metadata(self, _: bytes) -> bytes:
        partition = struct.pack(">iiiii", 0, 1, 0, 1, 0)  # leader, replicas, those in sync
        partitions = b"".join(
            _int16(0) + struct.pack(">i", index) + partition for index in range(PARTITIONS)
        )
        broker = struct.pack(">i", 0) + _text("127.0.0.1") + struct.pack(">ih", self.port, -1)
        topic = _int16(0) + _text(TOPIC) + b"\0" + struct.pack(">i", PARTITIONS) + partitions
        brokers = struct.pack(">ii", 0, 1) + broker  # no throttling
        return brokers + struct.pack(">hi", -1, 0) + struct.pack(">i", 1) + topic

    def _fetch(self, body: bytes) -> bytes:
        """Answer a fetch: the bytes from the start, nothing from elsewhere."""
        position = 4 + 4 + 4 + 4 + 1  # replica, wait, least and most bytes, isolation
        (topics,) = struct.unpack_from(">i", body, position)
        found = []
        if topics:
            position += 4
            position += 2 + int.from_bytes(body[position : position + 2], "big")
            (number,) = struct.unpack_from(">i", body, position)
            position += 4
            for _ in range(number):
                partition, offset, _ = struct.unpack_from(">iqi", body, position)
                position += 16
                found.append(self._partition(partition, offset))
        if not any(data for _, data in found):
            threading.Event().wait(_IDLE)
        if not found:
            return struct.pack(">ii", 0, 0)
        return (
            struct.pack(">ii", 0, 1)
            + _text(TOPIC)
            + struct.pack(">i", len(found))
            + b"".join(head + struct.pack(">i", len(data)) + data for head, data in found)
        )

    def _partition(self, partition: int, offset: int) -> tuple[bytes, bytes]:
        data = self._logs.get(partition, b"") if offset == 0 else b""
        if data:
            self._given += 1
            if self._given > _TIMES:
                data = b""
        end = (1 << 62) if data else offset
        return struct.pack(">ihqqi", partition, 0, end, end, 0), data


def _after_client(request: bytes) -> bytes:
    (size,) = struct.unpack_from(">h", request, _HEADER.size)
    return request[_HEADER.size + 2 + max(size, 0) :]


def _versions() -> bytes:
    each = b"".join(struct.pack(">hhh", key, most, most) for key, most in _VERSIONS.items())
    return struct.pack(">i", len(_VERSIONS)) + each


def _int16(number: int) -> bytes:
    return struct.pack(">h", number)


def _text(text: str) -> bytes:
    return _int16(len(text)) + text.encode()
