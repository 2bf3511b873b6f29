"""Read the constants of a release's classes that say what is on disk: sizes, bits, ids, suffixes.

What changes in a release without a new schema shows here: limits, kinds of control records, feature
levels, names of files. The values are facts of an interface; nothing else of the classes is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

from tools.brokers.maven import resolve
from tools.brokers.programs import Program
from tools.brokers.versions import Version

Constants = dict[str, str]
"""Values as text by ``class.NAME``."""

_CLASSES = re.compile(
    r"(org/apache/kafka/("
    r"common/record/(internal/)?"
    r"|(storage/internals/(log|checkpoint|epoch)|server/common|server/log/remote/storage"
    r"|server/log/remote/metadata/storage|snapshot|raft|metadata/(properties|bootstrap)"
    r"|coordinator/\w+|server/record|server/share/dlq)/"
    r"|common/(internals/Topic|config/TopicConfig|protocol/Readable))"
    r"|kafka/(message|log|log/remote|server/checkpoints|server/epoch|coordinator/\w+|common)/)"
    r"[\w$]*\.class"
)
_MADE_BY_COMPILERS = re.compile(
    r"\$(\d+|\$?anon.*|delayed.*)|Configs?(Test|)\.class|Test|Metric|Thread"
)
_SETTINGS = ("org/apache/kafka/common/config/TopicConfig.class",)
_NO_FACT = re.compile(
    r"DOC$|Doc$|UNIT_TEST|THREAD|BACKOFF|METRIC|SENSOR|LOG_PREFIX|^serialVersionUID$|^bitmap\$|logIdent|^\$|LOGGER|^log$"
)
_LEGACY = re.compile(r", didMetadataChange=\w+")
_LONGEST = 80


def classes(jars: Path) -> Iterator[str]:
    """Yield the names of the classes to ask, of all jars of a release."""
    for jar in sorted(set(jars.glob("kafka*.jar")) - set(jars.glob("*-test.jar"))):
        with ZipFile(jar) as archive:
            for name in sorted(archive.namelist()):
                chosen = _CLASSES.fullmatch(name) is not None
                if chosen and (name in _SETTINGS or not _MADE_BY_COMPILERS.search(name)):
                    yield name.removesuffix(".class").replace("/", ".")


def constants(version: Version, work: Path) -> Constants:
    """Return the constants of a release.

    Raises:
        ToolError: there is no Maven or no JDK, or a class cannot be asked.
    """
    found: Constants = {}
    with Program(version, work, "Constants") as program:
        for name in classes(resolve(version)):
            for answer in program.ask("Constants", name):
                constant, value = answer[0], answer[1] if len(answer) > 1 else ""
                if value and not _NO_FACT.search(constant) and len(value) <= _LONGEST:
                    found[f"{name}.{constant}"] = _LEGACY.sub("", value)
    return found
