"""Write ``docs/conformance-results.md`` from the stored results."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from kafkaspec.conformance.cases import CATEGORIES
from tools.conformance.adapters import ADAPTERS, VERSIONS
from tools.conformance.kaitai import ROOT
from tools.quirks import link

RESULTS: Final = Path(__file__).parent / "results.json"
GENERATED: Final = ROOT / "generated" / "__init__.py"
PAGE: Final = ROOT / "docs" / "conformance-results.md"

_HEAD = """\
<!-- Made by `make conformance` from tools/conformance/results.json. DO NOT EDIT. -->

# Conformance

Who reads Kafka's files as the specification and the brokers say? `make conformance` puts the cases
of [kafkaspec conform](guide/conform.md#cases) to the decoders below. Each number is a result
of that run. The segments come from brokers {versions}.
"""

_LEGEND = """\
Each cell says how many cases passed, of those that the decoder was given. A dash means that the
decoder does not read such files or does not verify checksums. The failures are listed below, and
every run checks each line of these lists: a listed case that passes, or that fails in another way,
is an error.

`structure` asks for single types of the specification, without decompression and checksums; client
libraries have no interface for that. The Kaitai decoders do not decompress: they are given the
decompressed payload and parse that.
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
    found: list[dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def specification() -> str:
    """Return the first digits of the hash of the specification, which generated code has too."""
    found = re.search("Spec: sha256 ([0-9a-f]{12})", GENERATED.read_text(encoding="utf-8"))
    assert found, f"{GENERATED} does not say of which specification it is"
    return found[1]


def render(results: list[dict[str, Any]]) -> str:
    """Return the page."""
    parts = [_HEAD.format(versions=", ".join(VERSIONS)), _table(results), _LEGEND]
    parts += [_list(result) for result in results if result["expected"]]
    parts.append(_LIMITS.format(issues=_ISSUES, runs=_runs(results)))
    return "\n".join(parts)


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
        "| decoder | version | " + " | ".join(CATEGORIES) + " |",
        "|---|---|" + "---:|" * len(CATEGORIES),
    ]
    for result in results:
        cells = [_cell(result["categories"].get(category, {})) for category in CATEGORIES]
        lines.append(f"| {result['title']} | {result['version']} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def _cell(counts: dict[str, int]) -> str:
    passed = counts.get("passed", 0)
    put = passed + counts.get("failed", 0) + counts.get("expected_failure", 0)
    return f"{passed:,} of {put:,}" if put else "-"


def _list(result: dict[str, Any]) -> str:
    lines = [f"## {result['title']}: failures", "", "| cases | number | how | why |"]
    lines.append("|---|---:|---|---|")
    lines += [
        f"| `{item['pattern']}` | {item['cases']} | {item['failure']} | {link(item['why'])} |"
        for item in result["expected"]
    ]
    return "\n".join([*lines, ""])
