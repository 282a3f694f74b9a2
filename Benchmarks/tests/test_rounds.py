from __future__ import annotations

import shutil
import tempfile
import unittest
from pathlib import Path

from bench.corpus import Corpus
from bench.peers import Peer, Place
from bench.processes import CommandFailed, Processes, TookTooLong
from bench.rounds import run_rounds


class _Copier(Peer):
    """Copies the files and records the calls."""

    promise = "nothing"

    def __init__(self, place: Place, name: str, events: list[str]) -> None:
        super().__init__(place)
        self.name, self._events = name, events

    def push(self) -> None:
        self._events.append(self.name)
        for file in self.place.corpus.files:
            shutil.copy(file, self.place.target)


class _Broken(_Copier):
    def arm(self) -> None:
        raise CommandFailed("it is broken")


class _Sleeper(_Copier):
    def push(self) -> None:
        super().push()
        raise TookTooLong(120)

    def close(self) -> None:
        self._events.append("closed")


class _Forger(_Copier):
    def push(self) -> None:
        super().push()
        (self.place.target / "file").write_bytes(b"other")


class RoundsTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        root = Path(directory.name)
        for name in ("source", "target", "logs"):
            (root / name).mkdir()
        (root / "source" / "file").write_bytes(b"bytes")
        self.place = Place(Processes(root / "logs"), root, Corpus(root / "source"), root / "target")
        self.events: list[str] = []
        self.said: list[str] = []

    def test_peers_take_turns_and_the_first_round_does_not_count(self) -> None:
        peers = [_Copier(self.place, name, self.events) for name in ("a", "b")]
        series = run_rounds(peers, 2, self.said.append)
        self.assertEqual(self.events, ["a", "b"] * 3)
        self.assertEqual(
            [(one.name, len(one.samples), one.failure) for one in series], [("a", 2, None), ("b", 2, None)]
        )
        self.assertEqual(self.said, [])

    def test_who_fails_is_left_out_and_the_others_go_on(self) -> None:
        peers = [_Broken(self.place, "broken", self.events), _Copier(self.place, "a", self.events)]
        broken, sound = run_rounds(peers, 2, self.said.append)
        self.assertEqual((broken.failure, broken.samples), ("it is broken", []))
        self.assertEqual(len(sound.samples), 2)
        self.assertEqual(self.said, ["  broken: it is broken"])

    def test_wrong_bytes_are_a_failure(self) -> None:
        series = run_rounds([_Forger(self.place, "forger", self.events)], 2, self.said.append)
        self.assertEqual(series[0].failure, "file arrived with other bytes")
        self.assertEqual(self.events, ["forger"])

    def test_who_takes_too_long_is_ended_and_not_run_again(self) -> None:
        peers = [_Sleeper(self.place, "sleeper", self.events), _Copier(self.place, "a", self.events)]
        late, sound = run_rounds(peers, 2, self.said.append)
        self.assertEqual((late.over, late.failure, late.samples), (120, None, []))
        self.assertEqual((len(sound.samples), self.events), (2, ["sleeper", "closed", "a", "a", "a"]))
        self.assertEqual(self.said, ["  sleeper: over 120 s"])

    def test_without_a_warm_up_the_first_run_counts_and_is_compared(self) -> None:
        peers = [_Copier(self.place, "a", self.events), _Forger(self.place, "forger", self.events)]
        sound, forger = run_rounds(peers, 2, self.said.append, warms_up=False)
        self.assertEqual((self.events, len(sound.samples)), (["a", "forger", "a"], 2))
        self.assertEqual((forger.failure, forger.samples), ("file arrived with other bytes", []))
