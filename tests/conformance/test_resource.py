"""Cases of hostile bytes, and the bound on the memory of a testee."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kafkaspec import compression
from kafkaspec.conformance import memory
from kafkaspec.conformance.process import BreakdownError, Testee
from kafkaspec.conformance.protocol import CaseFailure
from kafkaspec.conformance.resource import resource_cases
from tests.cli.helpers import lines, run

pytestmark = pytest.mark.skipif(not memory.is_known(), reason="only Linux says the memory")

TESTEE = """
import json, sys, subprocess
for text in sys.stdin:
    request = json.loads(text)
    answer = {"id": request["id"], "name": "x", "version": "1", "protocol": 1, "kinds": ["type"]}
    if request["kind"] != "hello":
        taken = bytearray(b"x") * (int(request["parameters"][0]) << 20)
        if len(request["parameters"]) > 1:
            subprocess.run([sys.executable, "-c", "x = bytearray(b'x') * (100 << 20)"])
        answer = {"id": request["id"], "value": len(taken), "end": 0}
        del taken
    print(json.dumps(answer), flush=True)
"""


def _request(*parameters: int) -> dict[str, object]:
    return {"id": "1", "kind": "type", "data": "", "type": "x", "parameters": parameters}


@pytest.fixture
def testee(tmp_path: Path) -> Testee:
    program = tmp_path / "testee.py"
    program.write_text(TESTEE)
    return Testee([sys.executable, str(program)], timeout=30)


def test_memory_is_bounded_for_each_request(testee: Testee) -> None:
    """What was freed before does not count, nor what the testee had before."""
    with testee:
        assert testee.hello.name == "x"
        for size in (10, 80, 10):
            assert testee.ask(_request(size), 100 << 20)["value"] == size << 20
        with pytest.raises(BreakdownError) as caught:
            testee.ask(_request(80), 40 << 20)
        assert caught.value.failure is CaseFailure.MEMORY
        assert testee.ask(_request(80))["value"] == 80 << 20  # without a bound, and a new process


@pytest.mark.slow
def test_memory_of_children_counts(testee: Testee) -> None:
    with testee, pytest.raises(BreakdownError) as caught:
        testee.ask(_request(1, 1), 60 << 20)
    assert caught.value.failure is CaseFailure.MEMORY


@pytest.mark.slow
def test_the_cases_have_all_kinds() -> None:
    """A bomb for each codec, depth for each magic with wrappers, and hostile counts and lengths."""
    cases = list(resource_cases())
    ids = [case.id for case in cases]
    assert len(ids) == len(set(ids))
    bombs = {name.rpartition("/")[2] for name in ids if "/bomb/" in name}
    assert bombs == set(compression.NAMES) - {"none"}
    assert {name for name in ids if "/nested/" in name} == {
        "resource/nested/0",
        "resource/nested/1",
    }
    counts = {name.rpartition("/")[2] for name in ids if "/count/" in name}
    assert counts == set(compression.NAMES)
    logs = [case for case in cases if case.id.startswith("resource/log/")]
    assert {case.id.split("/")[3].partition(".")[0] for case in logs} >= {"num_headers", "len_key"}
    assert len(ids) - len(logs) > 100
    assert all(case.most_memory for case in cases)
    bomb = next(case for case in cases if case.id == "resource/bomb/gzip")
    payload = bomb.data[61:]
    pieces = compression.decompress_pieces(1, payload, magic=2, max_output=1 << 30)
    assert sum(map(len, pieces)) == 256 << 20


@pytest.mark.slow
@pytest.mark.parametrize("codec", ["native", "construct"])
def test_our_codecs_pass(codec: str) -> None:
    result = run("conform", "--codec", codec, "--resource", "--only", "resource/*")
    assert result.exit_code == 0, result.output
    assert "passed" in result.output


@pytest.mark.slow
def test_the_cases_are_asked_for() -> None:
    """Without the option there are none of them."""
    found = lines(
        run("conform", "--codec", "python", "--only", "*/index.index/*", "--format", "json")
    )
    assert not [each for each in found if str(each.get("id", "")).startswith("resource/")]
