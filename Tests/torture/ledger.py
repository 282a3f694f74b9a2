"""Records what was pushed and what was acknowledged, and checks that the stored files agree with both."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import content, names

# The server's own folder.
RESERVED = ".transfer"


@dataclass(frozen=True)
class Acknowledgement:
    """One line of a client's output."""

    source: str
    result: str
    path: str | None

    @property
    def is_stored(self) -> bool:
        return self.result in ("committed", "alreadyStored")


def acknowledgements(output: bytes) -> list[Acknowledgement]:
    """Parses the output of a client that may have been killed while it wrote the last line."""
    return [Acknowledgement(found["source"], found["result"], found.get("storedPath")) for found in objects(output)]


def objects(output: bytes) -> list[dict[str, Any]]:
    """The objects that a client has printed about its uploads, without the object about its failure."""
    whole = output[: output.rfind(b"\n") + 1]
    found = (json.loads(line) for line in whole.splitlines())
    return [one for one in found if one.get("schema") != "transfer.failure/1"]


class Stored:
    """The files that a server shows. Reads a file again only if its status says that it changed."""

    def __init__(self, directory: Path, reserved: str = RESERVED) -> None:
        """`reserved` is a folder of the program in the directory, which is ignored."""
        self.directory = directory
        self._reserved = reserved
        self._known: dict[str, tuple[tuple[int, ...], str]] = {}

    def look(self, afresh: bool = False) -> dict[str, str]:
        """The digest of every visible file by its path; `afresh` reads all of them again."""
        found = {}
        for path in self._paths():
            status = os.stat(self.directory / path)
            mark = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            known = self._known.get(path)
            digest = known[1] if known and known[0] == mark and not afresh else content.digest_of(self.directory / path)
            self._known[path] = (mark, digest)
            found[path] = digest
        return found

    def _paths(self) -> Iterator[str]:
        for parent, directories, files in os.walk(self.directory):
            if Path(parent) == self.directory:
                directories[:] = [name for name in directories if name != self._reserved]
            for file in files:
                yield os.path.relpath(os.path.join(parent, file), self.directory)


def problems_of_single_names(stored: dict[str, str], sent: dict[str, str], acknowledged: Iterable[str]) -> Iterator[str]:
    """One sentence for each broken promise to clients that send each file once, under a name of its own. `stored` and
    `sent` have digests by path."""
    for path, found in stored.items():
        if path not in sent:
            yield f"never sent there, or stored twice: {path!r}"
        elif found != sent[path]:
            yield f"half of it, or of other content: {path!r}"
    yield from (f"acknowledged and not there: {path!r}" for path in acknowledged if path not in stored)


class Ledger:
    """The history of one server directory."""

    def __init__(self) -> None:
        # The content that was ever pushed, by its intended path.
        self.pushed: dict[str, set[str]] = defaultdict(set)
        # The content that was acknowledged last, by its acknowledged path.
        self.acknowledged: dict[str, str] = {}
        # Content by path that a push may have stored over another file before the acknowledgement.
        self._replaceable: dict[str, set[str]] = defaultdict(set)

    def push(self, path: str, digest: str, replaces: bool) -> None:
        """Records that a push of the content is about to begin."""
        self.pushed[path].add(digest)
        if replaces:
            self._replaceable[path].add(digest)

    def acknowledge(self, path: str, digest: str, replaces: bool) -> None:
        """Records that the server has acknowledged the content at the path."""
        self.acknowledged[path] = digest
        if replaces:
            self._replaceable[path].clear()

    def is_replaceable(self, path: str) -> bool:
        """Whether unacknowledged content may have replaced the file at the path."""
        return bool(self._replaceable.get(path))

    def problems(self, stored: dict[str, str]) -> list[str]:
        """One sentence for each broken promise."""
        return [*self._lost(stored), *self._strangers(stored), *self._duplicates(stored)]

    def _lost(self, stored: dict[str, str]) -> Iterator[str]:
        for path, digest in self.acknowledged.items():
            found = stored.get(path)
            if found is None:
                yield f"acknowledged and not there: {path!r}"
            elif found != digest and found not in self._replaceable[path]:
                yield f"acknowledged and of other content: {path!r}"

    def _strangers(self, stored: dict[str, str]) -> Iterator[str]:
        for path, digest in stored.items():
            if digest not in self._candidates(path):
                yield f"never pushed in this form, perhaps half-written: {path!r}"

    def _candidates(self, path: str) -> set[str]:
        return self.pushed.get(path, set()).union(*(self.pushed[base] for base in self.bases(path)))

    def bases(self, path: str) -> list[str]:
        """Intended paths of content that a server may have stored at `path` because the intended name was taken."""
        return names.bases(path, self.pushed)

    def _duplicates(self, stored: dict[str, str]) -> Iterator[str]:
        seen: dict[tuple[str, str], str] = {}
        for path, digest in sorted(stored.items()):
            base = path if path in self.pushed else next(iter(self.bases(path)), path)
            other = seen.setdefault((base, digest), path)
            if other != path:
                yield f"stored twice: {other!r} and {path!r}"
