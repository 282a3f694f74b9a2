"""The plan of a round of deliveries, decided by its seed alone."""

from __future__ import annotations

import random
from dataclasses import dataclass

SENDER = "sender"
SERVER = "server"
RECIPIENT = "recipient"

RECIPIENTS = ("bob", "carol")

# The processes to kill while files are sent, with weights.
_SENDING = [((SENDER,), 4), ((SERVER,), 4), ((SENDER, SERVER), 2)]
# Added to the above while recipients receive at the same time.
_WATCHED = [((RECIPIENT,), 4), ((RECIPIENT, SERVER), 2), ((SENDER, RECIPIENT, SERVER), 2)]
_RECEIVING = [((RECIPIENT,), 4), ((SERVER,), 3), ((RECIPIENT, SERVER), 3)]


@dataclass(frozen=True)
class Blow:
    """Kills processes after a share of the expected time, or when a share of the lines is printed."""

    victims: tuple[str, ...]
    share: float
    counts_lines: bool
    # Whether the source changes before the command is repeated.
    changes: bool = False

    @staticmethod
    def make(source: random.Random, among: list[tuple[tuple[str, ...], int]], changes: float = 0) -> Blow:
        victims = source.choices([who for who, _ in among], [weight for _, weight in among])[0]
        counts_lines = source.random() < 0.5
        # Some kills come after the last line.
        share = source.random() if counts_lines else source.uniform(0, 1.1)
        return Blow(victims, share, counts_lines, source.random() < changes)


@dataclass(frozen=True)
class DeliveryPlan:
    """One round: files are sent, and the recipients receive them, at the same time or afterwards."""

    recipients: tuple[str, ...]
    # The recipients that decline everything they have not received yet.
    declining: tuple[str, ...]
    watches: bool
    # Whether the watching clients are killed or asked to end.
    kills_watchers: bool
    # Whether the server is restarted before the recipients receive.
    restarts: bool
    push: tuple[str, ...]
    receive: tuple[str, ...]
    sending: tuple[Blow, ...]
    # The kills while each recipient receives.
    receiving: dict[str, tuple[Blow, ...]]

    @staticmethod
    def make(source: random.Random) -> DeliveryPlan:
        recipients = source.choice([(RECIPIENTS[0],), (RECIPIENTS[1],), RECIPIENTS])
        watches = source.random() < 0.5
        among = _SENDING + (_WATCHED if watches else [])
        flags = ["--lanes", str(source.randint(1, 4))]
        if source.random() < 0.25:
            flags += ["--compress", source.choice(["zlib", "none"])]
        if source.random() < 0.1:
            flags += ["--digest", "sha256"]
        # Sealed files are reported with the names, sizes and contents that they have when opened.
        if source.random() < 0.4:
            flags.append("--seal")
        return DeliveryPlan(
            recipients=recipients,
            declining=recipients[-1:] if source.random() < 0.1 else (),
            watches=watches,
            kills_watchers=source.random() < 0.7,
            restarts=source.random() < 0.2,
            push=tuple(flags),
            receive=("--lanes", str(source.randint(1, 4))),
            sending=tuple(Blow.make(source, among, changes=0.2) for _ in range(source.choice([0, 1, 1, 2, 3]))),
            receiving={
                name: tuple(Blow.make(source, _RECEIVING) for _ in range(source.choice([0, 1, 1, 2, 3]))) for name in recipients
            },
        )
