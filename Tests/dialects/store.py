"""The files that a server shows in its directory, and the upload that each file belongs to."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

# The server's own folder.
_RESERVED = ".transfer"
_READ = 1 << 20
# Tolerance for times of one machine that are rounded to seconds.
_SECOND = timedelta(seconds=1)

# The four random digits sometimes repeat within a second: the later name is then numbered.
_MADE = re.compile(r"([a-z]+)-(\d{8}-\d{6})(?:-[A-Za-z0-9_-]+)?-[0-9a-f]{4}(-\d+)?(\.[a-z0-9]+)?")


class Missing(AssertionError):
    """No file has the content of an upload."""


@dataclass(frozen=True)
class Content:
    """The size and the digest of a content."""

    size: int
    sha256: str

    @classmethod
    def of(cls, data: bytes) -> Content:
        return cls(len(data), hashlib.sha256(data).hexdigest())

    @classmethod
    def at(cls, path: Path) -> Content:
        state, size = hashlib.sha256(), 0
        with path.open("rb") as file:
            while data := file.read(_READ):
                state.update(data)
                size += len(data)
        return cls(size, state.hexdigest())


@dataclass(frozen=True)
class Upload:
    """An acknowledged upload."""

    kind: str
    content: Content


def now() -> datetime:
    return datetime.now(timezone.utc)


class Store:
    """The files by their uploads. Several threads may claim files at once."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.uploads: dict[str, Upload] = {}
        self._claiming = threading.Lock()

    def visible(self) -> Iterator[str]:
        """The path of every file outside the server's own folder."""
        for parent, folders, files in os.walk(self.directory):
            if Path(parent) == self.directory:
                folders[:] = [name for name in folders if name != _RESERVED]
            for file in files:
                yield os.path.relpath(os.path.join(parent, file), self.directory)

    def strangers(self) -> list[str]:
        """Files that belong to no upload."""
        return sorted(set(self.visible()) - set(self.uploads))

    def claim(self, path: str, kind: str, content: Content) -> None:
        """Assigns the file at that path to the upload. Raises AssertionError if the file does not match."""
        with self._claiming:
            found = Content.at(self.directory / path) if (self.directory / path).is_file() else None
            if found != content:
                raise AssertionError(f"{path} is {found} and should be {content}")
            if self.uploads.setdefault(path, Upload(kind, content)) != Upload(kind, content):
                raise AssertionError(f"{path} belongs to {self.uploads[path]}")

    def claim_made(self, kind: str, content: Content, since: datetime, folder: str = "") -> str:
        """Assigns a file to an upload. The server has made the name of the kind and of a time after `since`.

        Returns the path. Raises Missing if no file has the content, and AssertionError if its name is wrong.
        """
        with self._claiming:
            path = next(self._unclaimed(content, folder), None)
            if path is None:
                raise Missing(f"{kind} of {content} is not there; belonging to nobody: {self.strangers()}")
            self._check_name(Path(path).name, kind, since)
            self.uploads[path] = Upload(kind, content)
            return path

    def _unclaimed(self, content: Content, folder: str) -> Iterator[str]:
        """Files with that content directly in that folder, without an upload so far."""
        place = self.directory / folder
        for name in os.listdir(place) if place.exists() else ():
            path = os.path.join(folder, name)
            if path in self.uploads or (place / name).is_symlink() or not (place / name).is_file():
                continue
            if (place / name).stat().st_size == content.size and Content.at(place / name) == content:
                yield path

    @staticmethod
    def _check_name(name: str, kind: str, since: datetime) -> None:
        made = _MADE.fullmatch(name)
        if made is None or made[1] != kind:
            raise AssertionError(f"{name} says nothing of the time or is not called {kind}")
        moment = datetime.strptime(made[2], "%Y%m%d-%H%M%S").replace(tzinfo=timezone.utc)
        if not since - _SECOND <= moment <= now() + _SECOND:
            raise AssertionError(f"{name} is not from between {since} and {now()}")
