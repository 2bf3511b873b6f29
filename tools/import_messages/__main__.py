"""Bring the messages of a release of Kafka into spec/messages, or compare them with a release.

Without an option, make or update the structure of the file of each stored message, and keep the
sentences and enumerations of the files that are there; a new field gets a sentence that begins with
TODO, which the linter refuses until somebody writes one.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tools.brokers.maven import ToolError
from tools.brokers.versions import Version, by_name
from tools.import_messages import jars
from tools.import_messages.check import ELSEWHERE, TEXT, differences
from tools.import_messages.schema import Schema, SchemaError, read_jars
from tools.import_messages.structure import make
from tools.import_messages.text import read, write
from tools.specgen.loader import load

SPEC = Path(__file__).resolve().parents[2] / "spec"


@click.command(help=__doc__)
@click.argument("release", required=False)
@click.option("--check", is_flag=True, help="Write nothing; fail if the specification differs.")
@click.option("--all", "every", is_flag=True, help="With --check: every release that has schemas.")
@click.option(
    "--layout", help="Releases that wrote the layout, 3.6..3.7, where a later one differs."
)
@click.option("--name", "names", multiple=True, help="This message only; may be repeated.")
def main(
    release: str | None, check: bool, every: bool, layout: str | None, names: tuple[str, ...]
) -> None:
    if (release is None) != every or (every and not check):
        raise click.UsageError("name a release, or write --check --all")
    if layout is not None and not names:
        raise click.UsageError("--layout is for the messages that --name names")
    try:
        versions = jars.releases() if every else [by_name(release or "")]
    except KeyError as error:
        sys.exit(str(error.args[0]))
    try:
        if check:
            sys.exit(_check(versions))
        _import(versions[0], layout, names)
    except (ToolError, SchemaError) as error:
        sys.exit(str(error))


def schemas_of(version: Version) -> dict[str, Schema]:
    """Return the stored schemas of a release by name."""
    return read_jars(jars.jars(version))


def _check(versions: list[Version]) -> int:
    model = load(SPEC)
    failed = 0
    for version in versions:
        schemas = schemas_of(version)
        found = list(differences(model, schemas, version.name))
        for line in found:
            click.echo(f"{version.name}: {line}", err=True)
        click.echo(f"{version.name}: {len(schemas)} schemas, {len(found)} differences")
        failed |= bool(found)
    return failed


def _import(version: Version, layout: str | None, names: tuple[str, ...]) -> None:
    schemas = schemas_of(version)
    if unknown := set(names) - set(schemas):
        raise SchemaError(f"{version.name} has no schema {', '.join(sorted(unknown))}")
    first, _, last = (layout or "").partition("..")
    releases = (first, last) if layout is not None else None
    for name, schema in sorted(schemas.items()):
        if name in ELSEWHERE or name in TEXT or (names and name not in names):
            continue
        path, node = make(schema, version.name, releases)
        before = read(SPEC / f"{path}.ksy")
        if write(SPEC / f"{path}.ksy", node, before):
            click.echo(f"{'updated' if before else 'new'} spec/{path}.ksy")


if __name__ == "__main__":
    main()
