"""Measure which branches of the native core users reach with the generated cases, with gcov.

    python -m tools.native.coverage [--list]

The core is what the generator writes in C, ``generated/native``. The cases of ``kafkaspec
generate``, some random ones and what is compressed in them go through the public interface of a
package whose extension counts (``tools.native.driving``), and through the fuzz target, which calls
the core without Python. ``unreachable.toml`` lists the branches that nobody can reach, and why.

``--list`` prints each line with a branch that is not taken. Exit codes: 0 at least ``LEAST`` of the
branches that can be reached are taken, 1 fewer, or the list is wrong. Needs gcc and gcov.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from random import Random
from shutil import copytree
from typing import Any, Final, NamedTuple

from kafkaspec.conformance.vectors import vector_cases
from kafkaspec.errors import KafkaSpecError
from kafkaspec.extension import GLUE
from kafkaspec.generation.corpus import corpus, random_cases
from kafkaspec.libraries import LOADER, libraries
from kafkaspec.log.segment import Segment
from tools.native.build import NAME, build
from tools.native.driving import RANDOM
from tools.native.fuzz.run import CORE, HERE, forms_header
from tools.native.sanitize import IGNORED, ROOT

LEAST: Final = 0.95
"""Share of the branches that can be reached that the cases take at least."""
UNREACHABLE: Final = Path(__file__).with_name("unreachable.toml")

_OPTIONS: Final = ("-std=gnu99", "-O0", "--coverage", "-w")
_CHOICES: Final = 10
"""Times that each input is given, with other bytes at its end, by which the target chooses."""
_NEAR: Final = 256
"""Zeros after half of them: far before the end of the bytes, the core reads in another loop."""
_MAIN: Final = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
int LLVMFuzzerTestOneInput(const uint8_t *, size_t);
int main(int count, char **names)
{
    FILE *file = count > 1 ? fopen(names[1], "rb") : NULL;
    uint32_t size;
    while (file && fread(&size, sizeof size, 1, file) == 1) {
        uint8_t *data = malloc(size + 1);
        if (fread(data, 1, size, file) != size)
            return 1;
        LLVMFuzzerTestOneInput(data, size);
        free(data);
    }
    return file ? 0 : 1;
}
"""


class CoverageError(RuntimeError):
    """The list of branches that nobody can reach is wrong."""


class CorePlace(NamedTuple):
    """A line of the core in one function; a macro makes several functions of one line.

    Attributes:
        file: name of its file.
        line: its number.
        function: the function.
    """

    file: str
    line: int
    function: str


Counts = Mapping[CorePlace, list[int]]
"""How often each branch of each line is taken."""


class Unreachable(NamedTuple):
    """Branches of a function that nobody can reach.

    Attributes:
        function: its name.
        text: the text of their line, or of several lines that are the same.
        branches: their number, in all of these lines together.
        why: the reason.
    """

    function: str
    text: str
    branches: int
    why: str


class Share(NamedTuple):
    """Numbers of branches.

    Attributes:
        branches: number of all branches.
        taken: number of those that are taken.
        unreachable: number of those that nobody can reach.
    """

    branches: int
    taken: int
    unreachable: int

    @property
    def reached(self) -> float:
        """The share of those that can be reached."""
        return self.taken / (self.branches - self.unreachable)


def read_unreachable(path: Path = UNREACHABLE) -> list[Unreachable]:
    """Return the branches that nobody can reach."""
    reasons = tomllib.loads(path.read_text(encoding="utf-8"))["reason"]
    return [
        Unreachable(function, text, number, reason["why"])
        for reason in reasons
        for function, lines in reason["functions"].items()
        for text, number in lines.items()
    ]


def share(counts: Counts, listed: Iterable[Unreachable], core: Path = CORE) -> Share:
    """Return what is taken.

    Raises:
        CoverageError: a branch of the list is taken, or not there.
    """
    missing: Counter[tuple[str, str]] = Counter()
    there = set()
    for place, taken in counts.items():
        key = place.function, line_text(place, core)
        there.add(key)
        missing[key] += taken.count(0)
    wrong = []
    unreachable = 0
    for item in listed:
        key = item.function, item.text
        if key not in there:
            wrong.append(f"{item.function} has no branch in the line {item.text!r}")
        elif missing[key] < item.branches:
            taken_now = item.branches - missing[key]
            wrong.append(
                f"{item.function}: {taken_now} of {item.branches} in {item.text!r} are taken"
            )
        unreachable += item.branches
        missing[key] -= item.branches
    if wrong:
        raise CoverageError("\n".join(wrong))
    return Share(sum(map(len, counts.values())), taken_of(counts), unreachable)


def taken_of(counts: Counts) -> int:
    """Return the number of branches that are taken."""
    return sum(number > 0 for numbers in counts.values() for number in numbers)


def line_text(place: CorePlace, core: Path = CORE) -> str:
    """Return the text of a line."""
    return (core / place.file).read_text("utf-8").splitlines()[place.line - 1].strip()


def merged(found: Iterable[Counts]) -> Counts:
    """Return the sums of counts of the same core."""
    total: dict[CorePlace, list[int]] = {}
    for counts in found:
        for place, numbers in counts.items():
            before = total.get(place, [0] * len(numbers))
            total[place] = [a + b for a, b in zip(before, numbers, strict=True)]
    return total


