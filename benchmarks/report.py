"""The report: every figure beside its gate, then the tables, in Markdown."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.java import KAFKA, java_version
from benchmarks.outcome import Figure, Outcome, Table, number
from kafkaspec.cli.version import version_lines
from kafkaspec.codecs.native import load_core

_PACKAGES = (
    "kafkaspec", "pyarrow", "aiokafka", "kafka-python", "crc32c", "lz4", "zstandard", "cramjam",
    "isal", "fastcrc", "kaitaistruct", "construct",
)  # fmt: skip


def report(outcomes: Iterable[Outcome], command: str, limits: str = "") -> str:
    """Return the whole report.

    Args:
        outcomes: of the cases that ran.
        command: that made it.
        limits: notes on the gates that were missed, in Markdown.
    """
    found = list(outcomes)
    figures = [figure for outcome in found for figure in outcome.figures]
    parts = [
        "# Speed\n",
        f"Made by `{command}`; all figures of one run. {machine()}\n",
        f"{_versions()}\n",
        "Times are CPU times of one thread, medians of rounds in which all candidates take turns;"
        " a ratio is the median of the ratios within each round. `x` says how many times the"
        " peer's time is ours. Before anything is timed, all readers of a case have given the same"
        " records.\n",
        "## Gates\n",
        markdown(gates(figures)),
    ]
    if limits:
        parts.append(limits)
    for outcome in found:
        for table in outcome.tables:
            parts.append(f"## {table.title}\n")
            parts += [f"{note}\n" for note in table.notes]
            parts.append(markdown(table))
    return "\n".join(parts)


def gates(figures: Sequence[Figure]) -> Table:
    """Return the table of figures and their gates."""
    table = Table("Gates", ("case", "gate", "figure", "reached"))
    for figure in figures:
        sign = "≤" if figure.at_most else "≥"
        unit = f" {figure.unit}" if figure.unit else ""
        value = f"{number(figure.value)}{unit}" if figure.value is not None else "-"
        reached = {True: "yes", False: "**no**", None: f"cannot run: {figure.why}"}
        table.rows.append(
            (figure.what, f"{sign} {figure.gate:g}{unit}", value, reached[figure.reached])
        )
    return table


def markdown(table: Table) -> str:
    """Return a table in Markdown, without its title."""
    lines = [table.columns, ("---", *["---:"] * (len(table.columns) - 1)), *table.rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def machine() -> str:
    """Return the machine and its load."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        values = dict(
            line.split(":", 1) for line in cpuinfo.read_text().splitlines() if ":" in line
        )
        keys = {key.strip(): value.strip() for key, value in values.items()}
        name = keys.get("model name", name)
        if "model" in keys:
            name += f" (family {keys.get('cpu family')}, model {keys['model']})"
    busy = f", load {os.getloadavg()[0]:.1f} at the end" if hasattr(os, "getloadavg") else ""
    kernel = load_core().module.CRC_KERNELS[0]
    return f"{name}, {os.cpu_count()} cores, {platform.system()}{busy}; CRC-32C kernel: {kernel}."


def _versions() -> str:
    parts = [f"Python {platform.python_version()}"]
    for name in _PACKAGES:
        try:
            parts.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            parts.append(f"no {name}")
    return f"{', '.join(parts)}; {version_lines()[-1]}; Kafka {KAFKA.name} on {java_version()}."
