"""Against the real server: a picture that no process ever holds completely in memory."""

from __future__ import annotations

import hashlib
import os
import tracemalloc

from dialects.case import ServedCase
from dialects.pictures import Picture
from dialects.store import Content, now
from dialects.wires import cuts, sized
from dialects.wires.sized import Type

_MEGABYTE = 1_000_000
_LARGE = 200 if os.environ.get("DIALECTS_LARGE") == "1" else 8
_SIZES = (7, 1 << 20, 64, 1 << 10, 7, 1 << 16, 7, 7, 1_460)
# Much less than the large picture, and more than a server needs for the pieces in transit.
_ROOM = 64 * _MEGABYTE
# The memory of this process: a row of the picture and some pieces.
_OWN_ROOM = 8 * _MEGABYTE


class LargeTests(ServedCase):
    classic = ("sized",)

    def test_a_large_picture_in_pieces_of_all_sizes(self) -> None:
        picture = Picture.of_about(_LARGE * _MEGABYTE, seed=200)
        since, before, state = now(), self.server.peak(), hashlib.sha256()
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        with self.sized() as client:
            client.send(sized.head(8 + picture.size, Type.PICTURE))
            for piece in cuts.regrouped(picture.pieces(), *_SIZES):
                client.send(piece)
                state.update(piece)
            self.assertEqual(client.answer(), sized.stored(Type.PICTURE))
            self.store.claim_made("picture", Content(picture.size, state.hexdigest()), since)
        self.assertLess(tracemalloc.get_traced_memory()[1], _OWN_ROOM)
        self.assertLess(self.server.peak() - before, _ROOM)
