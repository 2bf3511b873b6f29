"""Fixtures for all tests, and a last word on what was not run."""

from __future__ import annotations

import gc
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import HealthCheck, settings

from kafkaspec import compression
from kafkaspec.cli.version import missing_libraries
from kafkaspec.codecs import Codec, codec_names, get_codec
from tests import extent

if TYPE_CHECKING:
    from xdist.scheduler import LoadFileScheduling

# No test depends on how fast the machine is, under a sanitizer for instance.
settings.register_profile("kafkaspec", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kafkaspec")
settings.register_profile("quick", settings.get_profile("kafkaspec"), max_examples=10)

# Of every Spark, in other processes too: the second compiler of the JVM costs a third of the time
# of a session that lives for seconds, and so do threads that collect garbage.
for _name in ("SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS"):
    os.environ.setdefault(_name, "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

SLOW_FOLDERS = [Path(__file__).parent / name for name in ("kafka", "spark")]
SLOW_FILE = re.compile(r"^pytestmark = pytest\.mark\.slow$", re.MULTILINE)
MEMORY, ROOM = Path("/dev/shm"), 4 << 30
"""Where tests write, if there is as much room: they make and remove tens of thousands of files and
synchronise most, on a disk a fourth of the processor time and most of the waiting.
Segments of two gigabytes, which only all tests have, need twice as much.
``PYTEST_DEBUG_TEMPROOT`` names another place."""
QUICK_SECONDS: Final = 120
"""Most processor seconds of all quick tests, with their collection by two workers, on the slowest
machine in use, where they take 72 to 78; the first time, or where Python writes no bytecode, they
are compiled too."""
SECONDS: dict[str, float] = {}
"""Processor seconds of each process of the run, as it ended."""
SLOW_CODECS = {"kaitai", "construct"}
"""Those that ``--quick`` leaves to other runs."""
NOT_IN_C = {*SLOW_CODECS, "python"}
"""Those that ``--core`` leaves out, as they call no C but that of checksums and compression."""


@pytest.fixture
def disk_path() -> Iterator[Path]:
    """A directory on a disk, for sparse files: in memory, a hole that is read becomes pages."""
    with TemporaryDirectory() as name:
        yield Path(name)


@pytest.fixture(params=codec_names())
def codec(request: pytest.FixtureRequest) -> Codec:
    """Each codec in turn."""
    return get_codec(request.param)


HAS_LIBRARIES: Final = bool(compression.native and compression.native.CODECS)
"""Whether a library in C serves; otherwise all tests of compression run with those of PyPI, and
``test_libraries.py`` names what is missing."""


def providers(*names: str) -> list[Any]:
    """Return who compresses in turn; all but the first are slow."""
    others = [pytest.param(name, marks=pytest.mark.slow) for name in names[1:]]
    return [names[0], *others] if HAS_LIBRARIES else ["PyPI"]


@pytest.fixture(scope="module", params=providers("C", "PyPI"))
def libraries(request: pytest.FixtureRequest) -> Iterator[str]:
    """Compression by the libraries in C that the extension has, and without them."""
    with served_by(request.param):
        yield request.param


@contextmanager
def served_by(provider: str) -> Iterator[None]:
    """Compress by ``C``: as always; ``loaded``: none is linked; ``PyPI``: not in C."""
    native = compression.native if provider == "loaded" else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compression, "in_c", provider != "PyPI")
        for kinds in ("quick_kinds", "compressed_in_c"):
            patch.setattr(compression, kinds, frozenset(compression.CompressionType))
        if native:
            before = native.CODECS
            codecs, missing = native.find_libraries(native.USE_LOADED)
            assert [name for name, *_ in codecs] == [name for name, *_ in before], missing
        yield
        if native:
            assert native.find_libraries(native.USE_ALL) == (before, native.MISSING)


SPARK = "tests/spark/"
SHARING = (SPARK, "tests/structure/")
"""Tests that share what takes seconds to make: a JVM, and the syntax trees of the code."""
LONG = (
    SPARK,
    "tests/specgen/test_public.py",
    "tests/specgen/test_edits.py",
    "tests/test_readme.py",
    "tests/log/test_lookup.py",
    "tests/codecs/test_kaitai_codec.py",
    "tests/agreement/",
    "tests/test_benchmarks.py",
)
"""Tests of about a minute and more: first, or one worker would end long after the others."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling:
    """Workers (``pytest -n 2``) take whole files, and one of them all tests that share much."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            shared = next((place for place in SHARING if nodeid.startswith(place)), None)
            return shared or super()._split_scope(nodeid)

    config.option.loadscopereorder = False  # as they were collected, not by number of tests
    return Scheduling(config, log)


def memory() -> int:
    """Return how many bytes of memory the machine has."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick",
        action="store_true",
        help="the newest release and one for each magic, two codecs, nothing slow (make quick)",
    )
    parser.addoption(
        "--core",
        action="store_true",
        help="with --quick: also what compares the C of the extension with Python at length, and"
        " nothing with the codec in Python (make sanitize)",
    )


def pytest_configure(config: pytest.Config) -> None:
    extent.quick, extent.core = config.getoption("quick"), config.getoption("core")
    if extent.quick:
        settings.load_profile("quick")
    room = ROOM if extent.quick else 2 * ROOM
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= room <= memory() / 2:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Folders and files of which ``--quick`` takes nothing are not even imported."""
    if not extent.quick:
        return None
    slow = collection_path in SLOW_FOLDERS or (
        collection_path.suffix == ".py" and SLOW_FILE.search(collection_path.read_text("utf-8"))
    )
    return True if slow else None


def is_quick(item: pytest.Item) -> bool:
    """Whether ``--quick`` may take a test: not if it is marked, or asks for a third codec."""
    if any(item.get_closest_marker(name) for name in ("slow", "spark")):
        return False
    if item.get_closest_marker("core") and not extent.core:
        return False
    if any("empty parameter set" in mark.kwargs.get("reason", "") for mark in item.iter_markers()):
        return False  # none of the few versions has what it looks at
    callspec = getattr(item, "callspec", None)
    values = [] if callspec is None else callspec.params.values()
    names = [name for value in values for name in (value if isinstance(value, tuple) else [value])]
    left_out = NOT_IN_C if extent.core else SLOW_CODECS
    return not any(isinstance(name, str) and name in left_out for name in names)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Collect no garbage while tests are collected: what that makes stays."""
    if not session.config.pluginmanager.hasplugin("dsession"):  # which has workers collect
        gc.disable()


def pytest_collection_finish() -> None:
    gc.enable()
    gc.freeze()  # nor look at it again


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long ones first where there are workers; the order stays as it is where there are none."""
    if extent.quick:
        taken: dict[str, pytest.Item] = {}
        for item in items:
            if is_quick(item):
                # One case of each test; what compares the C with Python has all of them.
                taken.setdefault(item.nodeid if extent.core else item.nodeid.split("[")[0], item)
        kept = set(taken.values())
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: [not item.nodeid.startswith(place) for place in LONG])


