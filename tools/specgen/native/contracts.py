"""Write contracts in ACSL, comments that ``make proof`` proves; they cost nothing at run time."""

from __future__ import annotations

from tools.specgen.writer import CodeWriter


def contract(out: CodeWriter, *clauses: str) -> None:
    """Write clauses that hold for the function or the loop after them."""
    last = len(clauses) - 1
    for number, clause in enumerate(clauses):
        out.line(f"{'   ' if number else '/*@'} {clause}{' */' if number == last else ''}")
