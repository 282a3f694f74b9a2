"""The files in deploy/: haproxy accepts its configuration, and the program knows all flags in the others."""

from __future__ import annotations

import re
import shutil
import subprocess
import unittest

from cluster.nodes import PROJECT, binary

DEPLOY = PROJECT / "deploy"


class DeployTests(unittest.TestCase):
    def test_haproxy_accepts_its_configuration(self) -> None:
        if shutil.which("haproxy") is None:
            self.skipTest("haproxy is not installed (scripts/bootstrap.sh --http)")
        checked = subprocess.run(
            ["haproxy", "-c", "-f", str(DEPLOY / "compose/haproxy.cfg")], capture_output=True, text=True, check=False
        )
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_the_program_knows_the_flags(self) -> None:
        if not binary().exists():
            self.skipTest("the program is not built")
        known = subprocess.run([str(binary()), "help", "serve"], capture_output=True, text=True, check=True).stdout
        for path in ("compose/compose.yaml", "kubernetes/deployment.yaml"):
            text = (DEPLOY / path).read_text()
            begin = re.search(r"^ *(args:|command: >-\n *serve)", text, re.MULTILINE)
            assert begin is not None
            words = text[begin.start() :].split("envFrom:")[0].split("volumes:")[0]
            flags = re.findall(r"(?<=[\s-])--[a-z-]+", words)
            self.assertGreater(len(flags), 4, path)
            for flag in flags:
                self.assertTrue(re.search(rf"^ +(-\w, )?{flag}\b", known, re.MULTILINE), f"{flag} in {path}")
