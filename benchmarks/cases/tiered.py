"""A segment in Aiven's layout, against the libraries that decrypt and decompress its chunks."""

from __future__ import annotations

import hashlib
import json
import secrets
from base64 import b64encode
from functools import partial
from pathlib import Path

import zstandard
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from benchmarks.data import MIB, Shape, segment
from benchmarks.outcome import Case, Figure, Outcome, Settings, Table, number
from benchmarks.timing import Candidate, measure
from kafkaspec.files.names import segment_name
from kafkaspec.log.opening import open_log
from kafkaspec.log.segment import Segment

_FULL = 256 * MIB
_CHUNK = 4 * MIB
_GATE = 1.5
_OURS = "`ks.open`, all bytes"
_FLOOR = "`AESGCM.decrypt` and `ZstdDecompressor`, chunk by chunk"
_TOPIC = f"topic-{'A' * 22}"
_NAME = segment_name(0, f"-{'B' * 22}")


def _padded(key: bytes, size: int) -> bytes:
    """OAEP with SHA3-512 for hash and mask."""

    def mask(seed: bytes, wanted: int) -> bytes:
        parts = (hashlib.sha3_512(seed + bytes([0, 0, 0, n])).digest() for n in range(9))
        return b"".join(parts)[:wanted]

    block = hashlib.sha3_512().digest().ljust(size - 66 - len(key), b"\0") + b"\1" + key
    seed = secrets.token_bytes(64)
    block = bytes(a ^ b for a, b in zip(block, mask(seed, len(block)), strict=True))
    return b"\0" + bytes(a ^ b for a, b in zip(seed, mask(block, 64), strict=True)) + block


def write_store(place: Path, data: bytes) -> tuple[Path, list[bytes], bytes, bytes, Path]:
    """Write a segment as the plugin does, by its rules: zstd and AES.

    Returns:
        Directory of the partition, chunks, AES key, additional data, file of the RSA key.
    """
    private = rsa.generate_private_key(65537, 2048)
    pem = place / "key.pem"
    pem.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    key, aad = secrets.token_bytes(32), secrets.token_bytes(32)
    cipher, compressor = AESGCM(key), zstandard.ZstdCompressor()
    chunks = []
    for start in range(0, len(data), _CHUNK):
        iv = secrets.token_bytes(12)
        packed = compressor.compress(data[start : start + _CHUNK])
        chunks.append(iv + cipher.encrypt(iv, packed, aad))
    public = private.public_key().public_numbers()
    number_of = int.from_bytes(_padded(key, 256), "big")
    wrapped = pow(number_of, public.e, public.n).to_bytes(256, "big")
    sizes = [len(chunk) for chunk in chunks]
    base = min(sizes[:-1], default=0)
    coded = len(sizes).to_bytes(4, "big")
    if len(sizes) > 1:
        coded += base.to_bytes(4, "big") + b"\4"
        coded += b"".join((size - base).to_bytes(4, "big") for size in sizes[:-1])
    coded += sizes[-1].to_bytes(4, "big")
    index = {"position": 0, "size": 0}
    names = ("offset", "timestamp", "producerSnapshot", "leaderEpoch")
    manifest = {
        "version": "1",
        "chunkIndex": {
            "type": "variable",
            "originalChunkSize": _CHUNK,
            "originalFileSize": len(data),
            "transformedChunks": b64encode(compressor.compress(coded)).decode(),
        },
        "segmentIndexes": dict.fromkeys(names, index) | {"transaction": None},
        "compression": True,
        "encryption": {
            "dataKey": "key:" + b64encode(wrapped).decode(),
            "aad": b64encode(aad).decode(),
        },
    }
    folder = place / "store" / _TOPIC / "0"
    folder.mkdir(parents=True)
    (folder / f"{_NAME}.log").write_bytes(b"".join(chunks))
    (folder / f"{_NAME}.indexes").write_bytes(b"")
    (folder / f"{_NAME}.rsm-manifest").write_text(json.dumps(manifest))
    return folder, chunks, key, aad, pem


def _ours(folder: Path, pem: Path, size: int) -> int:
    with open_log(folder / f"{_NAME}.log", keys=pem) as log:
        assert isinstance(log, Segment)
        cursor = log.cursor()
        position = 0
        while position < size:
            buffer, base = cursor.at(position, 1)
            position = base + len(buffer)
        return position


def _floor(folder: Path, key: bytes, aad: bytes, sizes: list[int]) -> int:
    cipher, decompressor = AESGCM(key), zstandard.ZstdDecompressor()
    done = 0
    with (folder / f"{_NAME}.log").open("rb") as file:
        for size in sizes:
            data = file.read(size)
            done += len(decompressor.decompress(cipher.decrypt(data[:12], data[12:], aad)))
    return done


def run(settings: Settings) -> Outcome:
    """Values of text of 100 B; the object is in the page cache."""
    data = bytes(segment(Shape(100), settings.size(_FULL)).data)
    folder, chunks, key, aad, pem = write_store(settings.work, data)
    sizes = [len(chunk) for chunk in chunks]
    times = measure(
        [
            Candidate(_OURS, partial(_ours, folder, pem, len(data)), len(data)),
            Candidate(_FLOOR, partial(_floor, folder, key, aad, sizes), len(data)),
        ],
        settings.rounds(5),
    )
    table = Table(
        f"A segment of {number(len(data) / MIB)} MiB in remote storage, zstd and AES-256-GCM",
        ("reader", "MB/s"),
        [(name, number(1e3 / times.median(name))) for name in (_OURS, _FLOOR)],
        notes=[f"Chunks of {_CHUNK // MIB} MiB; bytes of the segment, on one core."],
    )
    for path in folder.iterdir():
        path.unlink()
    pem.unlink()
    ratio = times.median(_OURS) / times.median(_FLOOR)
    return Outcome([table], [Figure("remote segment against its libraries", ratio, _GATE, True)])


CASE = Case("tiered", "Segments in remote storage", run)
