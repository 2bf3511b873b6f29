"""Write ``docs/conformance.md`` from the stored results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from kafkaspec.conformance.cases import CATEGORIES
from tools.conformance.adapters import VERSIONS
from tools.conformance.kaitai import ROOT
from tools.quirks import link

RESULTS: Final = Path(__file__).parent / "results.json"
PAGE: Final = ROOT / "docs" / "conformance.md"

_HEAD = """\
<!-- Made by `make conformance` from tools/conformance/results.json. DO NOT EDIT. -->

# Conformance

Who reads Kafka's files as the specification and the brokers say? `make conformance` puts the cases
of [kafkaspec conform](conformance-protocol.md#cases) to the decoders below. Each number is a result
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

The official Kaitai Struct compiler, version 0.11, compiles `spec/*.ksy` unchanged. The results for
Java, JavaScript and Ruby are run here: all three read every segment, index and snapshot of real
brokers. These limits lie in the compiler or its runtimes:

| language | state | limit |
|---|---|---|
| Java, JavaScript | run here and in CI | the failures listed above |
| Ruby | run here with the runtime's own source, not in CI | the failures listed above |
| C#, C++, PHP, Lua | compiles to source; not run | none known |
| Perl | compiles to source; not run | the source leaves out every `valid` |
| Go | compiles to source, which Go refuses | "mismatched types int64 and int32" in \
`base_offset + relative_offset` and other sums; "declared and not used" where `valid: expr` does \
not mention `_` |
| Rust | compiles to source; not built | no runtime of version 0.11 on crates.io |
| Nim | does not compile | "an implementation is missing" |

The specification avoids what differs between languages. `_index` in `repeat-until` counts from 0
in Python, Go and Lua, and from 1 in Java, JavaScript, Ruby, C#, C++, PHP and Rust. `valid: expr` of
a field with `repeat: until` does not compile in Java nor, by its source, in C#. Computed integers
have 32 bits in Java unless a cast says otherwise; bit operations have 32 bits in JavaScript.
"""


def load() -> list[dict[str, Any]]:
    """Return the stored results, in the order of the page."""
    found: list[dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def render(results: list[dict[str, Any]]) -> str:
    """Return the page."""
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
    lines = [f"## {result['title']}: failures", "", "| cases | number | how | why |"]
    lines.append("|---|---:|---|---|")
    lines += [
        f"| `{item['pattern']}` | {item['cases']} | {item['failure']} | {link(item['why'])} |"
        for item in result["expected"]
    ]
    return "\n".join([*lines, ""])
