"""The promises that a client has received, in lines and in receipts."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field

from .ledger import Ledger, acknowledgements
from .program import Broken
from .work import Work


@dataclass
class Promises:
    """All promises at one moment, which must hold whatever happens to the server's machine then."""

    ledger: Ledger = field(default_factory=Ledger)
    # The acknowledged path, by the name that the client gives the upload.
    paths: dict[str, str] = field(default_factory=dict)
    # The lines with receipts.
    receipts: bytes = b""

    def copy(self) -> Promises:
        return copy.deepcopy(self)

    def hear(self, work: Work, output: bytes) -> int:
        """Takes the output of a client so far. Raises Broken if it contradicts earlier output.

        Returns the number of acknowledgements.
        """
        answers = [answer for answer in acknowledgements(output) if answer.is_stored]
        for answer in answers:
            work.take(self.ledger, answer)
            assert answer.path is not None
            other = self.paths.setdefault(answer.source, answer.path)
            if other != answer.path:
                raise Broken(f"{other!r} was acknowledged, and later the same as {answer.path!r}")
        return len(answers)

    def forget_paths(self) -> None:
        """Forgets the paths, because the sources have changed: the same names now stand for other content."""
        self.paths.clear()

    def keep(self, receipts: bytes) -> None:
        """Takes the receipts that a client has kept so far. Raises Broken if a number or the key contradicts earlier
        receipts."""
        self.receipts += receipts[: receipts.rfind(b"\n") + 1]
        texts: dict[int, object] = {}
        servers = set()
        for line in self.receipts.splitlines():
            receipt = json.loads(line)["receipt"]
            servers.add(receipt["server"])
            if texts.setdefault(receipt["number"], receipt) != receipt:
                raise Broken(f"two receipts have the number {receipt['number']}")
        if len(servers) > 1:
            raise Broken("the server signs with another key than before")
