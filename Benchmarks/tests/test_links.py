from __future__ import annotations

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from bench.links import FarLink, build_emulator, obstacle
from bench.links.namespaces import End, route
from bench.processes import Processes


class LinkTests(unittest.TestCase):
    def test_a_link_says_what_it_is(self) -> None:
        self.assertEqual(
            str(FarLink("moon", 50, 600, 0.1)), "50 Mbit/s, 600 ms round trip, 0.1 % loss each way, TCP reno"
        )
        self.assertEqual(str(FarLink("continent", 100, 80, 0)), "100 Mbit/s, 80 ms round trip, no loss, TCP reno")

    def test_the_line_rate_is_in_bytes(self) -> None:
        self.assertEqual(FarLink("continent", 100, 80, 0).line_rate, 12_500_000)

    def test_a_route_leads_from_the_first_end_to_the_second(self) -> None:
        found = route((End("a", "198.18.0.1"), End("b", "198.18.0.2")))
        self.assertEqual(found.host, "198.18.0.2")
        self.assertEqual((found.push_in[-1], found.serve_in[-1]), ("a", "b"))

    @unittest.skipUnless(shutil.which("cc"), "there is no C compiler")
    def test_the_emulator_compiles_and_says_how_it_is_used(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            (Path(directory) / "logs").mkdir()
            program = build_emulator(Processes(Path(directory, "logs")), Path(directory))
            done = subprocess.run([program], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage: emulator", done.stderr)

    def test_where_a_link_can_be_made_there_are_a_compiler_and_tun(self) -> None:
        there = shutil.which("cc") is not None and Path("/dev/net/tun").exists()
        self.assertEqual(obstacle() is None, there)
