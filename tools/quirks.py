"""Links from a mention of one of Kafka's quirks (Q4) to its entry in ``docs/quirks.md``."""

from __future__ import annotations

import re
from typing import Final

MENTION: Final = re.compile(r"\bQ(\d{1,2})\b")


def link(text: str, page: str = "quirks.md") -> str:
    """Return Markdown in which every mention of a quirk is a link.

    Args:
        text: Markdown without such links.
        page: path of ``docs/quirks.md`` from where the text will stand.
    """
    return MENTION.sub(rf"[Q\1]({page}#q\1)", text)
