"""Prove the contracts of the generated C with Frama-C, and keep docs/proof.md true.

    python -m tools.native.prove            prove all; fail if docs/proof.md says something else
    python -m tools.native.prove --write    the same, and write the table into docs/proof.md

A proof that accepts everything proves nothing, so each run first plants the faults of ``FAULTS``
in a copy, and fails if one of them is proven too.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "generated" / "native"
LEAVES = Path(__file__).with_name("leaves.c")
PAGE = ROOT / "docs" / "proof.md"
TABLE = re.compile(r"(?<=<!-- proof -->\n).*?(?=<!-- end -->)", re.DOTALL)
SECONDS, SECONDS_OF_FAULT = 120, 15
"""Most seconds of a prover for one goal, on a machine that has other work."""
MEGABYTES = 4000
"""Most memory of a prover for one goal."""
NEEDED = ("frama-c", "why3", "z3", "cvc4")

_CONTRACT = re.compile(r"^/\*@((?:(?!\*/).)*)\*/\n(?:/\*@.*?\*/\n)*[^(;{}]*?(\w+)\(", re.M | re.S)
_FUNCTION = re.compile(r"^(?:KS_\w+ |static |int |const )[^;={}]*?(\w+)\([^;{}]*\)\s*\{", re.M)
_GOAL = re.compile(r"^\[wp\] \[([^\]]+)\] Goal typed_(\w+)( : Valid)?", re.M)

UNPROVEN = (
    (
        r"encode_|finish_|ks_get$",
        "writers: their input comes from this library and not from a file",
    ),
    (
        r"near_|decode_record_set$|ks_put$|ks_clear_bit$",
        "the loops over records and how they fill columns: they copy between types of numbers, and"
        " write into columns that must not overlap, which the model `Typed` does not tell by"
        " itself; a model checker looks at them up to a bound, not in every layout, see below",
    ),
    (
        r"decode_|hop_|columns_|payload_|put_|fill_|inside$|ks_decode$|ks_put_|ks_copy$|ks_high$"
        r"|ks_set_bits$",
        "what stands above the loops, and what copies bytes or changes bits, not yet; `make fuzz`"
        " and `make sanitize` run them on hostile bytes",
    ),
)
"""Functions without a contract, by a pattern of their names, and why they have none."""


@dataclass(frozen=True)
class Fault:
    """A mistake in the C, a function whose proof has to refuse it, and a goal that must fail."""

    file: str
    before: str
    after: str
    function: str
    goal: str


FAULTS = (
    Fault(
        "numbers.h", "i < most && p < end", "i < most",
        "ks_groups_slow", "mem_access",
    ),
    Fault(
        "numbers.h", "if (KS_LIKELY(end - p >= 2)) {", "{",
        "ks_groups", "mem_access",
    ),
    Fault(
        "numbers.h", "p < end; i++, p++)", "p < end;)",
        "ks_groups_slow", "loop_variant_decrease",
    ),
    Fault(
        "segment.c", "    if (h->len_message > end - p)\n        return KS_SHORT;\n", "",
        "read_frame", "ensures",
    ),
)  # fmt: skip
"""A bound that the loop or the reader of a varint lacks, an endless loop, and a frame too long."""


class ProofError(RuntimeError):
    """Something is not proven, or the page says what is not so."""


def leaves() -> list[str]:
    """Return the functions that Eva proves, which leaves.c calls."""
    return re.findall(r"^    (ks_\w+)\(", LEAVES.read_text(encoding="utf-8"), re.M)


def contracted(core: Path) -> list[str]:
    """Return the functions with a contract that are not leaves."""
    found = []
    for name in ("numbers.h", "runtime.h", "segment.c"):
        text = (core / name).read_text(encoding="utf-8")
        found += [match[2] for match in _CONTRACT.finditer(text) if "assigns" in match[0]]
        for name in re.findall(r"^KS_READERS\((\w+),", text, re.M):
            found += [f"ks_read_{name}", f"ks_near_{name}"]
    return [name for name in dict.fromkeys(found) if name not in {*leaves(), "ks_assume"}]


def defined(core: Path) -> list[str]:
    """Return all functions of the core."""
    texts = [
        (core / n).read_text(encoding="utf-8") for n in ("numbers.h", "runtime.h", "segment.c")
    ]
    return [name for text in texts for name in _FUNCTION.findall(text)]


def _frama_c(core: Path, work: Path, *options: str) -> str:
    config = work / "why3.conf"
    environment = os.environ | {"WHY3CONFIG": str(config), "NO_COLOR": "1"}
    if not config.exists():
        subprocess.run(
            ["why3", "-C", str(config), "config", "detect"],
            env=environment, capture_output=True, check=True,
        )  # fmt: skip
        text = re.sub(r"memlimit = \d+", f"memlimit = {MEGABYTES}", config.read_text("utf-8"))
        config.write_text(text, encoding="utf-8")
    command = ["frama-c", f"-cpp-extra-args=-I{core} -CC", *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise ProofError(done.stdout + done.stderr)
    return done.stdout


def by_eva(core: Path, work: Path) -> int:
    """Prove the leaves; return how many statements were looked at."""
    text = _frama_c(
        core, work, "-eva", "-eva-precision", "4", "-warn-special-float", "none",
        "-eva-subdivide-non-linear", "256", str(LEAVES),
    )  # fmt: skip
    if "0 alarms" not in text or "eva:alarm" in text or ":invalid" in text:
        raise ProofError(text)
    found = re.search(r"(\d+) statements reached \(out of \1\)", text)
    if not found:
        raise ProofError(f"not all statements of the leaves are reached:\n{text}")
    return int(found[1])


def by_wp(
    core: Path, work: Path, functions: Sequence[str], seconds: int = SECONDS
) -> dict[str, Counter[str]]:
    """Prove functions; return the number of goals by function and by what proved them."""
    text = _frama_c(
        core, work, "-wp", "-wp-rte", "-wp-prover", "cvc4,z3", "-wp-par", "1",
        "-wp-timeout", str(seconds), "-wp-fct", ",".join(functions), str(core / "segment.c"),
    )  # fmt: skip
    goals: dict[str, Counter[str]] = {name: Counter() for name in functions}
    failed = []
    for prover, goal, valid in _GOAL.findall(text):
        owners = [name for name in functions if goal.startswith(f"{name}_")]
        if not valid:
            failed.append(goal)
        elif owners:
            goals[max(owners, key=len)][prover.split()[0]] += 1
    total = re.search(r"Proved goals:\s+(\d+) / (\d+)", text)
    if failed or not total or total[1] != total[2]:
        raise ProofError(f"not proven: {', '.join(failed) or text}")
    if sum(count.total() for count in goals.values()) != int(total[1]):
        raise ProofError(f"the goals of the functions are not all {total[1]} goals:\n{text}")
    return goals


@contextmanager
def planted(fault: Fault, core: Path, work: Path) -> Iterator[Path]:
    """Plant a fault in a copy of the core."""
    with tempfile.TemporaryDirectory(dir=work) as directory:
        copy = Path(directory) / "core"
        shutil.copytree(core, copy)
        path = copy / fault.file
        text = path.read_text(encoding="utf-8")
        if fault.before not in text:
            raise ProofError(f"{fault.file} has no {fault.before!r}")
        path.write_text(text.replace(fault.before, fault.after), encoding="utf-8")
        yield copy


def refused(fault: Fault, core: Path, work: Path) -> bool:
    """Tell whether the proof refuses a fault in a copy of the core."""
    with planted(fault, core, work) as copy:
        try:
            by_wp(copy, work, [fault.function], SECONDS_OF_FAULT)
        except ProofError as error:
            return str(error).startswith("not proven: ") and fault.goal in str(error)
        return False


def report(core: Path, goals: dict[str, Counter[str]], statements: int) -> str:
    """Return the part of the page that says what is proven and what is not."""
    lines = ["| function | goals | of these by a prover |", "|---|---|---|"]
    for name, count in goals.items():
        lines.append(f"| `{name}` | {count.total()} | {count.total() - count['Qed']} |")
    total = sum(count.total() for count in goals.values())
    small = ", ".join(f"`{name}`" for name in leaves())
    lines += ["", f"Together {len(goals)} functions and {total} goals. Eva proves, in {statements}"]
    lines += [f"statements, {len(leaves())} small functions with any bytes: {small}.", ""]
    lines += ["Without a contract, and so not proven:", ""]
    rest = [n for n in dict.fromkeys(defined(core)) if n not in {*goals, *leaves(), "ks_assume"}]
    for pattern, reason in UNPROVEN:
        names = [name for name in rest if re.match(pattern, name)]
        rest = [name for name in rest if name not in names]
        if names:
            lines.append(f"- {', '.join(f'`{name}`' for name in names)}: {reason}.")
    if rest:
        raise ProofError(f"neither a contract nor a reason why not: {', '.join(rest)}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run all; the exit code says whether all is proven and the page is true."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--write", action="store_true", help="write the table into docs/proof.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kafkaspec-proof-") as directory:
        work = Path(directory)
        try:
            for fault in FAULTS:
                if not refused(fault, CORE, work):
                    raise ProofError(f"a fault in {fault.function} is not refused")
                print(f"refused: a fault in {fault.function}", flush=True)
            table = report(CORE, by_wp(CORE, work, contracted(CORE)), by_eva(CORE, work))
        except ProofError as error:
            print(error, file=sys.stderr)
            return 1
    print(table)
    page = PAGE.read_text(encoding="utf-8")
    fresh = TABLE.sub(lambda _: table, page)
    if options.write:
        PAGE.write_text(fresh, encoding="utf-8")
    elif fresh != page:
        print("docs/proof.md says something else: make proof OPTIONS=--write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
