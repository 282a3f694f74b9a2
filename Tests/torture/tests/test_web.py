from __future__ import annotations

import random
import unittest
from pathlib import Path
from unittest import mock

from torture.program import Broken, Server
from torture.web import WebPlan, _Upload
from web.wire import Answer


class WebTests(unittest.TestCase):
    def upload(self, plan: WebPlan) -> _Upload:
        server = Server(Path("transfer"), Path("store"), Path("log"), 1)
        return _Upload(server, plan, "file", b"x" * plan.size, random.Random(0), lambda _: None)

    def test_a_seed_decides_everything(self) -> None:
        plans = [WebPlan.make(random.Random(seed)) for seed in range(200)]
        self.assertEqual(plans, [WebPlan.make(random.Random(seed)) for seed in range(200)])
        self.assertEqual({plan.speaks for plan in plans}, {"tus", "ietf", "put"})
        self.assertTrue(all(plan.size <= plan.piece * 60 for plan in plans))

    def test_an_offset_that_goes_down_is_found(self) -> None:
        upload = self.upload(WebPlan("tus", 100, 10, 0, 0, False, False))
        upload._hear(Answer(204, {"upload-offset": "50"}))
        upload._hear(Answer(204, {"upload-offset": "50"}))
        for offset in ("49", "101", "-1"):
            with self.assertRaises(Broken):
                upload._hear(Answer(204, {"upload-offset": offset}))

    def test_an_upload_that_has_gone_is_found(self) -> None:
        upload = self.upload(WebPlan("tus", 100, 10, 0, 0, False, False))
        upload._address, upload._told = "/x", 50
        with self.assertRaises(Broken):
            upload._ask(mock.Mock(ask=lambda *_: Answer(404, {})))

    def test_an_end_that_promises_nothing_is_found(self) -> None:
        upload = self.upload(WebPlan("put", 100, 10, 0, 0, False, False))
        self.assertTrue(upload._final(Answer(201, {"transfer-result": "committed"})))
        for answer in (Answer(202, {}), Answer(201, {}), Answer(201, {"transfer-result": "skipped"}), Answer(507, {})):
            with self.assertRaises(Broken):
                upload._final(answer)
