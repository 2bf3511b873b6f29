"""Write what the format gallery of Kaitai Struct takes: ``python -m tools.gallery [DIRECTORY]``.

By default the directory is ``dist/gallery``. It gets one specification that imports nothing,
segments of brokers as samples, and a text for the pull request.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Final

from tools.document.__main__ import REPOSITORY

ROOT: Final = Path(__file__).resolve().parents[1]
SPEC: Final = ROOT / "spec"
ID: Final = "kafka_log_segment"
"""The id of the specification, and so the name of its file."""
MAIN: Final = "recordbatch"
SAMPLES: Final = {
    "magic_2_headers.log": "4.3.1/logs/headers-0/00000000000000000000.log",
    "magic_2_transactions.log": "4.3.1/logs/transactions-0/00000000000000000000.log",
    "magic_1.log": "0.10.2.2/logs/plain-0/00000000000000000000.log",
    "magic_0.log": "0.8.2.2/logs/plain-0/00000000000000000000.log",
}
"""Segments by the name of the sample: where each is among the golden ones."""

_OURS: Final = re.compile(r"^ +-(derive|default|scalar|known|ascending): .*\n", re.MULTILINE)
_IMPORTED: Final = re.compile(r"(?<=type: )(\w+)::(\w+)")
_IMPORTS: Final = re.compile(r"^  imports:\n(    - \w+\n)+", re.MULTILINE)
_QUIRKS: Final = """\

  Numbers such as Q4 are those of a list of quirks of Kafka, which comes with
  the source of this specification: {repository}
"""
_ELSEWHERE: Final = ", which `message_set.ksy` describes"
_README: Final = """\
# For the format gallery of Kaitai Struct

`{id}.ksy` is for the folder `log/` of the gallery: segments of Apache Kafka's logs, with
entries of magic 0, 1 and 2. It is made from the specification of the project kafkaspec by
`make gallery`; change it there.

- It imports nothing, and compiles with version 0.11 of the compiler without a warning, for C++, C#,
  Go, Java, JavaScript, Python and Ruby.
- Licence: CC0-1.0.
- It does not decompress: `records` of a compressed batch is bytes. Decompressed, they are a
  `record_set`, with the batch as its parameter.

The folder `samples/` has segments that brokers wrote:
{samples}.
The source has those of 34 releases, with what Kafka's own dump tool prints of them; tests compare
both.
"""


def specification() -> str:
    """Return the specification of a segment as one file, without the keys of our generator."""
    text = (SPEC / f"{MAIN}.ksy").read_text(encoding="utf-8")
    types = "".join(_type(file, name) for file, name in sorted(set(_IMPORTED.findall(text))))
    text = _IMPORTS.sub("", text).replace(f"  id: {MAIN}\n", f"  id: {ID}\n", 1)
    text = text.replace("\nenums:\n", f"\n{types}enums:\n", 1)
    repository = os.environ.get("KAFKASPEC_REPOSITORY", REPOSITORY).rstrip("/")
    quirks = _QUIRKS.format(repository=repository)
    text = text.replace("\ndoc-ref:", f"\n{quirks}doc-ref:", 1).replace(_ELSEWHERE, "", 1)
    return _OURS.sub("", _IMPORTED.sub(r"\2", text))


def _type(file: str, name: str) -> str:
    """Return the text of one type of a file."""
    text = (SPEC / f"{file}.ksy").read_text(encoding="utf-8")
    types = text.partition("\ntypes:\n")[2]
    found = re.search(rf"^  {name}:\n(?:(?:    .*)?\n)*", types, re.MULTILINE)
    if found is None:
        raise ValueError(f"spec/{file}.ksy has no type {name}")
    return found[0]


def main(into: Path) -> None:
    """Write the files, and say where they are."""
    samples = into / "samples"
    samples.mkdir(parents=True, exist_ok=True)
    (into / f"{ID}.ksy").write_text(specification(), encoding="utf-8")
    names = ", ".join(f"`{name}`" for name in SAMPLES)
    (into / "README.md").write_text(_README.format(id=ID, samples=names), encoding="utf-8")
    for name, golden in SAMPLES.items():
        shutil.copyfile(ROOT / "tests" / "golden" / golden, samples / name)
    print(into / f"{ID}.ksy")


if __name__ == "__main__":
    main(Path(*(sys.argv[1:] or ["dist/gallery"])))
