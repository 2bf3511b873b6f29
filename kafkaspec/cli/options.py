"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from kafkaspec.codecs import DEFAULT_CODEC, codec_names, get_codec
from kafkaspec.errors import KafkaSpecError
from kafkaspec.io.local import unmapped
from kafkaspec.io.remote import as_path
from kafkaspec.shown import without_credentials
from kafkaspec.writing.profiles import DEFAULT_PROFILE

if TYPE_CHECKING:
    _Name = click.ParamType[str]
    _Milliseconds = click.ParamType[int]
else:  # not subscriptable before click 8.4
    _Name = _Milliseconds = click.ParamType

_EPOCH = datetime(1970, 1, 1)  # in UTC

Command = TypeVar("Command", bound=Callable[..., Any])


format_option: Final = click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text, or JSON lines: one object per line.",
)


def output_option(text: str) -> Callable[[Command], Command]:
    """Add ``-o OUT``, a required directory."""
    kind = click.Path(path_type=Path, file_okay=False)
    return click.option("-o", "--output", type=kind, required=True, metavar="OUT", help=text)


def profile_option(text: str) -> Callable[[Command], Command]:
    """Add ``--profile VERSION``, a version of Kafka."""
    return click.option(
        "--profile", default=DEFAULT_PROFILE, show_default=True, metavar="VERSION", help=text
    )


def crc_option(text: str) -> Callable[[Command], Command]:
    """Add ``--crc error | ignore``."""
    kind = click.Choice(["error", "ignore"])
    return click.option("--crc", type=kind, default="error", show_default=True, help=text)


max_output_option: Final = click.option(
    "--max-output",
    type=click.IntRange(min=1),
    metavar="BYTES",
    help="Maximum number of bytes that one batch may decompress to.",
)


no_mmap_option: Final = click.option(
    "--no-mmap",
    is_flag=True,
    expose_value=False,
    callback=lambda ctx, _, value: ctx.with_resource(unmapped()) if value else None,
    help="Read files and never map them into memory: slower, but safe if one becomes shorter.",
)


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
            if self._urls:
                return as_path(value)
            text = f"{without_credentials(os.fspath(value))} is a URL; only dump, find and export "
            self.fail(f"{text}read URLs. Copy the files first", param, ctx)
        return super().convert(value, param, ctx)


class CodecName(_Name):
    """Parameter type: name of an installed codec."""

    name = "codec"

    def __init__(self, *also: str) -> None:
        self._also = also

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "[" + "|".join((*codec_names(), *self._also)) + "]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in self._also:
            return str(value)
        try:
            get_codec(value)
        except (ValueError, ImportError) as error:
            self.fail(str(error), param, ctx)
        return str(value)


def codec_option(
    *also: str, text: str = "Codec that reads the data."
) -> Callable[[Command], Command]:
    """Add ``--codec NAME``; ``also`` are further names that the command accepts."""
    kind = CodecName(*also)
    return click.option("--codec", type=kind, default=DEFAULT_CODEC, show_default=True, help=text)


class Timestamp(_Milliseconds):
    """Parameter type: milliseconds since the Unix epoch, or a date and time of ISO 8601."""

    name = "timestamp"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return int(value)
        except ValueError:
            pass
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            self.fail(
                f"{value!r} is neither milliseconds since 1970 nor a time of ISO 8601, "
                "such as 2026-11-21T08:30:00Z",
                param,
                ctx,
            )
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        # In integers: a float of seconds cannot hold every millisecond.
        since = moment - _EPOCH
        return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


def iso(timestamp: int | None) -> str:
    """Return milliseconds since the Unix epoch as ISO 8601 in UTC, ``-`` for none.

    A time outside the range of Python's calendar stays a number.
    """
    if timestamp is None or timestamp == -1:
        return "-"
    try:
        return f"{(_EPOCH + timedelta(milliseconds=timestamp)).isoformat('T', 'milliseconds')}Z"
    except OverflowError:
        return str(timestamp)


paths_argument: Final = click.argument(
    "paths", metavar="PATH...", nargs=-1, required=True, type=LogPath()
)
paths_or_urls_argument: Final = click.argument(
    "paths", metavar="PATH...", nargs=-1, required=True, type=LogPath(urls=True)
)
