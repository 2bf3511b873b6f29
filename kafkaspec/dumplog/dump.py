"""Dump files as the tool does: the lines of each, and the reports after all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kafkaspec.codecs import Codec, get_codec
from kafkaspec.dumplog.families import family_of
from kafkaspec.dumplog.indexes import IndexLines, aborted_lines, snapshot_lines
from kafkaspec.dumplog.logs import LogLines, OffsetGaps, Reports, head_of, tail_line
from kafkaspec.dumplog.options import NEWEST, DumpOptions, OnFinding
from kafkaspec.dumplog.usual_lines import has_columns, read_lines
from kafkaspec.errors import KafkaSpecError
from kafkaspec.files import names
from kafkaspec.log.segment import Segment
from kafkaspec.model import Buffer
from kafkaspec.release import Release


class Dump:
    """The dump tool of a release.

    Args:
        said: takes lines that the tool prints on stderr meanwhile.
    """

    def __init__(
        self,
        release: Release = NEWEST,
        options: DumpOptions = DumpOptions(),  # noqa: B008  (frozen)
        *,
        found: OnFinding,
        said: OnFinding,
        codec: Codec | str | None = None,
        jobs: int = 1,
    ) -> None:
        self._family = family_of(release)
        self._options = options
        self._found = found
        self._said = said
        self._codec = codec if isinstance(codec, Codec) else get_codec(codec)
        self._jobs = jobs
        self._reports = Reports(self._family)

    def lines(self, path: Path) -> Iterator[str | Buffer]:
        """Yield the lines about a file, any number of them as bytes.

        Raises:
            KafkaSpecError: the file cannot be read, or not to its end; lines before that are
                yielded.
        """
        family, suffix = self._family, f".{path.name.rpartition('.')[2]}"
        if suffix in family.suffixes or family.reports_unknown:
            yield f"Dumping {path}\n"
        if suffix not in family.suffixes:
            if family.reports_unknown:
                self._said(f"Ignoring unknown file {path}")
            else:
                self._found(f"{path}: the tool of this release does not report such files")
            return
        name = str(path.absolute()) if family.whole_path else path.name
        indexes = IndexLines(family, self._options, self._codec, self._reports, self._found)
        if suffix in (names.LOG, names.CHECKPOINT):
            yield from self._log(path, name)
        elif suffix == names.OFFSET_INDEX:
            yield from indexes.offsets(path, str(path), name)
        elif suffix == names.TIME_INDEX:
            yield from indexes.times(path, str(path), name)
        elif suffix == names.PRODUCER_SNAPSHOT:
            yield from snapshot_lines(family, path, self._codec)
        else:
            yield from aborted_lines(path, self._codec, self._found)

    def reports(self) -> Iterator[str]:
        """Yield the lines about what does not fit together, without line ends."""
        return self._reports.lines()

    def _log(self, path: Path, name: str) -> Iterator[str | Buffer]:
        yield head_of(self._family, path) + "\n"
        gaps = OffsetGaps(self._family, name, self._reports.gaps)
        with (
            Segment(path, codec=self._codec, crc="ignore") as log,
            Segment(path, codec=self._codec) as strict,
        ):
            lines = LogLines(self._family, self._options, log, strict, gaps, self._found)
            if has_columns(self._family, self._options, log):
                yield from self._by_columns(log, strict, gaps, lines)
                tail = strict.tail
            else:
                yield from self._by_records(log, lines)
                tail = log.tail
            if tail is not None:
                yield tail_line(self._family, self._options, path, tail, self._found)

    def _by_columns(
        self, log: Segment, strict: Segment, gaps: OffsetGaps, lines: LogLines
    ) -> Iterator[str | Buffer]:
        for part in read_lines(self._family, self._options, strict, self._jobs):
            if isinstance(part, list):
                for run in part:
                    gaps.run(*run)
            elif isinstance(part, memoryview):
                yield part
            elif isinstance(part, KafkaSpecError):
                raise part
            else:
                yield from lines.of(log.batch_at(part if isinstance(part, int) else part.position))

    def _by_records(self, log: Segment, lines: LogLines) -> Iterator[str]:
        most = self._options.max_bytes
        for item in log.scan():
            if isinstance(item, KafkaSpecError):
                raise item
            if most is not None and item.end > most:
                return
            yield from lines.of(item)
