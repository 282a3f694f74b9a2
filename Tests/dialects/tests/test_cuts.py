from __future__ import annotations

import unittest

from dialects.wires import cuts

_DATA = bytes(range(256)) * 5


class CutsTests(unittest.TestCase):
    def test_pieces_make_the_whole(self) -> None:
        for cut in (cuts.whole, cuts.every(1), cuts.every(7), cuts.every(1 << 20), cuts.anywhere(3)):
            self.assertEqual(b"".join(cut(_DATA)), _DATA)

    def test_every(self) -> None:
        self.assertEqual(list(cuts.every(3)(b"abcdefg")), [b"abc", b"def", b"g"])

    def test_the_same_seed_cuts_the_same_way(self) -> None:
        once, again, other = (list(cuts.anywhere(seed)(_DATA)) for seed in (1, 1, 2))
        self.assertEqual(once, again)
        self.assertNotEqual(once, other)

    def test_a_stream_in_other_pieces(self) -> None:
        self.assertEqual(list(cuts.regrouped([b"abc", b"d", b"", b"efghi"], 1, 4)), [b"a", b"bcde", b"f", b"ghi"])
        self.assertEqual(list(cuts.regrouped([], 3)), [])
