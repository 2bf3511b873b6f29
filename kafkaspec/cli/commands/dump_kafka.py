"""``dump --format kafka``: the options of Kafka's dump tool, and its text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

import click

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.cli.console import note, warn, write_lines
from kafkaspec.cli.exits import CLEAN, FINDINGS, USAGE
from kafkaspec.codecs import get_codec
from kafkaspec.dumplog.options import NEWEST, OLDEST, OPTIONS_SINCE
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.io.remote import RemotePath
from kafkaspec.model import Buffer
from kafkaspec.release import Release, parse_release, release_text

if TYPE_CHECKING:
    from kafkaspec.dumplog.options import DumpOptions

    _Release = click.ParamType[Release]
else:
    _Release = click.ParamType

KAFKA: Final = "kafka"

_FLAGS = {
    "deep-iteration": "A line for each record.",
    "print-data-log": "Keys and payloads as text; also asks for each record.",
    "skip-record-metadata": "Keys and payloads alone.",
    "index-sanity-check": "Only whether indexes pass the check of a broker that starts.",
    "verify-index-only": "Compare indexes with their logs, and do not print their entries.",
}
_DECODERS: Final = {
    "offsets-decoder": Topic.CONSUMER_OFFSETS,
    "transaction-log-decoder": Topic.TRANSACTION_STATE,
    "cluster-metadata-decoder": Topic.CLUSTER_METADATA,
    "remote-log-metadata-decoder": Topic.REMOTE_LOG_METADATA,
    "share-group-state-decoder": Topic.SHARE_GROUP_STATE,
}
"""Options, each for a topic; of several the first one counts, as in the tool."""
_FLAGS |= {option: f"Records as {topic} has them." for option, topic in _DECODERS.items()}
_REFUSED: Final = ("key-decoder-class", "value-decoder-class")
_SHARED: Final = frozenset(
    {"paths", "output", "force", "codec", "jobs", "no_mmap", "max_output", "output_format"}
)
"""Options of ``dump`` that this format takes too."""


class _ReleaseType(_Release):
    """Parameter type: a release of Kafka."""

    name = "release"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Release:
        if isinstance(value, tuple):
            return value
        try:
            release = parse_release(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if release < OLDEST:
            self.fail(f"the dump tool begins with {release_text(OLDEST)}", param, ctx)
        return release


class Asked(NamedTuple):
    """A request to Kafka's tool.

    Attributes:
        release: whose text is wanted.
        max_bytes: of ``--max-bytes``.
        flags: the options without a value that were given.
    """

    release: Release
    max_bytes: int | None
    flags: frozenset[str]

    def check(self, ctx: click.Context, output_format: str) -> None:
        """Refuse options that do not go together.

        Raises:
            click.UsageError: there are some.
        """
        given = {
            parameter.name: parameter.opts[0].removeprefix("--")
            for parameter in ctx.command.params
            if parameter.name
            and ctx.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE
        }
        ours = {_name(option) for option in (*_FLAGS, *_REFUSED, "max-bytes", "like")}
        wrong = given.keys() - _SHARED - ours if output_format == KAFKA else given.keys() & ours
        if wrong:
            option = given[min(wrong)]
            which = "is not for" if output_format == KAFKA else "is for"
            raise click.UsageError(f"--{option} {which} --format kafka")
        for option in _REFUSED:
            if _name(option) in given:
                text = "takes a class of Java, which cannot run here; without it keys and payloads"
                raise click.UsageError(f"--{option} {text} are decoded as UTF-8")
        for option, since in OPTIONS_SINCE.items():
            if _name(option) in given and self.release < since:
                text = f"the tool of {release_text(self.release)} has no --{option}"
                raise click.UsageError(f"{text}, which came with {release_text(since)}")

    def write(self, paths: Sequence[Path], out: IO[bytes], *, codec: str, jobs: int) -> int:
        """Write the text about files; return the exit code.

        Raises:
            click.UsageError: a path is a URL or a directory.
        """
        for path in paths:
            if isinstance(path, RemotePath) or path.is_dir():
                what = "a URL" if isinstance(path, RemotePath) else "a directory"
                raise click.UsageError(f"{path} is {what}; --format kafka takes files")
        from kafkaspec.dumplog.dump import Dump

        codes = [CLEAN]

        def found(text: str) -> None:
            codes.append(FINDINGS)
            warn(text)

        def said(line: str) -> None:
            codes.append(FINDINGS)
            note(line)

        dump = Dump(
            self.release, self._options(codec), found=found, said=said, codec=codec, jobs=jobs
        )

        def lines() -> Iterator[str | Buffer]:
            for path in paths:
                try:
                    yield from dump.lines(path)
                except KafkaSpecError as error:
                    warn(str(error))
                    codes.append(USAGE if error.reason is Reason.UNREADABLE else FINDINGS)

        write_lines(lines(), out)
        for line in dump.reports():
            note(line)
        return max(codes)

    def _options(self, codec: str) -> DumpOptions:
        from kafkaspec.dumplog.families import family_of
        from kafkaspec.dumplog.options import DumpOptions

        topics = [topic for option, topic in _DECODERS.items() if option in self.flags]
        parse = None
        if topics:
            from kafkaspec.dumplog.decoders import decoder_of

            parse = decoder_of(topics[0], self.release, get_codec(codec))
        content = "print-data-log" in self.flags or bool(topics)
        return DumpOptions(
            deep="deep-iteration" in self.flags
            or (content and family_of(self.release).implies_deep),
            content=content,
            parse=parse,
            skip_metadata="skip-record-metadata" in self.flags,
            max_bytes=self.max_bytes,
            sanity_only="index-sanity-check" in self.flags,
            verify_only="verify-index-only" in self.flags,
        )


def kafka_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of Kafka's tool; the command gets them as ``kafka``."""

    @wraps(command)
    def wrapped(*args: Any, like: Release, max_bytes: int | None, **given: Any) -> Any:
        flags = frozenset(option for option in _FLAGS if given.pop(_name(option)))
        for option in _REFUSED:
            del given[_name(option)]
        return command(*args, kafka=Asked(like, max_bytes, flags), **given)

    for option in reversed(_REFUSED):
        wrapped = click.option(f"--{option}", metavar="CLASS", help="Refused: needs Java.")(wrapped)
    wrapped = click.option(
        "--max-bytes",
        type=click.IntRange(min=0),
        metavar="N",
        help="Kafka: only batches that lie in the first N bytes of a log.",
    )(wrapped)
    for option, text in reversed(_FLAGS.items()):
        wrapped = click.option(f"--{option}", is_flag=True, help=f"Kafka: {text}")(wrapped)
    return click.option(
        "--like",
        type=_ReleaseType(),
        default=release_text(NEWEST),
        show_default=True,
        metavar="RELEASE",
        help="Kafka: whose text.",
    )(wrapped)


def _name(option: str) -> str:
    return option.replace("-", "_")
