"""Make the golden folder of one version: resolve, run, dump, keep."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.golden import broker, keep, maven
from tools.golden.broker import Running
from tools.golden.damage import damage
from tools.golden.driver import Driver
from tools.golden.dump import DumpTool
from tools.golden.model import Alter, Occasion, Scenario
from tools.golden.run import Produced, ScenarioRun, producer_settings
from tools.golden.scenarios import for_version
from tools.golden.versions import Version, by_name

CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
_SMALL_INDEXES = {"log.index.size.max.bytes": "2048"}  # or 10 MiB each, when they are not trimmed


@dataclass(frozen=True)
class _Job:
    version: Version
    jars: Path
    classes: Path
    scenarios: tuple[Scenario, ...]
    work: Path
    fresh: Path

    def folder(self, occasion: Occasion) -> Path:
        """Return the folder for the files of a broker; the one that stops cleanly needs no name."""
        return self.fresh if occasion is Occasion.CLEAN else self.fresh / occasion

    def of(self, occasion: Occasion) -> tuple[Scenario, ...]:
        return tuple(each for each in self.scenarios if each.occasion is occasion)


def make(version: Version, golden: Path = keep.GOLDEN, *, everything: bool = False) -> Path:
    """Run the scenarios of ``version`` and replace its folder in ``golden``, which is returned.

    With ``everything`` also those whose files are not kept for this version.  Raises
    :class:`tools.golden.maven.ToolError` when anything outside Python fails; the old folder then
    stays as it was.
    """
    jars = maven.resolve(version)
    classes = maven.compile_driver(version, jars)
    scenarios = for_version(version, everything=everything)
    with tempfile.TemporaryDirectory(prefix="golden-") as name:
        job = _Job(version, jars, classes, scenarios, Path(name), Path(name) / "fresh")
        settings = {
            str(occasion): run(job)
            for occasion, run in _RUNS.items()
            if job.of(occasion)
        }  # fmt: skip
        keep.write_manifest(job.fresh, _facts(version, settings, scenarios))
        target = golden / version.name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(job.fresh, target)
    return target


def _run_clean(job: _Job) -> dict[str, str]:
    work = _directory(job, Occasion.CLEAN)
    with broker.running(job.version, job.jars, work) as running:
        produced = _produce(job, running, Occasion.CLEAN)
    logs = job.folder(Occasion.CLEAN) / keep.LOGS
    files = keep.copy_logs(running.logs, logs)
    _write_down(job, Occasion.CLEAN, logs, files, produced)
    return running.settings


def _run_unclean(job: _Job) -> dict[str, str]:
    """Keep the files of a killed broker before and after its next start."""
    work = _directory(job, Occasion.UNCLEAN)
    folder = job.folder(Occasion.UNCLEAN)
    topics = {each.name for each in job.of(Occasion.UNCLEAN)}
    with broker.running(job.version, job.jars, work, _SMALL_INDEXES) as running:
        produced = _produce(job, running, Occasion.UNCLEAN)
        running.crash()
        for scenario in job.of(Occasion.UNCLEAN):
            if scenario.damage:
                damage(running.logs / f"{scenario.name}-0", scenario.damage)
        files = keep.copy_logs(running.logs, folder / keep.LOGS, topics)
        running.start()
    if not (running.logs / CLEAN_SHUTDOWN).is_file():
        raise maven.ToolError("the broker did not stop cleanly after its recovery")
    keep.copy_logs(running.logs, folder / keep.RECOVERED, topics)
    _write_down(job, Occasion.UNCLEAN, folder / keep.LOGS, files, produced)
    return running.settings


def _run_tiered(job: _Job) -> dict[str, str]:
    work = _directory(job, Occasion.TIERED)
    folder = job.folder(Occasion.TIERED)
    settings = broker.tiered_settings(work / "remote")
    with broker.running(job.version, job.jars, work, settings) as running:
        produced = _produce(job, running, Occasion.TIERED)
    files = keep.copy_logs(running.logs, folder / keep.LOGS)
    _write_down(job, Occasion.TIERED, folder / keep.LOGS, files, produced)
    keep.copy_remote(work / "remote", folder / keep.REMOTE)
    return {name: value for name, value in running.settings.items() if str(work) not in value}


_RUNS = {
    Occasion.CLEAN: _run_clean,
    Occasion.UNCLEAN: _run_unclean,
    Occasion.TIERED: _run_tiered,
}


def _directory(job: _Job, occasion: Occasion) -> Path:
    work = job.work / f"broker-{occasion}"
    work.mkdir()
    return work


def _produce(job: _Job, running: Running, occasion: Occasion) -> list[Produced]:
    produced: list[Produced] = []
    with Driver(running, job.jars, job.classes, job.work) as driver:
        for scenario in job.of(occasion):
            produced += ScenarioRun(scenario, running, driver).run()
    return produced


def _write_down(
    job: _Job,
    occasion: Occasion,
    logs: Path,
    files: Sequence[Path],
    produced: Sequence[Produced],
) -> None:
    dumper = by_name(job.version.dumped_by) if job.version.dumped_by else job.version
    jars = maven.resolve(dumper)
    tool = DumpTool(dumper, jars, maven.compile_driver(dumper, jars), job.work)
    keep.write_dump(job.folder(occasion), tool.dump(logs, files))
    keep.write_produced(job.folder(occasion), (each.to_json() for each in produced))


def _facts(
    version: Version, settings: dict[str, dict[str, str]], scenarios: tuple[Scenario, ...]
) -> dict[str, Any]:
    return {
        "kafka_version": version.name,
        "java_version": _java_version(),
        "mode": str(version.mode),
        "dumped_by": version.dumped_by or version.name,
        "broker_settings": settings,
        "scenarios": [
            {
                "name": scenario.name,
                "occasion": str(scenario.occasion),
                "topic": scenario.name,
                "partition": partition,
                "topic_settings": version.settings(scenario.topic),
                "topic_setting_changes": [
                    version.settings(step.settings)
                    for step in scenario.steps
                    if isinstance(step, Alter)
                ],
                "producer_settings": {
                    producer: producer_settings(version, scenario, producer)
                    for producer in scenario.producers
                },
                "compacted": scenario.compacted,
                "log_start_offset": scenario.log_start_offset,
                "damage": scenario.damage,
                "description": scenario.description,
            }
            for scenario in scenarios
            for partition in range(scenario.partitions)
        ],
    }


def _java_version() -> str:
    done = subprocess.run(
        [maven.java_tool("java"), "-version"], capture_output=True, text=True, timeout=60
    )
    match = re.search(r'version "([^"]+)"', done.stderr)
    if match is None:
        raise maven.ToolError(f"no version in the output of java -version: {done.stderr}")
    return match.group(1)
