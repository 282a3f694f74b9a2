"""The faults of a round: begins them one after the other while clients are at work, and ends all of them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Sequence

from .machines import Machines
from .members import Member
from .plan import Blow


class Blows:
    """The faults of one cluster. One thread at a time calls this."""

    def __init__(self, machines: Machines, members: Sequence[Member], database: str, show: Callable[[str], None]) -> None:
        """`database` is the name of the cluster's database."""
        self._machines = machines
        self._members = members
        self._database = database
        self._show = show
        # Whether the engines may have ended.
        self._engines_fell = False

    def strike(self, blows: Sequence[Blow], over: threading.Event) -> int:
        """Begins and ends one blow after the other, until `over` is set. Returns the number of blows."""
        count = 0
        for blow in blows:
            if over.wait(blow.pause):
                break
            self._show(f"{blow}")
            self._begin(blow)
            over.wait(blow.seconds)
            self._end(blow)
            count += 1
        return count

    def recover(self) -> None:
        """Ends all faults and starts what has ended. The clocks of servers stay as they are."""
        for member in self._members:
            member.calm()
            member.name(True)
        self._machines.thaw()
        self._machines.make_room()
        if self._engines_fell:
            self._machines.recover()
            self._engines_fell = False
        for member in self._members:
            if not member.node.runs:
                member.start()

    def _begin(self, blow: Blow) -> None:
        member = self._members[blow.node or 0]
        chosen = self._members if blow.node is None else [member]
        match blow.kind:
            case "kill" | "clock":
                member.node.kill()
            case "stop":
                member.node.stop()
            case "freeze":
                member.node.freeze()
            case "names":
                member.name(False)
            case "bucket weather":
                for one in chosen:
                    one.bucket.faults.add(blow.fault, **blow.options)
            case "database weather":
                for one in chosen:
                    for proxy in one.databases:
                        proxy.faults.add(blow.fault, **blow.options)
            case _:
                self._begin_engine(blow)

    def _begin_engine(self, blow: Blow) -> None:
        self._engines_fell = True
        match blow.kind:
            case "end sessions":
                self._machines.end_sessions(self._database)
                self._engines_fell = False
            case "crash database":
                # As `pg_ctl stop -m immediate` does.
                self._machines.signal("postgres", signal.SIGQUIT)
            case "kill standby":
                self._machines.signal("postgres_standby", signal.SIGKILL)
            case "kill bucket":
                self._machines.signal("seaweedfs", signal.SIGKILL)
            case "freeze database" | "freeze standby" | "freeze bucket":
                self._machines.freeze({"database": "postgres", "standby": "postgres_standby"}.get(blow.kind[7:], "seaweedfs"))
            case "promote":
                self._machines.promote()
            case "full":
                self._machines.take_room()

    def _end(self, blow: Blow) -> None:
        member = self._members[blow.node or 0]
        match blow.kind:
            case "kill" | "stop" | "clock":
                member.set_clock(blow.clock)
                self._start(member)
            case "freeze":
                member.node.thaw()
            case "names":
                member.name(True)
            case "bucket weather" | "database weather":
                for one in self._members:
                    one.calm()
            case "end sessions":
                pass
            case _:
                self._machines.recover()
                self._engines_fell = False

    def _start(self, member: Member) -> None:
        """Starts a server whose engines all answer."""
        if self._engines_fell:
            self._machines.recover()
        member.start()
