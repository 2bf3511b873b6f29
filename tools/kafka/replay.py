"""Take in the releases after 4.1 again, on a copy that is frozen at 4.1, by the command alone.

The copy loses what later releases added to schemas, generated code, profiles, constants, the tables
of releases, golden segments, results of brokers, and pages. Then ``tools.kafka.release`` takes in
one release after the other; what brokers did is taken from this tree. At the end, so are the
sentences that a person has to write, and both trees have to be equal. The report is
``docs/replay.md``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from kafkaspec.broker import profiles
from kafkaspec.dumplog import options
from kafkaspec.release import minor_of, parse_release, release_text
from tools.brokers import versions
from tools.brokers.maven import ToolError
from tools.brokers.versions import Version, by_name
from tools.golden import keep
from tools.import_messages.__main__ import import_schemas, schemas_of
from tools.import_messages.structure import snake
from tools.import_messages.text import read, write
from tools.kafka import changes, release, results, rules
from tools.specdiff import __main__ as specdiff
from tools.specgen.loader import load

ROOT = release.ROOT
PAGE = ROOT / "docs" / "replay.md"
FROZEN = "4.1.2"
"""The release that the copy is frozen at for the report."""
_ROW = re.compile(r"^    (?:Version|since)\(\"([\d.]+)\".*\),?\n", re.MULTILINE)
"""A row of a table of releases in one line."""

_HEAD = """\
<!-- Made by `python -m tools.kafka.replay`. DO NOT EDIT. -->

# Releases taken in again by the command alone

