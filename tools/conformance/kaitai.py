"""Build testees from the specification, compiled for other languages by the official compiler.

No part of it is checked in: it is made below ``build/conformance``.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.layout import Form, TypeLayout
from tools.brokers.maven import (
    ToolError,
    cache_root,
    find_tool,
    java_tool,
    jvm,
    resolve_artifacts,
    run,
)
from tools.specgen.kaitai.emit import compile_specs

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "conformance"
_HERE = Path(__file__).parent
_SPEC = ROOT / "spec"
_RUNTIME = "0.11"
JAVA_RUNTIME = f"io.kaitai:kaitai-struct-runtime:{_RUNTIME}"
GSON = "com.google.code.gson:gson:2.11.0"


def java() -> list[str]:
    """Build the Java testee and return its command. Needs a JDK and Maven."""
    build, source = _folder("kaitai_java"), _HERE / "kaitai_java" / "Testee.java"
    compile_specs(_SPEC, build, ("-t", "java", "--java-package", "spec"))
    jars = resolve_artifacts(cache_root() / "kaitai-struct-java", [JAVA_RUNTIME, GSON])
    classes, path = build / "classes", f"{jars}/*"
    run(
        java_tool("javac"), "-nowarn", "-cp", path, "-d", str(classes),
        str(source), *map(str, sorted((build / "spec").iterdir())),
    )  # fmt: skip
    # A testee runs for a short time: the second compiler of the JVM would only cost time.
    return [
        *jvm(), "-XX:TieredStopAtLevel=1", f"-Dkaitai.version={_RUNTIME}",
        "-cp", os.pathsep.join((str(classes), path)), "Testee", str(build / "types.json"),
    ]  # fmt: skip


def javascript() -> list[str]:
    """Build the JavaScript testee and return its command. Needs Node.js and npm."""
    build, source = _folder("kaitai_javascript"), _HERE / "kaitai_javascript"
    compile_specs(_SPEC, build, ("-t", "javascript"))
    for name in ("package.json", "package-lock.json"):
        shutil.copy(source / name, build)
    run(find_tool("npm", "npm"), "ci", "--silent", "--no-audit", "--no-fund", cwd=build)
    return [find_tool("node", "Node.js"), str(source / "testee.js"), str(build)]


def ruby() -> list[str]:
    """Build the Ruby testee and return its command. Needs Ruby, and the runtime or gem."""
    build = _folder("kaitai_ruby")
    compile_specs(_SPEC, build, ("-t", "ruby"))
    command = [find_tool("ruby", "Ruby"), str(_HERE / "kaitai_ruby" / "testee.rb"), str(build)]
    with suppress(ToolError):
        run(command[0], "-e", "require 'kaitai/struct/struct'")
        return command
    gems = build / "gems"
    run(
        find_tool("gem", "Ruby"), "install", "--silent", "--no-document",
        "--install-dir", str(gems), "kaitai-struct", "--version", _RUNTIME,
    )  # fmt: skip
    runtime = gems / "gems" / f"kaitai-struct-{_RUNTIME}" / "lib"
    return [command[0], "-I", str(runtime), *command[1:]]


def go() -> list[str]:
    """Build the Go testee and return its command. Needs Go."""
    build, source = _folder("kaitai_go"), _HERE / "kaitai_go"
    compile_specs(_SPEC, build, ("-t", "go", "--go-package", "spec"))
    # The compiler's Go counts the items of repeat: until from 1, and looks past the last one.
    varint = build / "spec" / "varint.go"
    varint.write_text(varint.read_text().replace("for i := 1;", "for i := 0;"), encoding="utf-8")
    for name in ("go.mod", "go.sum", "testee.go"):
        shutil.copy(source / name, build)
    constructors = (f'\t"{key}": spec.New{_joined(key)},\n' for key in LAYOUTS)
    (build / "constructors.go").write_text(
        'package main\n\nimport "kafkaspec/spec"\n\n'
        f'const version = "{_RUNTIME}"\n\n'
        f"var constructors = map[string]any{{\n{''.join(constructors)}}}\n",
        encoding="utf-8",
    )
    run(find_tool("go", "Go"), "build", "-o", "testee", cwd=build)
    return brief(build / "testee", str(build / "types.json"))


def csharp() -> list[str]:
    """Build the C# testee and return its command. Needs Mono, and the runtime in ``MONO_PATH``."""
    build = _folder("kaitai_csharp")
    compile_specs(_SPEC, build, ("-t", "csharp", "--dotnet-namespace", "Spec"))
    testee = build / "testee.exe"
    run(
        find_tool("mcs", "Mono"), f"-out:{testee}", f"-lib:{os.environ.get('MONO_PATH', '.')}",
        "-r:Kaitai.Struct.Runtime.dll", "-r:System.Web.Extensions.dll",
        str(_HERE / "kaitai_csharp" / "Testee.cs"), *map(str, sorted(build.glob("*.cs"))),
    )  # fmt: skip
    return [find_tool("mono", "Mono"), str(testee), str(build / "types.json"), _RUNTIME]