def by_users(work: Path) -> Counts:
    """Drive a copy of the package whose extension counts; return the counts."""
    copytree(ROOT, work, symlinks=True, dirs_exist_ok=True, ignore=IGNORED)
    _count_functions_once(work / "generated" / "native")
    counted = work / "counted"
    counted.mkdir()
    os.environ["CC"] = "gcc"  # as gcov expects
    build(work / "generated", work / "kafkaspec" / NAME, (*_OPTIONS, "-dumpdir", f"{counted}/"))
    subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tools.native.driving", work / "driven"],
        cwd=work, env=os.environ | {"PYTHONPATH": str(work)}, check=True,
    )  # fmt: skip
    return _counts(counted)


def by_fuzz_target(work: Path) -> Counts:
    """Run the inputs through the fuzz target; return the counts."""
    work.mkdir(exist_ok=True)
    core = work / "core"
    copytree(CORE, core)
    _count_functions_once(core)
    (work / "forms.h").write_text(forms_header(), encoding="ascii")
    (work / "main.c").write_text(_MAIN, encoding="ascii")
    found = libraries(["gcc"])
    glue = [GLUE / f"{name}.c" for name in ("crc", "compression", "libraries")]
    files = [work / "main.c", HERE / "fuzz_core.c", *core.glob("*.c"), *glue]
    command = ["gcc", *_OPTIONS, f"-I{work}", f"-I{core}", f"-I{GLUE}", *map(str, files)]
    command += [f"-D{library.macro}=1" for library in found]
    command += [f"-l{name}" for name in (*(each.name for each in found), *LOADER)]
    subprocess.run([*command, "-o", "target"], check=True, cwd=work)
    with (work / "inputs").open("wb") as file:
        for data in _inputs():
            file.write(len(data).to_bytes(4, sys.byteorder) + data)
    subprocess.run([work / "target", work / "inputs"], check=True, cwd=work)
    return _counts(work)


def _count_functions_once(core: Path) -> None:
    """Compile one copy of each function, whose branches then count once."""
    numbers = core / "numbers.h"
    text = numbers.read_text(encoding="utf-8")
    numbers.write_text(text.replace("always_inline", "noinline"), encoding="utf-8")


def _inputs() -> Iterator[bytes]:
    """Yield the bytes of the cases, and of the records in them, each also with other ends."""
    chance = Random(0)
    seen: set[bytes] = set()
    for case in (*corpus(0), *vector_cases(), *random_cases(*RANDOM)):
        parts = [case.data]
        with suppress(KafkaSpecError):
            parts += [bytes(each.decompressed()) for each in Segment(case.data).batches()]
        for data in parts:
            if data not in seen:
                seen.add(data)
                yield data
                for number in range(_CHOICES):
                    yield data + bytes(number % 2 * _NEAR) + chance.randbytes(8)


def _counts(work: Path) -> Counts:
    for path in work.glob("*segment.gcda"):
        subprocess.run(
            ["gcov", "--branch-probabilities", "--json-format", str(path)],
            cwd=work, check=True, capture_output=True,
        )  # fmt: skip
    counts: defaultdict[CorePlace, list[int]] = defaultdict(list)
    for path in work.glob("*.gcov.json.gz"):
        found: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
        for file in found["files"]:
            name = Path(file["file"]).name
            if not (CORE / name).exists():
                continue
            for line in file["lines"]:
                place = CorePlace(name, line["line_number"], line.get("function_name", ""))
                if line["branches"]:
                    counts[place] += [each["count"] for each in line["branches"]]
    return dict(counts)


def main(arguments: list[str]) -> int:
    """Measure, and print."""
    with tempfile.TemporaryDirectory(prefix="kafkaspec-coverage-") as directory:
        work = Path(directory)
        users = by_users(work / "users")
        counts = merged([users, by_fuzz_target(work / "target")])
    listed = read_unreachable()
    if "--list" in arguments:
        print_missing(counts, listed)
    try:
        found = share(counts, listed)
    except CoverageError as error:
        print(f"{UNREACHABLE.name} is wrong:\n{error}", file=sys.stderr)
        return 1
    branches, taken = found.branches, found.taken
    reachable = branches - found.unreachable
    alone = taken_of(users)
    print(f"{branches} branches of the core: {taken} are taken, {taken / branches:.1%}")
    print(f"{reachable} of them can be reached; of these, {found.reached:.1%} are taken")
    print(
        f"{alone} are taken through the public interface, {taken - alone} by the fuzz target alone"
    )
    return int(found.reached < LEAST)


def print_missing(counts: Counts, listed: Iterable[Unreachable]) -> None:
    """Print each line with a branch that is not taken, and why."""
    why = {(item.function, item.text): item.why for item in listed}
    for place, taken in sorted(counts.items()):
        if 0 in taken:
            text = line_text(place)
            number = f"{len(taken) - taken.count(0)} of {len(taken)}"
            print(f"{place.file}:{place.line}, {place.function}: {number}: {text}")
            print(f"    {why.get((place.function, text), 'No case takes it.')}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