def processor_seconds(*, children: bool = True) -> float:
    """Return the processor time of this process, and of those that it has waited for."""
    used = os.times()
    own = used.user + used.system
    return own + used.children_user + used.children_system if children else own


def is_whole(config: pytest.Config) -> bool:
    """Whether a run has all quick tests, and not those of some folders only."""
    return extent.quick and not extent.core and config.args == config.getini("testpaths")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a whole quick run that took too long; all workers have ended by then."""
    config = session.config
    if hasattr(config, "workerinput"):
        config.workeroutput["processor_seconds"] = processor_seconds()  # type: ignore[attr-defined]
        return
    SECONDS["controller"] = processor_seconds(children=not SECONDS)  # workers count themselves
    if is_whole(config) and sum(SECONDS.values()) > QUICK_SECONDS and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    SECONDS[node.gateway.id] = getattr(node, "workeroutput", {}).get("processor_seconds", 0.0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in the last lines which tests were skipped and why: a skipped check has not passed."""
    if is_whole(terminalreporter.config):
        used = sum(SECONDS.values())
        terminalreporter.write_line(f"{used:.0f} s of a processor, of at most {QUICK_SECONDS}")
        if used > QUICK_SECONDS:
            terminalreporter.write_line(
                "FAILED: make quick is a smoke test of each room; mark what is longer as slow"
            )
    for line in missing_libraries():
        terminalreporter.write_line(line)
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", ()):
        if isinstance(report.longrepr, tuple):
            reasons[report.longrepr[2].removeprefix("Skipped: ")] += 1
    if reasons:
        terminalreporter.section("not run on this machine")
        for reason, count in sorted(reasons.items()):
            terminalreporter.write_line(f"{count} skipped: {reason}")
