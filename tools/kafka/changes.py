"""Collect what each release changed on disk, and make the page that says it.

``python -m tools.kafka.changes 4.4.0`` compares a release with the one before it: the schemas of
what it stores, and the constants of its classes. The result is kept in ``changes.json``. Files come
from the golden log directories, behaviour from the profiles of the library.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from kafkaspec.broker.profiles import NEWEST, Profile, get_profile
from kafkaspec.release import minor_of, parse_release
from tools.brokers.maven import ToolError
from tools.brokers.versions import VERSIONS, Version, by_name
from tools.import_messages import jars
from tools.import_messages.schema import Schema, SchemaField, read_jars
from tools.kafka.constants import Constants, constants

DATA = Path(__file__).with_name("changes.json")
GOLDEN = Path(__file__).parents[2] / "tests" / "golden"

_REMOTE = re.compile(r"^\d{20}-[\w-]{22}\.|remote_log_snapshot")
"""Remote storage, which the jars on Maven cannot write for each release."""

_BESIDE = {"manifest.json", "produced.jsonl.xz", "dump.tar.xz"}
"""Files of ours beside those of a broker."""

Changes = dict[str, Any]
"""``constants``: ``added``, ``removed`` and ``changed`` by name; ``messages``: lines by name."""

_HEAD = """<!-- Made by `make compatibility` from data. DO NOT EDIT. -->

# What each release of Kafka changed on disk

The newest release first, each compared with the one before it in the list:

- **files**: kinds of files in the log directories that its broker wrote, `tests/golden`;
- **records**: messages that it stores, by the schemas in its jars, from 2.7 on;
- **behaviour**: rules that brokers follow when they write, from `kafkaspec/broker/profiles.py`,
  which tests hold against real brokers;
- **constants**: sizes, bits, ids, limits, names and levels in its classes. Where only the class
  of a constant changed, it is not listed.

