"""Records what was sent to one person and what the sender was promised, and checks that the received files agree with
both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from . import names
from .ledger import objects
from .program import Broken

# States in which a delivery has not ended.
_OPEN = ("queued", "fetched")


def lines(output: bytes) -> list[dict[str, object]]:
    """The objects that a client has printed. The client may have been killed while it wrote the last one."""
    return objects(output)


@dataclass(frozen=True)
class Row:
    """One delivery in the output of `transfer sent`."""

    delivery: str
    to: str
    name: str
    size: int
    digest: str
    state: str

    @staticmethod
    def of(said: dict[str, object]) -> Row:
        return Row(
            str(said["delivery"]), str(said["to"]), str(said["name"]), int(str(said["size"])), str(said["digest"]), str(said["state"])
        )

    @property
    def is_open(self) -> bool:
        return self.state in _OPEN


class Mailbox:
    """Everything that was ever sent to one person."""

    def __init__(self, name: str) -> None:
        self.name = name
        # The size of each content by its digest, by the name under which it was sent.
        self._sent: dict[str, dict[str, int]] = defaultdict(dict)
        # Name and digest of everything that was acknowledged.
        self.promised: set[tuple[str, str]] = set()
        # Name and digest of everything that the recipient's client has reported as received.
        self._received: set[tuple[str, str]] = set()
        # Name and digest of promised files that the recipient has declined.
        self._declined: set[tuple[str, str]] = set()
        # Maps the digest that the program under test reports for a content to the digest that this harness has computed.
        self._digests: dict[str, str] = {}
        # The reported path of each delivery.
        self._places: dict[str, str] = {}
        # IDs of deliveries that the recipient's client has reported as delivered.
        self._settled: set[str] = set()

    def send(self, name: str, digest: str, size: int) -> None:
        """Records that content is about to be sent."""
        self._sent[name][digest] = size

    def promise(self, name: str, digest: str, program: str) -> None:
        """Records that the server has acknowledged the content to the sender. `program` is the program's own digest."""
        self.promised.add((name, digest))
        self._learn(program, digest)

    def decline(self) -> None:
        """Records that the recipient declines everything not yet received."""
        self._declined |= self.promised - self._received

    def receive(self, said: dict[str, object], stored: dict[str, str]) -> bool:
        """Takes a line of the recipient's client. `stored` is the state of the directory, with paths as in the line.

        Returns whether the line reports a stored file. Raises Broken if that file is not in place.
        """
        if said["result"] not in ("committed", "alreadyStored"):
            return False
        name, path, delivery = str(said["name"]), str(said["path"]), str(said["delivery"])
        if path not in stored:
            raise Broken(f"{self.name} was told of {path!r}, and it is not there")
        if stored[path] not in self._sent[name]:
            raise Broken(f"{self.name} was told of {path!r}, and it is not what was sent as {name!r}")
        self._learn(str(said["digest"]), stored[path])
        self._received.add((name, stored[path]))
        if self._places.setdefault(delivery, path) != path:
            raise Broken(f"{delivery} was received as {self._places[delivery]!r}, and again as {path!r}")
        if said["state"] == "delivered":
            self._settled.add(delivery)
        return True

    def problems(self, rows: Iterable[Row], stored: dict[str, str], is_complete: bool) -> list[str]:
        """One sentence for each broken promise. `rows` are the server's report to the sender, and older than `stored`.
        If `is_complete`, everything that was acknowledged must be in place."""
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        problems = []
        for path, digest in sorted(stored.items()):
            base = path if path in self._sent else next(iter(names.bases(path, self._sent)), path)
            found[base, digest].append(path)
            if digest not in self._sent.get(base, {}):
                problems.append(f"{self.name} has what was never sent in this form, perhaps half-written: {path!r}")
        problems += [f"{self.name} has it twice: {paths}" for paths in found.values() if len(paths) > 1]
        problems += self._falsely_delivered([row for row in rows if row.to == self.name], found)
        if is_complete:
            due = self.promised - self._declined
            problems += [f"{self.name} has not received {name!r}" for name, digest in due if (name, digest) not in found]
        return problems

    def _falsely_delivered(self, rows: list[Row], found: dict[tuple[str, str], list[str]]) -> Iterator[str]:
        seen: dict[tuple[str, str], str] = {}
        for row in rows:
            if seen.setdefault((row.delivery, row.to), row.state) != row.state:
                yield f"{row.delivery} is told of twice"
            if row.delivery in self._settled and row.state != "delivered":
                yield f"the server has taken {row.name!r} for delivered, and says that it is {row.state}"
            known = self._digests.get(row.digest)
            candidates = [digest for digest, size in self._sent[row.name].items() if size == row.size]
            if known is not None and known not in candidates:
                yield f"{row.name!r} was queued with other content than was sent"
            if row.state == "delivered" and not any((row.name, digest) in found for digest in ([known] if known else candidates)):
                yield f"{row.name!r} is said to be delivered to {self.name}, who does not have it"
        told = {(row.name, self._digests.get(row.digest)) for row in rows}
        for name, digest in self.promised:
            if (name, digest) not in told:
                yield f"{name!r} was acknowledged, and the server knows nothing of it"

    def _learn(self, program: str, digest: str) -> None:
        if self._digests.setdefault(program, digest) != digest:
            raise Broken(f"{program} is the digest of different contents")


def receipt_problems(rows: Iterable[Row], receipts: bytes) -> list[str]:
    """Compares the server's report to the sender with the receipts that the sender has kept: one for each delivery that
    was received."""
    kept: dict[tuple[str, str], int] = defaultdict(int)
    for line in lines(receipts):
        receipt = line["receipt"]
        assert isinstance(receipt, dict)
        kept[receipt["delivery"], receipt["to"]] += 1
    delivered = {(row.delivery, row.to) for row in rows if row.state == "delivered"}
    problems = [f"no receipt of {delivery} from {to}" for delivery, to in sorted(delivered - kept.keys())]
    problems += [f"a receipt of {delivery} from {to}, not delivered" for delivery, to in sorted(kept.keys() - delivered)]
    problems += [f"{count} receipts of {delivery} from {to}" for (delivery, to), count in kept.items() if count > 1]
    return problems
