"""Against the real server: clients that do everything slowly to occupy resources that others need."""

from __future__ import annotations

from web.peers.case import PeerCase

# Another address of this machine, because the slow clients use up the limit for their own address.
_OTHER = "127.0.0.2"
_SECONDS = "15"


class SlowTests(PeerCase):
    needs = ("slowhttptest",)
    # slowhttptest has no option for a token.
    options = ("--open",)

    def check(self, *arguments: str) -> None:
        """The server serves other clients all the time."""
        known = ["-c", "200", "-r", "100", "-l", _SECONDS, "-i", "2", "-p", "5"]
        url = f"{self.server.url}/slow"
        slow = self.server.begin(["slowhttptest", *known, *arguments, "-u", url], self.place())
        served = 0
        while slow.poll() is None:
            self.assert_served(_OTHER)
            served += 1
        self.finish(slow)
        self.assertGreater(served, 10)
        self.assertEqual([path for path in self.visible() if path.startswith("slow")], [])

    def test_heads_that_do_not_end(self) -> None:
        self.check("-H")

    def test_contents_that_do_not_end(self) -> None:
        self.check("-B", "-t", "PUT", "-s", "100000")

    def test_answers_that_nobody_reads(self) -> None:
        self.check("-X", "-w", "1", "-y", "2", "-n", "5", "-z", "1")
