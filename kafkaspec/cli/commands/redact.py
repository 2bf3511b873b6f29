"""``kafkaspec redact``: erase or hash keys, values and headers, and leave the rest of a log."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import click

from kafkaspec.cli.checkpoints import CHECKPOINT, report_carried
from kafkaspec.cli.command import command, option
from kafkaspec.cli.commands.find_key import wanted_keys
from kafkaspec.cli.console import count_text, note, warn
from kafkaspec.cli.exits import CLEAN, FINDINGS
from kafkaspec.cli.options import Paths, on_error_option, output_option, wrong_usage
from kafkaspec.cli.report import Output, Reporter, Tally, line
from kafkaspec.codecs import get_codec
from kafkaspec.columns.keys import KeyTest
from kafkaspec.errors import KafkaSpecError, Reason
from kafkaspec.forensics.redaction.choices import Changes, Chosen, Part, PartMatch, Way
from kafkaspec.forensics.redaction.running import RedactedEntry, RedactedPartition, redact
from kafkaspec.shown import size_text

_RANGE: Final = re.compile(r"(\d{1,19})(?:-(\d{1,19}))?")
_SHAPE: Final = {Part.KEY: Way.HASH, Part.VALUE: Way.FILL, Part.HEADERS: Way.FILL}
"""The changes of ``--all-values``: no content is left, and equal keys stay equal."""
_MOST_COPIES: Final = 10

OUTPUT = Output(
    redacted=line(
        file=str,
        position=int,
        new_size=int,
        new_crc=int,
        offset=int,
        part=Part,
        header=str | None,
        number=int,
        new_field_size=int | None,
        hash=str | None,
    ),
    partition=line(RedactedPartition, without=("errors",)),
    checkpoint=CHECKPOINT,
    summary={"partitions": int, "records": int, "failed": dict[str, str], "internal": list[str]},
)
_EPILOG = """
"redacted" lines are about the new entry and its new field; the hash is null without
--secret, and where there is none.

Examples:
  kafkaspec redact --key user-42 /var/kafka/orders-0 -o /tmp/redacted/orders-0
  kafkaspec redact --all-values /var/kafka -o /tmp/for-the-ticket

Records are chosen by --key, --range, --match or --all-values; one of them is
enough. --match PART=REGEX searches the bytes of key, value, headers or
header:NAME, for example --match value=alice@example.com.

--way is what takes the place of the bytes. fill: as many x. hash: the 32 bytes of
a keyed hash; --secret gives the same ones in another run. empty: no bytes. null:
a tombstone, after which a cleaner removes the key. Null stays null. Compaction,
partitioning and joins treat a changed key as a different key. Unequal keys stay
unequal, or nothing is written.

OUT has the partition, or for a log directory and for several PATHs a directory
for each, and the checkpoints that hold. Of a partition alone, what is below its
log start offset is cut. Where no size changed, indexes are copied; otherwise
they are new.
Kafka's own topics are left out of a log directory. Copies elsewhere are yours
to find: other replicas, remote storage, backups, deleted segments.

