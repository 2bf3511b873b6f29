"""Reports in the forms that other programs read: SARIF, JUnit, and metrics of Prometheus.

A report is made of the lines that ``--format json`` prints, so that it says the same. SARIF 2.1.0
is the standard of OASIS that code hosts show; the XML is that of the reports of JUnit.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import quote
from xml.etree import ElementTree

from kafkaspec import __version__
from kafkaspec.cli.exits import USAGE
from kafkaspec.output.atomic import file_aside, writing

_SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {"error": "error", "warning": "warning", "info": "note"}
_DONE: Final = ("passed", "skipped")
"""Outcomes of cases of which nothing is to be said."""
_AS_EXPECTED: Final = "expected_failure"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NOT_A_NAME = re.compile(r"[^a-zA-Z0-9_]")


class ReportForm(Protocol):
    """Collects the lines of a command, and is printed at its end."""

    def add(self, kind: str, content: Mapping[str, Any]) -> None:
        """Add a line of JSON by its type."""

    def text(self, summary: Mapping[str, Any]) -> str:
        """Return the report, given the members of the summary."""


class Sarif:
    """Findings, failures and failed cases as results of SARIF."""

    def __init__(self) -> None:
        self._results: list[dict[str, Any]] = []

    def add(self, kind: str, content: Mapping[str, Any]) -> None:
        """See ``ReportForm``."""
        if "message" in content or content.get("outcome", _DONE[0]) not in _DONE:
            self._results.append(_result(kind, content))

    def text(self, summary: Mapping[str, Any]) -> str:
        """See ``ReportForm``."""
        rules = sorted({result["ruleId"] for result in self._results})
        driver = {
            "name": "kafkaspec",
            "version": __version__,
            "rules": [{"id": rule} for rule in rules],
        }
        code = summary["exit_code"]
        run = {
            "tool": {"driver": driver},
            "invocations": [{"exitCode": code, "executionSuccessful": code < USAGE}],
            "results": self._results,
            "properties": dict(summary),
        }
        return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}, indent=1)


def _result(kind: str, content: Mapping[str, Any]) -> dict[str, Any]:
    rule = content.get("reason") or content.get("failure") or kind
    text = " ".join(
        str(content[name]) for name in ("message", "detail", "why") if content.get(name)
    )
    expected = content.get("outcome") == _AS_EXPECTED
    result: dict[str, Any] = {
        "ruleId": rule,
        "level": _LEVELS.get(content.get("severity", "error"), "error"),
        "message": {"text": text or rule},
        "properties": dict(content),
    }
    location: dict[str, Any] = {}
    if content.get("file") is not None:
        location["physicalLocation"] = {"artifactLocation": {"uri": _uri(content["file"])}}
        if content.get("position") is not None:
            location["physicalLocation"]["region"] = {"byteOffset": content["position"]}
    if content.get("id") is not None:
        location["logicalLocations"] = [{"fullyQualifiedName": content["id"]}]
    if location:
        result["locations"] = [location]
    if expected:
        result["suppressions"] = [{"kind": "external", "justification": content.get("why") or ""}]
    return result


def _uri(file: str) -> str:
    """Return the URI of a file: a URL as it is, a relative path as a relative reference."""
    if "://" in file:
        return file
    return Path(file).as_uri() if os.path.isabs(file) else quote(Path(file).as_posix())


class JUnit:
    """The cases of a command as cases of JUnit."""

    def __init__(self) -> None:
        self._cases: list[Mapping[str, Any]] = []

    def add(self, kind: str, content: Mapping[str, Any]) -> None:
        """See ``ReportForm``."""
        self._cases.append({"kind": kind} | dict(content))

    def text(self, summary: Mapping[str, Any]) -> str:
        """See ``ReportForm``."""
        name = f"kafkaspec {summary['command']}"
        suite = ElementTree.Element("testsuite", name=name, tests=str(len(self._cases)))
        counts = {"failures": 0, "skipped": 0}
        for case in self._cases:
            identity = str(case.get("id") or case.get("pattern") or case["kind"])
            category = identity.partition("/")[0] if case["kind"] == "case" else case["kind"]
            element = ElementTree.SubElement(
                suite,
                "testcase",
                classname=_xml(f"kafkaspec.{summary['command']}.{category}"),
                name=_xml(identity),
            )
            outcome = case.get("outcome", "failed")
            if outcome == _DONE[0]:
                continue
            word = "skipped" if outcome in (_DONE[1], _AS_EXPECTED) else "failure"
            counts["skipped" if word == "skipped" else "failures"] += 1
            said = _xml(str(case.get("detail") or case.get("problem") or outcome))
            inner = ElementTree.SubElement(element, word, message=said)
            if word == "failure":
                inner.set("type", str(case.get("failure") or case["kind"]))
                inner.text = _xml(str(case.get("why") or ""))
        for key, count in counts.items():
            suite.set(key, str(count))
        root = ElementTree.Element("testsuites")
        root.append(suite)
        ElementTree.indent(root)
        return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def _xml(text: str) -> str:
    """Return a text without characters that XML cannot hold."""
    return _NOT_XML.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


FORMS: Final[Mapping[str, type[Sarif] | type[JUnit]]] = {"sarif": Sarif, "junit": JUnit}
"""Each form by the word of ``--format``."""


def write_metrics(file: Path, summary: Mapping[str, Any]) -> None:
    """Write metrics to a file, which is replaced when the new one is whole.

    Raises:
        KafkaSpecError: ``unreadable``: it cannot be written.
    """
    with writing(file), file_aside(file, replace=True) as out:
        out.write(metrics(summary).encode())


def metrics(summary: Mapping[str, Any]) -> str:
    """Return the members of a summary as gauges, for Prometheus' collector of text files.

    A number is a gauge, ``kafkaspec_verify_batches``; of counts by word, each is one with the label
    ``kind``. The time of the run is one too.
    """
    prefix = f"kafkaspec_{_NOT_A_NAME.sub('_', summary['command'])}"
    lines: list[str] = []
    for name, value in summary.items():
        if isinstance(value, bool | int | float):
            lines += _gauge(f"{prefix}_{name}", {"": value})
        elif isinstance(value, Mapping):
            lines += _gauge(f"{prefix}_{name}_by_kind", value)
    lines += _gauge(f"{prefix}_last_run_timestamp_seconds", {"": round(time.time(), 3)})
    return "\n".join(lines) + "\n"


def _gauge(name: str, values: Mapping[str, Any]) -> Iterator[str]:
    yield f"# TYPE {name} gauge"
    for kind, value in values.items():
        label = f"{{kind={json.dumps(kind, ensure_ascii=False)}}}" if kind else ""
        yield f"{name}{label} {value if not isinstance(value, bool) else int(value)}"
