"""Cases of hostile bytes, and the bound on the memory of a testee."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kafkaspec import compression
from kafkaspec.checksum import CHECKSUMS
from kafkaspec.conformance import memory
from kafkaspec.conformance.process import BreakdownError, Testee
from kafkaspec.conformance.protocol import CaseFailure
from kafkaspec.conformance.resource import resource_cases
from kafkaspec.layout.framing import checksum_of
from kafkaspec.layout.kinds import MAGICS
from kafkaspec.layout.names import PRODUCER_SNAPSHOT_FILE
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


@pytest.mark.slow
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
    """A bomb for each codec, depth for each magic with wrappers, hostile counts, lengths, sizes of
    entries of each magic, and counts of snapshots."""
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
    sizes = {name.rpartition("/")[2] for name in ids if "/size/" in name}
    assert sizes == {f"{m}.{size}" for m in MAGICS for size in ("-1", "minimum", "maximum")}
    assert {name for name in ids if name.endswith("value.size.2147483647")} >= {
        "resource/log/recordbatch.record/value.size.2147483647",
        "resource/log/recordbatch.legacy_message/magic_0.value.size.2147483647",
    }
    snapshots = [case for case in cases if case.id.startswith("resource/snapshot/num_entries.")]
    assert len(snapshots) > 5
    checksum = checksum_of(PRODUCER_SNAPSHOT_FILE)
    for case in snapshots:  # the checksum is right, so that the count is what a reader refuses
        stored = case.data[checksum.position : checksum.start]
        if len(stored) == checksum.start - checksum.position:
            of = CHECKSUMS[checksum.algorithm](case.data[checksum.start :])
            assert int.from_bytes(stored, "big") == of
    assert len(ids) - len(logs) > 100
    assert all(case.most_memory for case in cases)
    bomb = next(case for case in cases if case.id == "resource/bomb/gzip")
    payload = bomb.data[61:]
    pieces = compression.decompress_pieces(1, payload, magic=2, max_output=1 << 30)
    assert sum(map(len, pieces)) == 256 << 20


@pytest.mark.slow
def test_a_size_beyond_the_end_may_be_the_end_and_nothing_else() -> None:
    """A broker's answer may end inside an entry."""
    beyond, negative = (
        next(case for case in resource_cases() if case.id == f"resource/size/2.{name}")
        for name in ("maximum", "minimum")
    )
    for answer, fails in (
        ({"error": "x"}, (0, 0)),
        ({"records": []}, (0, 1)),
        ({"records": [{}]}, (1, 1)),
    ):
        found = (case.expected.failure(answer, case.kind) for case in (beyond, negative))
        assert [item is not None for item in found] == list(map(bool, fails))


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
