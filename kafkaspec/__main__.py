"""``kafkaspec`` and ``python -m kafkaspec``: the command."""

from __future__ import annotations

import sys


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
    from kafkaspec.cli.main import main as command

    command()


if __name__ == "__main__":
    main()
