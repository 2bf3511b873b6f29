"""Judge the files of a release: workflows, forms, scripts, the container file, the change log.

    python -m tools.release.lint

Each line is a tool and what it is given. ``make check-release`` runs all of them; a test runs those
that the machine has.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
BIN = ROOT / ".venv-release" / "bin"
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"


class Check(NamedTuple):
    """A tool, its options, and the files that it judges (patterns)."""

    tool: str
    options: tuple[str, ...]
    files: tuple[str, ...]


CHECKS = (
    Check("actionlint", ("-shellcheck", "shellcheck"), (".github/workflows/*.yml",)),
    Check(
        "zizmor",
        ("--offline", "--quiet", "--no-progress"),
        (".github/workflows/*.yml", ".github/dependabot.yml"),
    ),
    Check(
        "check-jsonschema",
        ("--builtin-schema", "vendor.github-workflows"),
        (".github/workflows/*.yml",),
    ),
    Check(
        "check-jsonschema",
        ("--builtin-schema", "vendor.github-issue-forms"),
        (".github/ISSUE_TEMPLATE/[!c]*.yml",),
    ),
    Check(
        "check-jsonschema",
        ("--builtin-schema", "vendor.github-issue-config"),
        (".github/ISSUE_TEMPLATE/config.yml",),
    ),
    Check(
        "check-jsonschema", ("--builtin-schema", "vendor.dependabot"), (".github/dependabot.yml",)
    ),
    Check(
        "check-jsonschema",
        ("--builtin-schema", "vendor.citation-file-format"),
        ("CITATION.cff", "docs/format/CITATION.cff"),
    ),
    Check("kubernetes-validate", ("--strict", "--quiet"), ("packaging/kubernetes/*.yaml",)),
    Check("shellcheck", ("-x",), ("tools/setup/*.sh", ".ci/*")),
    Check("hadolint", (), ("Containerfile",)),
    Check("ruby", ("-c",), ("packaging/homebrew/kafkaspec.rb",)),
    Check("towncrier", ("build", "--draft", "--version", "next"), ()),
)


def command(tool: str, *, build: bool = False) -> list[str] | None:
    """Return how to run a tool; None if it is not here. Go may build actionlint."""
    found = shutil.which(tool, path=f"{BIN}{os.pathsep}{os.environ['PATH']}")
    if found:
        return [found]
    if build and tool == "actionlint" and shutil.which("go"):
        return ["go", "run", ACTIONLINT]
    return None


def run(check: Check, found: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a tool that was found on the files of a check."""
    files = [str(path) for pattern in check.files for path in sorted(ROOT.glob(pattern))]
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [*found, *check.options, *files],
        cwd=ROOT, env=os.environ | {"PATH": path}, capture_output=True, text=True,
    )  # fmt: skip


def main() -> None:
    """Run all; say which tools are missing."""
    failed = False
    for check in CHECKS:
        found = command(check.tool, build=True)
        words = " ".join((check.tool, *check.options, *check.files))
        if found is None:
            print(f"left out: {words}: there is no {check.tool} here")
            continue
        done = run(check, found)
        failed |= done.returncode != 0
        print(f"{'failed' if done.returncode else 'good'}: {words}")
        if done.returncode:
            print(done.stdout + done.stderr)
    sys.exit(failed)


if __name__ == "__main__":
    main()
