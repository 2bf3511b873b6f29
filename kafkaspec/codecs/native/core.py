"""Finds the extension module and the names and numbers in its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from operator import attrgetter
from types import ModuleType
from typing import Any

from kafkaspec.codecs.native.names import INNER_ROLES, PLAIN_ROLES, ROLES
from kafkaspec.extension import NAME, PACKAGE, StaleExtensionError, sources_of
from kafkaspec.layout.kinds import kind_of
from kafkaspec.model import Record

DEFAULT_PACKAGE = PACKAGE
"""The generated code that the installed extension belongs to."""


@dataclass(frozen=True, slots=True)
class CoreColumn:
    """A column that the core can fill.

    Attributes:
        name: dotted ids of the specification; with the prefix ``batch.`` for fields of a header.
        number: place in the table of columns.
        kind: INTEGER, BYTES, NULLABLE_BYTES or LIST of the extension.
        index: place among the columns of that kind, both kinds of bytes counted together.
        list: index of the list that holds it, -1 for none.
    """

    name: str
    number: int
    kind: int
    index: int
    list: int


@dataclass(frozen=True)
class CoreKind:
    """A kind of entry: a batch of records, or a message.

    Attributes:
        key: of the type, ``recordbatch.record_batch``.
        number: place in the table of kinds.
        names: dotted ids of what a header consists of.
        used: a bit for each of them that records are decoded with.
        is_batch: whether its records lie in a separate payload.
        record_size: bytes that a record of a batch has at least.
        header_size: bytes before that payload, 0 if the core cannot write them.
    """

    key: str
    number: int
    names: tuple[str, ...]
    used: int
    is_batch: bool
    record_size: int
    header_size: int

    @cached_property
    def _getters(self) -> dict[tuple[type, bool], tuple[attrgetter[Any], tuple[int, ...]]]:
        return {}

    def header(self, message: Any, *, used: bool = False) -> tuple[int, ...]:
        """Return the numbers of a header of the typed model; zeros for everything else.

        Args:
            message: the header.
            used: only the numbers that decoding needs.
        """
        found = self._getters.get((type(message), used))
        if found is None:
            places = tuple(
                number
                for number, name in enumerate(self.names)
                if (self.used >> number & 1 if used else _is_number(message, name))
            )
            names = [self.names[number] for number in places]
            # The first one twice: the getter of a single name gives no tuple.
            found = attrgetter(*names, names[0]), places
            self._getters[type(message), used] = found
        getter, places = found
        header = [0] * len(self.names)
        for number, value in zip(places, getter(message), strict=False):
            header[number] = value or 0
        return tuple(header)


def _is_number(message: Any, name: str) -> bool:
    """Return whether the name means a field that may hold a number, and not a computed value."""
    for part in name.split("."):
        if not hasattr(message, part) or isinstance(getattr(type(message), part, None), property):
            return False
        message = getattr(message, part)
    return True


class Core:
    """The extension and its tables.

    Attributes:
        module: the extension.
        columns: what it can fill, by name.
        kinds: kinds of entries, by key of their type.
        record_sizes: ``CoreKind.record_size`` by number of the kind.
        scan_names: columns of a scan of headers.
        roles: columns of a scan that ``select`` looks at.
        inner_roles: columns that ``survey`` looks at.
        plain_roles: columns that ``Records`` looks at.
    """

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.columns = {
            name: CoreColumn(name, number, kind, index, list_)
            for number, (name, kind, index, list_) in enumerate(module.COLUMNS)
        }
        self.kinds = {
            key: CoreKind(key, number, names, used, bool(batch), least, size)
            for number, (key, names, used, batch, least, size) in enumerate(module.KINDS)
        }
        self.record_sizes = [kind.record_size for kind in self.kinds.values()]
        self._by_class: dict[type, CoreKind] = {}
        self.scan_names: tuple[str, ...] = module.SCAN
        self.roles = self._numbers(ROLES)
        self.inner_roles = self._numbers(INNER_ROLES)
        self.plain_roles = self._numbers(PLAIN_ROLES)

    def kind_of(self, message: Any) -> CoreKind:
        """Return the kind of entry that an object of the typed model is."""
        kind = self._by_class.get(type(message))
        if kind is None:
            kind = self._by_class[type(message)] = self.kinds[kind_of(message).key]
        return kind

    def encode(
        self, message: Any, rows: int, columns: Mapping[str, Any], *, whole: bool = False
    ) -> bytes | None:
        """Return the bytes of records in columns, None where something does not fit.

        Args: see ``Codec.encode_columns``. Fields without a default are written as zeros.
        """
        kind = self.kind_of(message)
        inputs: list[Any] = [None] * len(self.columns)
        for name, column in columns.items():
            inputs[self.columns[name].number] = column
        made: bytes | None = self.module.encode(
            kind.number, kind.header(message), rows, tuple(inputs), whole
        )
        return made

    def _numbers(self, names: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(self.scan_names.index(name) for name in names)

    @cached_property
    def record_plan(self) -> tuple[int, ...]:
        """Columns that a ``kafkaspec.model.Record`` is made of."""
        return tuple(self.columns[name].number for name in Record._fields)

    @cached_property
    def record_text(self) -> int:
        """The byte columns of a record that are text: keys of its headers, which are not null."""
        text = 0
        for column in self.columns.values():
            if column.list >= 0 and column.kind == self.module.BYTES:
                text |= 1 << column.index
        return text

    def children(self, column: CoreColumn) -> list[CoreColumn]:
        """Return the columns inside a list."""
        return [child for child in self.columns.values() if child.list == column.index]


@cache
def load_core(package: str = DEFAULT_PACKAGE) -> Core:
    """Return the extension for that generated code.

    Raises:
        ImportError: it was not built; the installation found no C compiler.
        StaleExtensionError: it was not built from the code that is here.
    """
    name = NAME if package == DEFAULT_PACKAGE else f"{package}._native"
    module = import_module(name)
    _refuse_stale(module, package)
    return Core(module)


def _refuse_stale(module: ModuleType, package: str) -> None:
    """Compare the hashes that the extension holds with those of what it must have been made of."""
    made = tuple(getattr(module, name, "unknown") for name in ("SPECIFICATION", "SOURCES"))
    here = (import_module(f"{package}.layout").SPECIFICATION, sources_of(package) or made[1])
    if made == here:
        return
    what = "specification" if made[0] != here[0] else "C sources"
    old, new = next(pair for pair in zip(made, here, strict=True) if pair[0] != pair[1])
    raise StaleExtensionError(
        f"{module.__name__} is stale: it was built from the {what} with the hash {old}, and those "
        f"of {package} have {new} ({module.__file__}); run make generate, or pip install -e ."
    )
