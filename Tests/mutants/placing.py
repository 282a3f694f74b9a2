"""Inserts mutants into the text of a source file, each behind a switch and beside the original code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .mutant import Kind, Mutant

# The target that contains the switch; all other targets import it.
SWITCH_TARGET = "TransferSystem"
SWITCH_FILE = f"Sources/{SWITCH_TARGET}/MutantSwitch.swift"

SWITCH = """import Glibc

private let activeMutant = getenv("TRANSFER_MUTANT").flatMap { Int(String(cString: $0)) } ?? 0

/// Whether this process is to make a mistake.
@inline(never)
package func mutantIsOn(_ number: Int) -> Bool { activeMutant == number }
"""

_IMPORT = re.compile(rf"^(package |public |internal |private |fileprivate )?import {SWITCH_TARGET}$", re.MULTILINE)

# The end of a text that an expression follows, and no statement.
_BEFORE_EXPRESSION = re.compile(r"(?:[^=!<>]=|\breturn|\btry[!?]?|\bawait|[(,?]|&&|\|\|)\s*$")


class PlacingError(Exception):
    """A mutant does not fit its file."""


@dataclass(frozen=True)
class _Span:
    start: int
    end: int
    mutant: Mutant


def place(text: str, mutants: Sequence[Mutant]) -> str:
    """The text with all these mutants of one file inserted and switched off.

    Raises PlacingError for the first mutant whose original is missing or occurs several times.
    """
    spans = sorted((_span(text, mutant) for mutant in mutants), key=lambda span: (span.start, -span.end))
    placed = _replaced(text, 0, len(text), spans)
    if not mutants or mutants[0].file.startswith(f"Sources/{SWITCH_TARGET}/") or _IMPORT.search(text):
        return placed
    return f"import {SWITCH_TARGET}\n{placed}"


def _span(text: str, mutant: Mutant) -> _Span:
    start = 0
    if mutant.after:
        context = _found(text, mutant.after, 0)
        if len(context) != 1:
            raise PlacingError(f"mutant {mutant.number}: {mutant.file} has {mutant.after!r} {_times(len(context))}")
        start = context[0].end()
    found = _found(text, mutant.original, start)
    if not found or (len(found) > 1 and not mutant.after):
        behind = f" behind {mutant.after!r}" if mutant.after else ""
        raise PlacingError(
            f"mutant {mutant.number}: {mutant.file} has {mutant.original!r} {_times(len(found))}{behind}"
        )
    if _is_in_text(text[: found[0].start()]):
        raise PlacingError(f"mutant {mutant.number}: {mutant.original!r} is part of a text, which would only say it")
    if mutant.kind is Kind.STATEMENT and _BEFORE_EXPRESSION.search(text[: found[0].start()]):
        raise PlacingError(f"mutant {mutant.number}: {mutant.original!r} is part of an expression, and not a statement")
    return _Span(found[0].start(), found[0].end(), mutant)


def _is_in_text(before: str) -> bool:
    """Whether the next character is inside a multi-line string, and not inside an interpolation."""
    return before.count('"""') % 2 == 1 and "\\(" not in before.rpartition("\n")[2]


def _found(text: str, fragment: str, start: int) -> list[re.Match[str]]:
    """The occurrences of a fragment, whatever its line breaks."""
    pattern = re.compile(r"\s+".join(re.escape(word) for word in fragment.split()))
    return list(pattern.finditer(text, start))


def _times(count: int) -> str:
    return f"{count} times, not once" if count else "no longer"


def _replaced(text: str, start: int, end: int, spans: Sequence[_Span]) -> str:
    """The text from `start` to `end` with the mutants of `spans` inserted; outer spans come before inner ones."""
    pieces: list[str] = []
    position = start
    index = 0
    while index < len(spans):
        span = spans[index]
        last = index + 1
        while last < len(spans) and spans[last].start < span.end:
            last += 1
        inner = spans[index + 1 : last]
        for other in inner:
            if other.end > span.end:
                raise PlacingError(f"mutants {span.mutant.number} and {other.mutant.number} are in each other's way")
        pieces.append(text[position : span.start])
        pieces.append(_switched(span.mutant, _replaced(text, span.start, span.end, inner)))
        position = span.end
        index = last
    return "".join([*pieces, text[position:end]])


def _switched(mutant: Mutant, original: str) -> str:
    on = f"mutantIsOn({mutant.number})"
    if mutant.kind is Kind.EXPRESSION:
        return f"({on} ? ({mutant.replacement}) : ({original}))"
    if not mutant.replacement:
        return f"if !{on} {{ {original} }}"
    return f"if {on} {{ {mutant.replacement} }} else {{ {original} }}"
