"""scripts/engines.sh, with engines that start in less than a second on an idle machine, and SeaweedFS's syncs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import children
from cluster import engines
from cluster.engines import Engines
from cluster.postgres import Failed, Lost, Session
from cluster.s3 import Client, Endpoint

# A user without rights, as which root starts engines, too.
_OTHER = "nobody"
_PUTS = 20


def needs(engine: str) -> None:
    if engine not in engines.available():
        raise unittest.SkipTest(f"{engine} is not installed (scripts/bootstrap.sh --engines)")


class ScriptCase(unittest.TestCase):
    def make(self) -> Engines:
        """Engines in a directory that must be gone at the end."""
        parent = Path(tempfile.mkdtemp(prefix="transfer-engines-"))
        made = Engines(parent / "engines")
        self.addCleanup(shutil.rmtree, parent, ignore_errors=True)
        self.addCleanup(self._end, made)
        return made

    def _end(self, made: Engines) -> None:
        processes = self.processes(made)
        made.stop()
        self.assertFalse(made.directory.exists())
        self.assertEqual([one for one in processes if _runs(one)], [])

    def processes(self, made: Engines) -> list[tuple[int, str]]:
        """The processes that were started, with their start times."""
        lines = [line.split() for file in made.directory.glob("*/processes") for line in file.read_text().splitlines()]
        return [(int(pid), started) for _, pid, started in lines]

    def state(self, made: Engines, engine: str) -> str:
        return made.run("status", engine).stdout.decode().split()[1]


def _process(pid: int) -> tuple[int, str]:
    """A process with its start time, which is empty if it has ended, whether or not a parent has waited for it (proc(5))."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return pid, ""
    return pid, "" if words[0] in "ZX" else words[19]


def _runs(process: tuple[int, str]) -> bool:
    return process[1] != "" and _process(process[0]) == process


class PostgresScriptTests(ScriptCase):
    def setUp(self) -> None:
        needs("postgres")

    def count(self, url: str) -> int:
        with Session(url) as session:
            session.query("CREATE TABLE IF NOT EXISTS kept (id int); INSERT INTO kept VALUES (1)")
            return len(session.query("SELECT id FROM kept").rows)

    def test_twice_and_after_a_crash(self) -> None:
        made = self.make()
        for _ in range(2):
            made.start("postgres")
            first = made.settings()
            made.start("postgres")
            self.assertEqual(made.settings(), first)
            self.assertEqual(self.count(first["ENGINES_POSTGRES"]), 1)
            made.stop()
            self.assertFalse(made.directory.exists())
            self.assertEqual(self.state(made, "postgres"), "stopped")
        made.start("postgres")
        before = made.settings()
        self.assertEqual(self.count(before["ENGINES_POSTGRES"]), 1)
        os.kill(int(before["ENGINES_POSTGRES_PID"]), signal.SIGKILL)
        while self.state(made, "postgres") == "running":
            pass
        self.assertEqual((self.state(made, "postgres"), made.run("status").returncode), ("crashed", 1))
        self.assertEqual(made.settings(), {})
        made.start("postgres")
        self.assertEqual(self.count(made.settings()["ENGINES_POSTGRES"]), 2)
        made.stop("--keep")
        self.assertEqual(self.state(made, "postgres"), "stopped")
        made.start("postgres")
        self.assertEqual(made.settings()["ENGINES_POSTGRES"], before["ENGINES_POSTGRES"])
        self.assertEqual(self.count(before["ENGINES_POSTGRES"]), 3)

    def test_a_crash_beside_a_running_statement_leaves_nothing(self) -> None:
        made = self.make()
        made.start("postgres")
        settings = made.settings()
        segments = Path("/proc/sysvipc/shm").read_text()
        with Session(settings["ENGINES_POSTGRES"]) as session:
            backend = _process(int(session.query("SELECT pg_backend_pid()").rows[0][0] or 0))
            self.assertTrue(_runs(backend))
            self.assertIn(f" {settings['ENGINES_POSTGRES_PID']} ", segments)
            os.kill(int(settings["ENGINES_POSTGRES_PID"]), signal.SIGKILL)
            made.stop()
        self.assertFalse(_runs(backend))
        self.assertNotIn(f" {settings['ENGINES_POSTGRES_PID']} ", Path("/proc/sysvipc/shm").read_text())

    def test_two_directories(self) -> None:
        one, other = self.make(), self.make()
        one.start("postgres")
        other.start("postgres")
        urls = [made.settings()["ENGINES_POSTGRES"] for made in (one, other)]
        self.assertEqual(len(set(urls)), 2)
        one.stop()
        self.assertEqual(self.count(urls[1]), 1)

    def test_a_standby_has_what_was_committed(self) -> None:
        made = self.make()
        made.start("postgres", "--standby")
        before = made.settings()
        self.assertEqual(self.count(before["ENGINES_POSTGRES"]), 1)
        with Session(before["ENGINES_POSTGRES_STANDBY"]) as standby, self.assertRaises(Failed) as failed:
            standby.query("INSERT INTO kept VALUES (2)")
        self.assertEqual(failed.exception.code, "25006")
        made.run("promote")
        after = made.settings()
        self.assertEqual(after["ENGINES_POSTGRES"], before["ENGINES_POSTGRES_STANDBY"])
        self.assertEqual(after["ENGINES_POSTGRES_ALL"], before["ENGINES_POSTGRES_ALL"])
        self.assertRaises((OSError, Lost), Session, before["ENGINES_POSTGRES"])
        self.assertEqual(self.count(after["ENGINES_POSTGRES"]), 2)
        made.start("postgres", "--standby")
        self.assertEqual(self.count(made.settings()["ENGINES_POSTGRES"]), 3)

    def test_as_another_user(self) -> None:
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        prefix = ("setpriv", f"--reuid={_OTHER}", "--clear-groups", "--")
        if subprocess.run([*prefix, "test", "-x", str(engines.SCRIPT)], check=False).returncode != 0:
            self.skipTest(f"{_OTHER} may not read the sources")
        made = self.make()
        made.directory.parent.chmod(0o777)
        done = made.run("start", "postgres", prefix=prefix)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertEqual(self.count(made.settings()["ENGINES_POSTGRES"]), 1)
        (pid, _), *_ = self.processes(made)
        self.assertEqual(Path(f"/proc/{pid}").owner(), _OTHER)
        self.assertEqual(made.run("stop", prefix=prefix).returncode, 0)


