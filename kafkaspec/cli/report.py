"""Report what a command found: lines of JSON with declared members, and a summary at the end.

A command declares its lines once, by the classes and tables that hold their members. The end of
``--help`` and the JSON Schema in ``generated/schemas`` follow from that declaration.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from importlib import import_module
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    NoReturn,
    NotRequired,
    Protocol,
    TypedDict,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import click

from kafkaspec.cli.console import TableColumn, note, print_json, print_table, say, stdout_console
from kafkaspec.results import Assumption, OffsetRange, as_json, member_types

if TYPE_CHECKING:
    from rich.text import Text

T = TypeVar("T")

_WIDTH: Final = 80
_AT_ONCE: Final = 1 << 12
"""Rows of a table that are objects at a time."""
_RANGE: Final = frozenset({"first_offset", "last_offset"})
"""Members of a line that also has ``offsets``, the same range with its end exclusive."""


class LinePlace(TypedDict):
    """The partition that a line is about, by the name of its directory; null without one."""

    topic: str | None
    partition: int | None


class Summary(TypedDict):
    """The last line of every command: what was read, and what was not.

    Attributes:
        command: the name of the command.
        exit_code: the exit code, as ``--help`` explains it.
        logs: number of logs that were read.
        unreadable: number of files and directories that could not be read.
        undecoded: number of entries that could not be decoded.
        missing: number of places where something is missing.
        findings: number of findings that count.
    """

    command: str
    exit_code: int
    logs: int
    unreadable: int
    undecoded: int
    missing: int
    findings: int


class Counts(Protocol):
    """The counts of a command while it reads, such as ``Inputs``."""

    @property
    def exit_code(self) -> int: ...
    @property
    def summary(self) -> dict[str, int]: ...


@dataclass
class Tally:
    """Counts of a command that does not read logs by ``Inputs``; the members are as there.

    Attributes:
        exit_code: that of the command.
        logs: see ``Summary``, as for the others.
    """

    exit_code: int
    logs: int = 0
    unreadable: int = 0
    undecoded: int = 0
    missing: int = 0
    findings: int = 0

    @property
    def summary(self) -> dict[str, int]:
        """The counts as the last line of a report has them."""
        return {name: count for name, count in vars(self).items() if name != "exit_code"}


@dataclass(frozen=True)
class Line:
    """The members of a line.

    Attributes:
        sources: what has them: dataclasses, named tuples, typed dictionaries, Arrow schemas, or
            types by name; as themselves, or as ``module:name``, which is imported when needed.
        members: types of further members, and of those that a source gives no exact type.
        without: members of the sources that the line does not have.
        optional: members that not every line has.
        rest: what further members are, which have no list; None if there are none.
    """

    sources: tuple[Any, ...] = ()
    members: Mapping[str, Any] | None = None
    without: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    rest: str | None = None

    @cached_property
    def classes(self) -> list[Any]:
        """The sources, imported."""
        return [_resolved(source) for source in self.sources]

    @cached_property
    def kinds(self) -> dict[str, Any]:
        """The type of each member, in order."""
        found: dict[str, Any] = {}
        for source in self.classes:
            found |= types_of(source)
        found |= {name: _resolved(kind) for name, kind in (self.members or {}).items()}
        if found.keys() >= _RANGE:
            found.setdefault("offsets", OffsetRange | None)
        return {
            name: NotRequired[kind] if name in self.optional else kind
            for name, kind in found.items()
            if name not in self.without
        }


def line(
    *sources: Any,
    without: Iterable[str] = (),
    optional: Iterable[str] = (),
    rest: str | None = None,
    **members: Any,
) -> Line:
    """Declare a line; see ``Line``."""
    return Line(sources, members, frozenset(without), frozenset(optional), rest)


class Output:
    """The lines that a command prints with ``--format json``, by type; ``summary`` is the last."""

    def __init__(
        self,
        summary: Line | Mapping[str, Any] | None = None,
        more: str | None = None,
        forms: Mapping[str, str] | None = None,
        **lines: Line,
    ) -> None:
        """Declare them.

        Args:
            forms: further words of ``--format``, each with the ``module:name`` of its form.
            summary: further members of the summary.
            more: ``module:name`` of a function that returns types of members, by type of line.
            lines: the lines by type. An underscore at the end is left out: ``break_``.
        """
        self._given = {name.rstrip("_"): each for name, each in lines.items()}
        own = summary if isinstance(summary, Line) else Line(members=summary)
        self._summary = replace(own, sources=(Summary, *own.sources))
        self._more = more
        self.forms = forms or {}

    @cached_property
    def lines(self) -> dict[str, Line]:
        """The lines by type."""
        more = _resolved(self._more)() if self._more else {}
        return {
            **self._given,
            **{str(name): Line((members,)) for name, members in more.items()},
            "summary": self._summary,
        }

    def help(self) -> str:
        """Return the paragraph about the lines for ``--help``."""
        text = 'Output of --format json, one object for each line, by "type":\n'
        width = max(len(name) for name in self.lines)
        alike: dict[str, list[str]] = {}
        for name, each in self.lines.items():
            members = [_member(*item) for item in each.kinds.items()]
            members += [] if each.rest is None else [each.rest]
            alike.setdefault(", ".join(members), []).append(name)
        for shown, (*before, name) in alike.items():
            if before:
                text += f"  {', '.join(before)},\n"
            text += textwrap.fill(
                shown,
                _WIDTH - 1,
                initial_indent=f"  {name:{width}}  ",
                subsequent_indent=" " * (width + 4),
                break_long_words=False,
                break_on_hyphens=False,
            )
            text += "\n"
        return text


class ReportCommand(click.Command):
    """A command whose ``--help`` ends with the lines of its output and other paragraphs."""

    def __init__(self, *args: Any, output: Output, **settings: Any) -> None:
        """Make a command.

        Args:
            output: its lines.
        """
        super().__init__(*args, **settings)
        self.output = output

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        for paragraph in self.output.help().splitlines():
            formatter.write(f"{'':{formatter.current_indent + 2}}{paragraph}\n")
        super().format_epilog(ctx, formatter)


class ReportForm(Protocol):
    """Collects the lines of a command, and is printed at its end."""

    def add(self, kind: str, content: Mapping[str, Any]) -> None:
        """Add a line of JSON by its type."""

    def text(self, summary: Mapping[str, Any]) -> str:
        """Return the report, given the members of the summary."""


class Reporter:
    """Prints what a command found in the form that was asked for: each method is for one form.

    Attributes:
        as_json: whether lines of JSON, or a form made of them, are printed, not text.
    """

    def __init__(self, ctx: click.Context, output_format: str) -> None:
        """Begin a report.

        Args:
            ctx: of the command.
            output_format: ``text``, ``json``, or one of the forms of the command.
        """
        self._ctx = ctx
        self._output: Output = getattr(ctx.command, "output", None) or Output()
        made = self._output.forms.get(output_format)
        self._form: ReportForm | None = None if made is None else _resolved(made)()
        self.as_json = output_format == "json" or made is not None

    def line(self, kind: str, /, *parts: Any, **members: Any) -> None:
        """Print a line of JSON from the members of some results, and further ones.

        A result that is not among the sources of the line gives the declared members that it has;
        of several things, the number where the line has an integer.
        """
        if not self.as_json:
            return
        content: dict[str, Any] = {}
        declared, picked = self._output.lines[kind], False
        for part in parts:
            if isinstance(part, Mapping) or type(part) in declared.classes:
                content |= as_json(part, declared.without)
            else:
                content |= _picked(part, declared.kinds)
                picked = True
        content |= as_json(members)
        if picked:
            content = {name: content[name] for name in declared.kinds if name in content}
        self._print(kind, content)

    def lines(
        self, kind: str, results: Iterable[Any], /, *parts: Mapping[str, Any], **members: Any
    ) -> None:
        """Print a line of JSON for each of many results, between what all lines have; see ``line``.

        The results have all members that the lines lack.
        """
        if not self.as_json:
            return
        before: dict[str, Any] = {}
        for part in parts:
            before |= as_json(part)
        after = as_json(members)
        for result in results:
            self._print(kind, before | as_json(result) | after)

    def rows(self, kind: str, table: Any, *parts: Mapping[str, Any]) -> None:
        """Print a line of JSON for each row of an Arrow table, after members of other results."""
        head: dict[str, Any] = {}
        for part in parts:
            head |= as_json(part)
        for row in rows_of(table) if self.as_json else ():
            self._print(kind, head | row)

    def say(self, text: str | Text = "") -> None:
        """Print a line of text, or nothing in JSON."""
        if self.as_json:
            return
        if isinstance(text, str):
            say(text)
        else:
            console = stdout_console()
            console.print(text)

    def table(
        self,
        columns: Mapping[str, TableColumn],
        rows: Sequence[T],
        matters: Callable[[T], bool] | None = None,
        **options: Any,
    ) -> None:
        """Print a table as text; see ``print_table``."""
        if not self.as_json:
            print_table(columns, rows, matters, **options)

    def assume(self, assumptions: Iterable[Assumption], *parts: Mapping[str, Any]) -> None:
        """Print what an answer depends on, in JSON where the command has lines for it."""
        for item in assumptions:
            self.say(str(item))
            if "assumption" in self._output.lines:
                self.line("assumption", *parts, item)

    def _print(self, kind: str, content: dict[str, Any]) -> None:
        if content.keys() >= _RANGE and content.get("offsets") is None:
            first, last = content["first_offset"], content["last_offset"]
            content["offsets"] = as_json(OffsetRange.through(first, last))
        if self._form is None:
            print_json(kind, content)
        else:
            self._form.add(kind, content)

    def finish(
        self,
        counts: Counts,
        text: str = "",
        also: Callable[[Mapping[str, Any]], None] | None = None,
        **members: Any,
    ) -> NoReturn:
        """Print the summary, and exit with the code of the counts.

        Args:
            counts: what was read and found.
            text: the summary for people.
            also: takes the members of the summary, too.
            members: further members of the summary in JSON; null where one is not given.
        """
        head = {"command": _words(self._ctx), "exit_code": counts.exit_code}
        own = dict.fromkeys(self._output.lines["summary"].members or ()) | as_json(members)
        summary = head | counts.summary | own
        if self._form is not None:
            for text_line in self._form.text(summary).split("\n"):
                say(text_line)
        elif self.as_json:
            print_json("summary", summary)
        elif text:
            note(text)
        if also is not None:
            also(summary)
        self._ctx.exit(counts.exit_code)


def _words(ctx: click.Context) -> str:
    """Return the command as it is called: ``spark verify``."""
    name = ctx.command.name or ""
    above = ctx.parent
    return f"{_words(above)} {name}".strip() if above is not None and above.parent else name


def rows_of(table: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of an Arrow table."""
    for batch in table.to_batches(max_chunksize=_AT_ONCE):
        yield from batch.to_pylist()


