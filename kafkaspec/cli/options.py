"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar, get_args

import click

from kafkaspec.cli.console import note
from kafkaspec.codecs import DEFAULT_CODEC, codec_names, get_codec
from kafkaspec.compression import bounded
from kafkaspec.conversion.options import ChoiceOptions
from kafkaspec.errors import KafkaSpecError
from kafkaspec.io.local import unmapped
from kafkaspec.io.remote import TIERED, as_path
from kafkaspec.jobs import cores
from kafkaspec.log.formats import FORMATS, FormatName
from kafkaspec.log.options import (
    LOG_START,
    FindOptions,
    LogStart,
    ProfileOptions,
    SchemaOptions,
    SegmentOptions,
    ShapeOptions,
)
from kafkaspec.options import FORMER_WORDS, options_of, words_of
from kafkaspec.policy import RaiseOrSkip
from kafkaspec.provider import require_pyarrow
from kafkaspec.release import parse_release
from kafkaspec.shown import without_credentials
from kafkaspec.times import milliseconds

if TYPE_CHECKING:
    from kafkaspec.arrow.where.condition import Where

    _Name = click.ParamType[str]
    _Milliseconds = click.ParamType[int]
    _WordsOrNumber = click.ParamType[str | int]
else:  # not subscriptable before click 8.4
    _Name = _Milliseconds = _WordsOrNumber = click.ParamType


Command = TypeVar("Command", bound=Callable[..., Any])


class FormerName(click.Option):
    """Hidden option: the former name of another option of the command.

    It works until the next minor version, and each use prints what the name is now.
    """

    def __init__(self, names: Sequence[str], *, now: str, **settings: Any) -> None:
        super().__init__(names, hidden=True, is_eager=True, expose_value=False, **settings)
        self._now = now

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        (old,) = self.opts
        (new,) = (option for option in ctx.command.params if self._now in option.opts)
        if self.name in opts:
            if new.name in opts:
                raise click.UsageError(f"{old} is the former name of {self._now}: give one of them")
            note(f"{old} is now {self._now}; the old name works until the next minor version")
            # The new option is processed later, as if it had been given.
            opts.update({new.name: opts[self.name]})  # type: ignore[attr-defined]
        return None, args


def renamed_option(*names: str, old: str, **settings: Any) -> Callable[[Command], Command]:
    """Add an option as ``click.option`` does, and its former name."""
    now = next(name for name in names if name.startswith("--"))
    kind = {name: settings[name] for name in ("multiple", "is_flag", "nargs") if name in settings}
    former = click.option(old, f"former_{old.strip('-')}", cls=FormerName, now=now, **kind)
    option = click.option(*names, **settings)
    return lambda command: option(former(command))


class Words(click.Choice):  # type: ignore[type-arg]  # takes none before click 8.2
    """Parameter type: one of the words of an option of the library, or a former one."""

    def __init__(self, kind: object) -> None:
        super().__init__(words_of(kind))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        now = FORMER_WORDS.get(param.name or "", {}).get(value) if param is not None else None
        if now in self.choices and value not in self.choices:
            note(f"{value} is now {now}; the old word works until the next minor version")
            value = now
        return super().convert(value, param, ctx)


def is_given(ctx: click.Context, name: str) -> bool:
    """Return whether the command line has an option, by the name of its parameter."""
    return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def format_option_with(forms: Iterable[str] = ()) -> Callable[[Command], Command]:
    """Add ``--format`` as ``output_format``, with further words for forms of other programs."""
    return click.option(
        "--format",
        "output_format",
        type=click.Choice(["text", "json", *forms]),
        default="text",
        show_default=True,
        help="Text, or JSON lines: one object per line.",
    )


format_option: Final = format_option_with()


def output_option(text: str) -> Callable[[Command], Command]:
    """Add ``-o OUT``, a required directory."""
    kind = click.Path(path_type=Path, file_okay=False)
    return click.option("-o", "--output", type=kind, required=True, metavar="OUT", help=text)


