"""Shared parts of the writers of parsers and serializers: modules, names, handlers of errors."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from tools.specgen.model import Field, Model, Spec, SwitchType, Type, TypeReference
from tools.specgen.output import Output
from tools.specgen.python.runs import Names, Structs
from tools.specgen.writer import CodeWriter

_LOCALS = (
    "buffer", "pos", "end", "complete", "start", "stop", "base", "item", "index", "count", "result",
    "error", "model", "path", "spec", "byte", "shift", "begin", "computed",
)  # fmt: skip
_HEAD = '''"""{title}: {package}rs."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any

from {checksum} import crc32, crc32c
from {errors} import {error}

from ..model import {models}
from ..runtime import {runtime}
{others}

{structs}


'''
_RUNTIME = (
    "Buffer", "check_bytes", "check_float", "check_float4", "check_integer", "check_items",
    "endless", "invalid", "mismatch", "missing", "trailing", "unencodable",
)  # fmt: skip


def taken_names(specs: Iterable[Spec]) -> frozenset[str]:
    """Return names that local variables of functions made from these files may not have."""
    return frozenset((*_LOCALS, *(spec.id for spec in specs), *dir(builtins)))


def plus(name: str, number: int) -> str:
    """Return ``name + number``, or the name alone."""
    return f"{name} + {number}" if number else name


class Module:
    """Writer of one module of functions, one for each type; the formatter drops unused imports."""

    def __init__(self, model: Model, spec: Spec, names: Names) -> None:
        self.model = model
        self.spec = spec
        self.out = CodeWriter()
        self.structs = Structs()
        self.names = names

    def output(self, package: str, table: Iterator[str]) -> Output:
        """Return the module of a package; ``table`` holds the functions by key of the type."""
        self.out.lines(*table)
        others = [spec.id for spec in self.model.closure(self.spec.id) if spec.id != self.spec.id]
        models = [f"{self.spec.id} as model", *(f"{other} as {other}_model" for other in others)]
        house = self.model.house
        head = _HEAD.format(
            checksum=house.checksum or "..checksum",
            errors=house.errors or "..errors",
            error=house.error,
            title=self.spec.title,
            package=package,
            models=", ".join(models),
            runtime=", ".join(_RUNTIME),
            others=f"from . import {', '.join(others)}" if others else "",
            structs="\n".join(self.structs.lines()),
        )
        text = head + self.out.text()
        return Output(f"python/{package}/{self.spec.id}.py", (self.spec.id,), text)


def package(model: Model, name: str, doc: str) -> Output:
    """Return the file that makes a folder a package."""
    sources = tuple(spec.id for spec in model.specs)
    return Output(f"python/{name}/__init__.py", sources, f'"""{doc}"""\n')


class Statements:
    """Writer of the body of one function."""

    def __init__(self, module: Module, type_: Type) -> None:
        self.model = module.model
        self.type = type_
        self.out = module.out
        self.structs = module.structs
        self.names = module.names

    def local(self, name: str) -> str:
        """Return the variable that holds a field."""
        return self.names.local(name)

    def declare_item(self) -> None:
        """Write the type of the variable that goes over arrays of several types."""
        if len({field.type for field in self.type.fields if field.repeat is not None}) > 1:
            self.out.line("item: Any")

    def class_of(self, type_: Type) -> str:
        """Return the source text of the model class."""
        module = "model" if type_.spec_id == self.type.spec_id else f"{type_.spec_id}_model"
        return f"{module}.{type_.class_name}"

    def function(self, prefix: str, reference: TypeReference) -> str:
        """Return the function for another type."""
        module = "" if reference.spec_id == self.type.spec_id else f"{reference.spec_id}."
        return f"{module}{prefix}_{reference.name}"

    def is_structure(self, field: Field) -> bool:
        """Return whether another function reads or writes the field and reports a path in it."""
        if isinstance(field.type, TypeReference):
            return self.model.type(field.type).scalar is None
        return isinstance(field.type, SwitchType)

    def with_path(self, path: str, *, needed: bool = True) -> AbstractContextManager[None]:
        """Write a handler that adds ``path`` before the path of errors from inside, if needed."""
        return self._handler(path) if needed else nullcontext()

    @contextmanager
    def _handler(self, path: str) -> Iterator[None]:
        with self.out.block("try:"):
            yield
        with self.out.block(f"except {self.model.house.error} as error:"):
            self.out.line(f'error.path = f"{path}{{error.path}}"')
            self.out.line("raise")
