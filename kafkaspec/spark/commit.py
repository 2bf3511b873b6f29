"""Commit the files of tasks by renaming all of them, or none.

Everything is checked and put together in the staging directory first. Then a plan, the list of the
renames that are left, is forced to disk, and carried out. A commit that dies before leaves the
directory as it was; one that dies after it is finished by the next.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from kafkaspec.errors import Reason, make_error
from kafkaspec.files import names
from kafkaspec.output.atomic import cannot_write, force_directory, put, writing
from kafkaspec.spark.partition_commit import Additions, prepare
from kafkaspec.spark.staging import StagedRun, Staging, all_staging
from kafkaspec.spark.write_options import WriteOptions

PLAN: Final = "plan.json"
"""In the staging directory of a write: the renames that are left."""
_NEW: Final = "new"
_REPLACED: Final = "replaced"


@dataclass(frozen=True, slots=True)
class CommitPlan:
    """Renames, each of one file or directory.

    A target that exists is a rename that was done: a plan has only targets that do not exist, or
    that an earlier rename of the plan takes away.

    Attributes:
        file: where the plan is kept.
        renames: pairs of names, relative to the directory that is written to, in order.
        batch: number of the micro-batch of a streaming query, -1 for a write.
    """

    file: Path
    renames: tuple[tuple[str, str], ...]
    batch: int = -1

    def save(self, *, sync: bool) -> None:
        """Save the plan: the file appears as a whole, or not at all."""
        text = json.dumps({"batch": self.batch, "renames": self.renames}, indent=1)
        beside = self.file.with_name(self.file.name + ".tmp")
        with writing(self.file):
            beside.unlink(missing_ok=True)
            put(beside, text.encode(), sync=True)
            os.rename(beside, self.file)
            force_directory(self.file.parent, sync=sync)

    def carry_out(
        self, root: Path, *, sync: bool, taken_back: Callable[[], None] | None = None
    ) -> None:
        """Do the remaining steps.

        After a failure, all renames are undone and ``taken_back`` is called; without it, those that
        were done stay, to be finished another time.
        """
        done: list[tuple[Path, Path]] = []
        try:
            with writing(root):
                for source, target in self.renames:
                    if not os.path.lexists(root / target):
                        os.rename(root / source, root / target)
                        done.append((root / source, root / target))
                for directory in {target.parent for _, target in done}:
                    force_directory(directory, sync=sync)
        except BaseException:
            if taken_back is not None:
                for before, after in reversed(done):
                    os.rename(after, before)
                taken_back()
            raise


def load_plan(file: Path) -> CommitPlan | None:
    """Load a plan that was saved; return None if there is none."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise make_error(Reason.UNREADABLE, str(error), file=os.fspath(file)) from None
    try:
        found: Any = json.loads(text)
        renames = tuple((_inside(source), _inside(target)) for source, target in found["renames"])
        return CommitPlan(file, renames, int(found["batch"]))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        detail = f"it is not a plan of a commit: {error}"
        raise make_error(Reason.INVALID_VALUE, detail, file=os.fspath(file)) from None


def _inside(name: object) -> str:
    """Return a relative name that does not lead out of the directory."""
    if not isinstance(name, str) or os.path.isabs(name) or ".." in Path(name).parts:
        raise ValueError(f"{name!r} lies outside")
    return name


@dataclass(frozen=True, slots=True)
class Publishing:
    """How runs are published: unless ``keep``, with offsets in the order of the runs."""

    keep: bool
    overwrite: bool


def publish(
    options: WriteOptions, staging: Staging, runs: Sequence[StagedRun], how: Publishing
) -> None:
    """Give the files of tasks their final names; after an error, everything is as it was before."""
    root = Path(options.path)
    with locked(root):
        for path in all_staging(options.path):
            finish_plan(root, path, sync=options.sync)
        renames = _gather(root, options, staging, runs, how)
        plan = CommitPlan(staging.path / PLAN, renames)
        plan.save(sync=options.sync)
        plan.carry_out(root, sync=options.sync, taken_back=plan.file.unlink)
        plan.file.unlink()
        staging.remove()


