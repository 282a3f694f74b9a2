from __future__ import annotations

import os
import shutil
import tempfile
import unittest
from pathlib import Path

from bench.corpus import Corpus
from bench.peers import Nginx, Peer, Place, Rclone, Route, Rsync
from bench.processes import CommandFailed, Processes, TookTooLong

# Replaces a program in both namespaces and records its directory and arguments.
_RECORDER = 'echo "$0 $*" >>"$RECORD"'


class _Sleeper(Peer):
    name, promise = "sleeper", "nothing"

    def arm(self) -> None:
        self.server = self.serve(["sleep", "600"])

    def push(self) -> None:
        self.run(["sleep", "600"])


class PeerTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        for name in ("source", "target", "logs", "scratch"):
            (self.root / name).mkdir()
        (self.root / "source" / "file").write_bytes(b"bytes")
        self.processes = Processes(self.root / "logs")
        self.addCleanup(self.processes.stop_all)

    def place(self, route: Route, limit: float | None = None) -> Place:
        return Place(
            self.processes, self.root / "scratch", Corpus(self.root / "source"), self.root / "target", route, limit
        )

    def test_ports_of_a_namespace_come_one_after_the_other(self) -> None:
        route = Route("198.18.0.2", ["there"], ["here"])
        self.assertEqual(route.free_port() + 1, route.free_port())

    def test_a_client_has_so_much_time_and_its_server_ends_with_it(self) -> None:
        peer = _Sleeper(self.place(Route(), limit=0.05))
        peer.arm()
        with self.assertRaises(TookTooLong):
            peer.push()
        peer.close()
        self.assertIsNotNone(peer.server.popen.poll())

    def test_both_sides_run_at_their_ends_of_the_route(self) -> None:
        record = self.root / "record"
        environment = {"RECORD": str(record)}
        there, here = (["sh", "-c", _RECORDER, where] for where in ("there", "here"))
        peer = _Sleeper(self.place(Route("198.18.0.2", there, here)))
        peer.serve(["server", "1"], environment).finish()
        peer.run(["client", "2"], environment)
        self.assertEqual(record.read_text(), "there server 1\nhere client 2\n")

    def test_names_say_how_many_files_go_at_once(self) -> None:
        place = self.place(Route())
        self.assertEqual(Nginx(place, tls=True, at_once=8).name, "nginx PUT https (curl, 8 at once)")
        self.assertEqual(Nginx(place).name, "nginx PUT http (curl)")
        self.assertEqual(Rclone(place, at_once=8).name, "rclone webdav (8 at once)")

    @unittest.skipUnless(shutil.which("rsync"), "rsync is not installed")
    def test_rsync_brings_back_what_it_took_there(self) -> None:
        output = self.root / "output"
        output.mkdir()
        peer = Rsync(self.place(Route()))
        peer.prepare()
        peer.push()
        peer.pull(output)
        self.assertEqual((output / "file").read_bytes(), b"bytes")
        peer.close()
        with self.assertRaises(CommandFailed):
            peer.push()

    def test_there_is_rclone_only_where_it_is_installed(self) -> None:
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = str(self.root)
        self.assertFalse(Rclone.is_there())
        (self.root / "rclone").touch(mode=0o755)
        self.assertTrue(Rclone.is_there())
