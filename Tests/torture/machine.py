"""A machine whose power is cut, with the server of deliveries on it, their recipients, or both."""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass
from pathlib import Path

from .blows import RECIPIENT, SERVER
from .cuts import OPTIONS, with_boot_id
from .power import PowerDisk


@dataclass(frozen=True)
class MachinePlan:
    """One machine, decided by its seed alone."""

    kind: str
    options: str
    # The parties on the machine.
    parties: frozenset[str]
    # Whether the kernel's run has another ID after each cut.
    boots: bool

    @staticmethod
    def make(source: random.Random, kinds: list[str]) -> MachinePlan:
        kind = source.choice(kinds)
        parties = source.choice([{SERVER}, {RECIPIENT}, {SERVER, RECIPIENT}])
        return MachinePlan(kind, source.choice(OPTIONS[kind]), frozenset(parties), source.random() < 0.5)


class Machine:
    """A machine's disk and the parties on it."""

    def __init__(self, plan: MachinePlan, directory: Path) -> None:
        self.plan = plan
        self._disk = PowerDisk(directory, plan.kind, plan.options)
        self._boot_id = directory / "boot_id"
        self.directory = self._disk.directory

    def prepare(self) -> None:
        """Makes the disk. Raises OSError if mounting is not allowed."""
        self._disk.make()
        self._disk.prove()
        self._boot()

    @property
    def within(self) -> list[str]:
        """A command that runs the command appended to it on this machine."""
        return with_boot_id(self._boot_id, self.directory) if self.plan.boots else []

    def loses_power(self, victims: tuple[str, ...]) -> bool:
        """Whether the power is cut to kill these victims."""
        return not self.plan.parties.isdisjoint(victims)

    def cut(self) -> Path:
        """Returns an image of the current medium."""
        return self._disk.cut()

    def boot(self, image: Path) -> None:
        """Restores the power. No process may use the disk any more. Raises Broken if the disk cannot be mounted."""
        self._disk.boot(image)
        self._disk.drop(image)
        self._boot()

    def abandon(self) -> None:
        """Unmounts everything, whatever uses it."""
        self._disk.abandon()

    def _boot(self) -> None:
        self._boot_id.write_text(f"{uuid.uuid4()}\n")
