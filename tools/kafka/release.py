"""Take in a release of Kafka, step by step, and report what it changed and what a person has to do.

A step that is done is not done again, so that a run which failed goes on with what is left; --again
runs all of them, and --only runs one step. Output and report are in build/kafka-RELEASE/.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

import click

from kafkaspec.release import parse_release
from tools.brokers import versions
from tools.brokers.maven import ToolError, missing
from tools.import_messages.__main__ import schemas_in, schemas_of
from tools.import_messages.schema import SchemaError
from tools.kafka import changes, results

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "spec"
NEEDED = ("messages", "changes", "generate", "golden")
"""Steps whose results the others need: if one fails, no other is run."""

COUNTED = {
    "docs/supported.md": "Brokers of {count} releases, from {first} to {last},",
    "CHANGELOG.md": "All {count} releases in `docs/compatibility.md` were tried",
}
"""Sentences that count the releases that were tried, by page."""

_SECONDS = 30 * 60
"""What a step may take; the whole is meant to take no more."""


class Step(NamedTuple):
    """A step: its commands, and what it is for."""

    name: str
    does: str
    commands: list[list[str]]


def steps(release: str, schemas: str | None = None, given: str | None = None) -> tuple[Step, ...]:
    """Return the steps for a release, in their order.

    Args:
        release: its name.
        schemas: a checkout, of which there are no jars.
        given: a tree of ours that has what brokers of the release did.
    """

    def step(name: str, does: str, *modules: str) -> Step:
        return Step(name, does, [[sys.executable, "-m", *module.split(" ")] for module in modules])

    generate = step("generate", "make generated/ from spec/", "tools.codegen --unwritten")
    if schemas is not None:
        importing = Step("messages", f"bring the schemas of {schemas} into spec/messages", [
            [sys.executable, "-m", "tools.import_messages", release, "--schemas", schemas]
        ])  # fmt: skip
        changed = "whom the changes of the specification break"
        return importing, generate, step("breaks", changed, "tools.specdiff HEAD")
    golden = step("golden", "run its broker and keep the golden segments",
                  f"tools.golden make {release}")  # fmt: skip
    judge = step("judge", "readers, writers, loader and indexes, both ways; keep the results",
                 "pytest -q -m kafka tests/kafka --ignore=tests/kafka/test_replay.py")  # fmt: skip
    if given is not None:
        golden, judge = (
            Step(name, f"take {what} from {given}",
                 [[sys.executable, "-m", "tools.kafka.given", given, name, release]])
            for name, what in (("golden", "the golden segments"), ("judge", "the results"))
        )  # fmt: skip
    explorer = ["tools.explorer.build"] if shutil.which("npm") else []
    return (
        step("messages", "bring the schemas of its messages into spec/messages",
             f"tools.import_messages {release}"),
        step("changes", "compare schemas and constants with the release before it",
             f"tools.kafka.changes {release}"),
        generate,
        golden,
        step("rules", "find the rules of its brokers that the table of profiles lacks",
             f"tools.kafka.rules {release}"),
        step("schemas", "compare spec/messages with its schemas, version by version",
             f"tools.import_messages --check {release}"),
        judge,
        step("read", "read the golden segments with every codec",
             f"pytest -q tests/golden tests/agreement -k {release}"),
        step("pages", "make the pages about releases, and what is made of the code",
             "tools.names", "tools.api", "tools.options", "tools.outputs", "tools.kafka.pages",
             *explorer),
        Step("breaks", "list whom the changes of the specification break, with its name",
             [[sys.executable, "-m", "tools.specdiff", "--accept", f"Kafka {release}"]]),
    )  # fmt: skip


def add_row(release: str, given: str | None = None) -> bool:
    """Add a release to the table of brokers, to be run as the newest; return whether it did.

    Args:
        release: its name.
        given: a tree of ours whose row says what Maven lacked; None to ask Maven.

    Raises:
        click.ClickException: the release is older than the newest and not in the table.
        ToolError: there is no Maven.
    """
    known = [version.name for version in versions.VERSIONS]
    if release in known:
        return False
    if parse_release(release) < parse_release(known[-1]):
        message = f"{release} is older than {known[-1]}; add its row to tools/brokers/versions.py"
        raise click.ClickException(message)
    path = Path(versions.__file__)
    if given is not None:
        text = (Path(given) / path.relative_to(ROOT)).read_text(encoding="utf-8")
        row = re.search(rf'^ +Version\("{re.escape(release)}".*?((, missing=.+)?)\),$', text, re.M)
        column = row[1] if row else ""
    else:
        lacks = missing(release)
        column = f", missing={_code(lacks)}" if lacks else ""
    newest = versions.VERSIONS[-1]
    added = f'    Version("{release}", "{newest.scala}", _{newest.mode.name}{column}),'
    text = path.read_text(encoding="utf-8")
    end = text.index("\n)  # fmt: skip", text.index("VERSIONS: "))
    path.write_text(f"{text[:end]}\n{added}{text[end:]}", encoding="utf-8")
    return True


def _code(lacks: tuple[str, ...]) -> str:
    if lacks == versions.SOMETIMES_MISSING:
        return "SOMETIMES_MISSING"
    return repr(lacks).replace("'", '"')


def sentences() -> Iterator[str]:
    """Yield the places where a person has to write a sentence."""
    for path in sorted(SPEC.rglob("*.ksy")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if re.search(r"\bTODO\b", line):
                yield f"{path.relative_to(ROOT).as_posix()}:{number}: {line.strip()}"
    kept = list(results.load())
    wanted = {"count": len(kept), "first": kept[0], "last": kept[-1]}
    for page, text in COUNTED.items():
        if (said := text.format(**wanted)) not in " ".join(
            (ROOT / page).read_text("utf-8").split()
        ):
            yield f"{page}: {said}"


def report(
    release: str,
    done: dict[str, float],
    failed: Collection[str],
    schemas: str | None = None,
    given: str | None = None,
) -> str:
    """Return the report of a run as Markdown."""
    data = changes.load()
    names = list(data)
    lines = [f"# Kafka {release}", ""]
    if schemas is not None:
        newest = versions.VERSIONS[-1]
        lines += [f"The schemas of {schemas}, compared with {newest.name}.", ""]
        messages = changes.changed_messages(schemas_of(newest), schemas_in(Path(schemas)))
        lines += [f"- Record {name}: {'; '.join(found)}" for name, found in messages.items()]
    elif release in data:
        found = data[release]
        before = ([versions.VERSIONS[0].name, *names])[names.index(release)]
        lines += [f"Compared with {before}.", "", *changes.section(before, release, found)]
    lines += ["", "## Steps", ""]
    for step in steps(release, schemas, given):
        state = f"passed, {done[step.name]:.0f} s" if step.name in done else "not run"
        lines.append(f"- {step.name}: {'FAILED' if step.name in failed else state} ({step.does})")
    todo = list(sentences())
    lines += ["", "## Sentences that a person has to write", ""]
    lines += [f"- {line}" for line in todo] or ["None."]
    return "\n".join(line.rstrip("\n") for line in lines) + "\n"


def _passes(step: Step, release: str, log: IO[bytes]) -> bool:
    environment = os.environ | {"KAFKA_VERSIONS": release, "RECORD": "1"}
    run = partial(subprocess.run, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, env=environment)
    try:
        return all(run(each, timeout=_SECONDS).returncode == 0 for each in step.commands)
    except subprocess.TimeoutExpired as error:
        log.write(f"{error}\n".encode())
        return False


@click.command(help=__doc__)
@click.argument("release")
@click.option("--only", help="Run this step alone.")
@click.option(
    "--schemas",
    type=click.Path(exists=True, file_okay=False),
    help="Take the schemas of a checkout of Kafka, before there are jars.",
)
@click.option(
    "--given",
    type=click.Path(exists=True, file_okay=False),
    help="Take what brokers did from this tree of ours, instead of running them.",
)
@click.option("--again", is_flag=True, help="Run steps that are done already.")
@click.option("--report", "reported", is_flag=True, help="Only write the report again.")
def main(
    release: str,
    only: str | None,
    schemas: str | None,
    given: str | None,
    again: bool,
    reported: bool,
) -> None:
    try:
        parse_release(release)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    chosen = steps(release, schemas, given)
    known = [step.name for step in chosen]
    if only is not None and only not in known:
        raise click.UsageError(f"there is no step {only}; the steps are {', '.join(known)}")
    if schemas is not None:
        try:
            schemas_in(Path(schemas))
        except SchemaError as error:
            raise click.UsageError(str(error)) from None
    home = ROOT / "build" / f"kafka-{release}"
    home.mkdir(parents=True, exist_ok=True)
    state = home / "steps.json"
    # A checkout changes under its name, so that nothing of an earlier run holds.
    fresh = (again or schemas is not None) and not reported
    kept = json.loads(state.read_text()) if state.exists() and not fresh else {}
    done, failed = kept.get("passed", {}), kept.get("failed", [])
    if reported:
        text = report(release, done, failed, schemas, given)
        (home / "report.md").write_text(text, encoding="utf-8")
        click.echo(f"report: {home.relative_to(ROOT) / 'report.md'}")
        return
    try:
        if schemas is None and add_row(release, given):
            click.echo(f"{release}: a row in tools/brokers/versions.py")
    except ToolError as error:
        raise click.ClickException(str(error)) from None
    failed = []
    for step in chosen:
        if step.name != only if only is not None else step.name in done:
            continue
        click.echo(f"{step.name}: {step.does}")
        started = time.monotonic()
        with (home / f"{step.name}.log").open("wb") as log:
            passed = _passes(step, release, log)
        done.pop(step.name, None)
        if passed:
            done[step.name] = time.monotonic() - started
        else:
            failed.append(step.name)
            click.echo(f"{step.name} failed; see {log.name}", err=True)
        state.write_text(json.dumps({"passed": done, "failed": failed}))
        if not passed and step.name in NEEDED:
            break
    # In another process, which knows the rows that were added.
    options = [part for name, value in (("--schemas", schemas), ("--given", given)) if value
               for part in (name, value)]  # fmt: skip
    command = [sys.executable, "-m", "tools.kafka.release", release, "--report", *options]
    subprocess.run(command, cwd=ROOT, check=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
