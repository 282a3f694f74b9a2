"""Ways to cut a stream into the pieces of single writes. A reader must not depend on them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator

Cut = Callable[[bytes], Iterator[bytes]]

# Long enough for several headers in one piece, and short enough to cut many.
_LONGEST = 512


def whole(data: bytes) -> Iterator[bytes]:
    """The whole stream in one piece."""
    yield data


def every(count: int) -> Cut:
    """Pieces of that many bytes; the last one may be shorter."""

    def cut(data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), count):
            yield data[start : start + count]

    return cut


def anywhere(seed: int, longest: int = _LONGEST) -> Cut:
    """Pieces of up to that many bytes; the same seed gives the same pieces."""

    def cut(data: bytes) -> Iterator[bytes]:
        source = random.Random(seed)
        start = 0
        while start < len(data):
            end = start + source.randint(1, longest)
            yield data[start:end]
            start = end

    return cut


def regrouped(stream: Iterable[bytes], *counts: int) -> Iterator[bytes]:
    """The same stream in pieces of each of these sizes, repeatedly; never more than one piece is in memory."""
    sizes = itertools.cycle(counts)
    size, kept = next(sizes), bytearray()
    for data in stream:
        kept += data
        while len(kept) >= size:
            yield bytes(kept[:size])
            del kept[:size]
            size = next(sizes)
    if kept:
        yield bytes(kept)
