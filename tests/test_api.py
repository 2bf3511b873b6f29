"""``import kafkaspec as ks``: names, help, version, where the specification lies."""

from __future__ import annotations

import inspect
import pydoc
import re
import rlcompleter
import shutil
import subprocess
import sys
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

import kafkaspec as ks
from kafkaspec._names import NAMES
from kafkaspec.log.batch import FORMER
from tools import api
from tools.names import TABLE, lazy_packages, public_names, table

GOLDEN = Path(__file__).parent / "golden"
ROOT = Path(__file__).resolve().parents[1]


def test_the_table_is_what_the_packages_say() -> None:
    """Repair it with: python -m tools.names"""
    assert TABLE.read_text(encoding="utf-8") == table()


@pytest.mark.parametrize(("package", "init"), list(lazy_packages()))
def test_every_public_name_is_there(package: str, init: Path) -> None:
    module = import_module(package)
    names = public_names(init)
    assert names
    assert set(dir(module)) >= names.keys()
    assert module.__all__ == [name for name in names if not name.startswith("__")]
    for name, (home, attribute) in names.items():
        assert getattr(module, name) is getattr(import_module(home), attribute)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = module.nothing


def test_dir_shows_nothing_else() -> None:
    shown = {name for name in dir(ks) if not name.startswith("__")}
    assert {*shown, "__version__"} == NAMES["kafkaspec"].keys()


def test_completion() -> None:
    complete = rlcompleter.Completer({"ks": ks}).complete
    assert complete("ks.rebuild", 0) == "ks.rebuild_indexes("
    assert (complete("ks.Seg", 0), complete("ks.Seg", 1)) == ("ks.Segment(", "ks.SegmentWriter(")


@pytest.mark.slow
def test_help() -> None:
    text = pydoc.plain(pydoc.render_doc(ks))
    for name in NAMES["kafkaspec"].keys() - {"__version__"}:
        assert name in text, name
    assert f"VERSION\n    {version('kafkaspec')}" in text
    assert "open(path:" in text


@pytest.mark.slow
def test_the_module_is_the_command() -> None:
    module, command = (
        subprocess.run([*start, "--version"], capture_output=True, text=True, check=True).stdout
        for start in (
            [sys.executable, "-m", "kafkaspec"],
            [str(Path(sys.executable).with_name("kafkaspec"))],
        )
    )
    assert module == command
    assert module.startswith(f"kafkaspec {ks.__version__}, codec ")


def test_importing_is_cheap() -> None:
    """No codec, no compression, no command, nothing of third parties."""
    code = "import sys; before = set(sys.modules); import kafkaspec; dir(kafkaspec)\n"
    code += "print(*sorted({n.split('.')[0] for n in set(sys.modules) - before}))\n"
    code += "print(*sorted(n for n in sys.modules if n.startswith('kafkaspec')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    all_, own = done.stdout.splitlines()
    assert set(all_.split()) <= {"kafkaspec", "typing", "_typing", "collections"} | set(
        sys.stdlib_module_names
    )
    assert own.split() == ["kafkaspec", "kafkaspec._names", "kafkaspec.lazy"]


def test_the_files_that_errors_cite() -> None:
    files = ks.spec_files()
    spec = ROOT / "spec"
    assert {path.relative_to(spec).as_posix() for path in spec.rglob("*.ksy")} == files.keys()
    with pytest.raises(ks.KafkaSpecError) as caught:
        ks.decode(bytes(70))
    assert caught.value.spec.partition("#")[0] in files
    for path in files.values():
        text = path.read_text(encoding="utf-8")
        assert any(f"\n{part}:" in text for part in ("seq", "types", "enums")), path


def test_one_type_for_all_logs(tmp_path: Path) -> None:
    """A segment, its partition and the directory of that give the same batches and records."""
    source = next(GOLDEN.glob("4.3.1/logs/plain-0"))
    shutil.copytree(source, tmp_path / "logs" / source.name)
    partition = tmp_path / "logs" / source.name
    (segment,) = partition.glob("*.log")
    seen = []
    for path in (segment, partition, tmp_path / "logs"):
        with ks.open(path) as log:
            assert isinstance(log, ks.Log)
            batches = [batch.position for batch in log.batches(start_offset=5)]
            records = list(log.records(5))
            timestamp = records[-1].timestamp
            found = log.find(timestamp=timestamp), log.find(max_timestamp=True)
            answers = [(item.how, item.target, item.path, item.offset) for item in found]
            seen.append((batches, records, answers, log.to_arrow(["offset"], start_offset=5)))
    assert seen[0][1]
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.slow
def test_a_directory_answers_for_all_partitions() -> None:
    directory = ks.LogDirectory(GOLDEN / "4.3.1" / "logs")
    each = list(directory.find_each(max_timestamp=True))
    assert [partition for partition, _ in each] == directory.partitions
    largest = max(found.timestamp for _, found in each if found.timestamp is not None)
    assert directory.find(max_timestamp=True).timestamp == largest
    first = min(
        record.timestamp for record in directory.records() if record.timestamp >= largest - 1000
    )
    found = directory.find(timestamp=largest - 1000, plain=True)
    assert found.timestamp == first
    assert directory.find(timestamp=largest + 1).record is None
    with pytest.raises(TypeError, match="for an offset ask a partition"):
        directory.find(offset=1)
    assert sum(1 for _ in directory.batches()) == sum(
        1 for partition in directory.partitions for _ in partition.batches()
    )


@pytest.mark.slow
def test_the_pages_of_the_api_are_whole() -> None:
    """Each name, member and argument of what is public is there, with a type."""
    pages = api.pages()
    page = "\n".join(pages.values())
    for name in ks.__all__:
        value = getattr(ks, name)
        assert f"{name}\n" in page, name
        if not isinstance(value, type) or issubclass(value, ks.Reason):
            continue
        part = pages[f"api/{name.lower()}.md"] if issubclass(value, ks.Log) else page
        for member in vars(value):
            shown = value.__dict__[member]
            if member.startswith("_") or member in api._FORMER.get(value, ()):
                continue
            if callable(shown) or isinstance(shown, classmethod):
                assert f"{name}.{member}(" in page, (name, member)
            elif inspect.getdoc(shown) and isinstance(shown, property | cached_property):
                assert f"| `{member}` | `" in part, (name, member)
        for attribute, _ in api._attributes(value):
            assert f"| `{attribute}` | `" in part, (name, attribute)
    rows = re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", page, re.MULTILINE)
    assert [name for name, kind in rows if kind in ("", "<class 'inspect._empty'>")] == []
    assert len(rows) > 300


@pytest.mark.slow
def test_the_pages_of_the_api_have_nothing_private() -> None:
    page = "\n".join(api.pages().values())
    private = r"kafkaspec\._\w+|ks\._[a-z]\w*|\| `_\w+|\._[a-z]\w+\(|<class|ForwardRef"
    assert re.findall(private, page) == []
    for name in FORMER:
        assert f"Batch.{name}(" not in page
