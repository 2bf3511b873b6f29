"""Take in a release of Kafka, step by step, and report what it changed and what a person has to do.

A step that is done is not done again, so that a run which failed goes on where it stopped; --again
runs all of them, and --only runs one step. Output and report are in build/kafka-RELEASE/.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from kafkaspec.release import parse_release
from tools.brokers import versions
from tools.import_messages.__main__ import schemas_in, schemas_of
from tools.import_messages.schema import SchemaError
from tools.kafka import changes

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "spec"
_SECONDS = 30 * 60
"""What a step may take; the whole is meant to take no more."""


@dataclass(frozen=True)
class Step:
    """A step: a command, and what it is for."""

    name: str
    does: str
    command: tuple[str, ...]


def steps(release: str, schemas: str | None = None) -> tuple[Step, ...]:
    """Return the steps for a release, in their order; for a checkout, those without jars."""
    python = sys.executable
    if schemas is not None:
        return (
            Step("messages", f"bring the schemas of {schemas} into spec/messages",
                 (python, "-m", "tools.import_messages", release, "--schemas", schemas)),
            Step("generate", "make generated/ from spec/", (python, "tools/codegen.py")),
            Step("breaks", "whom the changes of the specification break",
                 (python, "-m", "tools.specdiff", "HEAD")),
        )  # fmt: skip
    return (
        Step("messages", "bring the schemas of its messages into spec/messages",
             (python, "-m", "tools.import_messages", release)),
        Step("changes", "compare schemas and constants with the release before it",
             (python, "-m", "tools.kafka.changes", release)),
        Step("generate", "make generated/ from spec/", (python, "tools/codegen.py")),
        Step("golden", "run its broker and keep the golden segments",
             (python, "-m", "tools.golden", "make", release)),
        Step("schemas", "compare spec/messages with its schemas, version by version",
             (python, "-m", "tools.import_messages", "--check", release)),
        Step("judge", "readers, writers, loader and indexes, both ways; keep the results",
             ("env", f"KAFKA_VERSIONS={release}", "RECORD=1", python, "-m", "pytest", "-q",
              "-m", "kafka", "tests/kafka")),
        Step("read", "read the golden segments with every codec",
             (python, "-m", "pytest", "-q", "tests/golden", "tests/agreement", "-k", release)),
        Step("pages", "make the pages about releases", (python, "-m", "tools.kafka.pages")),
        Step("breaks", "whom the changes of the specification break",
             (python, "-m", "tools.specdiff", "--check")),
    )  # fmt: skip


def add_row(release: str) -> bool:
    """Add a release to the table of brokers, as a copy of the newest row; return whether it did.

    Raises:
        click.ClickException: the release is older than the newest and not in the table.
    """
    known = [version.name for version in versions.VERSIONS]
    if release in known:
        return False
    if parse_release(release) < parse_release(known[-1]):
        message = f"{release} is older than {known[-1]}; add its row to tools/brokers/versions.py"
        raise click.ClickException(message)
    path = Path(versions.__file__)
    text = path.read_text(encoding="utf-8")
    start = text.rindex("    Version(", 0, text.index(")  # fmt: skip", text.index("VERSIONS: ")))
    end = text.index("\n)  # fmt: skip", start)
    row = text[start:end].replace(f'"{known[-1]}"', f'"{release}"', 1)
    path.write_text(f"{text[:end]}\n{row}{text[end:]}", encoding="utf-8")
    return True


def sentences() -> Iterator[str]:
    """Yield the places of the specification where a person has to write a sentence."""
    for path in sorted(SPEC.rglob("*.ksy")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if re.search(r"\bTODO\b", line):
                yield f"{path.relative_to(ROOT).as_posix()}:{number}: {line.strip()}"


def report(
    release: str, done: dict[str, float], failed: str | None, schemas: str | None = None
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
    for step in steps(release, schemas):
        state = f"passed, {done[step.name]:.0f} s" if step.name in done else "not run"
        lines.append(f"- {step.name}: {'FAILED' if step.name == failed else state} ({step.does})")
    todo = list(sentences())
    lines += ["", "## Sentences that a person has to write", ""]
    lines += [f"- {line}" for line in todo] or ["None."]
    return "\n".join(line.rstrip("\n") for line in lines) + "\n"


@click.command(help=__doc__)
@click.argument("release")
@click.option("--only", help="Run this step alone.")
@click.option(
    "--schemas",
    type=click.Path(exists=True, file_okay=False),
    help="Take the schemas of a checkout of Kafka, before there are jars.",
)
@click.option("--again", is_flag=True, help="Run steps that are done already.")
def main(release: str, only: str | None, schemas: str | None, again: bool) -> None:
    try:
        parse_release(release)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    chosen = steps(release, schemas)
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
    fresh = again or schemas is not None
    done = json.loads(state.read_text()) if state.exists() and not fresh else {}
    if schemas is None and add_row(release):
        click.echo(f"{release}: a row in tools/brokers/versions.py, as that of the release before")
    failed = None
    for step in chosen:
        if step.name in done and step.name != only:
            continue
        if only is not None and step.name != only:
            continue
        click.echo(f"{step.name}: {step.does}")
        started = time.monotonic()
        with (home / f"{step.name}.log").open("wb") as log:
            ended = subprocess.run(
                step.command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, timeout=_SECONDS
            )
        if ended.returncode:
            failed = step.name
            click.echo(f"{step.name} failed; see {log.name}", err=True)
            break
        done[step.name] = time.monotonic() - started
        state.write_text(json.dumps(done))
    text = report(release, done, failed, schemas)
    (home / "report.md").write_text(text, encoding="utf-8")
    click.echo(f"report: {home.relative_to(ROOT) / 'report.md'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
