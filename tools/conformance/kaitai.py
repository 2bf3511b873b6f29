"""The specification as the official compiler makes it for other languages, built to be run.

Nothing of it is checked in: it is made below ``build/conformance`` when it is needed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.layout import Form
from tools.specgen.kaitai.emit import compile_specs, java_command

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "conformance"
_HERE = Path(__file__).parent
_SPEC = ROOT / "spec"
_RUBY_RUNTIME = "0.11"


class BuildError(Exception):
    """Something that a language needs is missing, or does not work; the text says what."""


def java() -> list[str]:
    """Build the Java testee and give its command. Needs a JDK and Maven."""
    build, source = _folder("kaitai_java"), _HERE / "kaitai_java"
    compile_specs(_SPEC, build, ("-t", "java", "--java-package", "spec"))
    jars = build / "jars"
    goal = "dependency:copy-dependencies"
    maven = _tool("mvn", "Apache Maven")
    _run([maven, "-q", "-B", "-f", str(source / "pom.xml"), goal, f"-DoutputDirectory={jars}"])
    sources = [*sorted((build / "spec").glob("*.java")), source / "Testee.java"]
    classpath = os.pathsep.join([str(build / "classes"), str(jars / "*")])
    javac = _tool("javac", "a JDK")
    _run([javac, "-nowarn", "-cp", classpath, "-d", str(build / "classes"), *map(str, sources)])
    version = _version(next(jars.glob("kaitai-struct-runtime-*.jar")))
    # A testee lives shortly: the second compiler of the JVM would only take the processor away.
    return [
        java_command(), "-XX:TieredStopAtLevel=1", f"-Dkaitai.version={version}",
        "-cp", classpath, "Testee", str(build / "types.json"),
    ]  # fmt: skip


def javascript() -> list[str]:
    """Build the JavaScript testee and give its command. Needs Node.js and npm."""
    build, source = _folder("kaitai_javascript"), _HERE / "kaitai_javascript"
    compile_specs(_SPEC, build, ("-t", "javascript"))
    shutil.copy(source / "package.json", build)
    _run([_tool("npm", "npm"), "install", "--silent", "--no-audit", "--no-fund"], build)
    return [_tool("node", "Node.js"), str(source / "testee.js"), str(build)]


def ruby() -> list[str]:
    """Build the Ruby testee and give its command. Needs Ruby with gem."""
    build, source = _folder("kaitai_ruby"), _HERE / "kaitai_ruby"
    compile_specs(_SPEC, build, ("-t", "ruby"))
    gems = build / "gems"
    gem = [_tool("gem", "Ruby"), "install", "--silent", "--no-document", "--install-dir", str(gems)]
    _run([*gem, "kaitai-struct", "--version", _RUBY_RUNTIME])
    runtime = gems / "gems" / f"kaitai-struct-{_RUBY_RUNTIME}" / "lib"
    testee = str(source / "testee.rb")
    return [_tool("ruby", "Ruby"), "-I", str(runtime), testee, str(build)]


# -- what all of them need -------------------------------------------------------------------------


def _folder(name: str) -> Path:
    """Return an empty folder to build in, with a table of the types that testees walk by."""
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


def _tool(name: str, what: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise BuildError(f"{name} is not on the PATH: install {what}")
    return found


def _run(command: Sequence[str], folder: Path | None = None) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip()
        raise BuildError(f"{command[0]} fails with {done.returncode}: {said[-2000:]}")


def _version(jar: Path) -> str:
    return jar.stem.rsplit("-", 1)[1]
