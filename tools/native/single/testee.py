"""The reader in C as a testee: ``python -m tools.native.single.testee PROGRAM``."""

from __future__ import annotations

import subprocess
import sys
from struct import pack
from typing import Any

from kafkaspec.compression import NAMES
from kafkaspec.conformance.protocol import RequestKind, record
from kafkaspec.conformance.serving import SkippedError, serve


class RefusedError(Exception):
    """The reader refuses a log; the text says why."""


def records(program: subprocess.Popen[bytes], data: bytes) -> list[dict[str, Any]]:
    """Return the records of a log in the form of an answer, without those of control batches."""
    asked, said = program.stdin, program.stdout
    assert asked is not None
    assert said is not None
    asked.write(pack("=q", len(data)) + data)
    asked.flush()
    found: list[dict[str, Any]] = []
    while True:
        words = said.readline().split(b" ", 2)
        if words[0] == b"end":
            return _checked(found, words[1], words[2].decode())
        found += _record(words)


def _checked(found: list[Any], status: bytes, text: str) -> list[Any]:
    if status == b"unsupported":
        raise SkippedError(text.strip())
    if status != b"ended":
        raise RefusedError(text.strip())
    return found


def _record(words: list[bytes]) -> list[dict[str, Any]]:
    control, key, value, *pairs = words[2].split()
    if int(control) == 1:
        return []
    headers = zip(map(_bytes, pairs[::2]), map(_bytes, pairs[1::2]), strict=True)
    named = [(name or b"", content) for name, content in headers]
    return [record(int(words[0]), int(words[1]), _bytes(key), _bytes(value), named)]


def _bytes(word: bytes) -> bytes | None:
    return None if word[:1] == b"-" else bytes.fromhex(word[1:].decode())


def main() -> None:
    """Serve with the program, which ``build`` of this package compiles."""
    with subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:

        def log(data: bytes, request: dict[str, Any]) -> list[dict[str, Any]]:
            return records(program, data)

        serve("kafkaspec C", "", {RequestKind.LOG: log}, compression=NAMES, checksums=True)


if __name__ == "__main__":
    main()
