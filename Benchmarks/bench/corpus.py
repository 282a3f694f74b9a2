"""Files to push. Each function fills an empty directory."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_MEBIBYTE = 1 << 20

# The seed makes the words of every run equal.
_SEED = 7

# SOI and the start of a JFIF segment, by which programs recognise a JPEG picture.
_JPEG_START = bytes.fromhex("ffd8ffe000104a46494600010100000100010000")


@dataclass(frozen=True)
class Corpus:
    """A directory with files to push."""

    root: Path

    @cached_property
    def files(self) -> list[Path]:
        """All files, in order."""
        return sorted(Path(where, name) for where, _, names in os.walk(self.root) for name in names)

    @cached_property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.stat().st_size for file in self.files)

    @property
    def count(self) -> int:
        return len(self.files)

    @cached_property
    def entries(self) -> list[str]:
        """The files and directories at the top, which a user would name to push everything."""
        return sorted(entry.path for entry in os.scandir(self.root))


def one_file(root: Path, size: int) -> Corpus:
    """One file of random bytes."""
    return equal_files(root, 1, size)


def equal_files(root: Path, count: int, size: int) -> Corpus:
    """Files of random bytes, none of which compresses. The bytes repeat after 256 MiB."""
    root.mkdir(parents=True)
    pool = os.urandom(min(count * size, 256 * _MEBIBYTE))
    position = 0
    for number in range(count):
        with (root / f"file-{number:04}.bin").open("wb") as file:
            written = 0
            while written < size:
                piece = pool[position : position + min(size - written, 8 * _MEBIBYTE)]
                written += file.write(piece)
                position = (position + len(piece)) % len(pool)
    return Corpus(root)


def photos(root: Path, count: int = 400, smallest: int = 2_000_000, step: int = 1000) -> Corpus:
    """Files of a few megabytes that look like pictures and do not compress. Each is `step` bytes larger than the one
    before."""
    root.mkdir(parents=True)
    for number in range(count):
        size = smallest + number * step
        (root / f"photo-{number:04}.jpg").write_bytes(_JPEG_START + os.urandom(size - len(_JPEG_START)))
    return Corpus(root)


def small_files(root: Path, count: int, size: int, in_directory: int) -> Corpus:
    """Many files of random bytes, in directories of `in_directory` files."""
    for number in range(count):
        directory = root / f"directory-{number // in_directory:04}"
        if number % in_directory == 0:
            directory.mkdir(parents=True)
        (directory / f"file-{number:06}.bin").write_bytes(os.urandom(size))
    return Corpus(root)


def log_text(root: Path, parts: int = 256) -> Corpus:
    """One file like a log, 1.035 MB a part: each line has a time, words from a vocabulary of 4,000, and a number."""
    root.mkdir(parents=True)
    chance = random.Random(_SEED)
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(4000)]
    with (root / "service.log").open("w") as file:
        for part in range(parts):
            file.write("".join(_log_lines(part, chance, vocabulary)))
    return Corpus(root)


def _log_lines(part: int, chance: random.Random, vocabulary: list[str]) -> list[str]:
    count = 20_000
    words = chance.choices(vocabulary, k=count * 4)
    return [
        f"2026-11-20T10:{part % 60:02}:{number % 60:02} {words[4 * number]} {words[4 * number + 1]} "
        f"{words[4 * number + 2]}={int(chance.random() * 100_000)} {words[4 * number + 3]}\n"
        for number in range(count)
    ]
