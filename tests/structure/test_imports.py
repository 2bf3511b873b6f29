"""Imports flow one way, and a fact has one reader: read from the source, not from memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import accumulate

import pytest

from tests.structure.packages import PACKAGES
from tests.structure.source import CODE, ROOT, Module, circles, modules

_FACTS = {"framing", "kinds", "sequences", "stand_ins"}
"""Modules of ``layout`` that need the generated code, which needs the others."""
_OWN = ROOT / "kafkaspec"
LAYERS = (
    (
        *(f"kafkaspec.{path.stem}" for path in _OWN.glob("*.py") if not path.match("__*__.py")),
        "kafkaspec.layout",
    ),
    ("kafkaspec._generated", *(f"kafkaspec.layout.{name}" for name in _FACTS)),
    *((f"kafkaspec.{package.name}",) for package in PACKAGES),
    ("kafkaspec.__main__",),
)
"""Lowest first: a module may import from its own layer and from those before it."""

SHARED = {"kafkaspec._generated", "kafkaspec._native"}
"""Private to the whole project, not to the package ``kafkaspec``: the generated code."""

TARGETS = {path.parent.name for path in (ROOT / "tools" / "specgen").glob("*/__init__.py")} - {
    "facts"
}
"""Packages of the generator that each make one thing, and share what is in ``facts`` only."""

_RICH = "rich takes 80 ms, which output as JSON does not need"
_CORE = "the core is installed without it; its callers have it"
_EXTRA = "an extra that need not be installed, and takes long to import"
DEFERRED = (
    ("kafkaspec.__main__", "kafkaspec.cli", "--version does without click and most of the rest"),
    ("kafkaspec.extension", "hashlib", "loads OpenSSL, which a wheel does not need"),
    ("kafkaspec.compression.registered", "importlib.metadata", "15 ms; few codecs are registered"),
    ("kafkaspec.compression.registered", "pickle", "as above"),
    ("kafkaspec.tables.scans", "polars", "for one of its functions, and not among the extras"),
    ("kafkaspec.log.markers", "numpy", _CORE),
    ("kafkaspec.log.transactions", "numpy", _CORE),
    ("kafkaspec.log.header_table", "numpy", _CORE),
    ("kafkaspec.log.header_table", "pyarrow", _CORE),
    ("benchmarks.cases.explorer", "playwright", "only this case needs a browser"),
    ("kafkaspec.compression.registered", "importlib", "10 ms, which few logs need"),
    ("kafkaspec.cli.commands.explain", "kafkaspec.assembly", "20 ms, for a format of its own"),
    ("tools.document.typeset", "markdown", _EXTRA),
    ("tools.document.typeset", "typst", _EXTRA),
    ("kafkaspec.jobs", "concurrent", "5 ms, which one job does not need"),
    ("kafkaspec.jobs", "multiprocessing", "10 ms, as above"),
    (
        "kafkaspec.cli.commands.dump",
        "kafkaspec.cli.commands.dump_messages",
        "few logs have messages",
    ),
    ("kafkaspec.cli.commands.find", "kafkaspec.cli.commands.dump_messages", "as above"),
    (
        "kafkaspec.cli.commands.dump_kafka",
        "kafkaspec.dumplog",
        "few dumps need messages",
    ),
    (
        "kafkaspec.cli.commands.find",
        "kafkaspec.cli.commands.find_key",
        "columns, messages: other lookups do without",
    ),
    (
        "kafkaspec.cli.commands.find",
        "kafkaspec.cli.commands.dump_json",
        "not for text",
    ),
    ("kafkaspec.lake.units", "kafkaspec.lake.typed_rows", _EXTRA),
    ("kafkaspec.spark.jobs.lake", "kafkaspec.lake.typed_rows", _EXTRA),
    ("kafkaspec.spark.jobs.lake", "kafkaspec.values", _EXTRA),
    ("kafkaspec.spark.jobs.dead_letters", "kafkaspec.spark.jobs.typed_letters", _EXTRA),
    ("kafkaspec.cli.main", "kafkaspec.cli.version", "5 ms, which only --version needs"),
    ("kafkaspec.analysis.verification", "kafkaspec.analysis.remembered", "12 ms; few keep a state"),
    ("kafkaspec.analysis.verification", "kafkaspec.analysis.state_file", "as above"),
    ("kafkaspec.cli.commands.verify", "kafkaspec.analysis.remembered", "as above"),
    ("kafkaspec.cli.commands.verify", "kafkaspec.analysis.state_file", "as above"),
    ("kafkaspec.analysis.regular", "kafkaspec.columns.messages", "8 ms; few logs have messages"),
    ("kafkaspec.columns.messages", "kafkaspec.messages.text_plans", "10 ms; columns have no texts"),
    ("kafkaspec.arrow.record_batches", "kafkaspec.arrow.where", "14 ms; few ask for a condition"),
    (
        "kafkaspec.forensics.gaps.explained",
        "kafkaspec.state",
        "20 ms; few logs have remote storage",
    ),
    (
        "kafkaspec.forensics.producers.sequences",
        "kafkaspec.analysis.check_producers",
        "11 ms; gaps and stats compare no snapshots",
    ),
    ("kafkaspec.values.registry.files", "google", "35 ms; few schemas are descriptors"),
    ("kafkaspec.values.registry.fingerprints", "fastavro", "10 ms; few values have fingerprints"),
    ("kafkaspec.cli.console", "rich", _RICH),
    ("kafkaspec.cli.report", "pyarrow.types", _EXTRA),
    ("kafkaspec.spark.jobs.verify", "kafkaspec.lake.state_table", "another extra, for a state"),
    ("kafkaspec.tables.sql.session", "kafkaspec.tables.sql.typed", _EXTRA),
    ("kafkaspec.cli.commands.dump", "kafkaspec.cli.commands.where", _EXTRA),
    ("kafkaspec.forensics.cleaner.settings", "kafkaspec.state", _EXTRA),
    ("kafkaspec.forensics.doctor.diagnosis", "kafkaspec.state", _EXTRA),
    ("kafkaspec.forensics.replicas.*", "kafkaspec.forensics.replicas", _EXTRA),
    ("kafkaspec.cli.commands.stats", "kafkaspec.cli.commands.stats_text", _RICH),
    ("kafkaspec.stats.distinct", "datasketches", "logs with few keys do without"),
    ("kafkaspec.cli.spark.session", "pyspark", _EXTRA),
    ("kafkaspec.spark.jobs.export", "kafkaspec.values", _EXTRA),
    ("kafkaspec.io.remote", "fsspec", _EXTRA),
    ("kafkaspec.io.remote", "pyarrow.fs", _EXTRA),
    ("kafkaspec.spark.paths", "fsspec", _EXTRA),
    ("kafkaspec.tiered.keys", "cryptography", _EXTRA),
    ("benchmarks.spark.session", "pyspark", _EXTRA),
    ("benchmarks.growth.planning", "kafkaspec", "only what is measured is imported"),
    ("kafkaspec.spark", "kafkaspec.spark", "the submodules are imported without PySpark too"),
    ("kafkaspec.spark", "pyspark", "as above"),
    ("kafkaspec.spark.source", "kafkaspec.spark", "a worker imports the one way that it runs"),
    ("kafkaspec.spark.commit", "fcntl", "not on Windows"),
    ("kafkaspec.tables.writers", "pyarrow.parquet", "long to import, and for one format of four"),
    ("kafkaspec.tables.writers", "pyarrow.csv", "as above"),
    ("kafkaspec.tables.json_values", "orjson", "of the extra for values, which records do without"),
    ("kafkaspec.tables.json_plan", "orjson", "as above"),
    (
        "kafkaspec.files.checkpoints.meta_properties",
        "javaproperties",
        "takes 60 ms, which logs without the file do not need",
    ),
    ("tools.alone", "fcntl", "not on Windows"),
    (
        "kafkaspec.values.decoding.column",
        "kafkaspec.values",
        "a type of schema needs its library alone",
    ),
    ("kafkaspec.cli.commands.dump", "kafkaspec.cli.commands.dump_typed", _EXTRA),
    ("kafkaspec.cli.commands.find", "kafkaspec.cli.commands.dump_typed", _EXTRA),
    ("kafkaspec.cli.commands.dlq", "kafkaspec.cli.commands.dlq_typed", _EXTRA),
    ("tools.site.__main__", "tools.site.browser", "Playwright comes with the extra test"),
)
"""Imports inside functions: by whom, of what and below, and why.

