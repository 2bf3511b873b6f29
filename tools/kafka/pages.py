"""The pages in ``docs/`` that are made from data: ``python -m tools.kafka.pages``."""

from __future__ import annotations

from pathlib import Path

from tools.kafka import changes, compatibility, message_quirks, quirks, salvaged

DOCS = Path(__file__).parents[2] / "docs"


def pages() -> dict[str, str]:
    """File names and their text."""
    return {
        "compatibility.md": compatibility.page(),
        "reader-differences.md": quirks.page() + message_quirks.section(),
        "releases.md": changes.page(),
        "salvage-results.md": salvaged.page(),
    }


def main() -> None:
    """Write all pages."""
    DOCS.mkdir(exist_ok=True)
    for name, text in pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
