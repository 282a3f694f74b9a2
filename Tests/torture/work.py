"""One push as a command, and what it promises."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import content
from .ledger import Acknowledgement, Ledger
from .plan import Push
from .program import Broken
from .sources import Sources


# The end of a line about a folder: a line about a file ends in its digest.
_FOLDER = re.compile(r"/  (\d+) files, [0-9.]+ [A-Za-z]+$")


@dataclass(frozen=True)
class Work:
    """One push as a command: its arguments, its input, and what it is to store where."""

    push: Push
    arguments: list[str]
    stdin: bytes | None
    # Where it is to be stored and the digest of the content, by the name that the client gives the upload.
    wanted: dict[str, tuple[str, str]]
    bytes: int
    long_count: int

    @staticmethod
    def of(push: Push, sources: Sources) -> Work:
        """What has to be run beside the directory of the sources."""
        if push.form in ("text", "input"):
            return _single(push, sources)
        top = sources.directory.name
        place = "" if push.form == "files" else f"{top}/"
        wanted = {}
        for path, file in sources.files.items():
            wanted[f"{top}/{path}"] = (f"{push.folder}/{place}{path}", file.digest)
        operands = [top]
        if push.form == "files":
            operands = sorted({f"{top}/{path.partition('/')[0]}" for path in sources.files})
        return Work(push, operands, None, wanted, sources.bytes, sources.long_count)

    def command(self, transfer: Path, server: str, receipts: Path | None) -> list[str]:
        """As it is run, with receipts kept there."""
        command = [str(transfer), "push", "--to", f"{server}/{self.push.folder}", "--plaintext", "--json", *self.push.flags]
        if receipts is not None:
            command += ["--receipts", str(receipts)]
        return command + self.arguments

    def again(self, transfer: Path, server: str) -> list[str]:
        """As it is run once more for people who want to see all: then the server is asked about whole folders."""
        place = f"{server}/{self.push.folder}"
        return [str(transfer), "push", "--verbose", "--to", place, "--plaintext", *self.push.flags, *self.arguments]

    def require_told(self, output: bytes) -> int:
        """Raises Broken unless each upload is told of as stored before, alone or with its folder. Returns the number of folders."""
        lines = output.decode().splitlines()
        if strange := [line for line in lines if not line.startswith("alreadyStored  ")]:
            raise Broken(f"pushed again, and told of {strange[0]!r}")
        folders = [int(found[1]) for line in lines if (found := _FOLDER.search(line))]
        told = len(lines) - len(folders) + sum(folders)
        if told != len(self.wanted):
            raise Broken(f"pushed again, {told} of {len(self.wanted)} uploads were told of")
        return len(folders)

    @property
    def replaces(self) -> bool:
        return "overwrite" in self.push.flags

    def announce(self, ledger: Ledger) -> None:
        """It is about to be run."""
        for path, digest in self.wanted.values():
            ledger.push(path, digest, self.replaces)

    def take(self, ledger: Ledger, answer: Acknowledgement) -> None:
        """Something was acknowledged. Raises Broken when it is not what was pushed."""
        if answer.source not in self.wanted or answer.path is None:
            raise Broken(f"an acknowledgement of what was not pushed: {answer.source!r} as {answer.path!r}")
        wanted, digest = self.wanted[answer.source]
        if answer.path != wanted and wanted not in ledger.bases(answer.path):
            raise Broken(f"{wanted!r} was acknowledged as {answer.path!r}")
        ledger.acknowledge(answer.path, digest, self.replaces)

    def require_all(self, answers: Iterable[Acknowledgement]) -> None:
        """Raises Broken where anything was not acknowledged by a push that ended well."""
        found = {answer.source: answer for answer in answers}
        for name, (path, _) in self.wanted.items():
            if name not in found:
                raise Broken(f"no acknowledgement of {path!r} though the push ended well")
            if not found[name].is_stored:
                raise Broken(f"{found[name].result} of {path!r} though the push ended well")


def _single(push: Push, sources: Sources) -> Work:
    """The longest file of the set as a text or over standard input."""
    path = max(sources.files, key=lambda path: sources.files[path].size)
    data = (sources.directory / path).read_bytes()
    name = path.rpartition("/")[2]
    if push.form == "text":
        # As an argument: without NUL, and short.
        data = data.hex().encode()[: 8 * content.KIB] or b"nothing"
        arguments = ["--text", data.decode(), "--name", name]
    else:
        arguments = ["-", "--name", name]
    wanted = {name: (f"{push.folder}/{name}", content.digest(data))}
    stdin = data if push.form == "input" else None
    # What is sent without a size is received under a name of its own.
    return Work(push, arguments, stdin, wanted, len(data), 1)
