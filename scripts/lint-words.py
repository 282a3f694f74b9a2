#!/usr/bin/env python3
"""Checks the English of documents and comments, the length of documents, and their links.

usage: lint-words.py [PATH...]    only files below these paths; without one, everything that git tracks

Prints each place with what to write instead, and exits 1 if there is one.
"""

import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# What is refused, and what to write instead.
REFUSED = [
    (r"\bwhoever\b", 'name the person or program: "a client that", "the caller"'),
    (r"\b(some|no)body\b", 'name the person or program: "another client", "no other process"'),
    (r"\b(is|are|was|were|be|been) told\b", 'say who learns what: "the client receives", "the server reports"'),
    (r"\b(is|are) none\b", '"does not exist", "there is no FILE"'),
    (r"\bof its\b(?! own\b)", 'use the possessive or name the owner: "one of the folder\'s files"'),
    (r"\bwhat (is|are|was|were) for\b", 'name it: "files for", "mail addressed to"'),
    (r"\bcomes? to (?!(a|an|the) (stop|end|halt)\b)", '"reaches", "becomes", "amounts to"'),
    (r"(?:^|[.:;!?]\s+)Of\s", "begin the sentence with its subject"),
    (r"\bnothing (where|for|if|unless|when|while|without)\b", 'a value that is absent is "nil"'),
    (r"\bReturns: nothing\b", 'a value that is absent is "nil"'),
]

# The largest number of words in a document, or in all documents of a folder together.
BOUNDS = [
    ("README.md", ["README.md"], 800),
    ("the guide", ["docs/guide/*.md"], 10_100),
    ("the reference", ["docs/reference/*.md"], 23_000),
    ("the design", ["docs/ARCHITECTURE.md", "docs/design/*.md"], 18_600),
    ("testing and performance", ["docs/TESTING.md", "docs/PERFORMANCE.md", "docs/proofs.md", "docs/benchmarks.md"], 6_650),
    ("docs", ["docs/**/*.md"], 58_600),
]

# A doc comment of so few words says no more than the name below it.
FEWEST_WORDS = 5

# Documents that quote refused words: the rules, this list, and a table with the promises of mutants.
EXCEPT = {"CONTRIBUTING.md", "scripts/lint-words.py", "docs/proofs.md"}
# The history of changes keeps its words.
HISTORY = {"CHANGELOG.md"}


def tracked(paths: list[str]) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z", "--", *paths], cwd=ROOT, check=True, capture_output=True)
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def passages(file: Path) -> Iterator[tuple[int, str]]:
    """Passages of English, each with the number of its first line: paragraphs of documents, and comments."""
    if file.suffix == ".md":
        yield from paragraphs(file.read_text())
    elif file.suffix in (".swift", ".h", ".c"):
        yield from comments(file.read_text(), r"///?\s?")
    elif file.suffix == ".py":
        yield from python_comments(file)
    elif file.suffix == ".sh" or file.name == "Makefile":
        yield from comments(file.read_text(), r"#(?!!)\s?")


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    begin, lines, is_code = 0, [], False
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and line.strip() and not line.lstrip().startswith(("|", "- ", "* ")):
            begin = begin or number
            lines.append(line.strip())
            continue
        if lines:
            yield begin, " ".join(lines)
        begin, lines = 0, []
        if not is_code and line.strip() and not line.lstrip().startswith("```"):
            # A row of a table stands alone, and an item of a list begins a paragraph.
            if line.lstrip().startswith("|"):
                for cell in line.split("|"):
                    yield number, cell.strip()
            else:
                begin, lines = number, [line.strip()[2:]]


def comments(text: str, mark: str) -> Iterator[tuple[int, str]]:
    begin, lines = 0, []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        found = re.match(rf"\s*{mark}(.*)", line)
        words = found.group(1).strip() if found else ""
        if words and not words.startswith("- "):
            begin = begin or number
            lines.append(words)
            continue
        if lines:
            yield begin, " ".join(lines)
        begin, lines = (number, [words[2:]]) if words else (0, [])
        if not found and (trailing := re.search(r"\s//\s(.*)$", line)) and mark.startswith("/"):
            yield number, trailing.group(1)


def python_comments(file: Path) -> Iterator[tuple[int, str]]:
    yield from comments(file.read_text(), r"#(?!!)\s?")
    with file.open("rb") as source:
        begins_statement = True
        for token in tokenize.tokenize(source.readline):
            if token.type == tokenize.STRING and begins_statement:
                yield token.start[0], " ".join(token.string.strip("\"'").split())
            if token.type not in (tokenize.COMMENT, tokenize.NL):
                begins_statement = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)


def short_comments(file: Path) -> Iterator[tuple[int, str]]:
    """Doc comments of one line that have too few words."""
    lines = file.read_text().split("\n")
    for index, line in enumerate(lines):
        text = line.strip()
        if not text.startswith("/// ") or text.startswith("/// - ") or any(
            near.strip().startswith("///") for near in (lines[index - 1 : index] + lines[index + 1 : index + 2])
        ):
            continue
        # A manual page says everything about a call.
        if len(text[4:].split()) < FEWEST_WORDS and not re.search(r"\w\(\d\)", text):
            yield index + 1, text[4:]


def without_code(text: str) -> str:
    return re.sub(r"`[^`]*`", "CODE", text)


def check_words(file: Path) -> Iterator[str]:
    name = file.relative_to(ROOT)
    for number, passage in passages(file):
        text = without_code(passage)
        for pattern, advice in REFUSED:
            if found := re.search(pattern, text, re.IGNORECASE if pattern.islower() else 0):
                yield f"{name}:{number}: \"{found.group(0).strip()}\": {advice}"
    if file.suffix == ".swift" and name.parts[0] == "Sources":
        for number, text in short_comments(file):
            yield f"{name}:{number}: \"{text}\" says no more than a name: write what it is for, or leave it out"


def anchors(file: Path) -> set[str]:
    found: set[str] = set()
    is_code = False
    for line in file.read_text().split("\n"):
        is_code ^= line.startswith("```")
        if is_code or not (heading := re.match(r"#+ (.*)", line)):
            continue
        slug = re.sub(r"[^\w\- ]", "", heading.group(1).strip().lower()).replace(" ", "-")
        name, count = slug, 0
        while name in found:
            count += 1
            name = f"{slug}-{count}"
        found.add(name)
    return found


def check_links(file: Path) -> Iterator[str]:
    text = re.sub(r"```.*?```", "", file.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        there = (file.parent / path).resolve() if path else file
        if not there.exists():
            yield f"{file.relative_to(ROOT)}: there is no {target}"
        elif anchor and there.suffix == ".md" and anchor not in anchors(there):
            yield f"{file.relative_to(ROOT)}: there is no heading for {target}"


def check_bounds() -> Iterator[str]:
    for name, patterns, most in BOUNDS:
        texts = (file.read_text() for pattern in patterns for file in ROOT.glob(pattern))
        # The lines of a table or a drawing are not words.
        count = sum(1 for text in texts for word in text.split() if re.search(r"\w", word))
        if count > most:
            yield f"{name}: {count:,} words, and {most:,} are allowed"


def main(paths: list[str]) -> int:
    faults: list[str] = []
    for file in tracked(paths):
        name = str(file.relative_to(ROOT))
        if name not in EXCEPT | HISTORY:
            faults += check_words(file)
        if file.suffix == ".md":
            faults += check_links(file)
    if not paths:
        faults += check_bounds()
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
