"""Libraries for codecs that the specification names, and that have no module here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Protocol

from kafkaspec.compression.form import PayloadForm
from kafkaspec.compression.refusal import RefusalError, corrupt, too_large
from kafkaspec.errors import Reason, make_error
from kafkaspec.jobs import inherit

GROUP: Final = "kafkaspec.compression"
"""The group of the entry points by which packages register libraries."""

Compress = Callable[[memoryview, int | None], bytes]
Decompress = Callable[[memoryview, int], bytes]

_NO_FORM: Final = PayloadForm(b"", 0, 0)
_given: dict[str, tuple[Compress, Decompress]] = {}


class CodecModule(Protocol):
    """The names in the module of a codec."""

    READ: PayloadForm

    def pieces(
        self, data: memoryview, *, magic: int, max_output: int, most: int
    ) -> Iterator[bytes]: ...

    def decompress_into(self, data: memoryview, target: memoryview) -> int: ...

    def compress(self, data: memoryview, *, magic: int, level: int | None) -> bytes: ...

    def written(self, *, magic: int, level: int | None) -> tuple[PayloadForm, int]: ...


class RegisteredCodec:
    """A library with the methods that modules of codecs have as functions."""

    READ = _NO_FORM

    def __init__(self, name: str, compress: Compress, decompress: Decompress) -> None:
        self._name = name
        self._compress = compress
        self._decompress = decompress

    def pieces(
        self, data: memoryview, *, magic: int, max_output: int, most: int
    ) -> Iterator[bytes]:
        try:
            found = bytes(self._decompress(data, max_output))
        except MemoryError:
            raise
        except Exception as error:
            raise corrupt(self._name, str(error) or type(error).__name__) from None
        if len(found) > max_output:
            raise too_large(self._name, max_output)
        yield found

    def decompress_into(self, data: memoryview, target: memoryview) -> int:
        try:
            found = next(self.pieces(data, magic=0, max_output=len(target), most=len(target)))
        except RefusalError:
            return -1
        target[: len(found)] = found
        return len(found)

    def compress(self, data: memoryview, *, magic: int, level: int | None) -> bytes:
        try:
            return bytes(self._compress(data, level))
        except MemoryError:
            raise
        except Exception as error:
            text = f"{self._name}: {str(error) or type(error).__name__}"
            raise RefusalError(Reason.UNENCODABLE, text) from None

    def written(self, *, magic: int, level: int | None) -> tuple[PayloadForm, int]:
        return _NO_FORM, level or 0


def put_library(name: str, compress: Compress, decompress: Decompress) -> None:
    """Keep the functions of a library for this process and those that it starts.

    Raises:
        ValueError: they cannot be pickled.
    """
    import pickle

    try:
        pickle.dumps((compress, decompress))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(f"only functions of a module can go to other processes: {error}") from None
    _given[name] = compress, decompress


def registered(name: str) -> RegisteredCodec | None:
    """Return the library of a codec that was registered, or that an installed package has.

    Raises:
        UnsupportedError: the package cannot be loaded, or lacks a function.
    """
    if name in _given:
        return RegisteredCodec(name, *_given[name])
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP, name=name):
        try:
            library = entry.load()
            return RegisteredCodec(name, library.compress, library.decompress)
        except (ImportError, AttributeError) as error:
            text = (
                f"the entry point {name} of the group {GROUP} does not lead to a library: {error}"
            )
            raise make_error(Reason.UNSUPPORTED_COMPRESSION, text) from None
    return None


def missing_library(name: str, number: int) -> str:
    """Return what to do about a codec without a library."""
    return (
        f"there is no library for {name} (compression id {number}): install a package with the "
        f"entry point {name} of the group {GROUP}, or call kafkaspec.compression.register"
    )


def _inherited() -> dict[str, tuple[Compress, Decompress]]:
    return dict(_given)


inherit(_inherited, _given.update)
