"""What a round of deliveries does, decided by its seed alone."""

from __future__ import annotations

import random
from dataclasses import dataclass

SENDER = "sender"
SERVER = "server"
RECIPIENT = "recipient"

RECIPIENTS = ("bob", "carol")

# Who is killed while something is sent, and how often.
_SENDING = [((SENDER,), 4), ((SERVER,), 4), ((SENDER, SERVER), 2)]
# What comes to these while somebody receives at the same time.
_WATCHED = [((RECIPIENT,), 4), ((RECIPIENT, SERVER), 2), ((SENDER, RECIPIENT, SERVER), 2)]
_RECEIVING = [((RECIPIENT,), 4), ((SERVER,), 3), ((RECIPIENT, SERVER), 3)]


@dataclass(frozen=True)
class Blow:
    """Some are killed: when so much of the expected time has passed, or when that share of the lines is there."""

    victims: tuple[str, ...]
    share: float
    counts_lines: bool
    # Whether the source changes before the command is repeated.
    changes: bool = False

    @staticmethod
    def make(source: random.Random, among: list[tuple[tuple[str, ...], int]], changes: float = 0) -> Blow:
        victims = source.choices([who for who, _ in among], [weight for _, weight in among])[0]
        counts_lines = source.random() < 0.5
        # Some come after the last line.
        share = source.random() if counts_lines else source.uniform(0, 1.1)
        return Blow(victims, share, counts_lines, source.random() < changes)


@dataclass(frozen=True)
class DeliveryPlan:
    """One round: something is sent, and its recipients receive it, at the same time or afterwards."""

    recipients: tuple[str, ...]
    # Those of them who don't want what they have not received yet.
    declining: tuple[str, ...]
    watches: bool
    # How those who watch are stopped at last.
    kills_watchers: bool
    # Whether the server is started anew before anybody receives.
    restarts: bool
    push: tuple[str, ...]
    receive: tuple[str, ...]
    sending: tuple[Blow, ...]
    # For each recipient.
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
        # What is sealed is told of with the names, sizes and contents that it has when it is opened.
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