`make kafka-changes VERSION=4.4.0` reads a release again.
"""


# -- constants ----------------------------------------------------------------------------------


def _simple(name: str) -> str:
    """Return class and constant without package: classes move."""
    owner, _, constant = name.rpartition(".")
    return f"{owner.rpartition('.')[2].rstrip('$')}.{constant}"


def changed_constants(old: Constants, new: Constants) -> dict[str, Any]:
    """Return what differs between the constants of two releases, by class and name."""
    before, after = ({_simple(name): value for name, value in of.items()} for of in (old, new))
    moved = [{(name.rpartition(".")[2], value) for name, value in of.items()} for of in (old, new)]

    def only(of: dict[str, str], other: dict[str, str], known: set[tuple[str, str]]) -> Any:
        return {
            name: value
            for name, value in sorted(of.items())
            if name not in other and (name.rpartition(".")[2], value) not in known
        }

    both = sorted(before.keys() & after.keys())
    return {
        "added": only(after, before, moved[0]),
        "removed": only(before, after, moved[1]),
        "changed": {n: [before[n], after[n]] for n in both if before[n] != after[n]},
    }


# -- messages -----------------------------------------------------------------------------------


def _lines(schema: Schema) -> dict[str, str]:
    """Return a line for each field of a schema, by path."""

    def walk(items: tuple[SchemaField, ...], path: str) -> Iterator[tuple[str, str]]:
        for item in items:
            here = f"{path}{item.name}"
            held = item.versions or item.tagged
            last = "" if held is None or held.high is None else f" to {held.high}"
            since = "" if held is None else f", version {held.low}{last or ' on'}"
            tag = "" if item.tag is None else f", tag {item.tag}"
            null = ", nullable" if item.nullable is not None else ""
            yield here, f"{item.type}{since}{tag}{null}"
            if item.fields:
                yield from walk(item.fields, f"{here}.")

    found = dict(walk(schema.fields, ""))
    for name, parts in schema.structs.items():
        found |= dict(walk(parts, f"{name}."))
    return found


def changed_messages(old: dict[str, Schema], new: dict[str, Schema]) -> dict[str, list[str]]:
    """Return lines that say what differs between the stored schemas of two releases, by name."""
    result: dict[str, list[str]] = {}
    for name in sorted(old.keys() | new.keys()):
        if name not in old:
            result[name] = ["a new message"]
            continue
        if name not in new:
            result[name] = ["no longer there"]
            continue
        lines = []
        if old[name].versions != new[name].versions:
            bounds = [(s.versions.low, s.versions.high) for s in (old[name], new[name])]
            lines.append(" instead of ".join(f"versions {a} to {b}" for a, b in reversed(bounds)))
        before, after = _lines(old[name]), _lines(new[name])
        lines += [f"`{path}`: {after[path]}" for path in after if path not in before]
        lines += [f"`{path}` is gone" for path in before if path not in after]
        lines += [
            f"`{path}`: {after[path]} instead of {before[path]}"
            for path in after
            if path in before and before[path] != after[path]
        ]
        if lines:
            result[name] = lines
    return result


def collect(old: Version, new: Version) -> Changes:
    """Return what a release changed, from the jars of both.

    Raises:
        ToolError: there is no Maven or no JDK.
    """
    found = []
    for version in (old, new):
        with tempfile.TemporaryDirectory() as work:
            found.append(constants(version, Path(work)))
    known = jars.releases()
    schemas = [read_jars(jars.jars(v)) if v in known else {} for v in (old, new)]
    messages = changed_messages(*schemas) if old in known else {}
    return {"constants": changed_constants(*found), "messages": messages}


# -- files and behaviour ------------------------------------------------------------------------


def file_kinds(version: str) -> frozenset[str]:
    """Return the kinds of files in the golden log directories of a release."""
    names = (path.name for path in (GOLDEN / version).rglob("*") if path.is_file())
    kinds = {re.sub(r"^\d{20}(-\d{10})?(?=\.)", "", name) for name in names}
    return frozenset(kind for kind in kinds - _BESIDE if not _REMOTE.search(kind))


def changed_rules(old: str, new: str) -> list[str]:
    """Return lines for the rules of brokers that differ between two releases."""
    if minor_of(new) > parse_release(NEWEST):
        return []  # not found yet
    sentences = _sentences()
    before, after = get_profile(old), get_profile(new)
    return [
        f"`{item.name}`: {_shown(getattr(after, item.name))} instead of "
        f"{_shown(getattr(before, item.name))} ({sentences[item.name]})"
        for item in fields(Profile)
        if item.name != "since" and getattr(before, item.name) != getattr(after, item.name)
    ]


def _shown(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _sentences() -> dict[str, str]:
    """Return what the documentation of ``Profile`` says of each rule."""
    text = (Profile.__doc__ or "").partition("Attributes:")[2]
    parts = re.split(r"\n        (?=\w+: )", text)
    pairs = (part.strip().split(": ", 1) for part in parts if ": " in part)
    return {name: " ".join(rest.split()).rstrip(".").replace("``", "`") for name, rest in pairs}


# -- the page -----------------------------------------------------------------------------------


def load() -> dict[str, Changes]:
    """Return what was collected, by release."""
    found: dict[str, Changes] = json.loads(DATA.read_text(encoding="utf-8"))
    return found


def as_text(data: dict[str, Changes]) -> str:
    """Return what was collected as it is kept."""
    return json.dumps(data, indent=1, sort_keys=False) + "\n"


def page() -> str:
    """Return the text of ``docs/releases.md``."""
    data = load()
    parts = [_HEAD]
    for old, new in reversed(list(pairwise(VERSIONS))):
        parts.append(f"\n## {new.name}\n\n")
        parts.append(f"Compared with {old.name}.\n\n")
        lines = list(section(old.name, new.name, data[new.name]))
        parts += lines or ["Nothing that is looked at here.\n"]
    return "".join(parts)


def section(old: str, new: str, changes: Changes) -> Iterator[str]:
    """Yield the lines of a release, each with its end."""
    before, after = file_kinds(old), file_kinds(new)
    for word, names in (("new", after - before), ("not written", before - after)):
        if names:
            yield f"- Files, {word}: {', '.join(f'`{name}`' for name in sorted(names))}\n"
    for name, lines in changes["messages"].items():
        yield f"- Record {name}: {'; '.join(lines)}\n"
    for line in changed_rules(old, new):
        yield f"- Behaviour {line}\n"
    found = changes["constants"]
    if any(found.values()):
        yield "\n| constant | before | after |\n|---|---|---|\n"
        rows = [(name, "", value) for name, value in found["added"].items()]
        rows += [(name, value, "") for name, value in found["removed"].items()]
        rows += [(name, *values) for name, values in found["changed"].items()]
        for row in sorted(rows):
            yield f"| {' | '.join(_cell(text) for text in row)} |\n"


def _cell(text: str) -> str:
    escaped = " ".join(text.split()).replace("|", "\\|")
    return f"`{escaped}`" if escaped else ""


@click.command(help=__doc__)
@click.argument("names", metavar="RELEASE...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="All releases.")
def main(names: tuple[str, ...], every: bool) -> None:
    if bool(names) == every:
        raise click.UsageError("name releases, or write --all")
    data = load() if DATA.exists() else {}
    try:
        wanted = [by_name(name) for name in names]
        for old, new in pairwise(VERSIONS):
            if every or new in wanted:
                data[new.name] = collect(old, new)
                click.echo(f"{new.name}: {_counts(data[new.name])}")
    except (KeyError, ToolError) as error:
        raise click.ClickException(str(error.args[0])) from None
    DATA.write_text(as_text({v.name: data[v.name] for v in VERSIONS if v.name in data}), "utf-8")


def _counts(changes: Changes) -> str:
    found = changes["constants"]
    counts = ", ".join(f"{len(found[kind])} {kind}" for kind in found)
    return f"{len(changes['messages'])} messages; constants: {counts}"


if __name__ == "__main__":
    main()
