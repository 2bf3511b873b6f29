"""What pyproject.toml cannot say: packages that generated/ is mapped to, and an extension in C.

Where there is no C compiler the installation succeeds without it, and the ``python`` codec serves;
CI=true and KAFKASPEC_NATIVE=required make it a failure.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import sysconfig
import zipfile
from base64 import urlsafe_b64encode
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
from kafkaspec.libraries import LOADER, libraries  # noqa: E402

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
        ext.libraries += LOADER
        super().build_extension(ext)

    def has_compiler(self) -> bool:
        """Whether there is all that a compilation needs, so that a failure is that of the C."""
        command = getattr(self.compiler, "compiler", ["cl"])  # MSVC has no such list
        return shutil.which(command[0]) is not None and any(
            (Path(folder) / "Python.h").exists() for folder in self.include_dirs
        )


class EditableWheel(editable_wheel):
    """An editable installation, for developers: it shows all modules to type checkers.

    They do not run the finder by which such an installation imports, nor follow ``__path__``.
    """

    def run(self) -> None:
        super().run()
        types = ROOT / "build" / "types" / PACKAGE.partition(".")[0]
        types.mkdir(parents=True, exist_ok=True)
        (types / "__init__.py").touch()
        link(ROOT / "generated", types / "_generated")
        stubs = link_stubs(ROOT / "build" / "stubs")
        for wheel in Path(self.dist_dir).glob("*editable*.whl"):
            add_to_wheel(wheel, "__editable__.kafkaspec.types.pth", f"{stubs}\n".encode())


def link(target: Path, place: Path) -> None:
    """Make a link to a file or directory, unless there is one."""
    if place.exists():
        return
    place.unlink(missing_ok=True)
    if sys.platform == "win32":  # a symbolic link needs a privilege, these do not
        import _winapi

        if target.is_dir():
            _winapi.CreateJunction(str(target), str(place))
        else:
            os.link(target, place)
    else:
        place.symlink_to(os.path.relpath(target, place.parent))


def link_stubs(home: Path) -> Path:
    """Make a package that type checkers take for the stubs of this one; it cannot be imported.

    Args:
        home: directory of the package.

    Returns:
        The directory.
    """
    source = ROOT / "kafkaspec"
    stubs = home / "kafkaspec-stubs"
    shutil.rmtree(stubs, ignore_errors=True)
    stubs.mkdir(parents=True)
    for item in source.iterdir():
        if item.name == "__init__.py":  # by which mypy knows stubs
            link(item, stubs / "__init__.pyi")
        elif item.is_dir() or item.suffix in (".py", ".pyi"):
            link(ROOT / "generated" if item.name == "_generated" else item, stubs / item.name)
    return home


def add_to_wheel(wheel: Path, name: str, content: bytes) -> None:
    """Add a file to a wheel, and to its list of files."""
    with zipfile.ZipFile(wheel) as old:
        files = {item: old.read(item) for item in old.infolist()}
    digest = urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr(name, content)
        for item, data in files.items():
            if item.filename.endswith(".dist-info/RECORD"):
                data += f"{name},sha256={digest},{len(content)}\n".encode()
            new.writestr(item, data)


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
