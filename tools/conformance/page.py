"""Write ``docs/conformance.md`` from the stored results and the faults of each decoder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from kafkaspec.cli.console import count_text
from kafkaspec.conformance.cases import CATEGORIES, Case
from kafkaspec.conformance.protocol import RequestKind
from tools.conformance.adapters import ADAPTERS, VERSIONS, Adapter
from tools.conformance.faults import REPORTED, Fault, FaultKind
from tools.conformance.kaitai import ROOT
from tools.quirks import MENTION, link

RESULTS: Final = Path(__file__).parent / "results"
GENERATED: Final = ROOT / "generated" / "__init__.py"
PAGE: Final = ROOT / "docs" / "conformance.md"

MENTION_BRACKETS: Final = re.compile(rf" \({MENTION.pattern}\)")
COLUMNS: Final = (*CATEGORIES, "resource")
"""The categories of the first table."""
BY_CLASS: Final = ("record", "segment", "resource")
"""The categories that also have a table by class."""

_HEAD = """\
<!-- Made by `make conformance` from tools/conformance. DO NOT EDIT. -->

# Conformance

Who reads Kafka's files as Kafka does? `make conformance` puts the cases of [kafkaspec
conform](guide/conform.md#cases) to the decoders below, each in the version given. Every number is a
result of that run. The segments come from brokers {versions}.

{decoders} decoders in {languages} languages are judged here: {named}. They show
[{faults} faults](#faults) and [{choices} choices](#choices-that-are-not-faults).
"""

_LEGEND = """\
Each cell says how many cases passed, of those that the decoder was given. A dash means that the
decoder does not read such files or does not verify checksums. `structure` asks for single types of
the specification, without decompression and checksums; client libraries have no interface for that.
The Kaitai decoders do not decompress: they are given the decompressed payload and parse that.
`resource` bounds [memory and time](guide/conform.md).

Some decoders are not here. NuGet, RubyGems, Packagist, CPAN and Hex were out of reach where this
page was made: no client in C#, PHP, Perl or Erlang was judged, and ruby-kafka came from its
repository.
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

What differs here is decided by the project or its language, or concerns bytes that no client writes
and that are refused or read without harm.
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
    """Return the class of a case in its category: a version, a type, or a way to be hostile."""
    parts = case.id.split("/")
    if case.kind is RequestKind.TYPE:
        return "types"
    return parts[1].rpartition(".")[2] if case.category == "record" else parts[1]


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
        kind: [
            (result, adapter, [fault for fault in adapter.faults if fault.kind is kind])
            for result, adapter in zip(results, judged, strict=True)
        ]
        for kind in FaultKind
    }
    numbers = {kind: sum(len(faults) for *_, faults in of) for kind, of in kinds.items()}
    languages = list(dict.fromkeys(adapter.language for adapter in judged))
    head = _HEAD.format(
        versions=", ".join(VERSIONS), decoders=len(judged), languages=len(languages),
        named=", ".join(languages), faults=numbers[FaultKind.FAULT],
        choices=numbers[FaultKind.CHOICE],
    )  # fmt: skip
    parts = [head, _table(results), _LEGEND, *_tables_by_class(results)]
    for kind, text in ((FaultKind.FAULT, _FAULTS), (FaultKind.CHOICE, _CHOICES)):
        parts.append(text)
        parts += [_of_decoder(*item) for item in kinds[kind] if item[2]]
    parts.append(_LIMITS.format(issues=_ISSUES, runs=_runs(results)))
    return "\n".join(parts)


def _tables_by_class(results: list[dict[str, Any]]) -> Iterator[str]:
    yield "## By case class\n"
    for category in BY_CLASS:
        rows = [(result, result["classes"].get(category, {})) for result in results]
        names = list(dict.fromkeys(name for _, of in rows for name in of))
        lines = [
            f"| {category} | " + " | ".join(f"`{name}`" for name in names) + " |",
            "|---|" + "---:|" * len(names),
        ]
        for result, of in rows:
            if of:
                cells = [f"{of[name][0]} of {of[name][1]}" if name in of else "-" for name in names]
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
        f"- Kafka: {link(fault.kafka)}{source}.",
        f"- {adapter.title}: `{answer}`",
        "",
    ]
    return lines


def _wrap(text: str) -> Iterator[str]:
    for start in range(0, len(text), 64):
        yield text[start : start + 64]


def _runs(results: list[dict[str, Any]]) -> str:
    """Return which specification those read that CI does not run."""
    rare = {adapter.name for adapter in ADAPTERS if not adapter.always}
    by_hash: dict[str, list[str]] = {}
    for result in results:
        if result["adapter"] in rare:
            language = result["title"].rpartition(" ")[2]
            by_hash.setdefault(result["specification"], []).append(language)
    runs = [f"{', '.join(names)} with `{of}`" for of, names in sorted(by_hash.items())]
    return (
        "Results that CI does not check are of the specification with this hash, which\n"
        f"`generated/__init__.py` says too: {'; '.join(runs)}.\n"
    )


def _table(results: list[dict[str, Any]]) -> str:
    lines = [
        "| decoder | version | " + " | ".join(COLUMNS) + " |",
        "|---|---|" + "---:|" * len(COLUMNS),
    ]
    for result in results:
        cells = [_cell(result["categories"].get(category, {})) for category in COLUMNS]
        lines.append(f"| {result['title']} | {result['version']} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def _cell(counts: dict[str, int]) -> str:
    passed = counts.get("passed", 0)
    put = passed + counts.get("failed", 0) + counts.get("expected_failure", 0)
    return f"{passed:,} of {put:,}" if put else "-"
