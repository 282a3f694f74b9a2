"""Legal and difficult names, and the numbered names that a server makes of taken ones."""

from __future__ import annotations

import random
import re
from collections.abc import Collection

_LONGEST = 255

_STEMS = [
    "plain",
    "two words",
    " spaces around ",
    "-rf",
    "--help",
    ".profile",
    "...",
    "many.dots.in.it",
    "ends with dot.",
    "quote'and\"quote",
    "back\\slash",
    "line\nfeed",
    "tab\tand\x1b[31mred",
    "star*?[x]",
    "$HOME `id`",
    "%s%n",
    "照片",
    "e\u0301 composed",
    "\u00e9 composed",
    "\u202eright to left",
    "🌅👨‍👩‍👧‍👦",
    "\ufeffmark",
    "con",
    "transfer",
]

_EXTENSIONS = ["", ".txt", ".tar.gz", ".jpeg", ".é", ".-1"]


def name(number: int, source: random.Random) -> str:
    """A name that no other number gets, and that no server makes of another name."""
    stem = source.choice(_STEMS)
    extension = source.choice(_EXTENSIONS)
    if source.random() < 0.05:
        stem += "x" * (_LONGEST - len(f"{stem}_{number}_{extension}".encode()))
    return f"{stem}_{number}_{extension}"


def directory(source: random.Random) -> str:
    """A path of up to five directories with a slash behind it, or an empty path."""
    depth = source.choice([0, 0, 0, 1, 1, 2, 5])
    return "".join(f"{source.choice(_STEMS[:3] + _STEMS[5:6] + _STEMS[16:20])}~/" for _ in range(depth))


def bases(path: str, pushed: Collection[str]) -> list[str]:
    """The paths in `pushed` from which a server may have made `path` by adding a number, because the name was taken."""
    parent, slash, last = path.rpartition("/")
    dot = last.rfind(".")
    stem, extension = (last[:dot], last[dot:]) if dot > 0 else (last, "")
    found = re.fullmatch(r"(.*)-[1-9][0-9]{0,3}", stem, re.DOTALL)
    if found is None:
        return []
    start = f"{parent}{slash}{found[1]}"
    if found[1] and start + extension in pushed:
        return [start + extension]
    return [other for other in pushed if _is_shortened(start, extension, other)]


def _is_shortened(start: str, extension: str, path: str) -> bool:
    """Whether the server may have removed characters of `path` between the two to make room for a number."""
    if len(path.rpartition("/")[2].encode()) < _LONGEST - len("-9999"):
        return False
    return path.startswith(start) and path.endswith(extension) and "/" not in path[len(start) :]
