"""Two testees on the same mutations: a fault is found and made small, a seed gives one answer."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from itertools import islice, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from kafkaspec.checksum import crc32c
from kafkaspec.cli.exits import CLEAN, FINDINGS, USAGE
from kafkaspec.codecs import get_codec
from kafkaspec.conformance.cases import Items
from kafkaspec.conformance.differential import SMALLEST, LogComparison, digests, mutations
from kafkaspec.conformance.process import Testee
from kafkaspec.conformance.protocol import RequestKind, digest
from kafkaspec.conformance.serving import answered
from kafkaspec.conformance.testee import handlers_of
from kafkaspec.generation.corpus import corpus
from kafkaspec.layout.framing import LOG_FRAMING
from tests.cli.helpers import lines, run
from tests.pages import ROOT

FAULTY = Path(__file__).parent / "faulty_testee.py"
PERL = ROOT / "tools" / "conformance" / "perl" / "testee.pl"
OURS = [sys.executable, "-m", "kafkaspec.conformance.testee", "python"]


def read(log: bytes, codec: str = "native") -> dict[str, Any]:
    request = {"id": "", "kind": RequestKind.LOG.value}
    return answered(request, handlers_of(get_codec(codec)), log)


@pytest.mark.slow
def test_a_seed_gives_the_same_logs_and_others_give_others() -> None:
    first, again, other = (list(islice(mutations(seed), 300)) for seed in (3, 3, 4))
    assert first == again
    assert len(set(first) & set(other)) < len(set(first)) // 10
    assert all(len(log) >= SMALLEST for log in first)
    sizes = [LOG_FRAMING.message_size(log, 0) for log in first]
    assert sizes == [len(log) - LOG_FRAMING.size for log in first]
    sealed = sum(
        len(log) > 21 and int.from_bytes(log[17:21], "big") == crc32c(log[21:]) for log in first
    )
    assert sealed > 100, "records are compared, and not only checksums"


@pytest.mark.slow
def test_digests_are_equal_where_answers_are() -> None:
    answers = [read(log) for log in islice(mutations(5), 2_000)]
    decoded = [answer for answer in answers if "records" in answer]
    assert len(decoded) > 200
    assert all(digest(answer) is None for answer in answers if "error" in answer)
    for one, other in pairwise(decoded):
        same = Items(one["records"]).failure(other, RequestKind.LOG) is None
        assert same or digest(one) != digest(other)


def test_a_digest_is_the_documented_one() -> None:
    record = {
        "offset": 7,
        "timestamp": None,
        "key": None,
        "value": "eA==",
        "headers": [["/w==", None]],
    }
    # printf '7\t-1\t-\teA==\t77+9\t-\n' | sha256sum
    assert digest({"records": [record]}) == "c316ecd9a258270f"


@pytest.mark.slow
def test_codecs_agree_and_a_fault_is_found_and_made_small() -> None:
    with Testee(OURS) as ours:
        for fault, found in (("none", False), ("key", True)):
            with Testee([sys.executable, str(FAULTY), fault]) as other:
                comparison = LogComparison(ours, other, 2)
                differences = list(comparison.run(400))
            sums = comparison.sums
            assert bool(differences) is found
            assert sums["cases"] == 400
            assert sums["accepted"] + sums["refused"] + len(differences) == 400
            assert sums["refused"] > 100
    small = [bytes.fromhex(item.data) for item in differences]
    assert min(map(len, small)) < 40
    for log in small:
        assert any(item["key"] is not None for item in read(log)["records"])


@pytest.mark.slow
def test_a_testee_without_batches_and_one_that_breaks_down_are_asked_one_by_one() -> None:
    logs = list(islice(mutations(6), 30))
    with Testee([sys.executable, str(FAULTY), "dies_in_batch"]) as other, Testee(OURS) as ours:
        assert digests(other, logs) == digests(ours, logs)


@pytest.mark.slow
def test_a_decoder_in_another_language_reads_the_same() -> None:
    """It shares no code with ours. What it does not decompress it gets decompressed."""
    perl = shutil.which("perl")
    if perl is None:
        pytest.skip("there is no Perl")
    done = run(
        "conform", "--codec", "native", "--against", shlex.join([perl, str(PERL)]),
        "--logs", "400", "--seed", "11", "--format", "json",
    )  # fmt: skip
    assert done.exit_code == CLEAN, done.output
    assert lines(done)[-1]["accepted"] > 40


@pytest.mark.slow
def test_the_command_reports_differences() -> None:
    other = f"{sys.executable} {FAULTY} key"
    arguments = ("conform", "--codec", "native", "--against", other, "--logs", "150")
    done = run(*arguments)
    assert done.exit_code == FINDINGS
    assert "difference" in done.output
    *differences, summary = lines(run(*arguments, "--format", "json"))
    assert summary["differences"] == len(differences) > 0
    assert summary["against"] == "kafkaspec native"
    (once,) = json.loads(run(*arguments, "--format", "sarif").stdout)["runs"]
    said = [each["message"]["text"] for each in once["results"]]
    assert said == [f"{each['first']} {each['second']}" for each in differences]
    suite = ElementTree.fromstring(run(*arguments, "--format", "junit").stdout)[0]
    assert [case.get("name") for case in suite] == [each["case"] for each in differences]
    same = run("conform", "--codec", "python", "--against", shlex.join(OURS), "--logs", "50")
    assert same.exit_code == CLEAN


@pytest.mark.slow
def test_differences_of_a_known_quirk_are_counted_and_others_stay() -> None:
    """Kafka's consumer opens the payload of a batch without records, which our codecs do not."""
    arguments = ("conform", "--codec", "native", "--logs", "800", "--format", "json", "--against")
    opens = shlex.join([sys.executable, str(FAULTY), "opens"])
    *differences, before = lines(run(*arguments, opens))
    assert {each["quirk"] for each in differences} == {"Q9"}
    assert before["differences"] == len(differences) > 3
    assert before["known"] == {}
    done = run(*arguments, opens, "--known", "Q9")
    (sums,) = lines(done)
    assert done.exit_code == CLEAN
    assert sums["known"] == {"Q9": len(differences)}
    assert (sums["cases"], sums["differences"]) == (800, 0)
    key = shlex.join([sys.executable, str(FAULTY), "key"])
    other = run(*arguments, key, "--known", "Q9")
    *differences, stale, sums = lines(other)
    assert other.exit_code == FINDINGS
    assert {each["quirk"] for each in differences} == {""}
    assert (stale["type"], stale["pattern"], sums["known"]) == ("stale", "Q9", {"Q9": 0})


