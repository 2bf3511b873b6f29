"""Emit ``generated/kaitai``: the classes of the official compiler, and tables for the adapter.

The compiler is a build-time tool: it runs on a Java machine, is fetched by Maven in one pinned
version, and is kept in a cache outside of the repository. Its output is checked in.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.alone import alone_in
from tools.class_data import ClassData
from tools.specgen.document import SpecError
from tools.specgen.expression import Attribute, Expression, Int, Name
from tools.specgen.facts.fields import fills_stream, references
from tools.specgen.loader import spec_files
from tools.specgen.model import Field, Model, SwitchType, Type
from tools.specgen.output import Output
from tools.specgen.writer import CodeWriter

COMPILER_VERSION = "0.11"
"""The one version of the compiler; its output is compared byte for byte."""

_GROUP = "io.kaitai"
_ARTIFACT = "kaitai-struct-compiler_2.13"
_MAIN_CLASS = "io.kaitai.struct.JavaMain"
SHORT_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData")
"""Options of a JVM that runs for seconds: its second compiler would only cost time, and a warning
that the file of its counters is locked would count as one of the compiler."""
PYTHON = ("-t", "python", "-w", "--read-pos", "--python-package", ".")
_POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>kafkaspec</groupId>
  <artifactId>specification-compiler</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>{_GROUP}</groupId>
      <artifactId>{_ARTIFACT}</artifactId>
      <version>{COMPILER_VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""


class CompilerMissing(Exception):  # noqa: N818 - it is a state of the machine, not of the data
    """The official compiler cannot be run or fetched here; the message says what to install."""


def emit(model: Model, spec_directory: Path) -> list[Output]:
    """Return one module per specification and a package with the tables of the adapter.

    Raises:
        CompilerMissing: no Java, no Maven, or no way to fetch the compiler.
        SpecError: the compiler refuses the specification or warns of it.
    """
    with tempfile.TemporaryDirectory(prefix="kafkaspec-kaitai-") as directory:
        compile_specs(spec_directory, Path(directory))
        outputs = [
            Output(f"kaitai/{spec.id}.py", (spec.id,), _text(Path(directory) / f"{spec.id}.py"))
            for spec in model.specs
        ]
    return [*outputs, _package(model)]


def compile_specs(spec_directory: Path, into: Path, options: Sequence[str] = PYTHON) -> None:
    """Run the compiler on all files of a directory, in one process. Raises as ``emit``.

    Args:
        spec_directory: the files.
        into: the directory for its output.
        options: options of the compiler: the target language and what belongs to it.
    """
    java = java_command()
    jars = [str(jar) for jar in sorted(compiler_jars())]
    files = list(spec_files(spec_directory))
    data = ClassData(cache_directory(), java, jars)
    command = [java, *data.made(), *SHORT_JVM, "-cp", os.pathsep.join(jars), _MAIN_CLASS]
    command += [*options, "--outdir", str(into.resolve())]
    # It runs in the directory so that messages name files without an absolute path.
    result = subprocess.run(
        [*command, *files],
        cwd=spec_directory,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    # Success is silent. A warning leaves the exit code at 0, and is an error here.
    said = (result.stdout + result.stderr).strip()
    if result.returncode != 0 or said:
        data.drop()
        raise SpecError("spec", f"the Kaitai Struct compiler says:\n{said or result.returncode}")
    data.keep()


def java_command() -> str:
    """Return the ``java`` of ``$JAVA_HOME``, else of the ``PATH``. Raises ``CompilerMissing``."""
    home = os.environ.get("JAVA_HOME")
    java = (home and shutil.which("java", path=str(Path(home) / "bin"))) or shutil.which("java")
    if java is None:
        raise CompilerMissing(
            "there is no Java in JAVA_HOME or on the PATH: install a Java runtime, 11 or later"
        )
    return java


def cache_directory() -> Path:
    """Return the directory for fetched tools: ``$KAFKASPEC_CACHE``, else ``~/.cache/kafkaspec``."""
    configured = os.environ.get("KAFKASPEC_CACHE")
    return Path(configured) if configured else Path.home() / ".cache" / "kafkaspec"


def compiler_jars() -> list[Path]:
    """Return the jar files of the compiler, fetched once. Raises ``CompilerMissing``."""
    home = cache_directory() / f"kaitai-struct-compiler-{COMPILER_VERSION}"
    if not home.is_dir():
        # Two processes would fetch twice, and Maven's own cache does not support that.
        with alone_in(home.parent):
            if not home.is_dir():
                _fetch(home)
    return list(home.glob("*.jar"))


def _fetch(home: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise CompilerMissing(
            "mvn is not on the PATH and the Kaitai Struct compiler is not in the cache: "
            "install Apache Maven, 3.6 or later"
        )
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=home.parent) as directory:
        pom = Path(directory) / "pom.xml"
        pom.write_text(_POM, encoding="utf-8")
        jars = Path(directory) / "jars"
        goal = "dependency:copy-dependencies"
        result = subprocess.run(
            [maven, "-q", "-B", "-f", str(pom), goal, f"-DoutputDirectory={jars}"],
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode != 0 or not list(jars.glob(f"{_ARTIFACT}-*.jar")):
            said = (result.stdout + result.stderr).strip()
            raise CompilerMissing(f"Maven cannot fetch the Kaitai Struct compiler:\n{said}")
        try:
            # Rename at the end, so that no run ever leaves only some of the files.
            jars.rename(home)
        except OSError:
            if not home.is_dir():
                raise


def _text(path: Path) -> str:
    """Return what the compiler wrote, without trailing blanks."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"


