"""From the text of a schema, and all that it imports, to descriptors."""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError

from kafkaspec.values.definition import Definition, SchemaError
from kafkaspec.values.options import Bounds
from kafkaspec.values.protobuf.known import (
    LIBRARIES,
    REGISTRIES,
    WELL_KNOWN,
    built_in_file,
    is_well_known,
)

SECONDS = 30
"""How long protoc may take for one schema."""
MEMORY = 2 << 30
"""Bytes of memory that it may take."""
LONGEST_PATH = 512
"""Characters of the path of an import."""

_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+=*\s*")
_LOGGED = re.compile(r"[IWEF]\d{4} [^]]*\] ")
_MAIN = "schema.proto"
_SET = "descriptors.bin"
_GIVEN = "given.bin"

# The child has no packages but that of protoc, and cannot take all of the machine: its input is
# whatever is in a log.
_CHILD = """
import json, sys
folder, seconds, memory, arguments = json.loads(sys.argv[1])
try:
    import resource
except ImportError:
    pass
else:
    for limit, most in (("CPU", seconds), ("AS", memory), ("FSIZE", memory), ("CORE", 0)):
        number = getattr(resource, "RLIMIT_" + limit)
        hard = resource.getrlimit(number)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(number, (most, hard))
sys.path.insert(0, folder)
from grpc_tools import _protoc_compiler
sys.exit(_protoc_compiler.run_main([argument.encode() for argument in arguments]))
"""


def read_files(
    main_text: str, imports: Iterable[tuple[str, str]]
) -> tuple[FileDescriptorProto, ...]:
    """Return descriptors of all that a schema imports, texts by path, and its own at the end."""
    texts: dict[str, str] = {}
    given: dict[str, FileDescriptorProto] = {}
    bundle = _bundle(main_text)
    for path, text in imports:
        found = _bundle(text)
        if found is None:
            texts[path] = text
            continue
        for file in found[:-1]:
            given.setdefault(file.name, file)
        found[-1].name = path
        given[path] = found[-1]
    main = _free_name(texts.keys() | given.keys())
    if bundle is None:
        texts[main] = main_text
    else:
        for file in bundle[:-1]:
            given.setdefault(file.name, file)
        if bundle[-1].name not in texts and bundle[-1].name not in given:
            main = bundle[-1].name or main
        bundle[-1].name = main
        given[main] = bundle[-1]
    _check_paths(texts)
    wanted = {path for file in given.values() for path in file.dependency}
    asked = [*texts.values(), *wanted]
    for path, text in REGISTRIES.items():
        if path not in given and path not in texts and any(path in one for one in asked):
            texts[path] = text
    return _sorted(_compile(texts, given, wanted, main), main)


def imports_of(definition: Definition, bounds: Bounds) -> tuple[tuple[str, str], ...]:
    """Return paths and texts of all that a schema imports.

    Where two imports have one path, the one nearest to the schema serves for both.
    """
    bounds.within(definition)
    found: dict[str, str] = {}
    seen: set[int] = set()
    waiting = deque(definition.imports)
    while waiting:
        path, imported = waiting.popleft()
        if not is_well_known(path):
            found.setdefault(path, imported.text)
        if id(imported) not in seen:
            seen.add(id(imported))
            waiting.extend(imported.imports)
    return tuple(found.items())


def _bundle(text: str) -> list[FileDescriptorProto] | None:
    """Return the files of a descriptor or of a set of them, in base64; None for other text."""
    if not text.strip() or _BASE64.fullmatch(text) is None:
        return None
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    try:
        bundle = FileDescriptorSet.FromString(data)
        if bundle.file and all(file.name for file in bundle.file) and _is_whole(bundle, data):
            return list(bundle.file)
    except DecodeError:
        pass
    try:
        file = FileDescriptorProto.FromString(data)
    except DecodeError:
        return None
    return [file]


def _is_whole(bundle: FileDescriptorSet, data: bytes) -> bool:
    """Return whether all of the bytes are files: a descriptor of one file begins as a set does."""
    size = sum(file.ByteSize() for file in bundle.file)
    return bool(size <= len(data) <= size + 6 * len(bundle.file))


