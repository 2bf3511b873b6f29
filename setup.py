"""What pyproject.toml cannot say: packages that generated/ is mapped to, and an extension in C.

Where there is no C compiler the installation succeeds without it, and the ``python`` codec serves.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from setuptools import Extension, find_namespace_packages, setup
from setuptools.command.editable_wheel import editable_wheel

ROOT = Path(__file__).parent
PACKAGE = "kafkaspec._generated"
CORE = "generated/native"
GLUE = "kafkaspec/codecs/native"


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


def files(pattern: str) -> list[str]:
    """The generated core and the glue, relative to the project as setuptools wants it."""
    return [
        path.relative_to(ROOT).as_posix()
        for folder in (CORE, GLUE)
        for path in sorted((ROOT / folder).glob(pattern))
    ]


setup(
    cmdclass={"editable_wheel": EditableWheel},
    package_dir={PACKAGE: "generated"},
    packages=[
        *find_namespace_packages(include=["kafkaspec*", "pyspark_kafkasegment"]),
        *(f"{PACKAGE}.{name}" for name in find_namespace_packages("generated")),
    ],
    ext_modules=[
        Extension(
            "kafkaspec._native",
            sources=files("*.c"),
            depends=files("*.h"),
            include_dirs=[CORE, GLUE],
            # -O3 duplicates the loops that the generator has specialised already, and is slower.
            extra_compile_args=[] if sys.platform == "win32" else ["-std=gnu99", "-O2"],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
