"""Find the rules of a release's brokers that the table of profiles does not have yet.

The golden partitions of the release are written again, and its loader is asked about logs, under
the rules of the release before. Where both agree, the rules hold. Where not, each change of one
rule is tried; what makes all agree becomes a row of ``kafkaspec/broker/profiles.py``.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from kafkaspec.broker import profiles
from kafkaspec.broker.profiles import PROFILES, Profile
from kafkaspec.codecs import get_codec
from kafkaspec.dumplog import options
from kafkaspec.files.names import PARTITION_METADATA, TRANSACTION_INDEX
from kafkaspec.files.snapshots import ABORTED_TRANSACTION, TransactionIndex
from kafkaspec.release import minor_of, parse_release, release_text
from tools.brokers.maven import ToolError
from tools.brokers.versions import VERSIONS, Version, by_name, newest_complete
from tools.golden import again, keep
from tools.kafka import loader

_GIVEN = ("since", "magic")
"""Not rules to be tried: the release, and what the specification says."""
_UNKNOWN_VERSION = 1
"""A version of an entry in a transaction index that no broker writes."""


class UnknownRuleError(ValueError):
    """The behaviour of a broker follows from none of the rules that are known."""


class Evidence:
    """The behaviour of the brokers of a release, to be compared with what a profile says.

    Args:
        version: the release.
        work: an empty directory.

    Raises:
        ToolError: its loader cannot be asked.
    """

    def __init__(self, version: Version, work: Path) -> None:
        logs = keep.GOLDEN / version.name / keep.LOGS
        found = [path for path in sorted(logs.iterdir()) if any(path.glob("*.log"))]
        self._written = [p for p in found if again.is_written_once(p) and again.is_modern(p)]
        self._out = work / "ours"
        self._loads: list[tuple[Path, int, bool, loader.Answer]] = []
        if version.release >= loader.SINCE:
            self._ask(version, work)

    def _ask(self, version: Version, work: Path) -> None:
        for number, path in enumerate(self._written):
            interval = again.index_interval(path)
            for which, files in enumerate(_damaged(path)):
                directory = work / f"{number}-{which}" / path.name
                directory.mkdir(parents=True)
                for name, data in files.items():
                    (directory / name).write_bytes(data)
                stops = [(files, clean) for clean in (True, False)]
                for (_, clean), loaded in zip(
                    stops, loader.load(version, work, interval, stops), strict=True
                ):
                    theirs = loader.answer(loaded, files)
                    self._loads.append((directory, interval, clean, theirs))

    def against(self, profile: Profile) -> Iterator[str]:
        """Yield what differs from what a profile says."""
        for path in self._written:
            with tempfile.TemporaryDirectory(dir=self._out.parent) as name:
                ours = Path(name) / path.name
                again.write(path, ours, profile)
                yield from (f"{path.name}/{file}" for file in again.differences(path, ours))
        for directory, interval, clean, theirs in self._loads:
            mine = loader.predict(directory, profile, interval, clean=clean)
            if mine != theirs:
                stop = "a clean stop" if clean else "a crash"
                yield f"{directory.name} after {stop}: {theirs.outcome}, not {mine.outcome}"


def _damaged(path: Path) -> Iterator[dict[str, bytes]]:
    """Yield the files of a partition with a transaction index, and with another version in it."""
    files = {file.name: file.read_bytes() for file in sorted(path.iterdir())}
    files.pop(PARTITION_METADATA, None)
    for name in files:
        if name.endswith(TRANSACTION_INDEX):
            yield files
            entries = TransactionIndex(path / name).entries
            entries[0].version = _UNKNOWN_VERSION
            codec = get_codec()
            data = b"".join(codec.serialize(ABORTED_TRANSACTION, entry) for entry in entries)
            yield files | {name: data}


def changed(before: Profile, evidence: Evidence) -> dict[str, Any]:
    """Return the rule that a release changed, {} for none.

    Raises:
        UnknownRuleError: no change of one rule explains what its brokers did, or several do.
    """
    different = list(evidence.against(before))
    if not different:
        return {}
    found = [
        {name: value}
        for name, value in _alternatives(before)
        if not any(evidence.against(replace(before, **{name: value})))
    ]
    if len(found) != 1:
        said = f"several rules explain it: {found}" if found else "no known rule explains it"
        raise UnknownRuleError(f"{said}:\n" + "\n".join(different))
    return found[0]


def _alternatives(profile: Profile) -> Iterator[tuple[str, Any]]:
    for rule in fields(Profile):
        value = getattr(profile, rule.name)
        if rule.name in _GIVEN:
            continue
        others = [not value] if isinstance(value, bool) else [*type(cast("StrEnum", value))]
        yield from ((rule.name, other) for other in others if other != value)


def add(release: str, rules: dict[str, Any]) -> None:
    """Add a row to the table of profiles, and name the release in the code."""
    path = Path(profiles.__file__)
    text = path.read_text(encoding="utf-8")
    if rules:
        given = ", ".join(f"{name}={_code(value)}" for name, value in rules.items())
        end = "    return tuple(rows)\n"
        text = text.replace(end, f'    since("{release}", {given})\n{end}', 1)
    newest = release_text(max(minor_of(release), parse_release(profiles.NEWEST)))
    complete = minor_of(newest_complete().name)
    text = set_constant(text, "NEWEST: Final", f'"{newest}"')
    text = set_constant(text, "DEFAULT_PROFILE: Final", f'"{release_text(complete)}"')
    path.write_text(text, encoding="utf-8")
    path = Path(options.__file__)
    dumped = minor_of([each for each in VERSIONS if not each.dumped_by][-1].name)
    text = set_constant(path.read_text(encoding="utf-8"), "NEWEST: Final[Release]", repr(dumped))
    path.write_text(text, encoding="utf-8")


def set_constant(text: str, name: str, value: str) -> str:
    """Return code in which a constant at the start of a line has this value.

    Raises:
        ToolError: there is no such line, or more than one.
    """
    line = rf"^({re.escape(name)} = ).*$"
    made, count = re.subn(line, rf"\g<1>{value}", text, flags=re.MULTILINE)
    if count != 1:
        raise ToolError(f"{count} lines begin with {name} = ; there has to be one")
    return made


def _code(value: object) -> str:
    return f"{type(value).__name__}.{value.name}" if isinstance(value, StrEnum) else repr(value)


def main(release: str) -> None:
    """Find and add the rules of a release.

    Raises:
        SystemExit: they are not known.
    """
    try:
        with tempfile.TemporaryDirectory() as work:
            before = next(
                row
                for row in reversed(PROFILES)
                if parse_release(row.since) < parse_release(release)
            )
            evidence = Evidence(by_name(release), Path(work))
            rules = changed(before, evidence)
    except (KeyError, ToolError, UnknownRuleError) as error:
        sys.exit(str(error.args[0]))
    if not any(row.since == release for row in PROFILES):
        add(release, rules)
    shown = ", ".join(f"{name} is {value}" for name, value in rules.items())
    print(f"{release}: {shown or f'the rules of {before.since}'}")


if __name__ == "__main__":
    main(sys.argv[1])
