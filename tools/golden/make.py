"""Make the golden folder of one version: run brokers, dump what they wrote, keep it."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from kafkaspec.files import names
from tools.brokers.broker import Broker, administered_settings, tiered_settings
from tools.brokers.client import Client
from tools.brokers.maven import ToolError, java_tool
from tools.brokers.versions import Version, by_name
from tools.golden import keep
from tools.golden.damage import damage
from tools.golden.dump import dump
from tools.golden.model import Alter, Occasion, Scenario
from tools.golden.run import ScenarioRun, producer_settings
from tools.golden.scenarios import for_version

_SMALL_INDEXES = {"log.index.size.max.bytes": "2048"}  # or 10 MiB each, when they are not trimmed


def make(
    version: Version,
    golden: Path = keep.GOLDEN,
    *,
    everything: bool = False,
    only: Occasion | None = None,
) -> Path:
    """Run the scenarios of ``version`` and replace its folder in ``golden``, which is returned.

    With ``everything`` also those whose files are not kept for this version; with ``only`` those
    of one occasion, other than the clean one, and what is there of others stays. Raises
    :class:`tools.brokers.ToolError` when anything outside Python fails; the old folder then
    stays as it was.
    """
    scenarios = for_version(version, everything=everything)
    target = golden / version.name
    with tempfile.TemporaryDirectory(prefix="golden-") as name:
        fresh = Path(name) / "fresh"
        settings = {}
        if only is not None:
            settings = keep.read_manifest(target)["broker_settings"]
            shutil.copytree(target, fresh, ignore=shutil.ignore_patterns(only))
        for occasion in Occasion if only is None else (only,):
            if chosen := [each for each in scenarios if each.occasion is occasion]:
                work = Path(name) / f"broker-{occasion}"
                work.mkdir()
                folder = fresh if occasion is Occasion.CLEAN else fresh / occasion
                settings[str(occasion)] = _run(version, occasion, chosen, work, folder)
        keep.write_manifest(fresh, _facts(version, settings, scenarios))
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(fresh, target)
    return target


def dump_again(version: Version, golden: Path = keep.GOLDEN) -> None:
    """Dump what is kept of a version again, with the tool that it has now.

    Raises:
        ToolError: anything outside Python fails.
    """
    target = golden / version.name
    facts = keep.read_manifest(target) | {"dumped_by": _dumper(version).name}
    with tempfile.TemporaryDirectory(prefix="golden-") as name:
        for logs in sorted(target.rglob(keep.LOGS)):
            _dump(version, Path(name), logs.parent)
    keep.write_manifest(target, facts)


def _dump(version: Version, work: Path, folder: Path) -> None:
    logs = folder / keep.LOGS
    keep.write_dump(folder, dump(_dumper(version), work, logs, keep.files_below(logs)))


def _dumper(version: Version) -> Version:
    return by_name(version.dumped_by or version.name)


def _run(
    version: Version, occasion: Occasion, scenarios: list[Scenario], work: Path, folder: Path
) -> dict[str, str]:
    """Run scenarios on a broker, fill a folder, and return the settings that decide the bytes.

    The files of a broker that is killed are kept before and after its next start.
    """
    unclean, remote, logs = occasion is Occasion.UNCLEAN, work / "remote", folder / keep.LOGS
    settings = {
        Occasion.UNCLEAN: _SMALL_INDEXES,
        Occasion.TIERED: tiered_settings(remote),
        Occasion.ADMINISTERED: administered_settings(),
    }
    topics = {each.name for each in scenarios} if unclean else None
    broker = Broker(version, work, settings.get(occasion, {}))
    with broker.running():
        with Client(broker) as client:
            runs = [ScenarioRun(scenario, broker, client).run() for scenario in scenarios]
        if unclean:
            broker.crash()
            for scenario in scenarios:
                if scenario.damage:
                    damage(broker.logs / f"{scenario.name}-0", scenario.damage)
            keep.copy_logs(broker.logs, logs, topics)
            broker.start()
    if not (broker.logs / names.CLEAN_SHUTDOWN).is_file():
        raise ToolError("the broker did not stop cleanly")
    keep.copy_logs(broker.logs, folder / keep.RECOVERED if unclean else logs, topics)
    if remote.is_dir():
        shutil.copytree(remote, folder / keep.REMOTE)
    _dump(version, work, folder)
    keep.write_produced(folder, (record.to_json() for run in runs for record in run))
    return {name: value for name, value in broker.settings.items() if str(work) not in value}


def _facts(
    version: Version, settings: dict[str, dict[str, str]], scenarios: tuple[Scenario, ...]
) -> dict[str, Any]:
    return {
        "kafka_version": version.name,
        "java_version": _java_version(),
        "mode": str(version.mode),
        "dumped_by": _dumper(version).name,
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
        [java_tool("java"), "-version"], capture_output=True, text=True, timeout=60
    )
    match = re.search(r'version "([^"]+)"', done.stderr)
    if match is None:
        raise ToolError(f"no version in the output of java -version: {done.stderr}")
    return match.group(1)