class Parsed(_Name):
    """Parameter type: what a function of the library makes of a text, or says about it."""

    name = "text"

    def __init__(self, parse: Callable[[str], Any]) -> None:
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Timestamp(_Milliseconds):
    """Parameter type: milliseconds since the Unix epoch, or a date and time of ISO 8601."""

    name = "timestamp"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return milliseconds(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class WordsOrNumber(_WordsOrNumber):
    """Parameter type: one of the words of an option of the library, or a whole number."""

    name = "words"

    def __init__(self, kind: object) -> None:
        self._words = words_of(kind)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return f"[{'|'.join(self._words)}|N]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | int:
        try:
            return str(value) if value in self._words else int(value)
        except ValueError:
            self.fail(f"{value!r} is neither {', '.join(self._words)} nor a number", param, ctx)


def library_option(
    name: str,
    *,
    of: type | None = None,
    into: str = "",
    kind: Any = None,
    former: str = "",
    **settings: Any,
) -> Callable[[Command], Command]:
    """Add an option of the library; name, type and help are those that it has there.

    Args:
        name: its name in Python; the command gets it by this name.
        of: the typed dictionary that defines it, if it is not the one of reading.
        into: another name by which the command gets it.
        kind: its type, if the command takes fewer words.
        former: the name that it had in the command.
        settings: of ``click.option``, if the command differs.
    """
    defined, said = LIBRARY[name] if of is None else options_of(of)[name]
    kind = defined if kind is None else kind
    parts = set(get_args(kind)) or {kind}
    chosen: dict[str, Any] = {"help": said.text}
    if words_of(kind):
        chosen["type"] = WordsOrNumber(kind) if int in parts else Words(kind)
    elif datetime in parts:
        chosen |= {"type": Timestamp(), "metavar": "T"}
    elif bool in parts:
        chosen["is_flag"] = True
    elif int in parts:
        chosen |= {"type": int, "metavar": "N"}
    if "default" in settings:
        chosen["show_default"] = True
    names = (said.command, into or name)
    if former:
        return renamed_option(*names, old=former, **chosen | settings)
    return click.option(*names, **chosen | settings)


_READING: Final = options_of(SegmentOptions) | options_of(SchemaOptions) | options_of(ShapeOptions)
_FURTHER: Final = options_of(FindOptions) | options_of(ChoiceOptions) | options_of(ProfileOptions)
LIBRARY: Final = _READING | _FURTHER | _READING
"""The options of reading and writing in Python, by name; those of reading count first."""


def crc_option(text: str) -> Callable[[Command], Command]:
    """Add ``--crc``, what happens with a wrong checksum."""
    return library_option("crc", default="raise", help=text)


def on_error_option(default: RaiseOrSkip) -> Callable[[Command], Command]:
    """Add ``--on-error``, what happens with a batch that cannot be read."""
    return library_option("on_error", kind=RaiseOrSkip, default=default)


log_start_option: Final = library_option("log_start", default=LOG_START)
state_until_offset_option: Final = library_option("end_offset", former="--at")
"""``--until-offset N`` of a state, which is that before this offset."""


def packed(
    name: str, options: dict[str, Callable[[Any], Any]], make: Callable[..., Any] = dict
) -> Callable[[Command], Command]:
    """Add options that a command gets as one argument.

    Args:
        name: of the argument.
        options: what adds each, by the name that it has.
        make: makes the argument of them.
    """

    def add(command: Command) -> Command:
        @wraps(command)
        def call(*arguments: Any, **values: Any) -> Any:
            made = make(**{option: values.pop(option) for option in options})
            return command(*arguments, **{name: made}, **values)

        made: Any = call
        for option in reversed(options.values()):
            made = option(made)
        return made  # type: ignore[no-any-return]

    return add


def selection_options(*, on_error: RaiseOrSkip) -> Callable[[Command], Command]:
    """Add the options that choose records; the command gets them as ``selection``, a mapping.

    Its keys are the names of the library; ``on_error`` is ``raise`` or ``skip``.
    """
    options = {
        **{name: library_option(name) for name in _BOUNDS},
        "isolation": library_option("isolation", default="read_uncommitted"),
        "log_start": log_start_option,
        "on_error": on_error_option(on_error),
    }
    return packed("selection", options)


_BOUNDS: Final = ("start_offset", "end_offset", "start_timestamp", "end_timestamp")


def condition_of(text: str | None, *, typed: bool = False) -> Where | None:
    """Return the condition of ``--where``; ``typed`` if columns of keys or values are.

    Raises:
        UsageError: it is none, or PyArrow is not installed.
    """
    if text is None:
        return None
    with wrong_usage(ImportError, ValueError):
        require_pyarrow()
        from kafkaspec.arrow.where.searching import condition

        return condition(text, typed=typed)


MISSING_EPILOG: Final = """\
What is missing is named, with offsets, file and byte, and gives exit code 1:
  offsets between two segments, where nothing shows that the log was compacted
  offsets that an index, a file of a later segment or a checkpoint of the
  broker (high watermark, recovery point) lists after the last batch
  bytes at the end of a segment that are the beginning of a batch
  a log start offset after the end of the log
Named only: gaps as compaction leaves them, zeros at the end of a log, batches
below the log start offset that --log-start leaves out, and what is not read in
a directory: copies of partitions that are being deleted or moved, folders that
are not Kafka's.
"""


_MAX_OUTPUT: Final[dict[str, Any]] = {
    "type": click.IntRange(min=1),
    "metavar": "BYTES",
    "show_default": "256 MiB",
}


no_mmap_option: Final = library_option(
    "mapped",
    expose_value=False,
    callback=lambda ctx, _, value: ctx.with_resource(unmapped()) if value else None,
    help="Read files and never map them into memory: slower, but safe if one becomes shorter.",
)


def reading_options(command: Command) -> Command:
    """Add ``--no-mmap`` and ``--max-output``, which hold for all logs that the command opens."""
    bound = library_option(
        "max_output",
        expose_value=False,
        callback=lambda ctx, _, value: value and ctx.with_resource(bounded(value)),
        **_MAX_OUTPUT,
    )
    return no_mmap_option(bound(command))


def comma_separated(_: click.Context, __: click.Parameter, value: str | None) -> list[str] | None:
    """Return the names in a value: the callback of an option."""
    return None if value is None else [name.strip() for name in value.split(",")]


@contextmanager
def wrong_usage(*kinds: type[Exception]) -> Iterator[None]:
    """Report errors of these kinds as wrong usage, unless they are about data."""
    try:
        yield
    except kinds as error:
        if isinstance(error, KafkaSpecError):
            raise
        raise click.UsageError(str(error)) from None


class LogPath(click.Path):
    """Parameter type: path of a log, or its URL if the command reads URLs."""

    def __init__(self, *, urls: bool = False) -> None:
        super().__init__(path_type=Path, readable=False)  # the library says why
        self._urls = urls

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if "://" in os.fspath(value):
            if self._urls or os.fspath(value).startswith(f"{TIERED}://"):
                return as_path(value)
            text = f"{without_credentials(os.fspath(value))} is a URL, "
            text += "which this command does not read. Copy the files first"
            self.fail(text, param, ctx)
        return super().convert(value, param, ctx)


class CodecName(_Name):
    """Parameter type: name of an installed codec; several with commas, if ``all`` may be given."""

    name = "codec"

    def __init__(self, *also: str) -> None:
        self._also = also

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "[" + "|".join((*codec_names(), *self._also)) + "]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in self._also:
            return str(value)
        try:
            for name in str(value).split(",") if "all" in self._also else [value]:
                get_codec(name)
        except (ValueError, ImportError) as error:
            self.fail(str(error), param, ctx)
        return str(value)


def codec_option(*also: str, **settings: Any) -> Callable[[Command], Command]:
    """Add ``--codec NAME``; ``also`` are further names that the command accepts."""
    return library_option("codec", type=CodecName(*also), default=DEFAULT_CODEC, **settings)


class ReleaseName(_Name):
    """Parameter type: a release of Kafka, ``4.0`` or ``4.0.2``."""

    name = "version"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            parse_release(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return str(value)


topic_option: Final = library_option("topic", metavar="TOPIC")


# Parameters of commands: an annotation with one of these adds the option.

_MANY: Final[dict[str, Any]] = {"metavar": "PATH...", "nargs": -1, "required": True}
Paths = Annotated[tuple[Path, ...], click.argument("paths", type=LogPath(), **_MANY)]
PathsOrUrls = Annotated[tuple[Path, ...], click.argument("paths", type=LogPath(urls=True), **_MANY)]
OnePath = Annotated[Path, click.argument("path", metavar="PATH", type=LogPath())]
OnePathOrUrl = Annotated[Path, click.argument("path", metavar="PATH", type=LogPath(urls=True))]
Codec = Annotated[str, codec_option()]
Decode = Annotated[
    bool,
    click.option(
        "--no-decode",
        "decode",
        is_flag=True,
        default=True,
        flag_value=False,
        help="Show the bytes of records of Kafka's own topics, not the messages in them.",
    ),
]
Jobs = Annotated[
    int,
    click.option(
        "--jobs",
        type=click.IntRange(min=1),
        default=cores,
        show_default="cores",
        metavar="N",
        help="Work on N parts of the input at the same time.",
    ),
]
LogStartOption = Annotated[LogStart, log_start_option]
LogFormat = Annotated[FormatName | None, library_option("log_format", metavar="TYPE")]
"""Any type of the specification."""
_FORMATS: Final = click.Choice([name for name in FORMATS if name is not None])
FileFormat = Annotated[
    FormatName | None,
    library_option(
        "log_format",
        metavar="TYPE",
        callback=lambda ctx, param, value: value and _FORMATS.convert(value, param, ctx),
    ),
]
"""The type of a file that ends with log entries."""
MaxOutput = Annotated[int | None, library_option("max_output", **_MAX_OUTPUT)]
Seed = Annotated[
    int,
    click.option(
        "--seed",
        type=int,
        default=0,
        show_default=True,
        help="Seed of what is random: the same one gives the same bytes.",
    ),
]
States = Annotated[
    tuple[Path, ...],
    click.option(
        "--state",
        "states",
        type=LogPath(),
        multiple=True,
        metavar="STATE",
        help="Where __transaction_state is: a log directory, a partition or a segment.",
    ),
]
TopicName = Annotated[str | None, topic_option]
WhereText = Annotated[str | None, library_option("where", metavar="EXPR")]

FILE: Final = click.Path(path_type=Path, dir_okay=False)
DIRECTORY: Final = click.Path(path_type=Path, file_okay=False)


ColumnNames = Annotated[
    list[str] | None, library_option("columns", callback=comma_separated, metavar="A,B,...")
]
