"""The decoders that the conformance kit tests here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from tools.conformance import kaitai

HERE: Final = Path(__file__).parent
GOLDEN: Final = kaitai.ROOT / "tests" / "golden"

VERSIONS: Final = ("0.8.2.2", "0.10.2.2", "0.11.0.3", "2.8.2", "3.9.2", "4.3.1")
"""Golden versions that everyone reads: each format, and brokers that convert between them. The
tests read all of them with our own codecs."""


@dataclass(frozen=True)
class Adapter:
    """One decoder.

    Attributes:
        name: for the command line.
        title: for the page.
        command: builds the testee and returns its command.
        folder: of its list of expected failures, None if there is none.
        always: whether it runs when no decoder is named; CI lacks the tools of the others.
    """

    name: str
    title: str
    command: Callable[[], list[str]]
    folder: str | None = None
    always: bool = True

    @property
    def expected(self) -> Path | None:
        """The list of its expected failures."""
        return HERE / self.folder / "expected.txt" if self.folder else None


def _module(*arguments: str) -> list[str]:
    return [sys.executable, "-m", *arguments]


def _ours(codec: str) -> Adapter:
    testee = partial(_module, "kafkaspec.conformance.testee", codec)
    return Adapter(codec, f"kafkaspec, codec {codec}", testee)


def _client(name: str, folder: str) -> Adapter:
    return Adapter(name, name, partial(_module, f"tools.conformance.{folder}.testee"), folder)


ADAPTERS: Final = (
    _ours("native"),
    _ours("python"),
    _ours("kaitai"),
    _ours("construct"),
    _client("kafka-python", "kafka_python"),
    _client("aiokafka", "aiokafka"),
    Adapter("kaitai-java", "Kaitai Struct, Java", kaitai.java, "kaitai_java"),
    Adapter(
        "kaitai-javascript", "Kaitai Struct, JavaScript", kaitai.javascript, "kaitai_javascript"
    ),
    Adapter("kaitai-go", "Kaitai Struct, Go", kaitai.go, "kaitai_go", always=False),
    Adapter("kaitai-cpp", "Kaitai Struct, C++", kaitai.cpp, "kaitai_cpp", always=False),
    Adapter("kaitai-csharp", "Kaitai Struct, C#", kaitai.csharp, "kaitai_csharp", always=False),
    Adapter("kaitai-ruby", "Kaitai Struct, Ruby", kaitai.ruby, "kaitai_ruby", always=False),
)
"""In the order of the page."""
