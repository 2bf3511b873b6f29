"""Build the explorer's engine from a specification with a draft. Run by test_drafts.py.

Its facts and its classes of the official compiler are those of the draft; the engine shows the
records that ``dump`` shows, and the entries of each index that the draft adds.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import kafkaspec as ks
from kafkaspec.conversion.fields import own_fields
from kafkaspec.files import names
from kafkaspec.files.indexes import INDEXES
from kafkaspec.layout.kinds import KINDS
from tests.specgen.programs.checks import run
from tests.specgen.programs.draft import batch, command, numbered, partition
from tools.brokers.maven import find_tool
from tools.explorer import build, facts

HERE = Path(ks.__file__).parents[1]
COPY = HERE / "explorer"
ENGINE = facts.ROOT / "tests" / "explorer" / "engine.mjs"


@cache
def engine() -> Path:
    """The folder with the engine."""
    build.packages()
    left_out = shutil.ignore_patterns("node_modules", "gen")
    shutil.copytree(build.HOME, COPY, ignore=left_out)
    (COPY / "node_modules").symlink_to(build.HOME / "node_modules")
    for module in (facts, build):
        vars(module)["SPEC"] = HERE / "spec"
    build.generate(COPY / "gen")
    node, out = find_tool("node", "Node.js"), HERE / "explorer-built"
    subprocess.run([node, "build.mjs", str(out)], cwd=COPY, check=True)
    return out


def ask(**request: Any) -> Any:
    """The answer of the engine."""
    text = json.dumps(request) + "\n"
    done = subprocess.run(
        [find_tool("node", "Node.js"), str(ENGINE), str(engine())],
        input=text, capture_output=True, text=True, check=True, encoding="utf-8",
    )  # fmt: skip
    answer = json.loads(done.stdout)
    assert "failed" not in answer, answer
    return answer


def its_types_hold(root: Path) -> None:
    engine()
    subprocess.run([str(COPY / "node_modules" / ".bin" / "tsc"), "--noEmit"], cwd=COPY, check=True)


def records_are_those_of_dump(root: Path) -> None:
    (log,) = partition(root).glob("*.log")
    names_of = [field.name for field in own_fields(KINDS[max(KINDS)]).record]
    fields = [{name: at for name in names_of if "." not in name} for at in (1, 0, 2)]
    with log.open("ab") as file:
        for at, name in ((300, "none"), (303, "zstd")):
            file.write(batch(at, max(KINDS), compression=name, fields=fields))
    answer = ask(command="dump", file=str(log))
    assert "error" not in answer, answer["error"]
    assert answer["text"] == command("dump", "--format", "json", log)


def new_indexes_are_tables(root: Path) -> None:
    for kind in names.NEW_INDEXES:
        path = root / f"t{kind}"
        numbered(kind, path)
        file = min(path.glob(f"*{kind}"))
        index = INDEXES[kind](file)
        answer = ask(command="call", files=[str(file)], calls=[["table", 1, 0, 1000]])
        (info,), (table,) = answer["infos"], answer["results"]
        assert info["kind"] != "unknown"
        shown = table["result"]
        columns = [column["name"] for column in shown["columns"]]
        found = [dict(zip(columns, row, strict=True)) for row in shown["rows"]]
        for entry, row in zip(index.entries, found, strict=True):
            assert row["offset"] == str(entry.offset)
            assert row[index.other] == str(getattr(entry, index.other))


CHECKS = (its_types_hold, records_are_those_of_dump, new_indexes_are_tables)

if __name__ == "__main__":
    run(CHECKS)