Besides, a package without an extra imports one that needs it so.
"""
_NEEDING = tuple(f"kafkaspec.{package.name}." for package in PACKAGES if package.extra)

# What is still wrong. Each list is exact: a line that is no longer true has to go.

CIRCLES: set[frozenset[str]] = set()


def layer(name: str) -> int | None:
    """The number of the longest prefix that the name has."""
    found = [
        (len(prefix), number)
        for number, prefixes in enumerate(LAYERS)
        for prefix in prefixes
        if name == prefix or name.startswith(prefix + ".")
    ]
    return max(found)[1] if found else None


def edges() -> Iterator[tuple[Module, str]]:
    """Yield each module with each name that it imports."""
    for module in modules().values():
        for item in module.imports:
            yield module, item.full


@pytest.mark.slow
def test_all_of_the_code_is_looked_at() -> None:
    assert {name.split(".")[0] for name in modules()} == set(CODE)
    assert {layer(name) for name in modules()} == {None, *range(len(LAYERS))}
    homeless = {name for name in modules() if name.startswith("kafkaspec.") and layer(name) is None}
    assert homeless == set()


@pytest.mark.slow
def test_nothing_imports_upwards() -> None:
    upward = [
        f"{module.name} imports {name}"
        for module, name in edges()
        if (own := layer(module.name)) is not None and (layer(name) or 0) > own
    ]
    assert upward == []


def test_no_circles() -> None:
    """Imports for types and inside of functions count: they hide a circle, and do not undo it."""
    graph = {
        name: {item.module for item in module.imports} & modules().keys()
        for name, module in modules().items()
    }
    assert circles(graph) == CIRCLES


def test_no_circles_in_c() -> None:
    """A C file uses what another one defines, or the other way round."""
    sources = {
        path.name: re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(encoding="utf-8"), flags=re.S)
        for folder in ("kafkaspec/codecs/native", "generated/native")
        for path in sorted((ROOT / folder).glob("*.c"))
    }
    definition = re.compile(r"^(?!static\b)[A-Za-z][\w *]*\b(\w+)\([^;{]*\)\s*\{", re.MULTILINE)
    home = {name: file for file, text in sources.items() for name in definition.findall(text)}
    assert len(home) > len(sources) > 3
    graph = {
        file: {home[word] for word in set(re.findall(r"\w+", text)) & home.keys()} - {file}
        for file, text in sources.items()
    }
    assert circles(graph) == set()


@pytest.mark.slow
def test_nothing_imports_the_private_parts_of_another_package() -> None:
    guilty = []
    for module, name in edges():
        parts = name.split(".")
        for place, (owner, part) in enumerate(
            zip(accumulate(parts[:-1], "{}.{}".format), parts[1:], strict=True)
        ):
            known = modules().get(owner)
            package = known.package if known is not None else owner
            private = re.match(r"_(?!_)", part) and ".".join(parts[: place + 2]) not in SHARED
            if private and not f"{module.name}.".startswith(f"{package}."):
                guilty.append(f"{module.name} imports {name}")
    assert guilty == []


@pytest.mark.slow
def test_targets_of_the_generator_share_facts_only() -> None:
    found = {
        (own, other)
        for own in TARGETS
        for module, name in edges()
        if module.name.startswith(f"tools.specgen.{own}.")
        for other in TARGETS
        if other != own and name.startswith(f"tools.specgen.{other}.")
    }
    assert found == set()


def test_the_library_does_not_import_the_tools() -> None:
    guilty = [
        f"{module.name} imports {name}"
        for module, name in edges()
        if module.name.startswith("kafkaspec.")
        and name.split(".")[0] in ("tools", "tests", "benchmarks")
    ]
    assert guilty == []


def test_one_module_reads_the_yaml_of_the_specification() -> None:
    """And only the importer of messages and the drafts write it."""
    readers = {module.name for module, name in edges() if name.split(".")[0] in ("yaml", "ruamel")}
    writers = {"tools.import_messages.text", "tools.drafts.text"}
    assert readers == {"tools.specgen.document"} | writers


def test_functions_import_only_what_has_a_reason() -> None:
    used = set()
    guilty = []
    for module in modules().values():
        for item in module.imports:
            extra = item.full.startswith(_NEEDING) and not f"{module.name}.".startswith(_NEEDING)
            if not item.deferred or extra:
                continue
            rows = {
                row
                for row in DEFERRED
                if fnmatchcase(module.name, row[0]) and f"{item.full}.".startswith(f"{row[1]}.")
            }
            used |= rows
            if not rows:
                guilty.append(f"{module.name} imports {item.full} in line {item.line}")
    assert guilty == []
    assert set(DEFERRED) - used == set()


@pytest.mark.slow
def test_every_generated_file_says_so_in_its_first_line() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "generated").rglob("*"))
        if path.is_file()
        and path.suffix != ".json"
        and "__pycache__" not in path.parts
        and "DO NOT EDIT" not in path.read_text(encoding="utf-8").split("\n", 1)[0]
    ]
    assert silent == []
