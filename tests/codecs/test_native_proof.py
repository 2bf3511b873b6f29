"""Contracts of the generated C: the page names them all, and the proof refuses a fault."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tools.native import prove

needs_prover = pytest.mark.skipif(
    any(shutil.which(name) is None for name in prove.NEEDED), reason="there is no Frama-C"
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
