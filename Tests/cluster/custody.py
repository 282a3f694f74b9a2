"""Where the files of a tortured cluster may be, by what the servers have answered its clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from torture.sources import File

# Bytes from which on no two contents of a test are equal.
_UNIQUE = 64


class Custody:
    """The files of one client, which no other client changes.

    Each content has a set of places: the paths at which it may be, and None if it may be at no path. A command that is about to
    run adds places, and its acknowledgement leaves one. Without an acknowledgement, each of the places is right, but the content
    must not be at two of them.
    """

    def __init__(self) -> None:
        self._places: dict[str, set[str | None]] = {}

    @staticmethod
    def _key(path: str, file: File) -> str:
        """Short contents can be equal, and are only known by their path."""
        return file.digest if file.size >= _UNIQUE else f"{file.digest} {path}"

    def send(self, path: str, file: File) -> None:
        """Records that a push of the content to the path is about to begin."""
        self._places.setdefault(self._key(path, file), {None}).add(path)

    def acknowledge(self, path: str, file: File) -> None:
        """Records that the content was acknowledged at the path."""
        self._places[self._key(path, file)] = {path}

    def replace(self, path: str, file: File) -> None:
        """Records that other content may get the path."""
        self._places.setdefault(self._key(path, file), {None}).add(None)

    def removed(self, path: str, file: File) -> None:
        """Records that the content was removed or replaced for certain."""
        self._places[self._key(path, file)] = {None}

    def move(self, path: str, file: File, target: str) -> None:
        """Records that the file may get another path."""
        self.replace(path, file)
        self.send(target, file)
        if self._key(path, file) == self._key(target, file):
            self._places[file.digest].discard(None)

    def moved(self, path: str, file: File, target: str) -> None:
        """Records that the file has another path for certain."""
        self.removed(path, file)
        self.acknowledge(target, file)

    @property
    def certain(self) -> int:
        """The number of files that are at one known path."""
        return sum(len(places) == 1 and None not in places for places in self._places.values())

    def problems(self, stored: Mapping[str, str]) -> Iterator[str]:
        """One sentence for each broken promise. `stored` has the digests of all files of this client by path."""
        found: dict[str, list[str]] = {}
        for path, digest in sorted(stored.items()):
            key = digest if digest in self._places else f"{digest} {path}"
            if key not in self._places:
                yield f"never sent in this form, perhaps half of it: {path!r}"
            elif path not in self._places[key]:
                yield f"at a path where nothing put it, or where it was removed: {path!r}, and not at {_shown(self._places[key])}"
            else:
                found.setdefault(key, []).append(path)
        for key, places in self._places.items():
            there = found.get(key, [])
            if len(there) > 1:
                yield f"stored twice: {there!r}"
            if not there and None not in places:
                yield f"acknowledged and not there: {_shown(places)}"


def _shown(places: set[str | None]) -> str:
    return " or ".join(sorted("no path" if place is None else repr(place) for place in places))