def cpp() -> list[str]:
    """Build the C++ testee and return its command. Needs g++, nlohmann's JSON and the runtime."""
    build = _folder("kaitai_cpp")
    compile_specs(_SPEC, build, ("-t", "cpp_stl", "--cpp-standard", "98"))
    sources = "".join(f'#include "{path.name}"\n' for path in sorted(build.glob("*.cpp")))
    (build / "spec.inc").write_text(sources, encoding="utf-8")
    (build / "types.inc").write_text("".join(map(_cpp_type, LAYOUTS.values())), encoding="utf-8")
    run(
        find_tool("g++", "g++"), "-std=c++20", "-fno-lifetime-dse", f'-DVERSION="{_RUNTIME}"',
        "-I", str(build),
        str(_HERE / "kaitai_cpp" / "testee.cpp"), "-o", str(build / "testee"),
        "-lkaitai_struct_cpp_stl_runtime",
    )  # fmt: skip
    return [str(build / "testee")]


def _cpp_type(layout: TypeLayout) -> str:
    """Return the lines that say how a type is made, and which members it has."""
    file, _, name = layout.key.partition(".")
    of = f"{file}_t" if file == name else f"{file}_t::{name}_t"
    given = "".join(f"p[{index}], " for index in range(len(layout.parameters)))
    maker = f"[](const Parameters& p, kaitai::kstream* io) {{ return new {of}({given}io); }}"
    members = ["value"]
    if layout.form is not Form.SCALAR:
        read = [field.id for field in layout.fields] + [peek.id for peek in layout.peeks]
        members = [*read, *layout.instances]
    write = " ".join(f"FIELD({name})" for name in members)
    write = (
        f"out += '{{'; {write} out += '}}';" if layout.form is not Form.SCALAR else "VALUE(value)"
    )
    return f'type<{of}>("{layout.key}", {maker}, [](Text& out, auto* v) {{ {write} }});\n'


def brief(program: Path, *arguments: str) -> list[str]:
    """Return the command of a program of whose errors the first line is shown: why, not where."""
    script = '"$0" "$@" 2>"$0.errors"; code=$?; head -n 1 "$0.errors" >&2; exit $code'
    return [find_tool("sh", "a shell"), "-c", script, str(program), *arguments]


# -- what all of them need -------------------------------------------------------------------------


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _joined(key: str) -> str:
    """Return ``Varint_Varint32`` for ``varint.varint32``; the first type of a file is the file."""
    file, _, type_ = key.partition(".")
    return _camel(file) if file == type_ else f"{_camel(file)}_{_camel(type_)}"


def _folder(name: str) -> Path:
    """Return an empty folder to build in, with a table of the types for testees."""
    folder = BUILD / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    types = {
        key: {
            "scalar": layout.form is Form.SCALAR,
            "parameters": [name for name, _ in layout.parameters],
        }
        for key, layout in LAYOUTS.items()
    }
    (folder / "types.json").write_text(json.dumps(types), encoding="utf-8")
    return folder