def test_options_of_cases_do_not_go_with_a_comparison() -> None:
    done = run("conform", "--codec", "python", "--against", "x", "--only", "record/*")
    assert done.exit_code == USAGE
    assert "--against takes no cases" in done.output
    for option, value in (("--logs", "3"), ("--seed", "3")):
        done = run("conform", "--codec", "python", option, value)
        assert done.exit_code == USAGE
        assert f"{option} is for --against" in done.output


def test_only_some_quirks_explain_a_difference() -> None:
    done = run("conform", "--codec", "python", "--against", "x", "--known", "Q11")
    assert done.exit_code == USAGE
    assert "Q11 explains no difference; Q5 and Q9 do" in done.output


@pytest.mark.slow
def test_logs_that_a_testee_skips_are_counted_and_no_difference() -> None:
    other = shlex.join([sys.executable, str(FAULTY), "skips"])
    arguments = ("--against", other, "--logs", "150", "--format", "json")
    done = run("conform", "--codec", "native", *arguments)
    (summary,) = lines(done)
    assert done.exit_code == CLEAN
    magics = [
        log[LOG_FRAMING.up_to_magic - 1] for log in islice(mutations(0, list(corpus(0))), 150)
    ]
    assert summary["skipped"] == magics.count(0) > 5
    assert summary["accepted"] + summary["refused"] == 150 - magics.count(0)


@pytest.mark.slow
def test_a_testee_that_reads_no_logs_is_an_error() -> None:
    hello = {"id": "hello", "protocol": 2, "name": "deaf", "kinds": ["type"]}
    code = f"input(); print({json.dumps(hello)!r}, flush=True); input()"
    done = run(
        "conform", "--codec", "native", "--against", shlex.join([sys.executable, "-c", code])
    )
    assert done.exit_code == USAGE
    assert "deaf does not read log" in done.output


@pytest.mark.parametrize("text", ["", '"'])
def test_a_second_command_that_is_none_is_named_as_given(text: str) -> None:
    done = run("conform", "--codec", "python", "--against", text)
    assert done.exit_code == USAGE
    assert "Error: --against" in done.output
