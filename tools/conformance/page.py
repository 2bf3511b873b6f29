"""Makes ``docs/conformance.md`` from the stored results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from kafkaspec.conformance.cases import CATEGORIES
from tools.conformance.adapters import VERSIONS
from tools.conformance.kaitai import ROOT

RESULTS: Final = Path(__file__).parent / "results.json"
PAGE: Final = ROOT / "docs" / "conformance.md"

_HEAD = """\
<!-- Made by make conformance from tools/conformance/results.json. DO NOT EDIT. -->

# Conformance

Who reads Kafka's files as the specification and the brokers say? `make conformance` puts the cases
of [kafkaspec conform](conformance-protocol.md#cases) to the decoders below; each number is what
came out of that run. The brokers are {versions}.
"""

_LEGEND = """\
Passed, of those that were put. A dash: the decoder does not read such files, or does not verify
checksums. What is missing is listed below, and every line of these lists is checked in each run: a
listed case that passes, or fails in another way, is an error.

`structure` asks for types of the specification without decompression and checksums, which client
libraries have no interface for. The Kaitai testees do not decompress: they are given the
decompressed payload and parse that.
"""

_LIMITS = """\
## The specification in other languages

`spec/*.ksy` is compiled by the official Kaitai Struct compiler, version 0.11, as it stands. In
Java, JavaScript and Ruby it is run: all three read every segment, index and snapshot of real
brokers. What the compiler or its runtimes cannot do:

| language | state | what stands in the way |
|---|---|---|
| Java, JavaScript | run here, in CI too | the failures listed above |
| Ruby | run here with the runtime's own source, not in CI | the failures listed above |
| C#, C++, PHP, Lua | compiles to source; not run | nothing known |
| Perl | compiles to source; not run | the source leaves out every `valid` |
| Go | compiles to source, which Go refuses | "mismatched types int64 and int32" in \
`base_offset + relative_offset` and other sums; "declared and not used" where `valid: expr` does \
not mention `_` |
| Rust | compiles to source; not built | no runtime of version 0.11 on crates.io |
| Nim | does not compile | "an implementation is missing" |

The specification avoids what is not the same everywhere: `_index` in `repeat-until` counts from 0
in Python, Go and Lua, and from 1 in Java, JavaScript, Ruby, C#, C++, PHP and Rust; `valid: expr` of
a field with `repeat: until` does not compile in Java, nor, by its source, in C#; computed integers
have 32 bits in Java unless a cast says otherwise, and bit operations have in JavaScript.
"""


def load() -> list[dict[str, Any]]:
    """The stored results, in the order of the page."""
    found: list[dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def render(results: list[dict[str, Any]]) -> str:
    """The page."""
    parts = [_HEAD.format(versions=", ".join(VERSIONS)), _table(results), _LEGEND]
    parts += [_list(result) for result in results if result["expected"]]
    parts.append(_LIMITS)
    return "\n".join(parts)


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
    lines = [f"## {result['title']}: what fails", "", "| cases | number | how | why |"]
    lines.append("|---|---:|---|---|")
    lines += [
        f"| `{item['pattern']}` | {item['cases']} | {item['failure']} | {item['why']} |"
        for item in result["expected"]
    ]
    return "\n".join([*lines, ""])
