"""Measure which branches of the native core the generated cases take, with gcov.

    python -m tools.native.coverage [--list]

The cases of ``kafkaspec generate``, 300 random ones and what is compressed in them go through the
fuzz target: all of the core, without Python. ``--list`` prints each line with a branch that is not
taken. Exit codes: 0 at least ``LEAST`` of the branches are taken, 1 fewer. Needs gcc and gcov.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
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
from tools.native.fuzz.run import CORE, HERE, forms_header

LEAST: Final = 0.7
"""Share of the branches that the cases take at least."""

_OPTIONS: Final = ("-std=gnu99", "-O0", "--coverage", "-w")
_CHOICES: Final = 10
"""Times that each input is given, with other bytes at its end, by which the target chooses."""
_UNREACHABLE: Final = (
    ("KS_ASSUME", "only the compiler reads an assumption"),
    ("ks_fits_varint", "a writer is given a number that does not fit; no bytes hold one"),
    (">= INT64_C(", "a writer is given a number that does not fit; no bytes hold one"),
)
"""Text of lines whose other branches no bytes can take, and why."""
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


class CoreLine(NamedTuple):
    """A line of the core with branches.

    Attributes:
        file: name of its file.
        line: its number.
        branches: number of its branches.
        taken: number of those that are taken.
    """

    file: str
    line: int
    branches: int
    taken: int


def measured() -> list[CoreLine]:
    """Run the inputs through the target, and return the lines of the core."""
    with tempfile.TemporaryDirectory(prefix="kafkaspec-coverage-") as directory:
        work = Path(directory)
        core = work / "core"
        copytree(CORE, core)
        numbers = core / "numbers.h"
        text = numbers.read_text(encoding="utf-8")  # one copy of each function, to count it once
        numbers.write_text(text.replace("always_inline", "noinline"), encoding="utf-8")
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
        for counts in work.glob("*segment.gcda"):
            subprocess.run(
                ["gcov", "--branch-probabilities", "--json-format", str(counts)],
                cwd=work, check=True, capture_output=True,
            )  # fmt: skip
        return [line for path in work.glob("*.gcov.json.gz") for line in _lines(path)]


def _inputs() -> Iterator[bytes]:
    """Yield the bytes of the cases, and of the records in them, each also with other ends."""
    chance = Random(0)
    seen: set[bytes] = set()
    for case in (*corpus(0), *vector_cases(), *random_cases(300, 31)):
        parts = [case.data]
        with suppress(KafkaSpecError):
            parts += [bytes(each.decompressed()) for each in Segment(case.data).batches()]
        for data in parts:
            if data not in seen:
                seen.add(data)
                yield data
                yield from (data + chance.randbytes(8) for _ in range(_CHOICES))


def _lines(path: Path) -> Iterator[CoreLine]:
    found: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    for file in found["files"]:
        name = Path(file["file"]).name
        if (CORE / name).exists():
            for line in file["lines"]:
                counts = [each["count"] for each in line["branches"]]
                if counts:
                    taken = sum(count > 0 for count in counts)
                    yield CoreLine(name, line["line_number"], len(counts), taken)


def main(arguments: list[str]) -> int:
    """Measure, and print."""
    lines = measured()
    texts = {
        name: (CORE / name).read_text("utf-8").splitlines()
        for name in {each.file for each in lines}
    }
    unreachable = 0
    for line in lines:
        missing = line.branches - line.taken
        text = texts[line.file][line.line - 1].strip()
        why = next((why for part, why in _UNREACHABLE if part in text), "")
        unreachable += missing if why else 0
        if missing and "--list" in arguments:
            print(f"{line.file}:{line.line}: {line.taken} of {line.branches}: {text}")
            print(f"    {why or 'no case takes it'}")
    branches, taken = sum(line.branches for line in lines), sum(line.taken for line in lines)
    print(f"{taken:,} of {branches:,} branches of the core are taken: {taken / branches:.1%}")
    print(
        f"{unreachable} of the others are for no bytes; {branches - taken - unreachable} are left"
    )
    return int(taken < LEAST * branches)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
