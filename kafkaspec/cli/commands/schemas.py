"""``kafkaspec schemas``: what a registry's topic holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal
from uuid import UUID

import click

from kafkaspec.cli.command import command, defined, option
from kafkaspec.cli.console import TableColumn, count_text, note
from kafkaspec.cli.inputs import Inputs
from kafkaspec.cli.options import DIRECTORY, OnePathOrUrl, wrong_usage
from kafkaspec.cli.report import Output, Reporter, line
from kafkaspec.options import not_there
from kafkaspec.output.atomic import DirectoryAside
from kafkaspec.output.places import check_output

if TYPE_CHECKING:
    from kafkaspec.values.registry.log import SchemaLog
    from kafkaspec.values.registry.schema import Schema

_REGISTRY: Final = "kafkaspec.values.registry"

OUTPUT = Output(
    schema=line(
        f"{_REGISTRY}.schema:Schema",
        guid=str,
        schema_type=str,
        context=str,
        encrypted=Literal["", "metadata", "fields", "values"],
        without=("type", "md5"),
    ),
    config=line(subject=str, rest="the settings"),
    mode=line(subject=str, mode=str),
    problem=line(f"{_REGISTRY}.problems:Problem", reason=str),
    summary={"schemas": int},
)
_EPILOG = """
The subject of a "config" or "mode" line is empty for all subjects; encrypted is
what needs keys.

A deleted schema is shown as long as the log has a record with its text: values
with its id may still be there. An import may be deleted too.

With -o, schemas and all that they import are files, with a list schemas.json,
which is a PATH too: for a topic whose own registry is gone, for example.
  kafkaspec schemas /var/lib/kafka --subject orders-value -o out

Exit codes: 0 done, 1 something could not be read or resolved, or was not found,
2 wrong usage, or nothing can be read or written.
"""


@command(OUTPUT, _EPILOG)
def schemas_command(
    report: Reporter,
    *,
    path: OnePathOrUrl,
    number: int | None = option("--id", "Show the text of this schema.", metavar="N"),
    guid: UUID | None = option("Show the text of this schema.", type=click.UUID, metavar="GUID"),
    subject: str | None = option(
        "Show the text of this version of a subject, a number or latest; the latest by default.",
        metavar="SUBJECT[@VERSION]",
    ),
    context: str = option(
        "Context of the id of --id: .name, none.", default="", metavar="CONTEXT", show_default=False
    ),
    topic: str | None = defined(
        metavar="TOPIC", help="Name of the registry's topic, if it is not _schemas."
    ),
    output: Path | None = option(
        "-o",
        "--output",
        "Directory to write texts to; it must be new or empty.",
        type=DIRECTORY,
        metavar="OUT",
    ),
) -> None:
    """Show schemas: subjects, versions, ids, types, imports, what is deleted, what is not there.

    A PATH is a log directory with the topic _schemas of a registry (Confluent's, Karapace,
    Redpanda), a partition or segment of it, or a log of another topic beside it. Or a folder with
    files of schemas. No registry is needed.
    """
    with wrong_usage(ImportError):
        from kafkaspec.values.definition import SchemaError
        from kafkaspec.values.registry.log import TOPIC, SchemaLog
    if sum(each is not None for each in (number, guid, subject)) > 1:
        raise click.UsageError("--id, --guid and --subject exclude each other")
    counts = Inputs(())
    log = SchemaLog.open(path, topic=TOPIC if topic is None else topic)
    try:
        wanted = _wanted(log, number, guid, subject, context)
    except SchemaError as error:
        counts.found(f"{path}: {error}")
        report.finish(counts, schemas=0)
    counts.read = 1
    found = log.schemas if wanted is None else wanted
    if output is not None:
        _write(log, path, found, output)
    else:
        _show(report, log, found, whole=wanted is None)
    _say_problems(log, counts)
    report.finish(counts, schemas=len(found))


def _wanted(
    log: SchemaLog, number: int | None, guid: UUID | None, subject: str | None, context: str
) -> Sequence[Schema] | None:
    """Return the schema that options name; None if they name none.

    Raises:
        SchemaError: it is not there, or the context is not.
    """
    from kafkaspec.values.definition import SchemaError

    if context and context not in log.contexts:
        raise SchemaError(not_there("context", context, log.contexts))
    if number is not None:
        found = log.by_id(number, context)
        if found is None:
            ids = [each.id for each in log.schemas if each.id and each.context == context]
            raise SchemaError(not_there("schema with the id", number, ids))
    elif guid is not None:
        found = log.by_guid(guid)
        if found is None:
            known = [str(each.guid) for each in log.schemas]
            raise SchemaError(not_there("schema with the GUID", str(guid), known))
    elif subject is not None:
        name, _, version = subject.rpartition("@")
        if log.versions(subject, deleted=True) or not (version == "latest" or version.isdecimal()):
            name, version = subject, "latest"
        found = log.resolve(name, "latest" if version == "latest" else int(version))
    else:
        return None
    return (found,)


def _write(log: SchemaLog, path: Path, found: Sequence[Schema], output: Path) -> None:
    from kafkaspec.values.registry.texts import write_texts

    check_output(output, path)
    with DirectoryAside(output) as aside:
        write_texts(log, found, aside.write)
    note(f"{output}: {count_text(len(found), 'schema')}, and what they import")


_COLUMNS: Final[dict[str, TableColumn]] = {
    "subject": "subject",
    ">version": "version",
    ">id": "id",
    "type": "type",
    "state": "state",
    "imports": lambda each: ", ".join(item.name for item in each.references),
    "GUID": "guid",
}


def _show(report: Reporter, log: SchemaLog, found: Sequence[Schema], *, whole: bool) -> None:
    for schema in found:
        report.line(
            "schema",
            schema,
            guid=schema.guid,
            schema_type=schema.type,
            context=schema.context,
            encrypted=schema.encrypted,
        )
    if not whole:
        for text in found[0].text.split("\n"):
            report.say(text.replace("\t", "    "))
        return
    states = Counter(schema.state for schema in log.schemas)
    counts = ", ".join(f"{number:,} {state}" for state, number in sorted(states.items()))
    report.say(
        f"{log.path}: {count_text(log.records, 'record')}, "
        f"{count_text(len(log.subjects), 'subject')}, "
        f"{count_text(len(log.schemas), 'schema')}{f' ({counts})' if counts else ''}"
    )
    ordered = sorted(log.schemas, key=lambda each: (each.subject, each.version, each.offset))
    if ordered:
        report.table(_COLUMNS, ordered, lambda each: not each.deleted, last=_rest)
    for subject, config in sorted(log.configs.items()):
        report.line("config", {"subject": subject}, config)
        settings = ", ".join(f"{name} {value}" for name, value in config.items())
        report.say(f"{subject or 'all subjects'}: {settings}")
    for subject, mode in sorted(log.modes.items()):
        report.line("mode", subject=subject, mode=mode)
        report.say(f"{subject or 'all subjects'}: mode {mode}")
    for problem in log.problems:
        report.line("problem", problem, reason=problem.message)  # the text until 0.3


def _rest(schemas: Sequence[Schema]) -> tuple[str]:
    return (f"... and {len(schemas):,} more",)


def _say_problems(log: SchemaLog, counts: Inputs) -> None:
    from kafkaspec.values.registry.problems import HARMLESS

    for problem in log.problems:
        if problem.reason in HARMLESS:
            note(f"{log.path}: {problem}")
        else:
            counts.found(str(problem) if log.path in problem.message else f"{log.path}: {problem}")