class ObjectScriptTests(ScriptCase):
    def client(self, made: Engines, engine: str) -> Client:
        settings, name = made.settings(), f"ENGINES_{engine.upper()}"
        return Client(Endpoint(*(settings[name + part] for part in ("", "_KEY", "_SECRET", "_BUCKET"))))

    def test_a_crash(self) -> None:
        needs("rclone")
        made = self.make()
        made.start("rclone")
        before = made.settings()
        self.client(made, "rclone").put("kept", b"content")
        os.kill(int(before["ENGINES_RCLONE_PID"]), signal.SIGKILL)
        while self.state(made, "rclone") == "running":
            pass
        self.assertEqual(self.state(made, "rclone"), "crashed")
        made.start("rclone")
        self.assertEqual(self.client(made, "rclone").get("kept").content, b"content")
        self.assertEqual(made.settings()["ENGINES_RCLONE_SECRET"], before["ENGINES_RCLONE_SECRET"])

    def test_a_failed_start_leaves_nothing(self) -> None:
        """The program of the engine ends at once."""
        made = self.make()
        venv = made.directory.parent / "venv"
        (venv / "bin").mkdir(parents=True)
        (venv / "bin/rclone").write_text("#!/bin/sh\necho cannot start >&2\nexit 3\n")
        (venv / "bin/rclone").chmod(0o755)
        done = made.run("start", "rclone", prefix=("env", f"ENGINES_VENV={venv}"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot start", done.stderr.decode())
        self.assertFalse(made.directory.exists())

    def test_what_is_not_installed_is_refused(self) -> None:
        made = self.make()
        done = made.run("start", "moto", prefix=("env", "ENGINES_VENV=/nonexistent"))
        self.assertEqual((done.returncode, done.stderr.decode().count("scripts/bootstrap.sh --engines")), (1, 1))

    def test_unknown_words_are_refused(self) -> None:
        made = self.make()
        for words in (("start", "oracle"), ("dance",), ()):
            with self.subTest(words=words):
                self.assertEqual(made.run(*words).returncode, 2)

    def test_seaweedfs_syncs_before_it_answers(self) -> None:
        needs("seaweedfs")
        if not shutil.which("strace"):
            self.skipTest("strace is not installed")
        client, process = engines.client("seaweedfs"), engines.pid("seaweedfs")
        # The first objects also make volumes.
        for number in range(_PUTS):
            client.put(f"warm/{number}", b"x")
        command = ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync", "-p", str(process)]
        tracer = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while tracer.poll() is None and not self._is_traced(process, tracer.pid):
            pass
        for number in range(_PUTS):
            self.assertEqual(client.put(f"synced/{number}", b"x").status, 200)
        tracer.send_signal(signal.SIGINT)
        said = children.finish(tracer).stderr.decode()
        if "Operation not permitted" in said:
            self.skipTest("tracing is not permitted")
        calls = sum(line.count("sync(") for line in said.splitlines())
        self.assertGreaterEqual(calls, _PUTS, said[-2000:])

    def _is_traced(self, process: int, tracer: int) -> bool:
        """Whether the tracer has attached itself to all threads."""
        statuses = [(task / "status").read_text() for task in Path(f"/proc/{process}/task").iterdir()]
        return all(f"TracerPid:\t{tracer}\n" in status for status in statuses)


if __name__ == "__main__":
    unittest.main()