def _package(model: Model) -> Output:
    out = CodeWriter()
    out.line('"""Classes of the official Kaitai Struct compiler, and tables for the adapter.')
    out.line()
    out.line("Importing this package loads none of the classes.")
    out.line('"""')
    out.line()
    out.line("from __future__ import annotations")
    out.line()
    _table(
        out,
        "ARGUMENTS: dict[tuple[str, str, str], tuple[int | str, ...]]",
        _arguments(model),
        "Arguments of the type of a field, by key of the owner, field and key of the type: integers"
        "\nor dotted names that are looked up in the owner.",
    )
    _table(
        out,
        "SWITCHES: dict[tuple[str, str], str]",
        _switches(model),
        "What chooses the type of a field, by key of the owner and field: a name in the owner.",
    )
    _table(
        out,
        "REACH_END: frozenset[tuple[str, str]]",
        _reach_end(model),
        "Structures that reach to the end of their stream, by key of the owner and field.",
        call="frozenset(",
    )
    return Output("kaitai/__init__.py", tuple(spec.id for spec in model.specs), out.text())


def _table(out: CodeWriter, head: str, rows: list[str], doc: str, *, call: str = "") -> None:
    with out.block(f"{head} = {call}{{", "})" if call else "}"):
        for row in rows:
            out.line(f"{row},")
    out.lines(*f'"""{doc}"""'.split("\n"))
    out.line()


def _fields(model: Model) -> Iterator[tuple[Type, Field]]:
    return ((type_, field) for type_ in model.all_types() for field in type_.fields)


def _arguments(model: Model) -> list[str]:
    rows: dict[tuple[str, str, str], tuple[int | str, ...]] = {}
    for type_, field in _fields(model):
        for reference in references(field.type):
            if not reference.arguments:
                continue
            key = (type_.key, field.id, model.type(reference).key)
            value = tuple(_argument(argument, field) for argument in reference.arguments)
            if rows.setdefault(key, value) != value:
                raise SpecError(field.location, "cases of one type need the same arguments")
    return [f"{key!r}: {value!r}" for key, value in rows.items()]


def _argument(expression: Expression, field: Field) -> int | str:
    return expression.value if isinstance(expression, Int) else _dotted(expression, field)


def _dotted(expression: Expression, field: Field) -> str:
    match expression:
        case Name(name):
            return name
        case Attribute(value, name):
            return f"{_dotted(value, field)}.{name}"
    raise SpecError(
        field.location, "an argument or switch-on must be an integer, a name, or names with dots"
    )


def _switches(model: Model) -> list[str]:
    return [
        f"{(type_.key, field.id)!r}: {_dotted(field.type.on, field)!r}"
        for type_, field in _fields(model)
        if isinstance(field.type, SwitchType)
    ]


def _reach_end(model: Model) -> list[str]:
    return [
        repr((type_.key, field.id))
        for type_, field in _fields(model)
        if field.repeat is None and fills_stream(field)
    ]
