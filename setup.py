"""What pyproject.toml cannot say: packages that generated/ is mapped to, and an extension in C.

Where there is no C compiler the installation succeeds without it, and the ``python`` codec serves;
CI=true and KAFKASPEC_NATIVE=required make it a failure.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from setuptools import Extension, find_namespace_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.editable_wheel import editable_wheel

ROOT = Path(__file__).resolve().parent
STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")
"""Whether this Python has a stable ABI; its free-threaded build has none."""
sys.path.insert(0, str(ROOT))

from kafkaspec.extension import FLAGS, GLUE, MACRO, fingerprint, sources  # noqa: E402
from kafkaspec.libraries import libraries  # noqa: E402

PACKAGE = "kafkaspec._generated"
CORE = ROOT / "generated" / "native"
REQUIRED = "KAFKASPEC_NATIVE"
"""The environment variable that makes the extension required, as CI=true does."""


class BuildExt(build_ext):
    """Compiles the extension; for developers, C that does not compile is an error."""

    def build_extension(self, ext: Extension) -> None:
        wanted = os.environ.get("CI") == "true" or os.environ.get(REQUIRED) == "required"
        ext.optional = not (wanted or (self.editable_mode and self.has_compiler()))
        for library in libraries(getattr(self.compiler, "compiler", ())):  # MSVC has no such list
            ext.libraries.append(library.name)
            ext.define_macros.append((library.macro, "1"))
        super().build_extension(ext)

    def has_compiler(self) -> bool:
        """Whether there is all that a compilation needs, so that a failure is that of the C."""
        command = getattr(self.compiler, "compiler", ["cl"])  # MSVC has no such list
        return shutil.which(command[0]) is not None and any(
            (Path(folder) / "Python.h").exists() for folder in self.include_dirs
        )


class EditableWheel(editable_wheel):
    """An editable installation, for developers: it shows generated/ to type checkers."""

    def run(self) -> None:
        super().run()
        link_types(ROOT / "build" / "types" / "kafkaspec")


def link_types(package: Path) -> None:
    """Make a package of a link to generated/, since type checkers do not follow ``__path__``."""
    link = package / "_generated"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").touch()
    if link.exists():
        return
    if sys.platform == "win32":  # a junction needs no privilege, a symbolic link does
        import _winapi

        _winapi.CreateJunction(str(ROOT / "generated"), str(link))
    else:
        link.symlink_to(os.path.relpath(ROOT / "generated", package))


def relative(paths: Iterable[Path]) -> list[str]:
    """Return the paths as setuptools wants them: relative to the project."""
    return [path.relative_to(ROOT).as_posix() for path in paths]


setup(
    cmdclass={"build_ext": BuildExt, "editable_wheel": EditableWheel},
    package_dir={PACKAGE: "generated", "kafkaspec._spec": "spec"},
    packages=[
        *find_namespace_packages(include=["kafkaspec*", "pyspark_kafkasegment"]),
        *(f"{PACKAGE}.{name}" for name in find_namespace_packages("generated")),
        "kafkaspec._spec",
    ],
    ext_modules=[
        Extension(
            "kafkaspec._native",
            sources=relative(sources(CORE, "*.c")),
            depends=relative(sources(CORE, "*.h")),
            include_dirs=relative([CORE, GLUE]),
            define_macros=[(MACRO, fingerprint(CORE))],
            extra_compile_args=list(FLAGS),
            py_limited_api=STABLE,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
