"""Say what changed between two specifications, whom each change breaks, and bytes that show it.

A and B are folders of .ksy files, git revisions whose spec/ is meant, or releases of kafkaspec
(0.2.0, also as --release 0.2.0). A is by default the last release, B the spec/ of this checkout.
The exit code is 1 if a change breaks somebody, 2 if a specification cannot be read.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

try:
    import click
    from click.core import ParameterSource

    from kafkaspec.cli.console import count_text
    from tools.specdiff.rules import RULES, SAYS, Broken, Change
    from tools.specdiff.verdict import judge
    from tools.specgen.document import SpecError
except ModuleNotFoundError as missing:
    print(f"this Python has no module {missing.name}; run: make spec-diff", file=sys.stderr)
    sys.exit(2)

ROOT = Path(__file__).resolve().parents[2]
RELEASED = Path(__file__).with_name("released")
"""Archives of spec/ as released, by version; ``--keep`` adds one."""

ACCEPTED = RELEASED.with_name("accepted.toml")
"""Changes since the last release that break somebody, each with its reason."""


def releases() -> list[str]:
    """Return the versions whose specification is kept, the oldest first."""
    names = (path.name.removesuffix(".tar.xz") for path in RELEASED.glob("*.tar.xz"))
    return sorted(names, key=lambda name: [int(part) for part in name.split(".")])


def keep(spec: Path, version: str) -> None:
    """Write the archive of a specification; the same files give the same bytes."""
    RELEASED.mkdir(exist_ok=True)
    with tarfile.open(RELEASED / f"{version}.tar.xz", "w:xz", preset=9) as tar:
        for path in sorted([*spec.rglob("*.ksy"), *spec.glob("*.yaml")]):
            entry = tarfile.TarInfo(f"spec/{path.relative_to(spec).as_posix()}")
            entry.size = path.stat().st_size
            tar.addfile(entry, io.BytesIO(path.read_bytes()))


def not_accepted(changes: list[Change]) -> list[str]:
    """Return what is wrong with the list of accepted changes: what it lacks, and what is stale."""
    listed = tomllib.loads(ACCEPTED.read_text(encoding="utf-8"))
    known = {(rule, item["where"]) for rule, items in listed.items() for item in items}
    found = {(change.rule.id, change.where) for change in changes if change.breaks}
    return [
        f"{where}: {rule} breaks somebody and is not in {ACCEPTED.name}; add it with its reason"
        for rule, where in sorted(found - known)
    ] + [
        f"{where}: {rule} is in {ACCEPTED.name}, and no such change breaks anybody; remove it"
        for rule, where in sorted(known - found)
    ]


def accept(changes: list[Change], reason: str) -> int:
    """List breaks that are not listed yet, with a reason; drop those that are stale.

    Returns:
        The number of those that were added.
    """
    text = ACCEPTED.read_text(encoding="utf-8")
    listed = tomllib.loads(text)
    reasons = {
        (rule, item["where"]): item["why"] for rule, items in listed.items() for item in items
    }
    found = sorted({(change.rule.id, change.where) for change in changes if change.breaks})
    head = [line for line in text.splitlines() if line.startswith("#")]
    for key in found:
        where, why = (json.dumps(part) for part in (key[1], reasons.get(key, reason)))
        head += ["", f"[[{key[0]}]]", f"where = {where}", f"why = {why}"]
    ACCEPTED.write_text("\n".join(head) + "\n", encoding="utf-8")
    return len(set(found) - reasons.keys())


@contextmanager
def specification(name: str) -> Iterator[Path]:
    """Give the folder of a specification by its folder, release or git revision.

    Raises:
        click.UsageError: it is none of them.
    """
    folder = Path(name)
    if folder.is_dir():
        yield folder
        return
    archive = RELEASED / f"{name}.tar.xz"
    if archive.exists():
        data = archive.read_bytes()
    else:
        done = subprocess.run(
            ["git", "archive", "--format=tar", name, "spec"], cwd=ROOT, capture_output=True
        )
        if done.returncode:
            raise click.UsageError(
                f"{name} is not a folder, a git revision with spec/, or a release "
                f"({', '.join(releases())})"
            )
        data = done.stdout
    with tempfile.TemporaryDirectory(prefix="kafkaspec-spec-") as home:
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            tar.extractall(home, filter="data")
        yield Path(home) / "spec"


def as_json(change: Change) -> dict[str, Any]:
    """Return a change as a line of JSON has it."""
    return {
        "kind": "change",
        "rule": change.rule.id,
        "says": change.rule.says,
        "where": change.where,
        "before": change.before,
        "after": change.after,
        "breaks": sorted(change.breaks),
        "witnesses": {
            broken: {
                "type": found.type, "hex": found.hex, "parameters": list(found.parameters),
                "path": found.path, "read": found.read,
            }
            for broken, found in change.witnesses.items()
        },
        "compared": change.compared,
    }  # fmt: skip


def lines(change: Change) -> Iterator[str]:
    """Yield the text of a change."""
    between = " -> ".join(part for part in (change.before, change.after) if part)
    arrow = "" if change.before and change.after else "- " if change.before else "+ "
    verdict = ", ".join(SAYS[item] for item in Broken if item in change.breaks) or "nobody"
    yield f"{change.where}: {change.rule.id}: {change.rule.says}"
    if between:
        yield f"    {arrow}{between}"
    yield f"    breaks {verdict}" + (
        f" ({change.compared} cases are read alike)"
        if change.compared and not change.breaks
        else ""
    )
    for broken, found in change.witnesses.items():
        yield f"    {SAYS[broken]}: {found.type} {found.hex}"
        others = f" (and {count_text(found.others, 'other field')})" if found.others else ""
        yield f"        {found.path or '/'}: {found.read}{others}"


@click.command(help=__doc__)
@click.argument("old", metavar="[A]", required=False)
@click.argument("new", metavar="[B]", default=str(ROOT / "spec"))
@click.option("--release", metavar="NAME", help="Compare this release, as A; the argument is B.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option("--all", "everything", is_flag=True, help="Show changes of texts too.")
@click.option("--check", is_flag=True, help="Fail if a break since the last release is not listed.")
@click.option(
    "--accept", "reason", help="List the breaks since the last release, with this reason."
)
@click.option("--keep", "version", help="Keep A as the specification of this release.")
def main(
    old: str | None,
    new: str,
    release: str | None,
    form: str,
    everything: bool,
    check: bool,
    reason: str | None,
    version: str | None,
) -> None:
    if release is not None:
        if release not in releases():
            raise click.UsageError(f"no release {release}; there are {', '.join(releases())}")
        if click.get_current_context().get_parameter_source("new") is ParameterSource.COMMANDLINE:
            raise click.UsageError("--release is A; give B alone")
        old, new = release, old or new
    try:
        with specification(old or releases()[-1]) as before, specification(new) as after:
            if version is not None:
                keep(before, version)
                return
            changes = judge(before, after)
    except SpecError as error:
        raise click.UsageError(str(error)) from None
    if reason is not None:
        click.echo(f"{count_text(accept(changes, reason), 'break')} listed in {ACCEPTED.name}")
        return
    if check:
        problems = not_accepted(changes)
        for problem in problems:
            click.echo(problem, err=True)
        sys.exit(1 if problems else 0)
    texts = RULES["TEXT"]
    shown = [change for change in changes if everything or change.rule is not texts]
    for change in shown:
        for line in [json.dumps(as_json(change))] if form == "json" else lines(change):
            click.echo(line)
    counts = {str(item): sum(item in change.breaks for change in changes) for item in Broken}
    broken = sum(bool(change.breaks) for change in changes)
    summary = {"kind": "summary", "changes": len(changes), "break": broken, **counts}
    hidden = f" ({len(changes) - len(shown)} of texts)" if len(changes) > len(shown) else ""
    text = f"{count_text(len(changes), 'change')}{hidden}, {broken} of them breaking somebody"
    click.echo(json.dumps(summary) if form == "json" else text)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main(prog_name="kafkaspec spec diff")
