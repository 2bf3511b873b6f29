"""Make the golden files of nodes that ``kafka-storage`` formatted, for tests/state/golden.

``python -m tools.golden.formatted`` formats a node of 4.4.0 and keeps its directory as it is
(KIP-1170); then starts a node with two log directories, one of them cordoned (KIP-1066), and keeps
its metadata. The texts of Kafka's dump tool are beside them.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from kafkaspec._generated.layout.topics import Topic
from kafkaspec.files import names
from tools.brokers.broker import Broker
from tools.brokers.versions import Version, by_name
from tools.golden.dump import dump

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "state" / "golden"
VERSION = "4.4.0"
_METADATA = f"{Topic.CLUSTER_METADATA}-0"
_KEPT = (names.LOG, names.CHECKPOINT)


def main() -> None:
    """Replace the golden files."""
    version = by_name(VERSION)
    with tempfile.TemporaryDirectory(prefix="formatted-") as name:
        work = Path(name, "formatted")
        work.mkdir()
        _keep(version, Broker(version, work).logs, work, GOLDEN / "formatted")
        work = Path(name, "cordoned")
        work.mkdir()
        two = f"{work / 'logs'},{work / 'cordoned'}"
        settings = {"log.dirs": two, "cordoned.log.dirs": str(work / "cordoned")}
        broker = Broker(version, work, settings)
        with broker.running():
            pass
        _keep(version, broker.logs, work, GOLDEN / "cordoned")
        other = work / "cordoned" / names.META_PROPERTIES
        shutil.copyfile(other, GOLDEN / "cordoned-meta.properties.txt")


def _keep(version: Version, logs: Path, work: Path, into: Path) -> None:
    shutil.rmtree(into, ignore_errors=True)
    files = (path for path in sorted((logs / _METADATA).iterdir()) if path.suffix in _KEPT)
    there = [path.relative_to(logs) for path in files]
    for path in (*there, Path(names.META_PROPERTIES)):
        target = into / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(logs / path, target)
    dumper = by_name(version.dumped_by or version.name)
    for path, text in dump(dumper, work, logs, there).items():
        (GOLDEN / f"{into.name}-{path.name}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
