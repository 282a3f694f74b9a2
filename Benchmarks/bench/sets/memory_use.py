"""The memory use of both sides."""

from __future__ import annotations

import resource
import socket
from collections.abc import Sequence
from contextlib import ExitStack

from .. import corpus, resident, workspace
from ..context import Bench
from ..corpus import Corpus
from ..peers import Transfer
from ..results import Table
from .common import GIBIBYTE

_FILES = 200_000
_FILE_SIZE = 1024
_IN_DIRECTORY = 1000
_CONNECTIONS = 1000

# A hello frame of version 2 without optional fields, and the start of the answer (docs/reference/protocol.md).
_HELLO = bytes.fromhex("0002 0001 00 0004 00000000")
_WELCOME = bytes.fromhex("0002 0002")


def memory(bench: Bench) -> None:
    """The peak resident memory, and the additional memory of an idle connection."""
    bench.say("memory: 1 GiB in one file, 200,000 files of 1 KiB, 1,000 idle connections")
    lanes = [(), ("--lanes", "8")] if bench.program.has_flag("push", "lanes") else [()]
    works = [("1 GiB in one file", corpus.one_file(bench.source / "one", GIBIBYTE))]
    works.append(("200,000 files of 1 KiB", _many(bench)))
    rows, largest = [], 0
    for name, files in works:
        for options in lanes:
            server, client = _push(bench, files, options)
            largest = max(largest, server, client)
            rows.append([" ".join([name, *options]), f"{server:,}", f"{client:,}"])
            bench.say(f"  {rows[-1][0]:<42}{server:>10,} KiB server{client:>10,} KiB client")
    bench.results.figures["memory"] = largest / 1024
    each = _idle(bench, works[0][1])
    bench.say(f"  {each:.1f} KiB for each idle connection")
    notes = [
        f"Each of {_CONNECTIONS:,} idle connections took {each:.1f} KiB of the server."
    ]
    bench.add("memory", Table("Maximum resident memory, in KiB", ["work", "server", "client"], rows, notes))


def _many(bench: Bench) -> Corpus:
    return corpus.small_files(bench.source / "many", _FILES, _FILE_SIZE, _IN_DIRECTORY)


def _push(bench: Bench, files: Corpus, options: Sequence[str]) -> tuple[int, int]:
    """The peaks of server and client in KiB."""
    report = bench.directory / "client-memory"
    peer = Transfer(bench.place(files), bench.program, options, client_in=resident.reporting(report))
    workspace.empty(peer.place.target)
    peer.arm()
    peer.push()
    server = resident.peak(resident.serving_process(peer.server.pid))
    peer.disarm()
    return server, resident.reported(report)


def _idle(bench: Bench, files: Corpus) -> float:
    """KiB of the server for each idle connection."""
    _allow_descriptors(_CONNECTIONS + 100)
    peer = Transfer(bench.place(files), bench.program)
    workspace.empty(peer.place.target)
    peer.arm()
    host, port = peer.address.rsplit(":", 1)
    with ExitStack() as connections:
        # The first connections also allocate memory that later ones reuse.
        for _ in range(10):
            connections.enter_context(_greet(host, int(port)))
        server = resident.serving_process(peer.server.pid)
        before = resident.resident(server)
        for _ in range(_CONNECTIONS):
            connections.enter_context(_greet(host, int(port)))
        after = resident.resident(server)
    peer.disarm()
    return (after - before) / _CONNECTIONS


def _greet(host: str, port: int) -> socket.socket:
    """A connection whose hello was answered."""
    connection = socket.create_connection((host, port), timeout=10)
    connection.sendall(_HELLO)
    answer = b""
    while len(answer) < len(_WELCOME):
        piece = connection.recv(4096)
        if not piece:
            break
        answer += piece
    if not answer.startswith(_WELCOME):
        connection.close()
        raise RuntimeError("the server does not answer a hello with a welcome")
    return connection


def _allow_descriptors(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (count if hard == resource.RLIM_INFINITY else min(count, hard), hard)
        )
