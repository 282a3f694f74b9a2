"""The same files pushed by all programs, in memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from .. import corpus, names
from ..context import Bench
from ..corpus import Corpus
from ..machine import first_compression_of_rsync
from ..peers import Netcat, Nginx, Peer, Place, Rsync, Scp, Transfer
from ..results import Comparison, Missing
from .common import GIBIBYTE, SMALL_COUNT, SMALL_IN_DIRECTORY, SMALL_SIZE, compare


def big(bench: Bench) -> None:
    """One large file."""
    files = corpus.one_file(bench.source, GIBIBYTE)
    compare(bench, "big", "1 GiB of random bytes, one file", _everybody(bench, files))


def photos(bench: Bench) -> None:
    """Some hundred files of a few megabytes."""
    files = corpus.photos(bench.source)
    compare(bench, "photos", "400 photos of 2.0 to 2.4 MB", _everybody(bench, files))


def small(bench: Bench) -> None:
    """Many files that are hardly larger than the messages about them."""
    files = corpus.small_files(bench.source, SMALL_COUNT, SMALL_SIZE, SMALL_IN_DIRECTORY)
    compare(bench, "small", "10,000 files of 4 KiB in 20 directories", _everybody(bench, files))


def text(bench: Bench) -> None:
    """One large file that is compressed for sending."""
    files = corpus.log_text(bench.source)
    peers = _compressing(bench, bench.place(files))
    comparison = compare(bench, "text", "265 MB of log text, compressed", peers, shows_wire=True)
    comparison.notes.append(f"`rsync -z` compresses with {first_compression_of_rsync()} here.")
    comparison.notes.extend(_ratios(files, comparison))


def _everybody(bench: Bench, files: Corpus) -> list[Peer]:
    place = bench.place(files)
    peers: list[Peer] = [
        Netcat(place),
        Rsync(place),
        Rsync(place, ["--fsync"]),
        Scp(place),
        Nginx(place),
        Nginx(place, tls=True),
        Transfer(place, bench.program),
    ]
    if bench.program.has_tls:
        peers.append(Transfer(place, bench.program, tls=True))
    return peers


def _compressing(bench: Bench, place: Place) -> list[Peer]:
    """All programs that compress, whether that is worthwhile here or not."""
    program = bench.program
    peers: list[Peer] = [
        Rsync(place, ["-z"]),
        Rsync(place, ["-z", "--compress-choice=zlib"]),
        Scp(place, ["-C"]),
        Transfer(place, program, ["--compress", "zlib"]),
    ]
    if program.has_tls:
        peers.append(Transfer(place, program, ["--compress", "zlib"], tls=True))
    return peers


def _ratios(files: Corpus, comparison: Comparison) -> Iterable[str]:
    try:
        ours = comparison.size / comparison.named(names.TRANSFER_ZLIB).wire
    except Missing:
        return
    reference = comparison.size / _deflated_size(files)
    yield f"`--compress zlib` made the text {ours:.2f} times smaller; `zlib -1` over all of it, {reference:.2f} times."


def _deflated_size(files: Corpus) -> int:
    total = 0
    for path in files.files:
        deflater = zlib.compressobj(1)
        with path.open("rb") as file:
            while piece := file.read(1 << 20):
                total += len(deflater.compress(piece))
        total += len(deflater.flush())
    return total
