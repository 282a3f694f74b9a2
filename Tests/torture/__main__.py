"""The command line: plays round after round and stops at the first broken promise."""

from __future__ import annotations

import random
import shutil
import signal
import sys
import time
from types import FrameType

from cluster.machines import Machines as Engines
from cluster.plan import ClusterPlan
from cluster.rounds import ClusterRounds

from .blows import DeliveryPlan
from .cuts import CutRound, Cuts
from .deliveries import Deliveries
from .faults import Fault, FaultyRound
from .features import Features
from .history import History
from .machine import MachinePlan
from .machines import MachineRoundPlan, Machines, SpellingDisk
from .medium import Medium
from .neighbours import NeighbourPlan, Neighbours
from .options import HISTORY, Options
from .pace import Pace
from .pages import PagePlan, PageRounds
from .plan import Plan
from .power import PowerDisk
from .program import Broken
from .syncs import SyncRoundPlan, Syncs
from .tally import Tally
from .web import WebPlan, WebRounds

# For every 10 rounds, one more round has a disk that loses writes; a short run has two.
_FAULTS = 10
_LEAST_FAULTS = 2

# Seconds between two progress messages.
_QUIET = 10.0


class Torture:
    """One run of the torture test."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._tally = Tally()
        self._pace = Pace()
        self._history: History | None = None
        self._faulty: FaultyRound | None = None
        self._cut: CutRound | None = None
        self._deliveries: Deliveries | None = None
        # Number of the round of deliveries that is being played.
        self._delivery = 0
        # Number of the round of deliveries with power cuts, or None.
        self._delivery_cut: int | None = None
        self._web: WebRounds | None = None
        # Number of the round over HTTP that is being played.
        self._web_round = 0
        self._pages: PageRounds | None = None
        # Number of the round with the page that is being played.
        self._page_round = 0
        self._syncs: Syncs | None = None
        # Number of the round of syncs that is being played.
        self._sync_round = 0
        self._machines: Machines | None = None
        # Number of the round with two machines that is being played.
        self._machine_round = 0
        self._clusters: ClusterRounds | None = None
        self._engines: Engines | None = None
        # Number of the round with a cluster that is being played.
        self._cluster_round = 0
        self._neighbours: Neighbours | None = None
        # Number of the round beside a neighbour that is being played.
        self._neighbour_round = 0
        self._commands: list[str] = []
        self._shown = time.monotonic()

    def run(self) -> int:
        options = self._options
        print(f"torture: seed {options.seed}, in {options.directory}", flush=True)
        number = options.first
        started = time.monotonic()
        try:
            for number in range(options.first, options.first + options.rounds):
                self._play(number)
            self._end()
            self._play_deliveries()
            self._play_web()
            self._play_pages()
            self._play_syncs()
            self._play_machines()
            self._play_neighbours()
            self._play_clusters()
            self._play_faults()
            self._play_cuts()
            self._play_delivery_cuts()
        except Broken as broken:
            self._tell(number, broken)
            return 1
        finally:
            if self._history is not None:
                self._history.close()
            if self._deliveries is not None:
                self._deliveries.close()
            if self._web is not None:
                self._web.close()
            if self._pages is not None:
                self._pages.close()
            if self._syncs is not None:
                self._syncs.close()
            if self._machines is not None:
                self._machines.close()
            if self._neighbours is not None:
                self._neighbours.close()
            if self._clusters is not None:
                self._clusters.close()
            if self._engines is not None:
                self._engines.close()
            if self._faulty is not None:
                self._faulty.close()
            if self._cut is not None:
                self._cut.close()
        print(f"torture: all promises kept: {self._tally.line}; {time.monotonic() - started:.0f} s")
        return 0

    def _play(self, number: int) -> None:
        if number % HISTORY == 0:
            self._end()
        if self._history is None:
            self._commands = []
            directory = self._options.directory / f"seed-{self._options.seed}"
            self._history = History(
                self._options.transfer, directory, self._tally, self._pace, lambda text: self._commands.append(text)
            )
        source = random.Random(f"{self._options.seed}/{number}")
        self._commands.append(f"# round {number}")
        self._history.play(number, Plan.make(number, source), source)
        self._live(f"round {number}")

    def _play_deliveries(self) -> None:
        """Plays the rounds of deliveries after the other rounds, with separate seeds."""
        options = self._options
        if not Features.of(options.transfer).mail:
            return
        paces = (Pace(), Pace())
        for number in range(options.first_delivery, options.first_delivery + options.deliveries):
            self._delivery = number
            if number % HISTORY == 0:
                self._end_deliveries()
            if self._deliveries is None:
                self._commands = []
                directory = options.directory / f"seed-{options.seed}-people"
                self._deliveries = Deliveries(
                    options.transfer, directory, self._tally, paces, lambda text: self._commands.append(text)
                )
            source = random.Random(f"{options.seed}/people/{number}")
            plan = DeliveryPlan.make(source)
            self._commands.append(f"# round {number} of deliveries: {plan}")
            self._deliveries.play(number, plan, source)
            self._live(f"round {number} of deliveries")
        self._end_deliveries()

    def _end_deliveries(self) -> None:
        if self._deliveries is None:
            return
        self._deliveries.end()
        self._deliveries.close()
        shutil.rmtree(self._deliveries.directory)
        self._deliveries = None

    def _play_web(self) -> None:
        """Plays the rounds over HTTP, likewise with separate seeds."""
        options = self._options
        if not Features.of(options.transfer).web:
            return
        for number in range(options.first_web, options.first_web + options.web):
            self._web_round = number
            if number % HISTORY == 0:
                self._end_web()
            if self._web is None:
                self._commands = []
                directory = options.directory / f"seed-{options.seed}-web"
                self._web = WebRounds(options.transfer, directory, self._tally, lambda text: self._commands.append(text))
            source = random.Random(f"{options.seed}/web/{number}")
            plan = WebPlan.make(source)
            self._commands.append(f"# round {number} over HTTP: {plan}")
            self._web.play(number, plan, source)
            self._live(f"round {number} over HTTP")
        self._end_web()

    def _end_web(self) -> None:
        if self._web is None:
            return
        self._web.end()
        self._web.close()
        shutil.rmtree(self._web.directory)
        self._web = None

    def _play_pages(self) -> None:
        """Plays the rounds with the page, likewise with separate seeds."""
        options = self._options
        if options.pages == 0 or not Features.of(options.transfer).web:
            return
        if reason := PageRounds.missing():
            print(f"torture: no rounds with the page: {reason}", flush=True)
            return
        for number in range(options.first_page, options.first_page + options.pages):
            self._page_round = number
            if number % HISTORY == 0:
                self._end_pages()
            if self._pages is None:
                self._commands = []
                directory = options.directory / f"seed-{options.seed}-pages"
                self._pages = PageRounds(options.transfer, directory, self._tally, lambda text: self._commands.append(text))
            source = random.Random(f"{options.seed}/pages/{number}")
            plan = PagePlan.make(source)
            self._commands.append(f"# round {number} with the page: {plan}")
            self._pages.play(number, plan, source)
            self._live(f"round {number} with the page")
        self._end_pages()

    def _end_pages(self) -> None:
        if self._pages is None:
            return
        self._pages.end()
        self._pages.close()
        shutil.rmtree(self._pages.directory)
        self._pages = None

    def _play_syncs(self) -> None:
        """Plays the rounds of syncs, likewise with separate seeds."""
        options = self._options
        if not Features.of(options.transfer).sync:
            return
        pace = Pace()
        for number in range(options.first_sync, options.first_sync + options.syncs):
            self._sync_round = number
            if number % HISTORY == 0:
                self._end_syncs()
            if self._syncs is None:
                self._commands = []
                directory = options.directory / f"seed-{options.seed}-trees"
                self._syncs = Syncs(
                    options.transfer, directory, self._tally, pace, lambda text: self._commands.append(text)
                )
            source = random.Random(f"{options.seed}/trees/{number}")
            plan = SyncRoundPlan.make(source)
            self._commands.append(f"# round {number} of syncs: {plan}")
            self._syncs.play(number, plan, source)
            self._live(f"round {number} of syncs")
        self._end_syncs()

    def _end_syncs(self) -> None:
        if self._syncs is None:
            return
        self._syncs.end()
        self._syncs.close()
        shutil.rmtree(self._syncs.directory)
        self._syncs = None

    def _play_machines(self) -> None:
        """Plays the rounds with two machines, likewise with separate seeds. One of four directories is on a file system
        that ignores case, if this machine can have one."""
        options = self._options
        features = Features.of(options.transfer)
        if not (features.sync and features.keeps_replaced):
            return
        reason = SpellingDisk.missing()
        if reason is not None and options.machines > 0:
            print(f"torture: no rounds on a file system that ignores case: {reason}", flush=True)
        for number in range(options.first_machine, options.first_machine + options.machines):
            self._machine_round = number
            if number % HISTORY == 0:
                self._end_machines()
            source = random.Random(f"{options.seed}/machines/{number}")
            if self._machines is None:
                self._commands = []
                directory = options.directory / f"seed-{options.seed}-machines"
                ignores_case = reason is None and number // HISTORY % 4 == 1
                self._machines = Machines(
                    options.transfer, directory, self._tally, source, ignores_case, lambda text: self._commands.append(text)
                )
            plan = MachineRoundPlan.make(source)
            self._commands.append(f"# round {number} of two machines: {plan}")
            self._machines.play(plan)
            self._live(f"round {number} of two machines")
        self._end_machines()

    def _end_machines(self) -> None:
        if self._machines is None:
            return
        self._machines.end()
        self._machines.close()
        shutil.rmtree(self._machines.directory)
        self._machines = None

    def _play_neighbours(self) -> None:
        """Plays the rounds beside a neighbour, likewise with separate seeds."""
        options = self._options
        if options.neighbours == 0:
            return
        if reason := Neighbours.missing():
            print(f"torture: no rounds beside a neighbour: {reason}", flush=True)
            return
        for number in range(options.first_neighbour, options.first_neighbour + options.neighbours):
            self._neighbour_round = number
            if number % HISTORY == 0:
                self._end_neighbours()
            if self._neighbours is None:
                self._commands = []
                directory = options.directory / f"seed-{options.seed}-neighbours"
                self._neighbours = Neighbours(
                    options.transfer, directory, self._tally, lambda text: self._commands.append(text)
                )
            plan = NeighbourPlan.make(random.Random(f"{options.seed}/neighbours/{number}"))
            self._commands.append(f"# round {number} beside a neighbour: {plan}")
            self._neighbours.play(plan)
            self._live(f"round {number} beside a neighbour")
        self._end_neighbours()

    def _end_neighbours(self) -> None:
        if self._neighbours is None:
            return
        self._neighbours.end()
        self._neighbours.close()
        shutil.rmtree(self._neighbours.directory)
        self._neighbours = None

    def _play_clusters(self) -> None:
        """Plays the rounds with a cluster, likewise with separate seeds. All clusters use the same engines."""
        options = self._options
        if options.clusters == 0:
            return
        if reason := Engines.missing():
            print(f"torture: no rounds with a cluster: {reason}", flush=True)
            return
        self._engines = Engines()
        self._engines.start()
        for number in range(options.first_cluster, options.first_cluster + options.clusters):
            self._cluster_round = number
            if number % HISTORY == 0:
                self._end_clusters()
            source = random.Random(f"{options.seed}/clusters/{number}")
            if self._clusters is None:
                self._commands = []
                directory = options.directory / f"seed-{options.seed}-clusters"
                self._clusters = ClusterRounds(
                    options.transfer, directory, self._engines, self._tally, source, self._commands.append
                )
            plan = ClusterPlan.make(source, self._clusters.nodes, self._engines.has_room)
            self._commands.append(f"# round {number} with a cluster: {plan.words}")
            self._clusters.play(number, plan, source)
            self._live(f"round {number} with a cluster")
        self._end_clusters()

    def _end_clusters(self) -> None:
        if self._clusters is None:
            return
        self._clusters.end()
        self._clusters.close()
        shutil.rmtree(self._clusters.directory)
        self._clusters = None

    def _play_faults(self) -> None:
        """Plays the rounds with a failing disk after the others and with separate seeds, so that they change no other
        round."""
        for kind, reason in Medium.missing().items():
            print(f"torture: no rounds with a failing disk on {kind}: {reason}", flush=True)
        kinds = Medium.kinds()
        if not kinds:
            return
        directory = self._options.directory / f"seed-{self._options.seed}-disk"
        if self._options.rounds == 0:
            return
        for number in range(max(_LEAST_FAULTS, self._options.rounds // _FAULTS)):
            source = random.Random(f"{self._options.seed}/disk/{number}")
            self._commands = [f"# round {number} with a failing disk"]
            self._faulty = FaultyRound(self._options.transfer, directory, self._tally, self._commands.append)
            try:
                self._faulty.play(Fault.make(source, kinds), source)
            except OSError as error:
                print(f"torture: no rounds with a failing disk: {error}", flush=True)
                return
            finally:
                self._faulty.close()
            shutil.rmtree(directory)

    def _play_cuts(self) -> None:
        """Plays the rounds with power cuts, likewise with separate seeds."""
        options = self._options
        if options.cuts == 0:
            return
        for kind, reason in PowerDisk.missing().items():
            print(f"torture: no rounds with power cuts on {kind}: {reason}", flush=True)
        kinds = PowerDisk.kinds()
        if not kinds:
            return
        directory = options.directory / f"seed-{options.seed}-power"
        pace = Pace()
        for number in range(options.first_cut, options.first_cut + options.cuts):
            source = random.Random(f"{options.seed}/power/{number}")
            self._commands = [f"# round {number} with power cuts"]
            plan = Cuts.make(number, source, kinds)
            self._cut = CutRound(options.transfer, directory, plan, source, self._commands.append)
            try:
                self._cut.prepare()
            except OSError as error:
                self._cut.close()
                shutil.rmtree(directory)
                print(f"torture: no rounds with power cuts: {error}", flush=True)
                return
            self._cut.play(self._tally, pace)
            self._cut.close()
            self._cut = None
            shutil.rmtree(directory)
            self._live(f"round {number} with power cuts")

    def _play_delivery_cuts(self) -> None:
        """Plays half as many rounds of deliveries, with power cuts in place of kills."""
        options = self._options
        kinds = PowerDisk.kinds()
        if not kinds or not Features.of(options.transfer).mail:
            return
        directory = options.directory / f"seed-{options.seed}-people"
        paces = (Pace(), Pace())
        for number in range(options.first_cut, options.first_cut + (options.cuts + 1) // 2):
            source = random.Random(f"{options.seed}/people/power/{number}")
            machine, plan = MachinePlan.make(source, kinds), DeliveryPlan.make(source)
            self._commands = [f"# round {number} of deliveries with power cuts: {machine} {plan}"]
            self._delivery_cut = number
            self._deliveries = Deliveries(options.transfer, directory, self._tally, paces, self._commands.append, machine)
            try:
                self._deliveries.prepare()
            except OSError:
                # The rounds with power cuts have already reported this error.
                self._deliveries.close()
                shutil.rmtree(directory)
                self._deliveries = None
                return
            self._deliveries.play(number, plan, source)
            self._end_deliveries()
            self._live(f"round {number} of deliveries with power cuts")

    def _live(self, words: str) -> None:
        """Prints the current place now and then."""
        if time.monotonic() - self._shown > _QUIET:
            self._shown = time.monotonic()
            print(f"torture: {words}", flush=True)

    def _end(self) -> None:
        if self._history is None:
            return
        self._history.end()
        self._history.close()
        shutil.rmtree(self._history.directory)
        self._history = None

    def _tell(self, number: int, broken: Broken) -> None:
        options = self._options
        repeating, what = options.repeating(number), f"round {number}"
        if self._cut is not None:
            repeating, what = options.repeating_cut(self._cut.number), f"round {self._cut.number} with power cuts"
        elif self._delivery_cut is not None:
            repeating = options.repeating_cut(self._delivery_cut)
            what = f"round {self._delivery_cut} of deliveries with power cuts"
        elif self._deliveries is not None:
            repeating, what = options.repeating_delivery(self._delivery), f"round {self._delivery} of deliveries"
        elif self._web is not None:
            repeating, what = options.repeating_web(self._web_round), f"round {self._web_round} over HTTP"
        elif self._pages is not None:
            repeating, what = options.repeating_page(self._page_round), f"round {self._page_round} with the page"
        elif self._syncs is not None:
            repeating, what = options.repeating_sync(self._sync_round), f"round {self._sync_round} of syncs"
        elif self._machines is not None:
            repeating = options.repeating_machine(self._machine_round)
            what = f"round {self._machine_round} of two machines"
        elif self._neighbours is not None:
            repeating = options.repeating_neighbour(self._neighbour_round)
            what = f"round {self._neighbour_round} beside a neighbour"
        elif self._clusters is not None:
            repeating, what = options.repeating_cluster(self._cluster_round), f"round {self._cluster_round} with a cluster"
        print(f"torture: seed {options.seed}, {what}: {broken}", file=sys.stderr)
        print(f"torture: repeat it with: {repeating}", file=sys.stderr)
        print("torture: what was done to the directory:", file=sys.stderr)
        for command in self._commands:
            print(f"    {command}", file=sys.stderr)
        played = (
            self._history or self._deliveries or self._web or self._pages or self._syncs or self._machines or self._neighbours
            or self._clusters or self._cut
        )
        if played is None:
            return
        if self._cut is not None and options.keeps:
            self._cut.keep()
        if self._clusters is not None and options.keeps:
            self._clusters.keep()
        played.close()
        if options.keeps:
            print(f"torture: the directory is {played.directory}", file=sys.stderr)
        else:
            shutil.rmtree(played.directory, ignore_errors=True)
            print("torture: KEEP=1 leaves the directory", file=sys.stderr)


def _end_run(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)


def main() -> int:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end_run)
    return Torture(Options.parse(sys.argv[1:])).run()


if __name__ == "__main__":
    sys.exit(main())
