"""``dump --format kafka`` as a command: options that go together, decoders, exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkaspec.conformance.goldens import read_dumps
from tests.cli.helpers import golden, run
from tests.goldens import GOLDEN

LOG = f"{0:020d}.log"
KAFKA = ("dump", "--format", "kafka")


@pytest.mark.parametrize(
    ("topic", "option"),
    [
        ("__consumer_offsets-0", "--offsets-decoder"),
        ("__transaction_state-0", "--transaction-log-decoder"),
        ("__cluster_metadata-0", "--cluster-metadata-decoder"),
        ("__share_group_state-0", "--share-group-state-decoder"),
    ],
)
def test_a_decoder_prints_what_the_tool_prints(topic: str, option: str) -> None:
    result = run(*KAFKA, "--like", "4.3", option, golden("4.3.1", topic) / LOG)
    logs = GOLDEN / "4.3.1" / "logs"
    assert result.stdout.replace(f"{logs}/", "") == read_dumps(logs.parent)[f"{topic}/{LOG}"]
    assert result.exit_code == 0


def test_of_two_decoders_the_first_of_the_tool_counts() -> None:
    path = golden("4.3.1", "__consumer_offsets-0") / LOG
    both = run(*KAFKA, "--share-group-state-decoder", "--offsets-decoder", path)
    assert both.stdout == run(*KAFKA, "--offsets-decoder", path).stdout
    assert '"type":"2"' in both.stdout


def test_a_decoder_of_another_topic_says_what_is_wrong_in_the_text() -> None:
    path = golden("4.3.1", "plain-0") / LOG
    result = run(*KAFKA, "--cluster-metadata-decoder", path)
    assert " payload: Error at 0, skipping. " in result.stdout
    assert result.exit_code == 0
    result = run(*KAFKA, "--offsets-decoder", golden("4.3.1", "transactions-0") / LOG)
    assert " key: Unknown record type 27440 at offset 0, skipping.\n" in result.stdout
    assert result.exit_code == 0
    result = run(*KAFKA, "--offsets-decoder", golden("4.3.1", "codec-none-0") / LOG)
    assert "offset 1 has no key, which the decoder takes" in result.stderr
    assert result.exit_code == 1


@pytest.mark.slow
def test_options_that_do_not_go_together(tmp_path: Path) -> None:
    path = golden("4.3.1", "plain-0") / LOG
    for arguments, said in (
        (("dump", "--deep-iteration"), "--deep-iteration is for --format kafka"),
        ((*KAFKA, "--batches"), "--batches is not for --format kafka"),
        ((*KAFKA, "--from-offset", "1"), "--from-offset is not for --format kafka"),
        ((*KAFKA, "--value-decoder-class", "x.Y"), "--value-decoder-class takes a class of Java"),
        ((*KAFKA, "--key-decoder-class", "x.Y"), "--key-decoder-class takes a class of Java"),
        ((*KAFKA, "--like", "2.7", "--skip-record-metadata"), "which came with 2.8"),
        ((*KAFKA, "--like", "3.2", "--max-bytes", "1"), "which came with 3.3"),
        ((*KAFKA, "--like", "3.9", "--share-group-state-decoder"), "which came with 4.0"),
        ((*KAFKA, "--like", "0.7"), "the dump tool begins with 0.8"),
        ((*KAFKA, "--like", "new"), "'new' is not a release"),
        ((*KAFKA, tmp_path), "is a directory"),
        ((*KAFKA, "s3://bucket/1.log"), "is a URL"),
    ):
        result = run(*arguments, path)
        assert result.exit_code == 2, arguments
        assert said in " ".join(result.stderr.split()), arguments


def test_exit_codes(tmp_path: Path) -> None:
    whole = (golden("4.3.1", "plain-0") / LOG).read_bytes()
    cut, absent = tmp_path / LOG, tmp_path / f"{1:020d}.log"
    cut.write_bytes(whole[:-3])
    result = run(*KAFKA, cut)
    assert "invalid bytes at the end of" in result.stdout
    assert "are the beginning of a batch that is cut off" in result.stderr
    assert result.exit_code == 1
    result = run(*KAFKA, absent, cut)  # the tool ends at the first one
    assert result.stdout.count("Dumping ") == 2
    assert result.exit_code == 2
    cut.write_bytes(whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:])
    result = run(*KAFKA, "--print-data-log", cut)
    assert " isvalid: false\n" in result.stdout
    assert "checksum_mismatch" in result.stderr
    assert result.exit_code == 1
    cut.write_bytes(whole)
    assert run(*KAFKA, cut).exit_code == 0


def test_codecs_and_jobs_print_the_same(tmp_path: Path) -> None:
    path = golden("4.3.1", "headers-gzip-0") / LOG
    expected = run(*KAFKA, "--print-data-log", path).stdout
    assert run(*KAFKA, "--print-data-log", "--codec", "python", path).stdout == expected
    assert run(*KAFKA, "--print-data-log", "--jobs", "3", path).stdout == expected
    out = tmp_path / "out.txt"
    assert run(*KAFKA, "--print-data-log", "-o", out, path).stdout == ""
    assert out.read_text() == expected
