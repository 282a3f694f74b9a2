"""Ways to cut a stream into what is sent at once. No reader may tell one from the other."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator

Cut = Callable[[bytes], Iterator[bytes]]

# Long enough for many headers to come glued, short enough for many to be cut.
_LONGEST = 512


def whole(data: bytes) -> Iterator[bytes]:
    """All at once."""
    yield data


def every(count: int) -> Cut:
    """Pieces of so many bytes, the last one perhaps of fewer."""

    def cut(data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), count):
            yield data[start : start + count]

    return cut


def anywhere(seed: int, longest: int = _LONGEST) -> Cut:
    """Pieces of up to so many bytes; the same seed cuts the same way."""

    def cut(data: bytes) -> Iterator[bytes]:
        source = random.Random(seed)
        start = 0
        while start < len(data):
            end = start + source.randint(1, longest)
            yield data[start:end]
            start = end

    return cut


def regrouped(stream: Iterable[bytes], *counts: int) -> Iterator[bytes]:
    """The same stream in pieces of each of these sizes, again and again; never more than one is in memory."""
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
