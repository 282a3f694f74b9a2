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


# The end of a line about a folder. A line about a file ends in its digest.
_FOLDER = re.compile(r"/  (\d+) files, [0-9.]+ [A-Za-z]+$")


@dataclass(frozen=True)
class Work:
    """One push as a command: its arguments, its input, and the files that it must store."""

    push: Push
    arguments: list[str]
    stdin: bytes | None
    # The intended path and the digest of the content, by the name that the client gives the upload.
    wanted: dict[str, tuple[str, str]]
    bytes: int
    long_count: int

    @staticmethod
    def of(push: Push, sources: Sources) -> Work:
        """The command to run beside the directory of the sources."""
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
        """The command of a run that keeps receipts in that file."""
        command = [str(transfer), "push", "--to", f"{server}/{self.push.folder}", "--plaintext", "--json", *self.push.flags]
        if receipts is not None:
            command += ["--receipts", str(receipts)]
        return command + self.arguments

    def again(self, transfer: Path, server: str) -> list[str]:
        """The command of a repeated run whose output lists all files: the client then asks the server about whole
        folders."""
        place = f"{server}/{self.push.folder}"
        return [str(transfer), "push", "--verbose", "--to", place, "--plaintext", *self.push.flags, *self.arguments]

    def require_told(self, output: bytes) -> int:
        """Raises Broken unless the output reports each upload as stored before, alone or with its folder. Returns the
        number of folders."""
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
        """Records that the command is about to run."""
        for path, digest in self.wanted.values():
            ledger.push(path, digest, self.replaces)

    def take(self, ledger: Ledger, answer: Acknowledgement) -> None:
        """Records an acknowledgement. Raises Broken if it does not match a pushed file."""
        if answer.source not in self.wanted or answer.path is None:
            raise Broken(f"an acknowledgement of what was not pushed: {answer.source!r} as {answer.path!r}")
        wanted, digest = self.wanted[answer.source]
        if answer.path != wanted and wanted not in ledger.bases(answer.path):
            raise Broken(f"{wanted!r} was acknowledged as {answer.path!r}")
        ledger.acknowledge(answer.path, digest, self.replaces)

    def require_all(self, answers: Iterable[Acknowledgement]) -> None:
        """Raises Broken if a push exited with success and did not acknowledge all files."""
        found = {answer.source: answer for answer in answers}
        for name, (path, _) in self.wanted.items():
            if name not in found:
                raise Broken(f"no acknowledgement of {path!r} though the push ended well")
            if not found[name].is_stored:
                raise Broken(f"{found[name].result} of {path!r} though the push ended well")


def _single(push: Push, sources: Sources) -> Work:
    """Pushes the longest file of the set as a text or over standard input."""
    path = max(sources.files, key=lambda path: sources.files[path].size)
    data = (sources.directory / path).read_bytes()
    name = path.rpartition("/")[2]
    if push.form == "text":
        # An argument must be short and without NUL.
        data = data.hex().encode()[: 8 * content.KIB] or b"nothing"
        arguments = ["--text", data.decode(), "--name", name]
    else:
        arguments = ["-", "--name", name]
    wanted = {name: (f"{push.folder}/{name}", content.digest(data))}
    stdin = data if push.form == "input" else None
    # The server receives content of unknown size under a separate name.
    return Work(push, arguments, stdin, wanted, len(data), 1)
