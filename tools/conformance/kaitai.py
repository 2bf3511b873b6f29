"""Build testees from the specification, compiled for other languages by the official compiler.

Nothing of it is checked in: it is made below ``build/conformance``.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection
from pathlib import Path

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.layout import Form
from kafkaspec.messages.lookup import MESSAGES
from tools.brokers.maven import cache_root, find_tool, java_tool, resolve_artifacts, run
from tools.specgen.kaitai.emit import compile_specs

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "conformance"
_HERE = Path(__file__).parent
_SPEC = ROOT / "spec"
_MESSAGES = {message.key.partition(".")[0] for message in MESSAGES}
_RUNTIME = "0.11"
_GSON = "com.google.code.gson:gson:2.11.0"


def java() -> list[str]:
    """Build the Java testee and return its command. Needs a JDK and Maven."""
    # Java chooses by int only; what says a tag or version is a long there.
    files = {key.partition(".")[0] for key in LAYOUTS} - _MESSAGES
    build, source = _folder("kaitai_java", files), _HERE / "kaitai_java" / "Testee.java"
    compile_specs(_SPEC, build, ("-t", "java", "--java-package", "spec"))
    runtime = f"io.kaitai:kaitai-struct-runtime:{_RUNTIME}"
    jars = resolve_artifacts(cache_root() / "kaitai-struct-java", [runtime, _GSON])
    classes, path = build / "classes", f"{jars}/*"
    run(
        java_tool("javac"), "-nowarn", "-cp", path, "-d", str(classes),
        str(source), *(str(build / "spec" / f"{_camel(name)}.java") for name in sorted(files)),
    )  # fmt: skip
    # A testee runs for a short time: the second compiler of the JVM would only cost time.
    return [
        java_tool("java"), "-XX:TieredStopAtLevel=1", f"-Dkaitai.version={_RUNTIME}",
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
    """Build the Ruby testee and return its command. Needs Ruby with gem."""
    build, source = _folder("kaitai_ruby"), _HERE / "kaitai_ruby"
    compile_specs(_SPEC, build, ("-t", "ruby"))
    gems = build / "gems"
    run(
        find_tool("gem", "Ruby"), "install", "--silent", "--no-document",
        "--install-dir", str(gems), "kaitai-struct", "--version", _RUNTIME,
    )  # fmt: skip
    runtime = gems / "gems" / f"kaitai-struct-{_RUNTIME}" / "lib"
    testee = str(source / "testee.rb")
    return [find_tool("ruby", "Ruby"), "-I", str(runtime), testee, str(build)]


# -- what all of them need -------------------------------------------------------------------------


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _folder(name: str, files: Collection[str] | None = None) -> Path:
    """Return an empty folder to build in, with a table of the types of these files for testees."""
    folder = BUILD / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    types = {
        key: {
            "scalar": layout.form is Form.SCALAR,
            "parameters": [name for name, _ in layout.parameters],
        }
        for key, layout in LAYOUTS.items()
        if files is None or key.partition(".")[0] in files
    }
    (folder / "types.json").write_text(json.dumps(types), encoding="utf-8")
    return folder