A copy of this repository was frozen at Kafka {frozen}: without what later releases added to the
schemas in `spec/messages`, the code in `generated/`, the profiles of brokers, the constants, the
tables of releases, the golden segments, the results of brokers, and the generated pages. Then
[`make kafka`](guide/messages.md#a-new-release-of-kafka) took in one release after the other. Golden
segments and results that are checked in here stood for the steps that run brokers. At the end a
person's sentences were put in from here; then all files of both trees were compared, byte by byte,
but for what breaks of the specification are counted from.

`tests/kafka/test_replay.py` does this every night, and compares this page. What no table holds was
not frozen: code that reads what a release added, its tests, and pages written by hand.

**Edits by hand outside of sentences: {edits}.** {equal}
"""


def later(frozen: str = FROZEN) -> list[Version]:
    """Return the releases after one, the oldest first."""
    return [each for each in versions.VERSIONS if each.release > parse_release(frozen)]


@dataclass
class Taken:
    """The work of the command for a release.

    Attributes:
        release: the release.
        passed: the steps that passed, each with what it is for.
        failed: the step that failed, and the end of its output; "" for none.
        changed: the folders in which files changed, and pages.
        row: what it added to the table of brokers.
        found: the rules that it found.
        breaks: the breaks of the specification that it named.
        left: the sentences that it left to a person.
    """

    release: str
    passed: list[str] = field(default_factory=list)
    failed: str = ""
    changed: list[str] = field(default_factory=list)
    row: str = ""
    found: str = ""
    breaks: str = ""
    left: list[str] = field(default_factory=list)


@dataclass
class Replay:
    """The releases that were taken in, and the files in which the copy then differs."""

    taken: list[Taken]
    different: list[str]


class Tree:
    """A copy of this tree, in which programs run as in a checkout.

    Args:
        home: an empty directory.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self._git("init", "-q", str(home), cwd=ROOT)  # a checkout may have no history to clone
        for name in _tracked():
            target = home / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
        for extension in (ROOT / "kafkaspec").glob("*.so"):
            shutil.copy2(extension, home / "kafkaspec")
        self.commit()

    def _git(self, *arguments: str, cwd: Path | None = None) -> str:
        command = ["git", "-c", "user.name=replay", "-c", "user.email=replay@localhost", *arguments]
        done = subprocess.run(
            command, cwd=cwd or self.home, capture_output=True, text=True, check=True
        )
        return done.stdout

    def commit(self) -> list[str]:
        """Keep the state of the tree; return the files that changed since it was kept."""
        self._git("add", "-A")
        changed = self._git("diff", "--cached", "--name-only", "-z").split("\0")[:-1]
        self._git("commit", "-q", "--allow-empty", "--no-verify", "-m", "kept")
        return changed

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a module of the tree."""
        environment = os.environ | {"PYTHONPATH": str(self.home)}
        return subprocess.run(
            [sys.executable, "-m", *arguments], cwd=self.home, capture_output=True, text=True,
            env=environment,
        )  # fmt: skip

    def make(self, steps: Iterable[release.Step]) -> None:
        """Run all commands of steps.

        Raises:
            ToolError: one of them fails.
        """
        for step in steps:
            for command in step.commands:
                done = self.run(*command[2:])
                if done.returncode:
                    raise ToolError(f"{' '.join(command[2:])}:\n{done.stdout}{done.stderr}")


def _tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [name for name in listed.stdout.split("\0")[:-1] if (ROOT / name).is_file()]


def _made(name: str) -> list[release.Step]:
    """Return the steps that make files of others, without those for one release."""
    return [step for step in release.steps(name) if step.name in ("generate", "pages")]


def freeze_messages(spec: Path, frozen: Version) -> None:
    """Take out of a specification what messages got after a release.

    Raises:
        ToolError: Maven fails.
    """
    schemas, minor = schemas_of(frozen), minor_of(frozen.name)
    known = {snake(schema) for schema in schemas}
    for one in load(spec).specs:
        ended = one.releases is not None
        older = one.since is not None and minor_of(one.since) <= minor
        if one.is_message and not (ended or older or one.id in known):
            (spec / one.file_name).unlink()
    import_schemas(schemas, frozen.name, spec=spec)


def freeze(tree: Tree, name: str = FROZEN) -> None:
    """Take out of a tree what came after a release.

    Raises:
        ToolError: Maven, or a generator, fails.
    """
    frozen, minor = by_name(name), minor_of(name)
    freeze_messages(tree.home / "spec", frozen)
    gone = {version.name for version in later(name)}
    for module in (versions, profiles):
        _edit(tree.home / _place(module), partial(_ROW.sub, partial(_if_not_after, frozen)))
    for module, constant, value in (
        (profiles, "NEWEST: Final", f'"{release_text(minor)}"'),
        (profiles, "DEFAULT_PROFILE: Final", f'"{release_text(minor)}"'),
        (options, "NEWEST: Final[Release]", repr(minor)),
    ):
        _edit(tree.home / _place(module), partial(rules.set_constant, name=constant, value=value))
    data = {each: found for each, found in changes.load().items() if each not in gone}
    (tree.home / changes.DATA.relative_to(ROOT)).write_text(changes.as_text(data), "utf-8")
    kept = {each: found for each, found in results.load().items() if each not in gone}
    (tree.home / results.PATH.relative_to(ROOT)).write_text(keep.in_lines(kept), "utf-8")
    for each in gone:
        shutil.rmtree(tree.home / keep.GOLDEN.relative_to(ROOT) / each)
    tree.make(_made(name))
    # What was released is the frozen specification, from which breaks are counted.
    done = tree.run("tools.specdiff", str(tree.home / "spec"), "--keep", specdiff.releases()[-1])
    if done.returncode:
        raise ToolError(done.stderr)
    tree.commit()


def _place(module: object) -> Path:
    return Path(str(vars(module)["__file__"])).relative_to(ROOT)


def _edit(path: Path, change: Callable[[str], str]) -> None:
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


def _if_not_after(frozen: Version, row: re.Match[str]) -> str:
    return row[0] if parse_release(row[1]) <= frozen.release else ""


def take(tree: Tree, name: str, *given: str) -> Taken:
    """Take in a release by the command.

    Args:
        tree: a frozen copy.
        name: the release.
        given: options of the command.
    """
    taken = Taken(name)
    done = tree.run("tools.kafka.release", name, *given)
    home = tree.home / "build" / f"kafka-{name}"
    state = json.loads((home / "steps.json").read_text(encoding="utf-8"))
    taken.passed = list(state["passed"])
    if done.returncode:
        names = state["failed"] or ["row"]
        logs = [home / f"{each}.log" for each in names]
        ends = [log.read_text("utf-8", "replace")[-2000:] for log in logs if log.exists()]
        taken.failed = "\n".join([", ".join(names), *ends])
    table = (tree.home / _place(versions)).read_text(encoding="utf-8")
    taken.row = next(row[0].strip() for row in _ROW.finditer(table) if row[1] == name)
    taken.found = (home / "rules.log").read_text(encoding="utf-8").strip()
    taken.breaks = (home / "breaks.log").read_text(encoding="utf-8").strip()
    lines = (home / "report.md").read_text(encoding="utf-8").partition("## Sentences")[2]
    taken.left = [line[2:] for line in lines.splitlines() if line.startswith("- ")]
    taken.changed = sorted({_folder(path) for path in tree.commit()})
    return taken


def _folder(path: str) -> str:
    first, *rest = path.split("/")
    return (
        path if first == "docs" else f"{first}/" if first == "generated" else f"{first}/{rest[0]}/"
    )


def write_sentences(tree: Tree) -> None:
    """Write the sentences that begin with TODO as they are in this tree, and make all files again.

    Raises:
        ToolError: a generator fails.
    """
    for one in load(tree.home / "spec").specs:
        path = tree.home / "spec" / one.file_name
        if one.is_message and "TODO" in path.read_text(encoding="utf-8"):
            write(path, read(path), read(ROOT / "spec" / one.file_name))
    tree.make(_made(FROZEN))


def differences(tree: Tree) -> Iterator[str]:
    """Yield the files that only one of both trees has, or that differ.

    But for the report of this, and for what breaks are counted from.
    """
    tree.commit()
    excepted = (PAGE, specdiff.ACCEPTED, specdiff.RELEASED / f"{specdiff.releases()[-1]}.tar.xz")
    theirs = set(tree._git("ls-files", "-z").split("\0")[:-1])
    for name in sorted(theirs | set(_tracked())):
        mine, other = ROOT / name, tree.home / name
        if mine in excepted:
            continue
        if not (mine.is_file() and other.is_file()):
            yield f"{name}: only in {'this tree' if mine.is_file() else 'the copy'}"
        elif mine.read_bytes() != other.read_bytes():
            yield f"{name}: differs"


def replay(home: Path) -> Replay:
    """Freeze a copy, take in all releases, write the sentences, and compare.

    Args:
        home: an empty directory.

    Raises:
        ToolError: Maven or a generator fails.
    """
    tree = Tree(home)
    freeze(tree)
    taken = []
    for version in later():
        taken.append(take(tree, version.name, "--given", str(ROOT)))
        if taken[-1].failed:
            return Replay(taken, [])
    write_sentences(tree)
    return Replay(taken, list(differences(tree)))


def page(found: Replay) -> str:
    """Return the text of ``docs/replay.md``."""
    edits = len(found.different)
    equal = "Both trees were equal." if not edits else "These files were not equal:"
    lines = [_HEAD.format(frozen=FROZEN, edits=edits, equal=equal)]
    lines += [f"- `{line}`\n" for line in found.different]
    for taken in found.taken:
        lines += _section(taken)
    return "".join(lines)


def _section(taken: Taken) -> Iterator[str]:
    yield f"\n## {taken.release}\n\n"
    yield f"- Steps that passed: {', '.join(taken.passed)}\n"
    if taken.failed:
        yield f"- FAILED: {taken.failed}\n"
    yield f"- Table of brokers: `{taken.row}`\n"
    yield f"- Rules of its brokers: {taken.found.partition(': ')[2]}\n"
    yield f"- Breaks of the specification: {taken.breaks}\n"
    yield f"- Files that changed: {', '.join(f'`{place}`' for place in taken.changed)}\n"
    places = Counter(line.partition(":")[0] for line in taken.left)
    yield f"- Sentences left to a person, with those of releases before: {len(taken.left)}\n"
    for place, count in sorted(places.items()):
        yield f"  - `{place}`: {count}\n"


def main() -> None:
    """Write the report.

    Raises:
        SystemExit: something has to be edited by hand.
    """
    with tempfile.TemporaryDirectory() as home:
        found = replay(Path(home) / "tree")
    PAGE.write_text(page(found), encoding="utf-8")
    failed = [taken.failed for taken in found.taken if taken.failed]
    sys.exit("\n".join([*failed, *found.different]) or 0)


if __name__ == "__main__":
    main()
