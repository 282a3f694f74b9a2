"""The proxy for S3, in front of real servers."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import unittest
import urllib.error
import urllib.request
from typing import Any, ClassVar

import children
from cluster import engines
from cluster.faults import Misused
from cluster.s3 import Client
from cluster.s3_proxy import S3Proxy

_LOST = (OSError, http.client.HTTPException)


class ProxyCase(unittest.TestCase):
    """Tests with a proxy for each, in front of one engine."""

    engine: ClassVar[str] = ""
    direct: ClassVar[Client]

    @classmethod
    def setUpClass(cls) -> None:
        if not cls.engine:
            raise unittest.SkipTest("this is the base class")
        cls.direct = engines.client(cls.engine)

    def setUp(self) -> None:
        self.proxy = S3Proxy(self.direct.endpoint.url, seed=7)
        self.addCleanup(self.proxy.close)
        self.client = Client(self.direct.endpoint.at(self.proxy.url))
        self.key = f"proxy/{self.id()}"
        self.content = bytes(range(251)) * 1000

    def assert_stored(self, key: str, content: bytes) -> None:
        self.assertTrue(self.direct.get(key).content == content)

    def assert_absent(self, key: str) -> None:
        self.assertEqual(self.direct.get(key).status, 404)

    def put(self, **options: Any) -> None:
        """Adds a fault of the next PUT, which is then sent."""
        self.proxy.faults.add(method="PUT", times=1, **options)

    def test_it_passes_and_counts(self) -> None:
        self.assertEqual(self.client.put(self.key, self.content).status, 200)
        self.assertTrue(self.client.get(self.key).content == self.content)
        self.assertEqual(self.client.get(self.key, 5, 9).content, self.content[5:10])
        self.assertIn(self.key, self.client.list("proxy/").keys)
        self.assertIn(self.client.delete(self.key).status, (200, 204))
        counts = self.proxy.faults.counts
        requests = {name: counts[f"{name} requests"] for name in ("PUT", "GET", "LIST", "DELETE")}
        self.assertEqual(requests, {"PUT": 1, "GET": 2, "LIST": 1, "DELETE": 1})
        self.assertEqual((counts["PUT sent"], counts["GET received"]), (len(self.content), len(self.content) + 5))
        self.proxy.faults.reset()
        self.assertEqual(self.proxy.faults.counts, {})

    def test_an_answer_in_place_of_the_server(self) -> None:
        for early in (False, True):
            with self.subTest(early=early):
                self.put(kind="answer", status=503, retry_after="7", early=early)
                answer = self.client.put(self.key, b"x")
                self.assertEqual((answer.status, answer.fields["retry-after"], answer.code), (503, "7", "SlowDown"))
                self.assert_absent(self.key)
        self.assertEqual(self.client.put(self.key, b"x").status, 200)

    def test_cuts_before_the_server_has_it_all(self) -> None:
        for kind in ("cut-before", "cut-body"):
            with self.subTest(kind=kind):
                self.put(kind=kind)
                self.assertRaises(_LOST, self.client.put, self.key, self.content)
                self.assert_absent(self.key)

    def test_a_cut_in_the_answer(self) -> None:
        self.direct.put(self.key, self.content)
        self.proxy.faults.add("cut-answer", method="GET", times=1)
        with self.assertRaises(http.client.IncompleteRead) as cut:
            self.client.get(self.key)
        self.assertTrue(self.content.startswith(cut.exception.partial))
        self.put(kind="cut-answer")
        self.assertRaises(_LOST, self.client.put, self.key, b"other")
        self.assert_stored(self.key, b"other")

    def test_a_lost_answer(self) -> None:
        self.put(kind="lose-answer")
        self.assertRaises(_LOST, self.client.put, self.key, self.content)
        self.assert_stored(self.key, self.content)

    def test_a_late_duplicate(self) -> None:
        self.put(kind="duplicate")
        self.assertEqual(self.client.put(self.key, b"first").status, 200)
        self.assertIn(self.direct.delete(self.key).status, (200, 204))
        self.proxy.release()
        self.assert_stored(self.key, b"first")
        self.assertEqual(self.proxy.faults.counts["repeated"], 1)

    def test_lies(self) -> None:
        etag = self.direct.put(self.key, self.content).etag
        self.put(kind="wrong-etag")
        self.assertNotEqual(self.client.put(self.key, self.content).etag, etag)
        self.proxy.faults.add("corrupt", method="GET", times=1)
        wrong = self.client.get(self.key).content
        self.assertEqual([one != other for one, other in zip(wrong, self.content)].count(True), 1)
        self.proxy.faults.add("shorten", method="GET", times=1)
        self.assertTrue(self.client.get(self.key).content == self.content[:-1])
        self.direct.delete(self.key)
        self.put(kind="forget")
        self.assertEqual(self.client.put(self.key, self.content).status, 200)
        self.assert_absent(self.key)

    def test_a_corrupt_request(self) -> None:
        """The digest that the client has signed shows whether the server compares it."""
        self.put(kind="corrupt-request")
        status = self.client.put(self.key, self.content).status
        self.assertEqual(self.direct.get(self.key).status, 200 if status == 200 else 404)
        self.assertFalse(self.direct.get(self.key).content == self.content)

    def test_slow_bodies_and_delays_are_whole(self) -> None:
        self.proxy.faults.add("delay", seconds=0.01)
        self.proxy.faults.add("slow", rate=len(self.content) * 5)
        self.assertEqual(self.client.put(self.key, self.content).status, 200)
        self.assertTrue(self.client.get(self.key).content == self.content)
        counts = self.proxy.faults.counts
        self.assertEqual((counts["fault delay"], counts["fault slow"]), (2, 2))

    def test_probabilities_come_from_the_seed(self) -> None:
        def faults(seed: int) -> list[int]:
            proxy = S3Proxy(self.direct.endpoint.url, seed)
            self.addCleanup(proxy.close)
            proxy.faults.add("answer", probability=0.5)
            client = Client(self.direct.endpoint.at(proxy.url))
            return [client.get("nothing").status for _ in range(16)]

        first = faults(1)
        self.assertEqual(set(first), {503, 404})
        self.assertEqual(first, faults(1))
        self.assertNotEqual(first, faults(2))


class SeaweedProxyTests(ProxyCase):
    engine = "seaweedfs"


class RcloneProxyTests(ProxyCase):
    engine = "rclone"


class MotoProxyTests(ProxyCase):
    engine = "moto"


class ControlTests(unittest.TestCase):
    """The program, whose control interface another process uses."""

    def setUp(self) -> None:
        command = [sys.executable, "-m", "cluster.s3_proxy", "http://127.0.0.1:1"]
        command += ["--fault", '{"kind": "answer", "times": 2}']
        self.process = subprocess.Popen(
            command, cwd=engines.PROJECT / "Tests", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.addCleanup(self.end)
        assert self.process.stdout is not None
        self.addresses = json.loads(self.process.stdout.readline())

    def end(self) -> None:
        self.process.terminate()
        self.assertEqual(children.finish(self.process).returncode, 0)

    def ask(self, **request: Any) -> dict[str, Any]:
        content = json.dumps(request).encode()
        try:
            with urllib.request.urlopen(self.addresses["control"], content) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            return dict(json.load(error))

    def status(self) -> int:
        try:
            with urllib.request.urlopen(self.addresses["proxy"] + "/x"):
                return 200
        except urllib.error.HTTPError as error:
            return error.code

    def test_faults_are_set_and_counted(self) -> None:
        self.assertEqual([self.status(), self.status()], [503, 503])
        # There is no server behind it.
        self.assertRaises(_LOST, self.status)
        self.ask(add={"kind": "answer", "status": 500})
        self.assertEqual(self.status(), 500)
        self.assertEqual(self.ask(do="counts"), {"GET requests": 4, "GET sent": 0, "fault answer": 3})
        self.ask(do="clear")
        self.assertRaises(_LOST, self.status)
        self.assertEqual(self.ask(do="reset"), {})

    def test_mistakes_are_answered(self) -> None:
        for request in ({"add": {"kind": "explode"}}, {"add": {"kind": "answer", "speed": 1}}, {"do": "dance"}, {}):
            with self.subTest(request=request):
                self.assertIn("error", self.ask(**request))

    def test_a_fault_that_does_not_exist(self) -> None:
        proxy = S3Proxy("http://127.0.0.1:1")
        self.addCleanup(proxy.close)
        self.assertRaises(Misused, proxy.faults.add, "explode")


if __name__ == "__main__":
    unittest.main()
