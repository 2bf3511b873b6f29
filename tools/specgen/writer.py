"""A writer of indented source text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class CodeWriter:
    """Collector of lines; indentation is a context, never a bare step in or out."""

    test = "if {}:"
    indent = "    "

    def __init__(self) -> None:
        self._depth = 0
        self._lines: list[str] = []

    def line(self, text: str = "") -> None:
        """Add one line at the current depth; an empty line gets no blanks."""
        self._lines.append(self.indent * self._depth + text if text else "")

    def lines(self, *texts: str) -> None:
        """Add several lines."""
        for text in texts:
            self.line(text)

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Indent everything inside by one level."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    @contextmanager
    def block(self, head: str, tail: str = "") -> Iterator[None]:
        """Add ``head``, the indented inside, and ``tail`` if there is one."""
        self.line(head)
        with self.indented():
            yield
        if tail:
            self.line(tail)

    def when(self, test: str, statement: str) -> None:
        """Add a statement that runs if a test is true."""
        with self.block(self.test.format(test)):
            self.line(statement)

    def text(self) -> str:
        """Return all lines so far, with a final newline."""
        return "\n".join(self._lines) + "\n"


class CWriter(CodeWriter):
    """Collector of lines of C."""

    test = "if ({})"


class GoWriter(CodeWriter):
    """Collector of lines of Go."""

    indent = "\t"

    def when(self, test: str, statement: str) -> None:
        with self.block(f"if {test} {{", "}"):
            self.line(statement)
