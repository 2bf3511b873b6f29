"""Command line: ``python -m tools.golden list | make [VERSION...] | dump VERSION... | verify``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tools.brokers.maven import ToolError
from tools.brokers.versions import VERSIONS, Version, by_name
from tools.golden import keep
from tools.golden.make import dump_again, make
from tools.golden.model import Occasion
from tools.golden.scenarios import for_version


def _list() -> int:
    for version in VERSIONS:
        kept = [scenario.name for scenario in for_version(version)]
        able = [scenario.name for scenario in for_version(version, everything=True)]
        rest = [name for name in able if name not in kept]
        limits = f" ({version.remarks})" if version.remarks else ""
        print(f"{version.name}, {version.mode}{limits}: {' '.join(kept)}")
        if rest:
            print(f"  with --everything also: {' '.join(rest)}")
    return 0


def _each(names: list[str], does: Callable[[Version], None]) -> int:
    """Do something with versions, all if none is named; return the exit code."""
    try:
        versions = [by_name(name) for name in names] or list(VERSIONS)
    except KeyError as error:
        print(error.args[0], file=sys.stderr)
        return 2
    for version in versions:
        try:
            does(version)
        except ToolError as error:
            print(f"{version.name}: {error}", file=sys.stderr)
            return 1
    return 0


def _make(names: list[str], into: Path, everything: bool, only: Occasion | None) -> int:
    def run(version: Version) -> None:
        started = time.monotonic()
        target = make(version, into, everything=everything, only=only)
        files = keep.files_below(target)
        size = sum((target / path).stat().st_size for path in files)
        seconds = time.monotonic() - started
        print(f"{version.name}: {len(files)} files, {size / 1000:.0f} kB, {seconds:.0f} s")

    return _each(names, run)


def _verify() -> int:
    problems = [p for v in VERSIONS for p in keep.verify(keep.GOLDEN / v.name)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def main() -> int:
    """Run the command; 0 when all is well, 1 on failures or differences, 2 on wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m tools.golden", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="versions and the scenarios they run")
    making = commands.add_parser("make", help="run brokers and replace their golden folders")
    making.add_argument("version", nargs="*", help="all versions if none is given")
    making.add_argument(
        "--everything", action="store_true", help="run also scenarios whose files are not kept"
    )
    making.add_argument(
        "--into", type=Path, default=keep.GOLDEN, metavar="DIR", help="make the folders elsewhere"
    )
    making.add_argument(
        "--only", type=Occasion, choices=[*Occasion][1:], metavar="OCCASION",
        help="run the scenarios of one broker only, and keep the rest of the folders",
    )  # fmt: skip
    dumping = commands.add_parser("dump", help="dump kept files again, with the tool of today")
    dumping.add_argument("version", nargs="+")
    commands.add_parser("verify", help="compare the golden files with their manifests")
    arguments = parser.parse_args()
    if arguments.command == "make":
        return _make(arguments.version, arguments.into, arguments.everything, arguments.only)
    if arguments.command == "dump":
        return _each(arguments.version, dump_again)
    return _list() if arguments.command == "list" else _verify()


if __name__ == "__main__":
    sys.exit(main())
