"""Keys of encrypted segments.

Aiven's plugin encrypts chunks by AES-256-GCM, and the AES key of each segment by RSA with OAEP,
whose hash and mask generation both use SHA3-512. The plugin: ``RsaEncryptionProvider``,
``AesEncryptionProvider``. No library for Python has that pair of hashes, so that the padding is
checked here; RFC 8017, 7.1.2.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Final

from kafkaspec.errors import Reason, make_error, unreadable
from kafkaspec.files.segment_manifest import Encryption
from kafkaspec.io.local import read_beside
from kafkaspec.io.remote import as_path

VARIABLE: Final = "KAFKASPEC_TIERED_KEYS"
"""The variable of the environment with the files of private keys, separated as those of PATH."""

Keys = str | PathLike[str] | Sequence[str | PathLike[str]] | Mapping[str, str | PathLike[str]]
"""Files with private keys in PEM format: one, several, or by the id of the key."""

_HASH: Final = "sha3_512"
_HASH_SIZE: Final = 64
_AES_SIZES: Final = (16, 24, 32)
_MISSING: Final = "encrypted segments need cryptography: pip install 'kafkaspec[tiered]'"


class KeyRing:
    """The private keys at hand. A file is read when a segment needs it."""

    def __init__(self, keys: Keys | None = None) -> None:
        self._files: list[tuple[str | None, str]] = []
        if keys is None:
            for item in os.environ.get(VARIABLE, "").split(os.pathsep):
                before, equals, after = item.partition("=")
                if item:
                    self._files.append((before, after) if equals else (None, item))
        elif isinstance(keys, Mapping):
            self._files += [(name, os.fspath(file)) for name, file in keys.items()]
        else:
            several = (keys,) if isinstance(keys, str | PathLike) else keys
            self._files += [(None, os.fspath(file)) for file in several]
        self._private: dict[str, Any] = {}
        self._ciphers: dict[bytes, Any] = {}

    def __getstate__(self) -> dict[str, object]:
        return {"_files": self._files, "_private": {}, "_ciphers": {}}

    def cipher(self, encryption: Encryption, file: str | None) -> Any:
        """Return the AES-GCM cipher of a segment, of the package cryptography."""
        known = self._ciphers.get(encryption.data_key)
        if known is not None:
            return known
        key = self._data_key(encryption, file)
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError:
            raise unreadable(file, _MISSING) from None
        if len(self._ciphers) > 10_000:
            self._ciphers.clear()
        self._ciphers[encryption.data_key] = cipher = AESGCM(key)
        return cipher

    def _data_key(self, encryption: Encryption, file: str | None) -> bytes:
        name = encryption.key_id
        named = [path for known, path in self._files if known == name]
        candidates = named or [path for known, path in self._files if known is None]
        if not candidates:
            detail = f"it is encrypted with the key {name!r}, whose private key is not here: name "
            raise unreadable(file, f"{detail}its file (PEM) in {VARIABLE}")
        for path in candidates:
            key = _unwrapped(self._key(path), encryption.data_key)
            if key is not None:
                return key
        raise make_error(
            Reason.INVALID_VALUE,
            f"no private key given decrypts it; it was encrypted with the key {name!r}",
            file=file,
            path="/encryption/dataKey",
        )

    def _key(self, path: str) -> Any:
        if path in self._private:
            return self._private[path]
        data = bytes(read_beside(as_path(path)).buffer)
        try:
            from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
            from cryptography.hazmat.primitives.serialization import load_pem_private_key
        except ImportError:
            raise unreadable(path, _MISSING) from None
        try:
            # Its validation takes 100 ms; a wrong key decrypts nothing.
            key = load_pem_private_key(data, password=None, unsafe_skip_rsa_key_validation=True)
        except Exception as error:  # whatever the library and OpenSSL raise
            detail = f"it is not an RSA private key in PEM format: {error}".splitlines()[0]
            raise unreadable(path, detail) from None
        if not isinstance(key, RSAPrivateKey):
            raise unreadable(path, "it is a private key, but not one of RSA")
        self._private[path] = key.private_numbers()
        return self._private[path]


def _unwrapped(key: Any, data: bytes) -> bytes | None:
    """Return an AES key that RSA encrypted; None if it was another key."""
    modulus = key.public_numbers.n
    size = (modulus.bit_length() + 7) // 8
    number = int.from_bytes(data, "big")
    if len(data) != size or number >= modulus or size < 2 * _HASH_SIZE + 2:
        return None
    first, second = pow(number, key.dmp1, key.p), pow(number, key.dmq1, key.q)
    plain = second + (first - second) * key.iqmp % key.p * key.q
    message = _without_padding(plain.to_bytes(size, "big"))
    return message if message is not None and len(message) in _AES_SIZES else None


def _without_padding(padded: bytes) -> bytes | None:
    """Return the message in an OAEP padding without a label; None if it is none."""
    seed, block = padded[1 : 1 + _HASH_SIZE], padded[1 + _HASH_SIZE :]
    seed = _xor(seed, _mask(block, len(seed)))
    block = _xor(block, _mask(seed, len(block)))
    label, rest = block[:_HASH_SIZE], block[_HASH_SIZE:].lstrip(b"\0")
    if padded[0] or label != hashlib.new(_HASH).digest() or rest[:1] != b"\1":
        return None
    return rest[1:]


def _mask(seed: bytes, size: int) -> bytes:
    """MGF1."""
    count = -(-size // _HASH_SIZE)
    parts = (hashlib.new(_HASH, seed + number.to_bytes(4, "big")) for number in range(count))
    return b"".join(part.digest() for part in parts)[:size]


def _xor(a: bytes, b: bytes) -> bytes:
    return bytes(x ^ y for x, y in zip(a, b, strict=True))
