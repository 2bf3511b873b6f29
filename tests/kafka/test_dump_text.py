"""Kafka's dump tool and ours about the same files with the same options."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.dumplog import cases
from tests.kafka.chosen import READERS
from tools.brokers.programs import Program, decoded
from tools.brokers.versions import Version

pytestmark = pytest.mark.kafka

_LOGGING = re.compile(r"^(log4j:|SLF4J:|\d{4}-\d\d-\d\d .*(WARN|ERROR) |.* WARN ).*\n?", re.M)


def _answers(version: Version, work: Path, files: Path) -> dict[str, cases.Answer]:
    found = {}
    with Program(version, work, "Dump") as program:
        for case in cases.CASES:
            if version.release < case.since:
                continue
            path = str(files / case.file)
            answer = program.ask("Dump", version.dump_class, path, *case.options)[0]
            out, err = (
                (decoded(part) or b"").decode().replace(f"{files}/", "") for part in answer[:2]
            )
            ended = answer[2] == "ok"
            found[str(case)] = cases.Answer(out, _LOGGING.sub("", err) if ended else "", ended)
    return found


def test_text_is_that_of_the_tool(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    cases.prepare(files)
    answers, wrong = {}, []
    for version in READERS:
        if version.dumped_by:
            continue
        work = tmp_path / version.name
        work.mkdir()
        answers[version.name] = _answers(version, work, files)
        for case in cases.CASES:
            if str(case) in answers[version.name]:
                mine, code = cases.ours(files, version.name, case)
                theirs = answers[version.name][str(case)]
                wrong += [
                    f"{version.name} {item}" for item in cases.differences(case, theirs, mine, code)
                ]
    if os.environ.get("RECORD"):
        cases.write_answers(answers)
    assert wrong == []
