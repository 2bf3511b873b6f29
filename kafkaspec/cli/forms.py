"""Reports in the forms that other programs read: SARIF and JUnit.

A report is made of the lines that ``--format json`` prints, so that it says the same. SARIF 2.1.0
is the standard of OASIS that code hosts show; the XML is that of the reports of JUnit.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from xml.etree import ElementTree

from kafkaspec import __version__
from kafkaspec.analysis.findings import Severity
from kafkaspec.cli.exits import USAGE
from kafkaspec.conformance.runner import CaseOutcome

_SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_SAYS: Final = ("message", "detail", "problem", "first", "second")
"""Members of lines that say in words what is wrong, in order."""
_NAMES: Final = ("id", "pattern", "case")
"""Members of lines that name a case, in order."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Sarif:
    """Findings, failures and failed cases as results of SARIF."""

    def __init__(self) -> None:
        self._results: list[dict[str, Any]] = []

    def add(self, kind: str, content: Mapping[str, Any]) -> None:
        """See ``ReportForm`` in ``report``."""
        if any(name in content for name in _SAYS) and not is_fine(content):
            self._results.append(_result(kind, content))

    def text(self, summary: Mapping[str, Any]) -> str:
        """See ``ReportForm`` in ``report``."""
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


def is_fine(content: Mapping[str, Any]) -> bool:
    """Return whether a line is a case of which there is nothing to say."""
    return content.get("outcome") in (CaseOutcome.PASSED, CaseOutcome.SKIPPED)


def is_expected(content: Mapping[str, Any]) -> bool:
    """Return whether a line is a case that failed as a list says."""
    return content.get("outcome") == CaseOutcome.EXPECTED_FAILURE


def _said(content: Mapping[str, Any]) -> str:
    return " ".join(str(content[name]) for name in _SAYS if content.get(name))


def _name(content: Mapping[str, Any]) -> str | None:
    return next((content[name] for name in _NAMES if content.get(name) is not None), None)


def _level(content: Mapping[str, Any]) -> str:
    """Return the level of SARIF, which has a note for what is worth knowing."""
    severity = content.get("severity", Severity.ERROR)
    return "note" if severity == Severity.INFO else str(severity)


def _result(kind: str, content: Mapping[str, Any]) -> dict[str, Any]:
    rule = content.get("reason") or content.get("failure") or kind
    text = " ".join((_said(content), content.get("why") or "")).strip()
    result: dict[str, Any] = {
        "ruleId": rule,
        "level": _level(content),
        "message": {"text": text or rule},
        "properties": dict(content),
    }
    location: dict[str, Any] = {}
    if content.get("file") is not None:
        location["physicalLocation"] = {"artifactLocation": {"uri": _uri(content["file"])}}
        if content.get("position") is not None:
            location["physicalLocation"]["region"] = {"byteOffset": content["position"]}
    if (name := _name(content)) is not None:
        location["logicalLocations"] = [{"fullyQualifiedName": name}]
    if location:
        result["locations"] = [location]
    if is_expected(content):
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
        """See ``ReportForm`` in ``report``."""
        self._cases.append({"kind": kind} | dict(content))

    def text(self, summary: Mapping[str, Any]) -> str:
        """See ``ReportForm`` in ``report``."""
        name = f"kafkaspec {summary['command']}"
        suite = ElementTree.Element("testsuite", name=name, tests=str(len(self._cases)))
        counts = {"failures": 0, "skipped": 0}
        for case in self._cases:
            identity = str(_name(case) or case["kind"])
            category = identity.partition("/")[0] if case["kind"] == "case" else case["kind"]
            element = ElementTree.SubElement(
                suite,
                "testcase",
                classname=_xml(f"kafkaspec.{summary['command']}.{category}"),
                name=_xml(identity),
            )
            said = _xml(_said(case))
            if is_fine(case) and not said:
                continue
            word = "skipped" if is_fine(case) or is_expected(case) else "failure"
            counts["skipped" if word == "skipped" else "failures"] += 1
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
