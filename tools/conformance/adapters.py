"""The decoders that the conformance kit tests here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from tools.conformance import clients, kaitai
from tools.conformance.faults import Fault, read_faults

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
        language: in which it is written.
        folder: of its list of expected failures and of its faults, None if there is none.
        always: whether it runs when no decoder is named; CI lacks the tools of the others.
        compiled: whether it is made from the specification.
    """

    name: str
    title: str
    command: Callable[[], list[str]]
    language: str
    folder: str | None = None
    always: bool = True
    compiled: bool = False

    @property
    def expected(self) -> Path | None:
        """The list of its expected failures."""
        return HERE / self.folder / "expected.txt" if self.folder else None

    @property
    def faults(self) -> list[Fault]:
        """Return where it differs from Kafka, with the bytes that show it."""
        path = HERE / self.folder / "faults.toml" if self.folder else None
        return read_faults(path) if path and path.exists() else []


def _module(*arguments: str) -> list[str]:
    return [sys.executable, "-m", *arguments]


def _ours(codec: str, language: str = "Python") -> Adapter:
    testee = partial(_module, "kafkaspec.conformance.testee", codec)
    return Adapter(codec, f"kafkaspec, codec {codec}", testee, language)


def _reader(language: str, what: str, command: Callable[[], list[str]]) -> Adapter:
    name = f"kafkaspec-{language.lower()}"
    return Adapter(name, f"kafkaspec, {what} in {language}", command, language, always=False)


def _python(name: str, folder: str) -> Adapter:
    testee = partial(_module, f"tools.conformance.{folder}.testee")
    return Adapter(name, name, testee, "Python", folder)


def _kafka(release: str) -> Adapter:
    title, build = f"Kafka {release}", partial(clients.kafka, release)
    return Adapter(f"kafka-{release}", title, build, "Java", "kafka_java", always=False)


def _npm(name: str, title: str) -> Adapter:
    folder = name.replace("-", "_")
    return Adapter(name, title, partial(clients.npm, folder), "JavaScript", folder)


def _go(name: str, title: str) -> Adapter:
    return Adapter(name, title, partial(clients.go, name), "Go", f"go/{name}", always=False)


def _rust(name: str, title: str) -> Adapter:
    return Adapter(name, title, partial(clients.rust, name), "Rust", f"rust/{name}", always=False)


def _stranger(language: str, command: Callable[[], list[str]]) -> Adapter:
    name = language.lower()
    return Adapter(name, f"decoder of the guide, {language}", command, language, name, always=False)


def _kaitai(language: str, command: Callable[[], list[str]], *, always: bool = False) -> Adapter:
    name = language.lower().replace("c++", "cpp").replace("c#", "csharp")
    title = f"Kaitai Struct, {language}"
    return Adapter(
        f"kaitai-{name}", title, command, language, f"kaitai_{name}", always, compiled=True
    )


ADAPTERS: Final = (
    _ours("native", "C"),
    _ours("python"),
    _ours("kaitai"),
    _ours("construct"),
    _reader("Rust", "crate", clients.crate),
    _reader("Go", "module", clients.module),
    _kafka("4.4.0"),
    _kafka("3.9.2"),
    _kafka("2.8.2"),
    _python("kafka-python", "kafka_python"),
    _python("aiokafka", "aiokafka"),
    Adapter("librdkafka", "librdkafka", clients.librdkafka, "C", "librdkafka", always=False),
    _npm("kafkajs", "KafkaJS"),
    _npm("platformatic", "@platformatic/kafka"),
    _go("franz-go", "franz-go"),
    _go("sarama", "Sarama"),
    _go("kafka-go", "kafka-go"),
    _rust("kafka-protocol", "kafka-protocol"),
    _rust("krabka", "krabka-protocol (crabka)"),
    _rust("rskafka", "rskafka"),
    Adapter("ruby-kafka", "ruby-kafka", clients.ruby_kafka, "Ruby", "ruby_kafka", always=False),
    _stranger("Perl", clients.perl),
    _stranger("Tcl", clients.tcl),
    _kaitai("Java", kaitai.java, always=True),
    _kaitai("JavaScript", kaitai.javascript, always=True),
    _kaitai("Go", kaitai.go),
    _kaitai("C++", kaitai.cpp),
    _kaitai("C#", kaitai.csharp),
    _kaitai("Ruby", kaitai.ruby),
)
"""In the order of the page."""
