"""The counts of a run, for its last line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Tally:
    """Counts and extremes of one run."""

    rounds: int = 0
    pushes: int = 0
    acknowledged: int = 0
    checked: int = 0
    # Folders that the server already knew as a whole.
    folders: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    moments: Counter[str] = field(default_factory=Counter)
    # Rounds with a disk that loses writes.
    faults: Counter[str] = field(default_factory=Counter)
    # Power cuts, and the acknowledgements before them.
    cuts: Counter[str] = field(default_factory=Counter)
    promises: int = 0
    receipts: int = 0
    # Counts of rounds in which files are sent to people.
    deliveries: Counter[str] = field(default_factory=Counter)
    # Counts of rounds with uploads over HTTP.
    web: Counter[str] = field(default_factory=Counter)
    # Counts of rounds with uploads by the page in a browser.
    pages: Counter[str] = field(default_factory=Counter)
    # Counts of rounds of syncs.
    syncs: Counter[str] = field(default_factory=Counter)
    # Counts of rounds in which two machines sync one folder.
    machines: Counter[str] = field(default_factory=Counter)
    # Counts of rounds beside a user who changes names in the folder.
    neighbours: Counter[str] = field(default_factory=Counter)
    # Counts of rounds with a cluster.
    clusters: Counter[str] = field(default_factory=Counter)
    memory: int = 0
    descriptors: int = 0

    def killed(self, victim: str, lines: int, of: int) -> None:
        """Counts a kill, by the share of the lines that existed then."""
        self.kills[victim] += 1
        self.moments["before the first" if lines == 0 else "between" if lines < of else "after the last"] += 1

    def cut(self, kind: str, acknowledged: int) -> None:
        """Counts a power cut on that kind of disk, and the acknowledgements before it."""
        self.cuts[kind] += 1
        self.promises += acknowledged

    @property
    def line(self) -> str:
        kills = ", ".join(f"{count} of {victim}" for victim, count in sorted(self.kills.items()))
        moments = ", ".join(f"{count} {when}" for when, count in sorted(self.moments.items()))
        faults = ", ".join(f"{count} on {kind}" for kind, count in sorted(self.faults.items())) or "none"
        cuts = ", ".join(f"{count} on {kind}" for kind, count in sorted(self.cuts.items())) or "none"
        deliveries = ", ".join(f"{count} {what}" for what, count in self.deliveries.items()) or "none"
        web = ", ".join(f"{count} {what}" for what, count in self.web.items()) or "none"
        pages = ", ".join(f"{count} {what}" for what, count in self.pages.items()) or "none"
        syncs = ", ".join(f"{count} {what}" for what, count in self.syncs.items()) or "none"
        machines = ", ".join(f"{count} {what}" for what, count in self.machines.items()) or "none"
        neighbours = ", ".join(f"{count} {what}" for what, count in self.neighbours.items()) or "none"
        clusters = ", ".join(f"{count} {what}" for what, count in self.clusters.items()) or "none"
        return (
            f"{self.rounds} rounds, {self.pushes} runs of push, {sum(self.kills.values())} kills ({kills}; by "
            f"acknowledgement: {moments}), {self.acknowledged} acknowledgements, {self.checked} files compared, {self.folders} folders known, "
            f"rounds on a failing disk: {faults}, power cuts: {cuts} (after {self.promises} acknowledgements), "
            f"{self.receipts} receipt files verified, deliveries: {deliveries}, over HTTP: {web}, by the page: {pages}, syncs: {syncs}, two machines: {machines}, beside a neighbour: {neighbours}, with a cluster: {clusters}, server at most {self.memory >> 20} MiB and "
            f"{self.descriptors} descriptors more when idle than at its start"
        )
