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
from tools.import_messages.schema import (
    Schema,
    SchemaError,
    module_of,
    read_folder,
    read_jars,
)
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
@click.option(
    "--schemas",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Take the schemas of a checkout of Kafka, which the release will have.",
)
@click.option("--name", "names", multiple=True, help="This message only; may be repeated.")
def main(
    release: str | None,
    check: bool,
    every: bool,
    layout: str | None,
    folder: Path | None,
    names: tuple[str, ...],
) -> None:
    if (release is None) != every or (every and not check):
        raise click.UsageError("name a release, or write --check --all")
    if layout is not None and not names:
        raise click.UsageError("--layout is for the messages that --name names")
    if folder is not None and (check or release is None):
        raise click.UsageError("--schemas is for an import; name the release to come")
    try:
        if folder is not None and release is not None:
            import_schemas(schemas_in(folder), release, layout, names)
            return
    except SchemaError as error:
        sys.exit(str(error))
    try:
        versions = jars.releases() if every else [by_name(release or "")]
    except KeyError as error:
        sys.exit(str(error.args[0]))
    try:
        if check:
            sys.exit(_check(versions))
        import_schemas(schemas_of(versions[0]), versions[0].name, layout, names)
    except (ToolError, SchemaError) as error:
        sys.exit(str(error))


def schemas_of(version: Version) -> dict[str, Schema]:
    """Return the stored schemas of a release by name."""
    return read_jars(jars.jars(version))


def schemas_in(checkout: Path) -> dict[str, Schema]:
    """Return the stored schemas of a checkout of Kafka by name."""
    return read_folder(checkout, {module_of(module.artifact) for module in jars.MODULES})


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


def import_schemas(
    schemas: dict[str, Schema],
    release: str,
    layout: str | None = None,
    names: tuple[str, ...] = (),
    spec: Path = SPEC,
) -> None:
    """Make or update the files of the stored messages of a release in a specification.

    Raises:
        SchemaError: the release has none of these names.
    """
    if unknown := set(names) - set(schemas):
        raise SchemaError(f"{release} has no schema {', '.join(sorted(unknown))}")
    first, _, last = (layout or "").partition("..")
    releases = (first, last) if layout is not None else None
    for name, schema in sorted(schemas.items()):
        if name in ELSEWHERE or name in TEXT or (names and name not in names):
            continue
        path, node = make(schema, release, releases)
        before = read(spec / f"{path}.ksy")
        if write(spec / f"{path}.ksy", node, before):
            click.echo(f"{'updated' if before else 'new'} spec/{path}.ksy")


if __name__ == "__main__":
    main()
