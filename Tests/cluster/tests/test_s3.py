"""The client for S3: its signatures, and its calls against real servers."""

from __future__ import annotations

import base64
import datetime
import hashlib
import os
import unittest
from typing import ClassVar

from cluster import engines
from cluster.s3 import Client, Endpoint, Request

# The examples of AWS's documentation ("Signature Calculations for the Authorization Header: Examples").
_EXAMPLE = Endpoint(
    "https://examplebucket.s3.amazonaws.com",
    "AKIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "examplebucket",
)
_EXAMPLE_TIME = datetime.datetime(2013, 5, 24, tzinfo=datetime.timezone.utc)
_HOST = "examplebucket.s3.amazonaws.com"


class SignatureTests(unittest.TestCase):
    CASES = (
        (
            Request("GET", _HOST, "/test.txt", fields={"range": "bytes=0-9"}),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            Request(
                "PUT",
                _HOST,
                "/test$file.text",
                fields={"date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"},
                digest=hashlib.sha256(b"Welcome to Amazon S3.").hexdigest(),
            ),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
        (
            Request("GET", _HOST, "/", query={"lifecycle": ""}),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        ),
        (
            Request("GET", _HOST, "/", query={"prefix": "J", "max-keys": "2"}),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        ),
    )

    def test_examples_of_the_documentation(self) -> None:
        for request, signature in self.CASES:
            with self.subTest(target=request.target):
                signed = request.signed(_EXAMPLE, _EXAMPLE_TIME)
                self.assertEqual(signed["authorization"].rpartition("Signature=")[2], signature)


class EngineCase(unittest.TestCase):
    """Tests against one engine."""

    engine: ClassVar[str] = ""
    checks_signatures: ClassVar[bool] = True
    checks_digests: ClassVar[bool] = True
    status_of_ranges: ClassVar[int] = 206
    client: ClassVar[Client]

    @classmethod
    def setUpClass(cls) -> None:
        if not cls.engine:
            raise unittest.SkipTest("this is the base class")
        cls.client = engines.client(cls.engine)

    def test_objects(self) -> None:
        client, content = self.client, bytes(range(256)) * 40
        for key in ("plain", "a/b c/d+e%20&=~'", "ä/\u4f60\u597d"):
            with self.subTest(key=key):
                self.assertEqual(client.put(f"objects/{key}", content).status, 200)
                self.assertEqual(client.get(f"objects/{key}").content, content)
                part = client.get(f"objects/{key}", 100, 299)
                self.assertEqual((part.status, part.content), (self.status_of_ranges, content[100:300]))
                self.assertIn(f"objects/{key}", client.list("objects/").keys)
                self.assertIn(client.delete(f"objects/{key}").status, (200, 204))
                self.assertEqual(client.get(f"objects/{key}").status, 404)

    def test_a_wrong_key_is_refused(self) -> None:
        if not self.checks_signatures:
            self.skipTest(f"{self.engine} does not check signatures")
        endpoint = self.client.endpoint
        stranger = Client(Endpoint(endpoint.url, endpoint.key, "not the secret", endpoint.bucket))
        self.assertEqual(stranger.put("strange", b"x").status, 403)

    def test_a_wrong_digest(self) -> None:
        answer = self.client.put("wrong", b"content", content_md5=base64.b64encode(hashlib.md5(b"other").digest()).decode())
        self.assertEqual(answer.status, 400 if self.checks_digests else 200)

class SeaweedTests(EngineCase):
    engine = "seaweedfs"


class RcloneTests(EngineCase):
    engine = "rclone"
    # It sends the right bytes and `Content-Range` with the wrong status.
    status_of_ranges = 200


class MotoTests(EngineCase):
    engine = "moto"
    checks_signatures = False
    checks_digests = False


class CephTests(EngineCase):
    """Ceph takes long to start, so its tests need one that runs (`scripts/engines.sh start ceph`)."""

    engine = "ceph"

    @classmethod
    def setUpClass(cls) -> None:
        if "ENGINES_CEPH" not in os.environ:
            raise unittest.SkipTest("ENGINES_CEPH is not set")
        super().setUpClass()


if __name__ == "__main__":
    unittest.main()
