"""The documented session is replayed, and the command does what its help says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkaspec.cli.main import main
from kafkaspec.conformance.cases import Case
from kafkaspec.conformance.protocol import (
    CaseFailure,
    ProtocolError,
    RequestKind,
    check_answer,
    decode_bytes,
    parse_hello,
    parse_line,
)
from kafkaspec.conformance.vectors import vector_cases
from kafkaspec.errors import Reason
from tests.extent import examples

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs" / "guide" / "conform.md").read_text(encoding="utf-8")
FAKE = Path(__file__).parent / "fake_testee.py"
MEMBERS = (
    "error", "skipped", "records", "control_records", "entries", "value", "end", "reason", "path",
    "position", "offset", "timestamp", "key", "headers", "name", "version", "kinds", "compression",
    "checksums", "attributes",
)  # fmt: skip


@pytest.mark.slow
def test_the_session_of_the_document() -> None:
    session = re.search(r"^```session\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    assert session is not None
    lines = session[1].splitlines()
    asked = [line[2:] for line in lines if line.startswith("> ")]
    said = [json.loads(line[2:]) for line in lines if line.startswith("< ")]
    assert len(asked) == len(said) > 4
    done = subprocess.run(
        [sys.executable, "-m", "kafkaspec.conformance.testee", "python"],
        input="".join(f"{line}\n" for line in asked),
        capture_output=True,
        text=True,
        check=True,
    )
    assert [json.loads(line) for line in done.stdout.splitlines()] == said


@pytest.mark.slow
def test_the_session_asks_what_the_runner_asks() -> None:
    cases = {case.id: case for case in vector_cases()}
    hello = parse_hello({"protocol": 1, "name": "any", "kinds": list(RequestKind)})
    found = 0
    for line in re.findall(r"^> (.*)$", DOCUMENT, re.MULTILINE):
        request = json.loads(line)
        if request["id"] in cases:
            assert cases[request["id"]].request(hello) == request
            found += 1
    assert found >= 3


@pytest.mark.slow
def test_the_document_names_every_kind_and_reason() -> None:
    for kind in RequestKind:
        assert f"| `{kind}` |" in DOCUMENT
    reasons = {
        reason for case in vector_cases() for reason in getattr(case.expected, "reasons", ())
    }
    for reason in [*reasons, Reason.CHECKSUM_MISMATCH]:
        assert f"`{reason}`" in DOCUMENT


@pytest.mark.parametrize("data", [b"", b"\n", b"[]\n", b"{\n", b"\xff\n", b"1" * 9999 + b"\n"])
def test_lines_that_are_no_messages(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        parse_line(data)


@pytest.mark.parametrize(
    "change",
    [
        {"protocol": 3},
        {"name": ""},
        {"name": 3},
        {"kinds": "log"},
        {"kinds": ["logs"]},
        {"kinds": [1]},
        {"compression": {}},
    ],
)
def test_greetings_that_are_none(change: dict[str, object]) -> None:
    with pytest.raises(ProtocolError):
        parse_hello({"protocol": 1, "name": "any", "kinds": ["log"]} | change)


@pytest.mark.parametrize("text", ["*", "a", 3, [], "é"])
def test_texts_that_are_no_base64(text: object) -> None:
    with pytest.raises(ProtocolError):
        decode_bytes(text)


ATOMS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
ANYTHING = st.recursive(
    ATOMS | st.sampled_from(["key", "YQ==", "checksum_mismatch"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=4)
    ),
    max_leaves=12,
)
VECTORS = list(vector_cases())


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None)
@given(
    answer=st.dictionaries(st.sampled_from(MEMBERS), ANYTHING, max_size=4),
    case=st.sampled_from(VECTORS),
)
def test_any_answer_of_a_testee_is_judged(answer: dict[str, Any], case: Case) -> None:
    """It does not follow the protocol, it passes, or it fails in a listed way."""
    try:
        check_answer(answer, case.kind)
    except ProtocolError:
        return
    if "skipped" not in answer:
        found = case.expected.failure(answer, case.kind)
        assert found is None or found[0] in set(CaseFailure)


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None)
@given(message=st.dictionaries(st.sampled_from(MEMBERS), ANYTHING, max_size=5))
def test_any_hello_of_a_testee_is_judged(message: dict[str, Any]) -> None:
    try:
        hello = parse_hello({"protocol": 1} | message)
    except ProtocolError:
        return
    assert hello.kinds <= set(RequestKind)


@settings(max_examples=examples(200), deadline=None)
@given(data=st.binary(max_size=40))
def test_any_line_is_a_message_or_none(data: bytes) -> None:
    with suppress(ProtocolError):
        assert isinstance(parse_line(data), dict)


# -- the command -----------------------------------------------------------------------------------


def conform(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["conform", *arguments])
    return done.exit_code, done.output


def fake(*arguments: str) -> str:
    return " ".join([sys.executable, str(FAKE), *arguments])


@pytest.mark.slow
def test_our_own_codec_passes() -> None:
    code, output = conform("--codec", "python", "--only", "*/varint.*")
    assert code == 0, output
    assert "kafkaspec python" in output
    assert ", as expected: " in output


@pytest.mark.slow
def test_as_json() -> None:
    code, output = conform("--codec", "python", "--only", "record/*", "--format", "json")
    *cases, summary = [json.loads(line) for line in output.splitlines()]
    assert code == 0
    assert {case["outcome"] for case in cases} == {"passed"}
    assert summary["categories"] == {
        "record": {"passed": len(cases), "failed": 0, "expected_failure": 0, "skipped": 0}
    }


@pytest.mark.slow
def test_failures_are_shown_by_reason_and_can_be_expected(tmp_path: Path) -> None:
    only = ("--only", "record/recordbatch.header/*")
    code, output = conform("--testee", fake(), *only)
    assert code == 1
    assert "cases refused" in output
    assert "does not look like a log" in output
    accepted = [
        case.id for case in vector_cases() if case.id.startswith("record/recordbatch.header/")
        and not hasattr(case.expected, "reasons")
    ]  # fmt: skip
    known = tmp_path / "known.txt"
    known.write_text("".join(f"{name}  refused  it refuses everything\n" for name in accepted))
    code, output = conform("--testee", fake(), *only, "--expected-failures", str(known))
    assert code == 0, output
    assert "failed as expected" in output
    known.write_text(f"{accepted[0]}  {CaseFailure.WRONG}  not so\n")
    code, output = conform("--testee", fake(), *only, "--expected-failures", str(known))
    assert code == 1
    assert "stale: line 1" in output


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--testee", "a", "--codec", "python"),
        ("--testee", ""),
        ("--testee", "'"),
        ("--testee", "/no/such/program"),
        ("--codec", "none"),
        ("--codec", "python", "--only", "nothing"),
        ("--codec", "python", "--cases", "."),
        ("--codec", "python", "--timeout", "0"),
        ("--codec", "python", "--expected-failures", __file__),
    ],
    ids=lambda arguments: " ".join(arguments[:3])[:40],
)
def test_wrong_usage(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, output = conform(*arguments)
    assert code == 2, output
