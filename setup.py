"""The one part of the build that pyproject.toml cannot say: an optional extension in C.

Where there is no C compiler the installation succeeds without it, and the ``python`` codec serves.
"""

from __future__ import annotations

import sys
from pathlib import Path

from setuptools import Extension, setup

ROOT = Path(__file__).parent
GENERATED = "generated/native"
GLUE = "kafkaspec/codecs/native"


def sources() -> list[str]:
    """The generated core and the glue, relative to the project as setuptools wants it."""
    return [
        path.relative_to(ROOT).as_posix()
        for folder in (GENERATED, GLUE)
        for path in sorted((ROOT / folder).glob("*.c"))
    ]


setup(
    ext_modules=[
        Extension(
            "kafkaspec._native",
            sources=sources(),
            depends=[
                path.relative_to(ROOT).as_posix()
                for folder in (GENERATED, GLUE)
                for path in sorted((ROOT / folder).glob("*.h"))
            ],
            include_dirs=[GENERATED, GLUE],
            # -O3 duplicates the loops that the generator has specialised already, and is slower.
            extra_compile_args=[] if sys.platform == "win32" else ["-std=gnu99", "-O2"],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
