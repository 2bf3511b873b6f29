"""Write ``docs/conformance.md`` from the stored results and the faults of each decoder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import Any, Final

from kafkaspec.cli.console import count_text
from kafkaspec.conformance.cases import Case
from kafkaspec.conformance.levels import CaseLevel
from kafkaspec.conformance.protocol import RequestKind
from kafkaspec.conformance.runner import LevelState, LevelSums
from tools.conformance.adapters import ADAPTERS, VERSIONS, Adapter
from tools.conformance.faults import KINDS, REPORTED, RULES, Fault, Rule, Verdict
from tools.conformance.kaitai import ROOT
from tools.quirks import MENTION, link

RESULTS: Final = Path(__file__).parent / "results"
GENERATED: Final = ROOT / "generated" / "__init__.py"
PAGE: Final = ROOT / "docs" / "conformance.md"

_WIDTH: Final = 100
MENTION_BRACKETS: Final = re.compile(rf" \({MENTION.pattern}\)")
SEGMENTS: Final = "segment"
"""The category of files that brokers wrote, which has a table by the version of the broker."""

_HEAD = """\
<!-- Made by `make conformance` from tools/conformance. DO NOT EDIT. -->

# Conformance

Who reads Kafka's files as Kafka does? `make conformance` puts the cases of [kafkaspec
conform](guide/conform.md#cases) to the decoders below, each in the version given. Every number is a
result of that run. The segments come from brokers {versions}.

{decoders} decoders in {languages} languages are judged here: {named}.
They show [{faults} faults](#faults) and [{choices} choices](#choices-that-are-not-faults).

## By level
"""

_LEGEND = """\
The [levels](guide/conform.md) say what a decoder can do. Each cell says how many cases of the level
passed, of those that the decoder answered. "Passed" is a level all of whose cases passed. "Not
offered" is a level of which the decoder answers none: client libraries have no interface for
indexes, for single types of the specification such as `messages`, or for the transactions of a
whole partition. A case counts as skipped if the decoder says that it does not support it, does not
verify checksums, or was given the payload because it does not decompress, like all decoders of
Kaitai. A level is passed with the kinds of requests that the decoder reads; [the tables by
case](#by-level-and-case) say which. Cases that show a fault of one decoder only, those named
`reported`, do not count.

Each answer of `resource` has bounds: 10 seconds, and 64 MiB and 24 bytes for each byte of the case
beyond the memory that the process had before, so that what a JVM or Node.js has from its start does
not count. Its cases are hostile counts, sizes, depths and bombs.

The results are of the day in the last column. NuGet, RubyGems, Packagist, CPAN and Hex could not be
reached on 2026-11-26: no client in C#, PHP, Perl or Erlang was judged, and ruby-kafka came from its
repository. The decoders in Perl and Tcl are not clients: they were written from [the
guide](guide/conform.md#a-testee-in-60-lines) and the pages of the formats.
"""

_RULE = """\
## The rule

Each difference from Kafka's own classes is of a kind, and each kind falls under one of these rules,
for all decoders alike. The first that holds counts.

{rules}

{kinds}
"""

_FAULTS = """\
## Faults

Each section is ready to be reported: the bytes, what Kafka does with them and where in its source,
and the answer of the decoder. The bytes are a whole log unless a type is named. Nothing was sent to
anyone. Every run checks each line of the failure lists from which these sections are made: a listed
case that passes, or that fails in another way, is an error.
"""

_CHOICES = """\
## Choices that are not faults

What differs here is of a kind that [the rule](#the-rule) calls a choice.
"""

_LIMITS = """\
## The specification in other languages

The official Kaitai Struct compiler, version 0.11, compiles `spec/` unchanged, and what it makes is
built and run over all cases. Where a language needs a switch or a change, or cannot do it, this is
why:

| language | state | limit |
|---|---|---|
| Java, JavaScript | all files; run here and in CI | the failures listed above |
| C#, Ruby | all files; run here, not in CI | the failures listed above |
| Go | all files, with one line changed; run here, not in CI | the failures listed above; the \
compiler counts the items of `repeat: until` from 1 and looks past the last one, so that \
`for i := 1;` in `varint.go` has to be `for i := 0;` ([#958]({issues}/958) is about that count) |
| C++ | all files, by `--cpp-standard 98`; run here, not in CI | the failures listed above. For \
C++11 the compiler copies a `unique_ptr` where `valid: expr` is about a structure: "use of deleted \
function" ([#1260]({issues}/1260)). For C++98 it frees a pointer that was never set where the \
content of a switch cannot be read ([#1223]({issues}/1223)): the testee gives out memory of zeros, \
and is built with `-fno-lifetime-dse` |
| PHP, Lua | all files compile to source; not run | none known |
| Perl | all files compile to source; not run | the source leaves out every `valid` |
| Rust | all files compile to source, which Rust refuses | "cannot move out of dereference" where \
`valid: expr` is about bytes or a structure; "the name `Unknown` is defined multiple times" \
where an enumeration has that name; "expected identifier, found keyword `type`"; "mismatched \
types: expected `i64`, found `i32`". There is no runtime of the project on crates.io. The language \
is new to the compiler ([#22]({issues}/22)) |
| Nim | files with `valid: expr` do not compile, `recordbatch.ksy` among them | "an implementation \
is missing": `_` has no translation. The source of the others leaves out every `valid` \
([#619]({issues}/619)) |

{runs}
The specification avoids what differs between languages:

- `_index` of `repeat: until` counts from 0 in Python and Lua, and from 1 in Java, JavaScript, Ruby,
  C#, C++, PHP, Go and Rust. `valid: expr` of a field with `repeat: until` does not compile in Java
  nor, by its source, in C#.
- Computed integers have 32 bits in Java, C#, C++ and Rust unless a cast says otherwise, and Go
  takes no two types together: sums are cast ([#1333]({issues}/1333)). Bit operations have 32 bits
  in JavaScript.
- Go refuses `valid: expr` that does not mention the value: "declared and not used".
- The size of a stream is unsigned in C++: the bytes that are left are cast before a comparison.
- C# refuses a field of the whole file that has the name of a structure in it: "already contains a
  definition".
"""
_ISSUES = "https://github.com/kaitai-io/kaitai_struct/issues"


def load() -> list[dict[str, Any]]:
    """Return the stored results, in the order of the page."""
    paths = (RESULTS / f"{adapter.name}.json" for adapter in ADAPTERS)
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()]


def store(result: dict[str, Any]) -> None:
    """Store the result of one decoder."""
    path = RESULTS / f"{result['adapter']}.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def class_of(case: Case) -> str:
    """Return the class of a case in its level: a codec, a kind of file, or a way to be hostile."""
    parts = case.id.split("/")
    if case.kind is RequestKind.TYPE:
        return "types"
    match case.level:
        case CaseLevel.TRANSACTIONS | CaseLevel.INDEXES:
            return case.kind.value
        case CaseLevel.COMPRESSION:
            return next(iter(case.codecs)) if len(case.codecs) == 1 else "several"
        case CaseLevel.WRITING:
            return str(case.extra["compression"])
        case CaseLevel.RESOURCE:
            return parts[1]
    return parts[1].rpartition(".")[2] if case.category == "record" else case.category


def version_of(case: Case) -> str:
    """Return the version of the broker that wrote a segment."""
    return case.id.split("/")[1]


def specification() -> str:
    """Return the first digits of the hash of the specification, which generated code has too."""
    found = re.search("Spec: sha256 ([0-9a-f]{12})", GENERATED.read_text(encoding="utf-8"))
    assert found, f"{GENERATED} does not say of which specification it is"
    return found[1]


def render(results: list[dict[str, Any]]) -> str:
    """Return the page."""
    adapters = {adapter.name: adapter for adapter in ADAPTERS}
    judged = [adapters[result["adapter"]] for result in results]
    kinds = {
        verdict: [
            (result, adapter, [fault for fault in adapter.faults if fault.kind.verdict is verdict])
            for result, adapter in zip(results, judged, strict=True)
        ]
        for verdict in Verdict
    }
    numbers = {verdict: sum(len(faults) for *_, faults in of) for verdict, of in kinds.items()}
    languages = list(dict.fromkeys(adapter.language for adapter in judged))
    head = _HEAD.format(
        versions=", ".join(VERSIONS), decoders=len(judged), languages=len(languages),
        named=", ".join(languages), faults=numbers[Verdict.FAULT],
        choices=numbers[Verdict.CHOICE],
    )  # fmt: skip
    parts = [head, _table(results), _LEGEND, "## By level and case\n", *_tables_by_class(results)]
    parts.append(_rule(judged))
    for verdict, text in ((Verdict.FAULT, _FAULTS), (Verdict.CHOICE, _CHOICES)):
        parts.append(text)
        parts += [_of_decoder(*item) for item in kinds[verdict] if item[2]]
    parts.append(_LIMITS.format(issues=_ISSUES, runs=_runs(results)))
    return "\n".join(parts)


def _tables_by_class(results: list[dict[str, Any]]) -> Iterator[str]:
    for level in (*CaseLevel, SEGMENTS):
        rows = [(result, result["classes"].get(level, {})) for result in results]
        names = list(dict.fromkeys(name for _, of in rows for name in of))
        lines = [
            f"| {level} | " + " | ".join(f"`{name}`" for name in names) + " |",
            "|---|" + "---:|" * len(names),
        ]
        for result, of in rows:
            if of:
                cells = [_of(*of[name]) if name in of else "-" for name in names]
                lines.append(f"| {result['title']} | " + " | ".join(cells) + " |")
        yield "\n".join([*lines, ""])


def _of_decoder(result: dict[str, Any], adapter: Adapter, faults: list[Fault]) -> str:
    version = f" {result['version']}" if result["version"] else ""
    lines = [f"### {result['title']}{version}", ""]
    for fault in faults:
        lines += _section(result, adapter, fault)
    return "\n".join(lines)


def _section(result: dict[str, Any], adapter: Adapter, fault: Fault) -> list[str]:
    """Return the lines about one fault."""
    listed = [item for item in result["expected"] if item["why"] == fault.title]
    number = sum(item["cases"] for item in listed)
    patterns = ", ".join(f"`{item['pattern']}` ({item['failure']})" for item in listed)
    seen = result["faults"][fault.case]
    of = f", type `{seen['type']}`" if seen["type"] else ""
    title = fault.title[0].upper() + fault.title[1:]
    title = MENTION_BRACKETS.sub("", title)
    lines = [f"#### {title}", "", f"{count_text(number, 'case')}: {patterns}.", ""]
    what = "These bytes" if fault.case.startswith(REPORTED) else f"`{fault.case}`"
    if seen["hex"]:
        lines += [f"{what}{of}:", "", "```text", *_wrap(seen["hex"]), "```", ""]
    source = f" ({fault.source})" if fault.source else ""
    answer = seen["answer"].replace("`", "'").replace("|", "/")
    lines += [
        f"- Kind: {link(fault.kind.title)} ([{fault.kind.rule}](#the-rule)).",
        f"- Kafka: {link(fault.kafka)}{source}.",
        f"- {adapter.title}: `{answer}`",
        "",
    ]
    return lines


def _wrap(text: str) -> Iterator[str]:
    for start in range(0, len(text), 64):
        yield text[start : start + 64]


def _runs(results: list[dict[str, Any]]) -> str:
    """Return which specification those were compiled from that CI does not run, "" for none."""
    rare = {a.name: a.language for a in ADAPTERS if a.compiled and not a.always}
    by_hash: dict[str, list[str]] = {}
    for result in results:
        if result["adapter"] in rare:
            of = by_hash.setdefault(result["specification"], [])
            of.append(rare[result["adapter"]])
    if not by_hash:
        return ""
    runs = [f"{', '.join(names)} with `{of}`" for of, names in sorted(by_hash.items())]
    return (
        "Results that CI does not check are of the specification with this hash, which\n"
        f"`generated/__init__.py` says too: {'; '.join(runs)}.\n"
    )


def _table(results: list[dict[str, Any]]) -> str:
    lines = [
        "| decoder | version | " + " | ".join(CaseLevel) + " | judged |",
        "|---|---|" + "---:|" * len(CaseLevel) + "---|",
    ]
    for result in results:
        cells = (_cell(result["levels"][level]) for level in CaseLevel)
        parts = (result["title"], result["version"], *cells, result["date"])
        lines.append(f"| {' | '.join(parts)} |")
    return "\n".join([*lines, ""])


def _cell(sums: LevelSums) -> str:
    if sums["state"] == LevelState.NOT_SUPPORTED:
        return "not offered"
    put = sums["passed"] + sums["failed"] + sums["expected_failure"]
    text = _of(sums["passed"], put)
    if sums["skipped"]:
        text += f", {sums['skipped']:,} skipped"
    return f"**passed**, {text}" if sums["state"] == LevelState.PASSED else text


def _of(passed: int, put: int) -> str:
    return f"{passed:,} of {put:,}"


def _rule(judged: list[Adapter]) -> str:
    """Return the rules, and the kinds of differences with the decoders that have some."""
    rules = [
        fill(f"- **{verdict}, {rule}.** {text}", _WIDTH, subsequent_indent="  ")
        for rule, (verdict, text) in RULES.items()
    ]
    lines = ["| kind | verdict | rule | decoders |", "|---|---|---|---|"]
    for kind in sorted(KINDS.values(), key=lambda kind: list(Rule).index(kind.rule)):
        names = [a.title for a in judged if any(fault.kind is kind for fault in a.faults)]
        title = link(kind.title[0].upper() + kind.title[1:])
        lines.append(f"| {title} | {kind.verdict} | {kind.rule} | {'; '.join(names)} |")
    return _RULE.format(rules="\n".join(rules), kinds="\n".join(lines))
