"""The engines of a torture, which it kills, stops and fills."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import children
from torture.program import PATIENCE, Broken

from .engines import Engines, available
from .postgres import Failed, Lost, Session

# Engines without which there are no rounds.
NEEDED = ("postgres", "seaweedfs")

# Mebibytes of the file system under both servers of PostgreSQL: several times what the rounds need.
_ROOM = 3072


class Machines:
    """PostgreSQL with a synchronous standby, on a file system that can be full, and SeaweedFS."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="transfer-torture-"))
        # The user of PostgreSQL has to reach its data.
        self.directory.chmod(0o755)
        self.database = Engines(self.directory / "database")
        self.bucket = Engines(self.directory / "bucket")
        self.has_room = os.geteuid() == 0
        self._stopped: list[int] = []

    @staticmethod
    def missing() -> str | None:
        """Why there can be no engines here, or None."""
        lacking = [name for name in NEEDED if name not in available()]
        return f"{', '.join(lacking)} is not installed (scripts/bootstrap.sh --engines)" if lacking else None

    def start(self) -> None:
        self.database.directory.mkdir()
        if self.has_room:
            options = f"size={_ROOM}m,mode=755"
            subprocess.run(["mount", "-t", "tmpfs", "-o", options, "torture", str(self.database.directory)], check=True)
        self.database.start("postgres", "--standby")
        self.bucket.start("seaweedfs")

    @property
    def settings(self) -> dict[str, str]:
        return self.database.settings() | self.bucket.settings()

    def close(self) -> None:
        """Ends the engines and removes what they have written."""
        self.thaw()
        self.make_room()
        self.database.stop()
        self.bucket.stop()
        if self.has_room and os.path.ismount(self.database.directory):
            subprocess.run(["umount", "--lazy", str(self.database.directory)], check=True)
        shutil.rmtree(self.directory, ignore_errors=True)

    def recover(self) -> None:
        """Ends all faults, and starts what has ended."""
        self.thaw()
        self.make_room()
        self.database.start("postgres", "--standby")
        self.bucket.start("seaweedfs")

    # Faults

    def signal(self, name: str, number: int) -> None:
        """Sends a signal that ends an engine, and waits for its end. `name` is the word of the process in the settings."""
        process = self._process(name)
        if process is None:
            return
        try:
            end = os.pidfd_open(process)
        except ProcessLookupError:
            return
        try:
            if _signal(process, number) and not select.select([end], [], [], PATIENCE)[0]:
                raise Broken(f"{name} does not end")
        finally:
            os.close(end)

    def freeze(self, name: str) -> None:
        """Stops an engine with all its processes."""
        process = self._process(name)
        if process is None:
            return
        # The first one makes no more processes when it stands.
        _signal(process, signal.SIGSTOP)
        self._stopped = [process, *children.descendants(process)]
        for one in self._stopped:
            _signal(one, signal.SIGSTOP)

    def _process(self, name: str) -> int | None:
        setting = self.settings.get(f"ENGINES_{name.upper()}_PID")
        return int(setting) if setting else None

    def thaw(self) -> None:
        """Lets all stopped engines go on."""
        for process in reversed(self._stopped):
            _signal(process, signal.SIGCONT)
        self._stopped = []

    def take_room(self) -> None:
        """Fills the file system under PostgreSQL."""
        self._resize(f"{max(1, self._used >> 10)}k")

    def make_room(self) -> None:
        """Gives PostgreSQL room again."""
        if self.has_room and os.path.ismount(self.database.directory):
            self._resize(f"{_ROOM}m")

    def _resize(self, size: str) -> None:
        subprocess.run(["mount", "-o", f"remount,size={size}", str(self.database.directory)], check=False)

    @property
    def _used(self) -> int:
        status = os.statvfs(self.database.directory)
        return (status.f_blocks - status.f_bfree) * status.f_frsize

    def promote(self) -> None:
        """Kills PostgreSQL and makes its standby the server. The next `recover` makes another standby."""
        done = self.database.run("promote")
        if done.returncode != 0:
            raise Broken(f"the standby was not promoted: {done.stderr.decode(errors='replace')[-500:]}")

    def end_sessions(self, database: str) -> None:
        """Ends all sessions of a database at once. Has no effect if PostgreSQL does not answer."""
        try:
            with Session(self.settings["ENGINES_POSTGRES_ADMIN"]) as session:
                session.query(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")
        except (KeyError, OSError, Failed, Lost):
            pass


def _signal(process: int, number: int) -> bool:
    """Returns False if the process has ended."""
    try:
        os.kill(process, number)
        return True
    except ProcessLookupError:
        return False