Exit codes: 0 done, 1 no record was chosen, or something could not be read and is
left out, 2 wrong usage, or nothing is written.
"""


def _ranges(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[range, ...]:
    found = []
    for value in values:
        match = _RANGE.fullmatch(value)
        if match is None:
            raise click.BadParameter(f"{value!r} is neither an offset nor a range A-B")
        first = int(match[1])
        found.append(range(first, int(match[2] or first) + 1))
    return tuple(found)


def _matches(
    _: click.Context, __: click.Parameter, values: tuple[str, ...]
) -> tuple[PartMatch, ...]:
    found = []
    for value in values:
        name, equals, text = value.partition("=")
        part, colon, header = name.partition(":")
        part = Part.HEADERS if part == "header" else part
        if not equals or part not in set(Part) or (colon and part != Part.HEADERS):
            raise click.BadParameter(f"{value!r} is not PART=REGEX")
        try:
            pattern = re.compile(text.encode("utf-8", "surrogateescape"))
        except re.error as error:
            raise click.BadParameter(f"{text!r} is not a regular expression: {error}") from None
        found.append(PartMatch(Part(part), pattern, header if colon else None))
    return tuple(found)


def _parts(_: click.Context, __: click.Parameter, value: str | None) -> tuple[Part, ...] | None:
    if value is None:
        return None
    given = [name.strip() for name in value.split(",")]
    if not set(given) <= set(Part):
        raise click.BadParameter(f"there are {', '.join(Part)}")
    return tuple(Part(name) for name in given)


@command(OUTPUT, _EPILOG)
def redact_command(
    report: Reporter,
    *,
    paths: Paths,
    output: Annotated[
        Path, output_option("New directory for the partition, or for all partitions.")
    ],
    keys: tuple[str, ...] = option("--key", "Records with this key.", metavar="KEY"),
    ranges: tuple[range, ...] = option(
        "--range",
        "Records at these offsets.",
        former="--offsets",
        multiple=True,
        callback=_ranges,
        metavar="A-B",
    ),
    matches: tuple[PartMatch, ...] = option(
        "--match",
        "Records that match.",
        former="--where",
        multiple=True,
        callback=_matches,
        metavar="PART=REGEX",
    ),
    every: bool = option(
        "--all-values",
        "All records: the same log without its content. Keys are hashed, values and headers "
        "filled, unless --parts or --way says otherwise.",
    ),
    parts: tuple[Part, ...] | None = option(
        "What to redact: key, value, headers.  [default: value]", callback=_parts, metavar="A,B,..."
    ),
    headers: tuple[str, ...] = option("--header", "Only headers with this key.", metavar="NAME"),
    way: str | None = option(
        "What takes its place.  [default: fill]", type=click.Choice([way.value for way in Way])
    ),
    secret: Path | None = option(
        "File with the secret of the hashes, at least 16 bytes; by default a new one, which is "
        "not kept.",
        type=click.Path(path_type=Path, dir_okay=False, exists=True),
        metavar="FILE",
    ),
    on_error: Annotated[str, on_error_option("raise")],
) -> None:
    """Erase or hash keys, values or headers of records, and leave the rest of the log as it is.

    A PATH is a partition directory or a log directory. Offsets, timestamps, transactions and sizes,
    where --way keeps them, stay. Nothing under PATH is changed.
    """
    if not (keys or ranges or matches or every):
        raise click.UsageError("choose records: --key, --range, --match or --all-values")
    if headers and parts is None:
        parts = (Part.HEADERS,)
    ways = dict(_SHAPE) if every and parts is None and way is None else {}
    if not ways:
        ways = {part: Way(way or Way.FILL) for part in parts or (Part.VALUE,)}
    if headers and Part.HEADERS not in ways:
        raise click.UsageError("--header goes with --parts headers")
    if ways.get(Part.KEY) is Way.NULL:
        raise click.UsageError("--way null is not for keys: no cleaner keeps records without one")
    chosen = Chosen(_keys(keys), ranges, matches, every)
    names = frozenset(headers) or None
    with wrong_usage(ValueError):
        changes = Changes(ways, names, None if secret is None else secret.read_bytes())
    result = redact(
        paths,
        output,
        chosen,
        changes,
        audit=(lambda entry: _report_entry(report, entry)) if report.as_json else None,
        on_error="raise" if on_error == "raise" else lambda error: warn(_place_of(error)),
    )
    for place, error in result.failed.items():
        warn(f"not redacted: {error.at(place)}")
    for item in result.partitions:
        for error in item.errors:
            if error.reason is Reason.UNREADABLE:  # others were shown when they were met
                warn(f"left out: {error}")
    for place in result.internal:
        note(f"{place}: left out, it is Kafka's own")
    for item in result.partitions:
        report.line("partition", item)
        _say(report.say, item)
    report_carried(result.checkpoints, report)
    if not report.as_json:
        if Part.KEY in ways and result.records:
            note("keys changed: compaction, partitioning and joins see others")
        if ways.get(Part.VALUE) is Way.NULL and result.records:
            note("null values are tombstones: on a compacted topic the cleaner removes their keys")
        note("copies in other replicas, remote storage and backups are not changed")
    tally = Tally(
        CLEAN if result.is_whole and result.records else FINDINGS,
        logs=len(result.partitions),
        unreadable=len(result.failed),
        undecoded=sum(len(item.errors) for item in result.partitions),
    )
    report.finish(
        tally,
        partitions=len(result.partitions),
        records=result.records,
        failed={place: str(error.at(place)) for place, error in result.failed.items()},
        internal=result.internal,
    )


def _place_of(error: KafkaSpecError) -> str:
    """Return where an entry is broken and why, without a checksum or anything else of it."""
    place = "" if error.position is None else f" at byte {error.position}"
    return f"{error.file}{place}: left out, it cannot be read [{error.reason}]"


def _keys(texts: tuple[str, ...]) -> frozenset[bytes]:
    found: set[bytes] = set()
    for text in texts:
        keys = wanted_keys(text, None, get_codec())
        assert not isinstance(keys, KeyTest)
        found.update(keys)
    return frozenset(found)


def _report_entry(report: Reporter, entry: RedactedEntry) -> None:
    for item in entry.fields:
        own = {
            "new_size": entry.new_size,
            "new_field_size": item.new_size,
            "hash": None if item.proof is None else item.proof.hex(),
        }
        report.line("redacted", entry, item, own)


def _say(say: Callable[[str], None], item: RedactedPartition) -> None:
    records = count_text(item.records, "record")
    entries = f"{item.redacted_entries:,} of {count_text(item.entries, 'entry', 'entries')}"
    say(f"{item.source} to {item.target}: {records} redacted, in {entries}")
    if item.resized:
        say(f"  indexes are new: {', '.join(item.resized)}")
    if item.deleted:
        cut = count_text(item.deleted, "entry", "entries")
        say(f"  cut: {cut}, at least in part, below the log start offset")
    if item.left_out:
        say(f"  left out: {size_text(item.left_out)} that cannot be read")
    for path in item.copies[:_MOST_COPIES]:
        say(f"  may hold the same records: {path}")
    if len(item.copies) > _MOST_COPIES:
        say(f"  and {len(item.copies) - _MOST_COPIES:,} more")