def _picked(item: Any, members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that a result has."""
    found = {name: getattr(item, name) for name in members if hasattr(item, name)}
    return {
        name: len(value) if members[name] is int and hasattr(value, "__len__") else as_json(value)
        for name, value in found.items()
    }


def _resolved(source: Any) -> Any:
    """Import what a text ``module:name`` names."""
    if not isinstance(source, str):
        return source
    module, _, name = source.partition(":")
    return getattr(import_module(module), name)


def types_of(source: Any) -> dict[str, Any]:
    """Return the members of a dataclass, a typed dictionary or an Arrow schema, and their types.

    Members that need not be there are ``NotRequired``.
    """
    if is_typeddict(source):
        return get_type_hints(source, include_extras=True)
    if isinstance(source, Mapping):
        return dict(source)
    if isinstance(source, type):
        return member_types(source)
    return {each.name: _of_arrow(each) for each in source}  # an Arrow schema


def _of_arrow(column: Any) -> Any:
    """Return the type in Python of a column; any string may be null."""
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_boolean(kind):
        return bool | None
    if types.is_integer(kind):
        return int | None
    if types.is_list(kind):
        return list[Any] | None
    if types.is_string(kind):
        return str | None
    return float | None if types.is_floating(kind) else Any


def words_of(kind: Any) -> list[str]:
    """Return the words that a member can be, none if it can be anything."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [str(item.value) for item in kind]
    if get_origin(kind) is Literal:
        return [str(item) for item in get_args(kind)]
    return [word for part in get_args(kind) for word in words_of(part)]


def _member(name: str, kind: Any) -> str:
    words = words_of(kind)
    return f"{name} ({', '.join(words)})" if words else name
