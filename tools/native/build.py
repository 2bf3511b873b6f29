"""Compile the extension, of the checkout or of another generated tree.

    python -m tools.native.build                                    the checkout's, in its place
    python -m tools.native.build DIRECTORY [-- COMPILER OPTIONS]

``DIRECTORY`` is a generated package with a folder ``native``; its extension is put next to it.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from kafkaspec.extension import FLAGS, GLUE, MACRO, fingerprint, sources
from kafkaspec.libraries import LOADER, libraries

ROOT = Path(__file__).resolve().parents[2]
STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")
NAME = f"_native{'.abi3.so' if STABLE else sysconfig.get_config_var('EXT_SUFFIX')}"


class BuildError(RuntimeError):
    """The C does not compile or link."""


class NoCompilerError(BuildError):
    """There is no C compiler."""


def build(generated: Path, output: Path | None = None, options: Sequence[str] = ()) -> Path:
    """Compile and link the extension of a generated tree.

    Args:
        generated: the tree; its folder ``native`` holds the core.
        output: where the module goes, ``<generated>/_native.abi3.so`` by default.
        options: more options of the compiler.

    Returns:
        The path of the module.

    Raises:
        NoCompilerError: there is none.
        BuildError: with the compiler's messages. The file at ``output`` is as it was.
    """
    target = output or generated / NAME
    core = generated / "native"
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    include = [core, GLUE, Path(sysconfig.get_paths()["include"])]
    command = [compiler, *FLAGS, "-fPIC", "-shared", f"-D{MACRO}={fingerprint(core)}", *options]
    if sys.platform == "darwin":
        command += ["-undefined", "dynamic_lookup"]
    command += [f"-I{path}" for path in include]
    command += [str(path) for path in sources(core, "*.c")]
    for library in libraries((compiler,)):
        command += [f"-D{library.macro}=1", f"-l{library.name}"]
    command += [f"-l{name}" for name in LOADER]
    # Processes that have loaded the old file keep it, and a compiler that fails leaves it.
    fresh = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        done = subprocess.run([*command, "-o", str(fresh)], capture_output=True, text=True)
        if done.returncode:
            raise BuildError(done.stderr.strip())
        fresh.replace(target)
    except OSError as error:
        raise NoCompilerError(f"cannot run {compiler}: {error}") from None
    finally:
        fresh.unlink(missing_ok=True)
    return target


def rebuild() -> bool:
    """Compile the extension of this checkout in its place, unless it holds the right hash.

    Returns:
        Whether there was something to do. Raises what ``build`` raises.
    """
    generated, target = ROOT / "generated", ROOT / "kafkaspec" / NAME
    if target.exists() and fingerprint(generated / "native").encode() in target.read_bytes():
        return False
    build(generated, target)
    return True


if __name__ == "__main__":
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    if arguments:
        print(build(Path(arguments[0]), None, arguments[split + 1 :]))
    else:
        print("rebuilt" if rebuild() else "up to date")
