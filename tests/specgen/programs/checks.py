"""Run the checks of a program, each in a directory of its own, and say which failed and why."""

from __future__ import annotations

import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn


def run(checks: Sequence[Callable[..., None]], *given: Any) -> NoReturn:
    """Run all checks, with what is given and a directory, and exit with 1 if one failed."""
    failed = []
    for check in checks:
        root = Path(tempfile.mkdtemp())
        try:
            check(*given, root)
        except BaseException:
            failed.append(check.__name__)
            print(f"--- {check.__name__}")
            traceback.print_exc(file=sys.stdout)
        finally:
            shutil.rmtree(root)
    print(f"{len(checks) - len(failed)} of {len(checks)} checks hold")
    sys.exit(bool(failed))
