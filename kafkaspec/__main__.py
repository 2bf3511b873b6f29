"""``kafkaspec`` and ``python -m kafkaspec``: the command."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Final

_ALLOCATED: Final = 50_000
"""Objects after which the collector looks for garbage: imports make many, and all of these stay."""


class _WithoutPandas:
    """Hides pandas, which PyArrow imports at its first array: that takes longer than a command."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        """Find nothing, and end the search for pandas."""
        if name == "pandas":
            raise ModuleNotFoundError(f"the command does not use {name}", name=name)


def main() -> None:
    """Run the command. The version is printed without loading what commands need."""
    if sys.argv[1:] == ["--version"]:
        from kafkaspec.cli.version import version_lines

        try:
            print(*version_lines(), sep="\n", flush=True)
        except OSError:  # the whole command reports it
            pass
        else:
            return
    if "spark" not in sys.argv:
        sys.meta_path.insert(0, _WithoutPandas())
    gc.set_threshold(_ALLOCATED)
    from kafkaspec.cli.main import main as command

    command()


if __name__ == "__main__":
    main()
