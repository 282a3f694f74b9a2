"""Reads the list: blocks of lines `name: value`, separated by empty lines.

    [17] Sources/TransferStore/Publishing/Publisher.swift
    promise: a name is synced before it is acknowledged
    after: func publish(
    statement: try sync(directory)
    becomes: _ = directory
    suite: TransferStoreTests.PublisherTests

`after` and `becomes` are optional; `unnoticeable` says why no test can notice the fault. A line that begins with a space
continues the line above it, and a line that begins with # is a comment.
"""

from __future__ import annotations

import re
from pathlib import Path

from .mutant import Kind, Mutant

_HEAD = re.compile(r"\[([1-9][0-9]*)\] (\S+)$")
_DECLARES = re.compile(r"(guard )?(let|var|case) ")
_FIELD = re.compile(r"([a-z]+): *(.*)$")
_NEEDED = ("promise", "suite")
_OTHERS = ("after", "expression", "statement", "becomes", "unnoticeable")


class ListError(Exception):
    """The list has an invalid form."""


def read(directory: Path) -> list[Mutant]:
    """All entries of all files of a directory, by number.

    Raises ListError if an entry is invalid, or a number is used twice.
    """
    found: dict[int, Mutant] = {}
    for path in sorted(directory.glob("*.txt")):
        for mutant in parse(path.read_text(encoding="utf-8"), path.name):
            if mutant.number in found:
                raise ListError(f"{path.name}: there are two mutants {mutant.number}")
            found[mutant.number] = mutant
    return [found[number] for number in sorted(found)]


def parse(text: str, name: str) -> list[Mutant]:
    """The entries of one file."""
    lines = [line.rstrip() for line in text.splitlines() if not line.startswith("#")]
    blocks = re.split(r"\n{2,}", "\n".join(lines).strip("\n"))
    return [_entry(block.split("\n"), name) for block in blocks if block]


def _entry(lines: list[str], name: str) -> Mutant:
    head = _HEAD.match(lines[0])
    if head is None:
        raise ListError(f"{name}: an entry begins with [NUMBER] FILE, not with {lines[0]!r}")
    where = f"{name}, mutant {head[1]}"
    fields = _fields(lines[1:], where)
    kinds = [kind for kind in Kind if kind.value in fields]
    if len(kinds) != 1:
        raise ListError(f"{where}: it has to have one of 'expression' and 'statement'")
    missing = [field for field in _NEEDED if not fields.get(field)]
    if kinds[0] is Kind.EXPRESSION and not fields.get("becomes"):
        missing.append("becomes")
    if missing:
        raise ListError(f"{where}: {', '.join(missing)} missing")
    if kinds[0] is Kind.EXPRESSION and _is_none(fields[Kind.EXPRESSION.value]):
        raise ListError(f"{where}: an expression has no comma outside of brackets and closes those that it opens")
    if kinds[0] is Kind.STATEMENT and _DECLARES.match(fields[Kind.STATEMENT.value]):
        raise ListError(f"{where}: a statement declares nothing, because what is behind it would not see that")
    return Mutant(
        number=int(head[1]),
        file=head[2],
        kind=kinds[0],
        original=fields[kinds[0].value],
        replacement=fields.get("becomes", ""),
        after=fields.get("after", ""),
        suite=fields["suite"],
        promise=fields["promise"],
        excuse=fields.get("unnoticeable", ""),
    )


def _is_none(expression: str) -> bool:
    """Whether the text is a list, which would become a tuple beside its mutant, or an incomplete expression."""
    depth = 0
    for character in expression:
        depth += (character in "([{") - (character in ")]}")
        if depth < 0 or (character == "," and depth == 0):
            return True
    return depth != 0


def _fields(lines: list[str], where: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    last = ""
    for line in lines:
        if line.startswith(" ") and last:
            fields[last] += f" {line.strip()}"
            continue
        field = _FIELD.match(line)
        if field is None or field[1] not in (*_NEEDED, *_OTHERS):
            raise ListError(f"{where}: what is {line!r}?")
        last = field[1]
        if last in fields:
            raise ListError(f"{where}: {last} is there twice")
        fields[last] = field[2]
    return fields