def _free_name(taken: set[str]) -> str:
    name = _MAIN
    while name in taken:
        name = f"_{name}"
    return name


def _check_paths(texts: Mapping[str, str]) -> None:
    """Refuse paths that lead out of a folder."""
    for path in texts:
        parts = PurePosixPath(path).parts
        bad = (
            not path
            or len(path) > LONGEST_PATH
            or path.startswith("/")
            or ".." in parts
            or str(PurePosixPath(path)) != path
            or not path.isprintable()
            or any(sign in path for sign in '\\:*?"<>|')
        )
        if bad:
            raise SchemaError(f"the schema imports {path[:LONGEST_PATH]!r}, which is not a path")


def _compile(
    texts: Mapping[str, str], given: Mapping[str, FileDescriptorProto], wanted: set[str], main: str
) -> dict[str, FileDescriptorProto]:
    """Return descriptors by path: those that are given, and what protoc makes of texts."""
    needed = sorted(
        path
        for path in wanted | {main}
        if (path in texts or is_well_known(path)) and (path == main or path not in given)
    )
    built_in = {path: found for path in needed if (found := built_in_file(path)) is not None}
    if len(built_in) == len(needed):
        return {**given, **built_in}
    with tempfile.TemporaryDirectory(prefix="kafkaspec-") as folder:
        root = Path(folder)
        for path, text in texts.items():
            _write(root / "source" / path, text)
        arguments = [
            "protoc",
            f"--proto_path={root / 'source'}",
            f"--proto_path={WELL_KNOWN}",
            f"--descriptor_set_out={root / _SET}",
            "--include_imports",
        ]
        if given:
            files = FileDescriptorSet(
                file=[file for path, file in given.items() if not is_well_known(path)]
            )
            (root / _GIVEN).write_bytes(files.SerializeToString())
            arguments.append(f"--descriptor_set_in={root / _GIVEN}")
        _run([*arguments, *needed], root)
        try:
            made = FileDescriptorSet.FromString((root / _SET).read_bytes())
        except (OSError, DecodeError) as error:
            raise SchemaError("protoc made no descriptors of the schema") from error
    return {**given, **{file.name: file for file in made.file}}


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    except (OSError, UnicodeEncodeError) as error:
        raise SchemaError(f"an import of the schema cannot be written: {error}") from error


def _run(arguments: list[str], root: Path) -> None:
    (root / "source").mkdir(exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    program = json.dumps([str(LIBRARIES), SECONDS, MEMORY, arguments])
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _CHILD, program],
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SchemaError(f"protoc took more than {SECONDS} s for the schema") from error
    if done.returncode:
        raise SchemaError(f"no Protobuf schema: {_reason(done, root)}")


def _reason(done: subprocess.CompletedProcess[bytes], root: Path) -> str:
    """Return the first thing that protoc says is wrong."""
    said = done.stderr.decode("utf-8", "replace").replace(f"{root / 'source'}/", "")
    lines = [line for line in said.splitlines() if line and "warning:" not in line.lower()]
    # What its libraries log comes first, and says less.
    plain = [line for line in lines if _LOGGED.match(line) is None]
    logged = [_LOGGED.sub("", line) for line in lines]
    found = [*plain, *logged, f"protoc ended with {done.returncode}"]
    return found[0][:LONGEST_PATH]


def _sorted(files: dict[str, FileDescriptorProto], main: str) -> tuple[FileDescriptorProto, ...]:
    """Return what the schema needs, each file after those that it imports."""
    order: list[FileDescriptorProto] = []
    state: dict[str, bool] = {}
    stack = [(main, False)]
    while stack:
        path, imported = stack.pop()
        if imported:
            state[path] = True
            order.append(files[path])
        elif path not in state:
            if path not in files:
                raise SchemaError(f"no file {path[:LONGEST_PATH]!r}, which the schema imports")
            state[path] = False
            stack.append((path, True))
            stack.extend((other, False) for other in files[path].dependency)
        elif not state[path]:
            raise SchemaError(f"{path[:LONGEST_PATH]!r} imports itself")
    return tuple(order)
