"""Compiles the core of another generated tree, for drafts of a format and for sanitizers.

    python -m kafkaspec.codecs.native.build DIRECTORY [-- COMPILER OPTIONS]

``DIRECTORY`` is a generated package with a folder ``native``; the extension is put beside that.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

GLUE = Path(__file__).parent


class NoCompilerError(RuntimeError):
    """There is no C compiler, or it does not do what it should."""


def build(generated: Path, output: Path | None = None, options: Sequence[str] = ()) -> Path:
    """Compile and link the extension of a generated tree.

    Args:
        generated: the tree; its folder ``native`` holds the core.
        output: where the module goes, ``<generated>/_native.abi3.so`` by default.
        options: more options of the compiler.

    Returns:
        The path of the module.

    Raises:
        NoCompilerError: with what the compiler said.
    """
    target = output or generated / "_native.abi3.so"
    core = generated / "native"
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    include = [core, GLUE, Path(sysconfig.get_paths()["include"])]
    files = [*sorted(core.glob("*.c")), *sorted(GLUE.glob("*.c"))]
    command = [compiler, "-std=gnu99", "-O2", "-fPIC", "-shared", *options]
    if sys.platform == "darwin":
        command += ["-undefined", "dynamic_lookup"]
    command += [f"-I{path}" for path in include]
    command += [str(path) for path in files]
    try:
        done = subprocess.run([*command, "-o", str(target)], capture_output=True, text=True)
    except OSError as error:
        raise NoCompilerError(f"cannot run {compiler}: {error}") from None
    if done.returncode:
        raise NoCompilerError(done.stderr.strip())
    return target


if __name__ == "__main__":
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    print(build(Path(arguments[0]), None, arguments[split + 1 :]))
