"""Make the golden folder of one version: resolve, run, dump, keep."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tools.golden import broker, keep, maven
from tools.golden.driver import Driver
from tools.golden.dump import DumpTool
from tools.golden.model import Alter, Scenario
from tools.golden.run import Produced, ScenarioRun, producer_settings
from tools.golden.scenarios import for_version
from tools.golden.versions import Version


def make(version: Version, golden: Path = keep.GOLDEN) -> Path:
    """Run all scenarios of ``version`` and replace its folder in ``golden``, which is returned.

    Raises :class:`tools.golden.maven.ToolError` when anything outside Python fails; the old folder
    then stays as it was.
    """
    jars = maven.resolve(version)
    classes = maven.compile_driver(version, jars)
    scenarios = for_version(version)
    with tempfile.TemporaryDirectory(prefix="golden-") as name:
        work = Path(name)
        produced: list[Produced] = []
        with (
            broker.running(version, jars, work) as running,
            Driver(running, jars, classes, work) as driver,
        ):
            for scenario in scenarios:
                produced += ScenarioRun(scenario, running, driver).run()
        fresh = work / "fresh"
        files = keep.copy_logs(running.logs, fresh / keep.LOGS)
        tool = DumpTool(version, jars, work)
        keep.write_dump(fresh / keep.DUMP, tool.dump(fresh / keep.LOGS, files))
        keep.write_produced(fresh, (each.to_json() for each in produced))
        keep.write_manifest(fresh, _facts(version, running.settings, scenarios))
        target = golden / version.name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(fresh, target)
    return target


def _facts(
    version: Version, broker_settings: dict[str, str], scenarios: tuple[Scenario, ...]
) -> dict[str, Any]:
    return {
        "kafka_version": version.name,
        "java_version": _java_version(),
        "mode": str(version.mode),
        "broker_settings": broker_settings,
        "scenarios": [
            {
                "name": scenario.name,
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