def publish_batch(
    options: WriteOptions, staging: Staging, runs: Sequence[StagedRun], how: Publishing
) -> None:
    """Commit a micro-batch of a streaming query once, however often it is called.

    The last published micro-batch is noted in ``.kafkasegment-<query>.json`` in the directory. A
    micro-batch that Spark repeats is found there, and the new files of its tasks are dropped.
    """
    root = Path(options.path)
    with locked(root):
        state = root / names.stream_state(staging.job)
        last = load_plan(state)
        if last is not None:
            last.carry_out(root, sync=options.sync)
            CommitPlan(state, (), last.batch).save(sync=options.sync)
        if last is None or last.batch < staging.batch:
            renames = _gather(root, options, staging, runs, how)
            plan = CommitPlan(state, renames, staging.batch)
            plan.save(sync=options.sync)
            plan.carry_out(
                root,
                sync=options.sync,
                taken_back=state.unlink
                if last is None
                else partial(CommitPlan(state, (), last.batch).save, sync=options.sync),
            )
            CommitPlan(state, (), staging.batch).save(sync=options.sync)
        for path in staging.of_job():
            shutil.rmtree(path, ignore_errors=True)


def finish_plan(root: Path, staging: Path, *, sync: bool) -> None:
    """Finish a commit that died while it renamed files."""
    plan = load_plan(staging / PLAN)
    if plan is not None:
        plan.carry_out(root, sync=sync)
        plan.file.unlink()
        shutil.rmtree(staging, ignore_errors=True)


def _gather(
    root: Path, options: WriteOptions, staging: Staging, runs: Sequence[StagedRun], how: Publishing
) -> tuple[tuple[str, str], ...]:
    """Put partitions together in the staging directory; return the renames that publish them."""
    check_root(root)
    logs: dict[str, list[StagedRun]] = {}
    for run in runs:
        logs.setdefault(run.place, []).append(run)
    for name in (_NEW, _REPLACED):  # a commit that died before it had a plan
        shutil.rmtree(staging.path / name, ignore_errors=True)
    renames: list[tuple[Path, Path]] = []
    if how.overwrite:
        aside = staging.path / _REPLACED
        with writing(aside):
            aside.mkdir()
        renames += ((path, aside / path.name) for path in _partitions(root))
    for place, parts in sorted(logs.items()):
        existing = root / place if (root / place).exists() and not how.overwrite else None
        new = staging.path / _NEW / place
        with writing(new):
            new.mkdir(parents=True)
        additions = prepare(options, staging.path, parts, existing, new, keep=how.keep)
        renames += _renames(additions, existing, root / place)
    return tuple(
        (os.fspath(source.relative_to(root)), os.fspath(target.relative_to(root)))
        for source, target in renames
    )


def _renames(
    additions: Additions, existing: Path | None, target: Path
) -> Iterator[tuple[Path, Path]]:
    if existing is None:
        yield additions.directory, target
        return
    for name in additions.replaced:
        yield existing / name, additions.directory / f"{name}.replaced"
    for name in additions.names:
        if name not in additions.replaced and os.path.lexists(existing / name):
            raise cannot_write(existing, f"there is a file {name} already")
        yield additions.directory / name, existing / name


def _partitions(root: Path) -> Sequence[Path]:
    """Return the partition directories in a directory."""
    found = []
    for path in sorted(root.iterdir()):
        name = names.parse_partition(path.name)
        if name is not None and not name.state and path.is_dir():
            found.append(path)
    return found


def check_root(root: Path) -> None:
    """Refuse to write into the log directory of a broker."""
    if (root / names.META_PROPERTIES).exists():
        detail = (
            f"there is {names.META_PROPERTIES}: it is the log directory of a broker. Write "
            "elsewhere, and move the partitions there while the broker is stopped"
        )
        raise cannot_write(root, detail)


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Let one commit at a time go on in a directory, as far as the system has locks."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with writing(root):
        root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(root, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
