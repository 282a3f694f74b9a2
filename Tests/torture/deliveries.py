"""Rounds in which files are sent to people, and all programs on the way are killed."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from . import content, features
from .blows import RECIPIENT, RECIPIENTS, SENDER, SERVER, Blow, DeliveryPlan
from .ledger import Stored
from .machine import Machine, MachinePlan
from .mailbox import Mailbox, Row, lines, receipt_problems
from .pace import Pace
from .people import Person, at_home, fingerprint
from .program import Broken, Client, Run, Server, free_port
from .sources import Sources
from .tally import Tally

# The same limits for a server as in history.py.
_MOST_MEMORY = 128 * content.MIB
_SPARE_DESCRIPTORS = 8

# Exit statuses of a client whose server was killed: success, or never connected.
_STATUSES = (0, 3)
_KILLED = -9
# A client dies of the signal if it has not connected when it is asked to end; a watching client exits with success.
_STOPPED = -15

# Folder in which a recipient's client keeps its state until it has received everything.
_PARTS = ".transfer-parts"


def _left(parts: Path) -> list[str]:
    """Files that should have been removed. The mark of a client that was killed during a sync stays until the machine
    restarts."""
    return [path.name for path in parts.glob("*") if not path.name.startswith("sync-running-")]


class Deliveries:
    """A server directory, the directories of the recipients, and everything that was ever sent."""

    def __init__(
        self,
        transfer: Path,
        directory: Path,
        tally: Tally,
        paces: tuple[Pace, Pace],
        show: Callable[[str], None],
        plan: MachinePlan | None = None,
    ) -> None:
        """`paces` are those of sending and of receiving. `plan` describes a machine whose power is cut in place of
        kills."""
        shutil.rmtree(directory, ignore_errors=True)
        (directory / "source").mkdir(parents=True)
        self.directory = directory
        self._transfer = transfer
        self._tally = tally
        self._pace, self._receiving_pace = paces
        self._show = show
        self._sender = Person("alice", transfer, directory)
        self._people = {name: Person(name, transfer, directory) for name in RECIPIENTS}
        self._boxes = {name: Mailbox(name) for name in RECIPIENTS}
        self._machine = Machine(plan, directory) if plan is not None else None
        # The directories of a party are on its machine.
        self._received = self._place(RECIPIENT)
        self._stored = {name: Stored(self._received / name, reserved=_PARTS) for name in RECIPIENTS}
        within = [*self._within(SERVER), *at_home(directory / "homes" / "server")]
        port = free_port(random.Random())
        self._server = Server(transfer, self._place(SERVER) / "store", directory / "server.log", port, within, flags=())
        self._to: list[str] = []
        self._clients: dict[str, Client] = {}
        # Clients whose server was killed. They may not have reached it, and they try only once.
        self._alone: set[str] = set()

    def prepare(self) -> None:
        """Makes the machine. Raises OSError if mounting is not allowed."""
        if self._machine is not None:
            self._machine.prepare()

    def close(self) -> None:
        """Ends all processes and leaves the directory."""
        for client in self._clients.values():
            client.abandon()
        self._server.abandon()
        if self._machine is not None:
            self._machine.abandon()

    def play(self, number: int, plan: DeliveryPlan, source: random.Random) -> None:
        """Plays one round. Raises Broken if a promise is broken."""
        if not self._server.starts:
            self._open()
        sources = Sources(self.directory / "source" / f"r{number}", source, source.randrange(100) < 3)
        self._send(plan, sources)
        if plan.restarts:
            self._fell((SERVER,))
        for name in plan.recipients:
            self._receive(plan, name)
        shutil.rmtree(sources.directory)
        self._look(is_complete=True)
        self._check_server()
        self._tally.deliveries["rounds"] += 1

    def end(self) -> None:
        """After the last round, reads everything once more. A server that starts must remove the content of ended
        deliveries."""
        self._fell((SERVER,))
        self._look(is_complete=True, afresh=True)
        left = list((self._server.directory / ".transfer" / "mail").glob("**/*"))
        self._server.stop()
        if left:
            raise Broken(f"all has ended, and the server keeps {len(left)} files of it")
        if words := self._server.strange_words():
            raise Broken(f"the server said: {words[0]}")

    def _open(self) -> None:
        self._server.directory.mkdir()
        for person in (self._sender, *self._people.values()):
            person.enter(self._server.directory)
        (self.directory / "homes" / "server").mkdir()
        self._server.start()
        self._to = ["--to", self._server.address, "--server-key", fingerprint(self._server)]
        # A person must have published a key before others can seal for that person.
        for person in (self._sender, *self._people.values()):
            person.ask("whoami", *self._to)

    def _place(self, party: str) -> Path:
        return self._machine.directory if self._machine is not None and party in self._machine.plan.parties else self.directory

    def _within(self, party: str) -> list[str]:
        return self._machine.within if self._machine is not None and party in self._machine.plan.parties else []

    # Sending

    def _send(self, plan: DeliveryPlan, sources: Sources) -> None:
        for blow in plan.sending:
            self._watch(plan)
            if not self._strike(SENDER, lambda: self._push(plan, sources), self._pace, blow, len(sources.files), sources.bytes):
                break
            self._look(is_complete=False)
            if blow.changes:
                sources.change()
        self._watch(plan)
        run = self._finish(SENDER, self._push(plan, sources), (0,))
        self._pace.learn(len(sources.files), sources.bytes, run.seconds)
        told = {said["source"] for said in lines(run.output) if said["result"] in ("committed", "alreadyStored")}
        if missing := [path for path in sources.files if f"{sources.directory.name}/{path}" not in told]:
            raise Broken(f"no acknowledgement of {missing[0]!r} though the push ended well")
        self._look(is_complete=False)
        for name in [name for name in self._clients if name in RECIPIENTS]:
            self._show(f"{'kill -KILL' if plan.kills_watchers else 'kill'} the client of {name}")
            (self._clients[name].kill if plan.kills_watchers else self._clients[name].stop)()
            self._finish(name, self._clients[name], (_KILLED,) if plan.kills_watchers else (0, _STOPPED))
        if plan.watches:
            self._look(is_complete=False)

    def _push(self, plan: DeliveryPlan, sources: Sources) -> Client:
        top = sources.directory.name
        self._wanted = {f"{top}/{path}": file.digest for path, file in sources.files.items()}
        for name in plan.recipients:
            for path, file in sources.files.items():
                self._boxes[name].send(f"{top}/{path}", file.digest, file.size)
        self._recipients = plan.recipients
        flags = ["--for", ",".join(plan.recipients), "--json", *plan.push]
        self._tally.deliveries["runs of push"] += 1
        return self._begin(SENDER, self._sender.command("push", *self._to, *flags, top), self.directory / "source")

    def _watch(self, plan: DeliveryPlan) -> None:
        """Starts a watching client for every recipient that has none."""
        for name in plan.recipients if plan.watches else ():
            if name in self._clients and self._clients[name].has_ended:
                self._finish(name, self._clients[name], ())
            if name not in self._clients:
                self._begin_receiving(plan, name, "--watch")

    # Receiving

    def _receive(self, plan: DeliveryPlan, name: str) -> None:
        flags = ("--accept", "none") if name in plan.declining else ()
        if flags:
            self._boxes[name].decline()
        count = len(self._wanted)
        for blow in plan.receiving[name]:
            if not self._strike(name, lambda: self._begin_receiving(plan, name, *flags), self._receiving_pace, blow, count, 0):
                break
            self._look(is_complete=False)
        run = self._finish(name, self._begin_receiving(plan, name, *flags), (0,))
        self._receiving_pace.learn(count, 0, run.seconds)
        if waiting := self._people[name].ask("inbox", *self._to, "--json"):
            raise Broken(f"{name} has received everything, and {len(waiting.splitlines())} deliveries wait")
        # A power cut may restore removed files.
        if self._received == self.directory and (left := _left(self._received / name / _PARTS)):
            raise Broken(f"{name} has received everything, and there is still {_PARTS}: {left}")

    def _begin_receiving(self, plan: DeliveryPlan, name: str, *flags: str) -> Client:
        self._tally.deliveries["runs of receive"] += 1
        words = ["receive", *self._to, "--json", "--hidden", *plan.receive, *flags, name]
        return self._begin(name, [*self._within(RECIPIENT), *self._people[name].command(*words)], self._received)

    # Running

    def _strike(self, who: str, begin: Callable[[], Client], pace: Pace, blow: Blow, count: int, size: int) -> bool:
        """Runs a command and kills the victims. Returns False if the command ended before that."""
        client = begin()
        needed = 1 + int(blow.share * count) if blow.counts_lines else None
        if not client.wait_for(blow.share * pace.expected(count, size), needed):
            self._finish(who, client, (0,))
            return False
        client.mark()
        self._fell(blow.victims)
        if who in self._clients:
            self._finish(who, client, (0,))
        self._tally.deliveries["kills of " + " and ".join(blow.victims)] += 1
        return True

    def _fell(self, victims: tuple[str, ...]) -> None:
        """Kills the victims, and starts the server again. If their machine loses its power, all parties on it die."""
        machine = self._machine if self._machine is not None and self._machine.loses_power(victims) else None
        if machine is not None:
            victims = tuple({*victims, *machine.plan.parties})
        dying = {
            name: client for name, client in self._clients.items() if (RECIPIENT if name in RECIPIENTS else SENDER) in victims
        }
        image = self._cut(machine, dying) if machine is not None else None
        for name, client in dying.items():
            self._show(f"kill -KILL the client of {name}")
            client.kill()
        runs = {name: client.finish() for name, client in dying.items()}
        if SERVER in victims:
            self._show("kill -KILL the server, start it again")
            self._server.kill()
            self._alone |= self._clients.keys()
        if machine is not None and image is not None:
            machine.boot(image)
        if SERVER in victims:
            self._server.start()
        for name, run in runs.items():
            self._take(name, run, (0, _KILLED))

    def _cut(self, machine: Machine, dying: dict[str, Client]) -> Path:
        """Cuts the power. Everything that the parties on the machine have printed was printed before the cut."""
        for name, client in dying.items():
            if name in RECIPIENTS and RECIPIENT in machine.plan.parties:
                client.freeze()
        if SERVER in machine.plan.parties:
            self._server.freeze()
        self._show(f"cut the power of {' and '.join(sorted(machine.plan.parties))}")
        self._tally.deliveries[f"power cuts on {machine.plan.kind}"] += 1
        return machine.cut()

    def _begin(self, who: str, command: list[str], directory: Path) -> Client:
        client = Client(command, directory, None, self.directory / f"{who}.log")
        self._clients[who] = client
        self._alone.discard(who)
        self._show(f"cd {directory} && {client.shown}")
        return client

    def _finish(self, who: str, client: Client, statuses: tuple[int, ...]) -> Run:
        return self._take(who, client.finish(), statuses)

    def _take(self, who: str, run: Run, statuses: tuple[int, ...]) -> Run:
        """Compares a client's output with the files in place."""
        del self._clients[who]
        self._show(f"{who} ended with status {run.status} after {run.seconds:.3f} s")
        if who in RECIPIENTS:
            stored = {f"{who}/{path}": digest for path, digest in self._stored[who].look().items()}
            self._tally.deliveries["received"] += sum(self._boxes[who].receive(said, stored) for said in lines(run.output))
        else:
            for said in lines(run.output):
                if said["result"] in ("committed", "alreadyStored"):
                    self._acknowledged(str(said["source"]), str(said["digest"]))
        if run.status not in statuses and not (who in self._alone and run.status in _STATUSES):
            raise Broken(f"the client of {who} ended with status {run.status}: {run.errors[-500:]}")
        return run

    def _acknowledged(self, name: str, program: str) -> None:
        if name not in self._wanted:
            raise Broken(f"an acknowledgement of what was not sent: {name!r}")
        self._tally.deliveries["acknowledgements"] += 1
        for recipient in self._recipients:
            self._boxes[recipient].promise(name, self._wanted[name], program)

    # Looking

    def _look(self, is_complete: bool, afresh: bool = False) -> None:
        """Compares what the server reports to the sender with what the recipients have. Raises Broken if a promise is
        broken."""
        receipts = self.directory / "receipts.jsonl"
        rows = [Row.of(said) for said in lines(self._sender.ask("sent", *self._to, "--json", "--receipts", str(receipts)))]
        problems = receipt_problems(rows, receipts.read_bytes() if receipts.exists() else b"")
        for name, box in self._boxes.items():
            # The directories are read after the report, so they may have more than the report says.
            stored = self._stored[name].look(afresh)
            self._tally.deliveries["files compared"] += len(stored)
            problems += box.problems(rows, stored, is_complete)
        if is_complete and (left := [row for row in rows if row.is_open]):
            problems.append(f"{len(left)} deliveries have not ended: {left[0]}")
        if problems:
            raise Broken(f"{len(problems)} broken promises: " + "; ".join(problems[:5]))
        if is_complete:
            if problem := features.check_receipts(self._transfer, receipts):
                raise Broken(problem)
            self._tally.deliveries["receipts verified"] = max(self._tally.deliveries["receipts verified"], len(rows))

    def _check_server(self) -> None:
        self._tally.descriptors = max(self._tally.descriptors, self._server.rest(_SPARE_DESCRIPTORS))
        self._tally.memory = max(self._tally.memory, self._server.memory)
        if self._server.memory > _MOST_MEMORY:
            raise Broken(f"the server takes {self._server.memory >> 20} MiB of memory")
