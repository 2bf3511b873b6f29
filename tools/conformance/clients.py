"""Build testees around the decoders of other implementations, each by its own package manager."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from tools.brokers.maven import (
    JAVA_SOURCES,
    ToolError,
    cache_root,
    find_tool,
    java_tool,
    resolve,
    resolve_artifacts,
    run,
)
from tools.brokers.versions import by_name
from tools.conformance.kaitai import BUILD, GSON, brief
from tools.readers import go as our_module
from tools.readers import rust as our_crate

_HERE: Final = Path(__file__).parent
_GEMS: Final = {"ruby-kafka": "1.5.0", "digest-crc": "0.7.0"}
_HEAP: Final = ("-XX:+UseSerialGC", "-Xmn8m", "-Xms32m", "-Xmx512m", "-XX:TieredStopAtLevel=1")
"""A small young generation, so that the memory of the JVM is what a case takes."""


def kafka(release: str) -> list[str]:
    """Compile the testee against a release of Kafka. Needs a JDK and Maven."""
    jars = f"{resolve(by_name(release))}/*"
    gson = f"{resolve_artifacts(cache_root() / 'gson', [GSON])}/*"
    classes = BUILD / f"kafka_java-{release}"
    shutil.rmtree(classes, ignore_errors=True)
    run(
        java_tool("javac"), "-nowarn", "-Xlint:none", "-proc:none", "-d", str(classes),
        "-cp", os.pathsep.join((jars, gson)), "-sourcepath", str(JAVA_SOURCES),
        str(_HERE / "kafka_java" / "Testee.java"),
    )  # fmt: skip
    path = os.pathsep.join((str(classes), jars, gson))
    return [java_tool("java"), *_HEAP, "-cp", path, "Testee", release]


def npm(folder: str) -> list[str]:
    """Fetch the packages of a testee and return its command. Needs Node.js and npm."""
    build, source = BUILD / folder, _HERE / folder
    build.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(source / name, build)
    run(
        find_tool("npm", "npm"), "ci", "--silent", "--no-audit", "--no-fund",
        "--ignore-scripts", "--omit=optional", cwd=build,
    )  # fmt: skip
    return [find_tool("node", "Node.js"), str(source / "testee.js"), str(build)]


def librdkafka() -> list[str]:
    """Fetch the package that has librdkafka, and return the command of its testee. Needs pip."""
    site = BUILD / "librdkafka"
    run(
        sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
        "--no-deps", "--require-hashes", "--upgrade", "--target", str(site),
        "--requirement", str(_HERE / "librdkafka" / "requirements.txt"),
    )  # fmt: skip
    return [sys.executable, "-m", "tools.conformance.librdkafka.testee", str(site)]


def go(name: str) -> list[str]:
    """Build one of the testees in Go. Needs Go."""
    program = BUILD / "go" / name
    run(
        find_tool("go", "Go"), "build", "-mod=readonly", "-trimpath",
        "-o", str(program), f"./{name}", cwd=_HERE / "go",
    )  # fmt: skip
    return brief(program)


def rust(name: str) -> list[str]:
    """Build one of the testees in Rust. Needs Cargo."""
    target = BUILD / "rust"
    run(
        find_tool("cargo", "Rust"), "build", "--quiet", "--release", "--locked",
        # krabka-protocol asks for a newer compiler than it needs.
        "--ignore-rust-version", "--target-dir", str(target), "--bin", name,
        cwd=_HERE / "rust",
    )  # fmt: skip
    return brief(target / "release" / name)


def crate() -> list[str]:
    """Build the testee of our crate in Rust. Needs Cargo."""
    build, target = BUILD / "crate", BUILD / "rust"
    our_crate.assemble(build)
    run(
        find_tool("cargo", "Rust"), "build", "--quiet", "--release", "--locked",
        "--target-dir", str(target), "--example", "testee", cwd=build,
    )  # fmt: skip
    return brief(target / "release" / "examples" / "testee")


def module() -> list[str]:
    """Build the testee of our module in Go. Needs Go."""
    build = BUILD / "module"
    shutil.rmtree(build, ignore_errors=True)
    our_module.put_together(build)
    program = build / "judged"
    run(
        find_tool("go", "Go"), "build", "-mod=readonly", "-trimpath",
        "-o", str(program), "./testee", cwd=build,
    )  # fmt: skip
    return brief(program)


def perl() -> list[str]:
    """Return the command of the testee in Perl, which is a decoder by itself. Needs Perl."""
    return [find_tool("perl", "Perl"), str(_HERE / "perl" / "testee.pl")]


def tcl() -> list[str]:
    """Return the command of the testee in Tcl, likewise. Needs Tcl."""
    return [find_tool("tclsh", "Tcl"), str(_HERE / "tcl" / "testee.tcl")]


def ruby_kafka() -> list[str]:
    """Return the command of ruby-kafka's testee. Needs Ruby, and ``gem`` or ``RUBYLIB``."""
    ruby, testee = find_tool("ruby", "Ruby"), str(_HERE / "ruby_kafka" / "testee.rb")
    with suppress(ToolError):
        run(ruby, "-e", "require 'kafka'")
        return [ruby, testee]
    gems = BUILD / "ruby_kafka"
    for name, release in _GEMS.items():
        run(
            find_tool("gem", "Ruby"), "install", "--silent", "--no-document",
            "--ignore-dependencies", "--install-dir", str(gems), name, "--version", release,
        )  # fmt: skip
    paths = (gems / "gems" / f"{name}-{release}" / "lib" for name, release in _GEMS.items())
    return [ruby, *(part for path in paths for part in ("-I", str(path))), testee]
