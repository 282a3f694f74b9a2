"""The commands and files in the documentation. Documents are named by their paths below docs."""

from __future__ import annotations

import re
from pathlib import Path

_PROJECT = Path(__file__).resolve().parents[2]


def blocks(document: str, language: str) -> list[str]:
    """The contents of all code blocks in one language."""
    text = (_PROJECT / "docs" / document).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def block(document: str, language: str, beginning: str) -> str:
    """The only code block with that beginning."""
    (found,) = (text for text in blocks(document, language) if text.startswith(beginning))
    return found
