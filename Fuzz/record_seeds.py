#!/usr/bin/env python3
"""Records conversations of the real program and makes the seeds of the fuzz targets from them.

usage: Fuzz/record_seeds.py [TRANSFER]    the program; .build/release/transfer by default

Writes to Fuzz/seeds and replaces the seeds of an earlier run. Each target's source describes the input format.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import itertools
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pictures
from conversations import SCRIPTS, encoded

HERE = Path(__file__).resolve().parent
SEEDS = HERE / "seeds"

# Time limit for a program in seconds.
PATIENCE = 30

# Number and size of the files in a directory that is pushed twice. Together they are so large that the client asks
# about them before it sends them.
MANY, SIZE = 7, 3000

DATA, RESULT = 18, 23
RECEIPT_FIELD = 8
WORDS = "the quick brown fox jumps over the lazy dog and comes back to where it was before".split()

# The framings, in the order of their numbers in Fuzz/TransferFuzzing/DialectTarget.swift.
DIALECTS = ["header7", "sized", "tagged37", "jsonline", "text"]

# Configuration files, valid and invalid.
CONFIGURATIONS = [
    "a = 1\n[a.b]\n[c.d]\n[c]\nd = 2\n",
    "# What this machine does.\n[push]\nlanes = 4            # as many as it has cores\n"
    "to = \"home:/photos\"\nquiet = true\nreceipts = \"~/receipts.jsonl\"\nretry-for = '5m'\n\n[serve]\n"
    "dir = \"/srv/in\"\nlisten = [\n  \"0.0.0.0:5288\", # everybody\n  '[::]:5288',\n]\nquota = \"100G\"\n"
    "open = false\n\n[access.token.create]\nexpires = \"30d\"\n",
    "[push]\nlnes = 4\n[psuh]\n",
    "\r\n[a . \"b.c\"]\r\nx = [ # one\r\n \"y\",\r\n\r\n]\r\n  [ a ]  #\r\n[d]\t",
    "[remote.\"a\\u001b[2J\"]\naddress = \"h\n",
    "a.b = 1\n[[c]]\nd = {e = 1}\nf = 1.5\ng = \"\"\"x\"\"\"\n",
    "[remote.home]\naddress = \"192.0.2.2:5288/base\"\n"
    "server-key = \"SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU\"\n[remote.nas]\n"
    "address = 'unix:/run/transfer.sock'\ntoken-file = \"nas.token\"\nplaintext = true\n"
    "compress-level = 9\n",
    "[a]\nb = 1\n[a]\n",
    "a = \"\\b\\t\\n\\f\\r\\\"\\\\\\u00e9\\U0001F600\"\nb = 'C:\\x'\n\"c d\" = -1_000\n'e' = +0\nf = [ ]\n"
    "g = [\"x\" , 'y',] # end\n",
]

PATHS = [
    [b"a"], [b"dir/a", b"dir/a"], [b"dir/sub/a/b/c"], [b"new/dir/file.txt", b"new/dir"], [b"out"], [b"out/sub/a"],
    [b"up/outside/a"], [b"in/sub/a"], [b"self/a"], [b"none/a"], [b"here/dir/a"], [b"top/tmp/a"], [b"dir/secret"],
    [b"dir/own/incoming/a"], [b"file"], [b"file/a"], [b"fifo"], [b"fifo/a"], [b"../a"], [b"a/../../b"], [b"/etc/a"],
    [b"a//b"], [b"a/./b"], [b"a/"], [b".transfer"], [b".Transfer/lock"], [b".tran\xc5\xbffer/a"], [b"a\\b", b"a:b"],
    [b".trans\xe2\x80\x8bfer/a"], [b"a\0b"], [b"\xc3\x28"], [b"e\xcc\x81", b"\xc3\xa9"], [b"a/\xcc\x81/b"],
    [b"x" * 255], [b"x" * 256], [b"a/" * 127 + b"a"], [b"a/" * 128 + b"a"], [b"file", b"file", b"file-1", b"file"],
]

ARGUMENTS = [
    (0, ["push", "photo.png"]), (0, ["push", "-", "--name", "logs.tar"]),
    (0, ["push", "--to=nas.local:5288/a", "a", "b"]),
    (0, ["push", "--retry-for", "1.5h", "--lanes", "4", "--compress=zlib", "--compress-level", "9", "a"]),
    (0, ["push", "--json", "-q", "--on-conflict", "skip", "--digest", "sha256", "--kind", "text", "--", "-a"]),
    (0, ["serve", "--dir", "/srv/in", "--listen", "[::]:5288", "--quota", "1.5GiB", "--min-free", "10GB"]),
    (0, ["receipt", "verify", "r.jsonl", "--key", "SHA256:x"]), (0, ["receipt", "shwo"]), (0, ["verify", "--repair"]),
    (0, ["help", "push"]), (0, ["--version"]), (0, ["psuh"]), (0, ["push", "--nmae", "x"]), (0, ["-h", "serve"]),
    (0, ["access", "add", "--dir", "/srv/in", "--folder", "a b", "--expires", "30d", "--write-only", "ed25519 KEY x"]),
    (0, ["access", "token", "create", "--name", "ci", "--quota", "20G"]), (0, ["access", "tokn"]), (0, ["access"]),
    (0, ["access", "pair", "--qr", "--advertise", "nas.local:1"]), (0, ["trust", "remove", "nas.local"]),
    (0, ["key", "new"]),
    (0, ["push", "--to", "transfer://nas.local:5288/a#key=x", "--trust-new", "--server-key", "SHA256:x", "a"]),
    (1, ["500", "64K", "1.5G", "10MB", "8EiB", "9223372036854775807"]),
    (1, ["0.000000000000000001T", "500ms", "20s", "10000d"]),
    (2, ["127.0.0.1:5288", "[::1]:5288/a/b", "unix:/tmp/a", ":1", "host", "fe80::1%eth0", "host:65536", "[::1]", "a/"]),
    (3, ["a\nb", "\x1b[31m", "\u202egpj.exe", "\u2028", "\u0085", "\\", "\"", "\u061c", "\u00ad", "\U000e0001"]),
]

KEYS = [
    "SHA256:If4x36FUomFia/hUBG/SInxsXlFxJzTi0NSDwbA4ewI",
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
    "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
    "-----END PUBLIC KEY-----\n",
]

# Lines of access lists; `KEY` and `HASH` are replaced by values that the program wrote.
LINES = [
    "# comment\n\n \t\n",
    "ed25519 KEY a\ned25519 KEY b\r\n",
    '\ted25519  KEY\tAlice  "B" é \n',
    'folder="a\\\\b/\\"c\\"",quota=1.5G,max-upload=10MB,expires=2027-01-01,read-only ed25519 KEY x\n',
    "read-only,write-only ed25519 KEY x\n",
    "quota=1,quota=2 ed25519 KEY x\n",
    'folder="../a" ed25519 KEY x\n',
    'folder="a ed25519 KEY x\n',
    "no-such=1 ed25519 KEY x\n",
    "token abcdefgh HASH a\npairing abcdefgh HASH b\n",
    "expires=1970-01-01T00:00:00Z token 01234567 HASH a",
    "folder=a token 01234567 $scrypt$ln=20,r=8,p=1$$ a\n",
]
FIELDS = [
    "2026-12-31T23:59:59Z", "9999-12-31", "1970-01-01", "2024-02-29", "2023-02-29T00:00:00Z", "2026-12-31T24:00:00Z",
    "2026-12-31t00:00:00Z", "+026-12-31", "transfer_yckkshzn_94azq7b4yg1jhwd8y888gqs1t24jfb8n",
    "PAIR_p199mhyy_zwrwyz1ymvrmjm1822c3fz8b1a4g67z8", "pair_p199mhyy_",
]
LINKS = [
    "transfer://nas.local", "transfer://[::1]:5288/a%20b/c#", "transfer://127.0.0.1:65535/", "transfer://h/%2e%2e",
    "transfer://h:0", "transfer://h/100%25", "transfer://a/%C3%A9/", "transfer://[fe80::1%25eth0]", "transfer://-a",
    "transfer://a#key=",
    "transfer://a#code=transfer_yckkshzn_94azq7b4yg1jhwd8y888gqs1t24jfb8n", "transfer://a#x=1", "transfer://a#,,",
    "transfer://a_b.c-d:80//x//y#key=H-YzOcZXEQSvqbP-cDBtmfnw2CAWwtoH1F2csVfGSfA",
]
SERVERS = [
    "# comment\nnas.local:5288 FINGERPRINT\n\n[::1]:5288\tFINGERPRINT",
    "a:1 FINGERPRINT\r\nb:2 FINGERPRINT\r\n", "# a\r\nb:2 FINGERPRINT\n", " a FINGERPRINT \n",
    "a FINGERPRINT\na FINGERPRINT\n", "a FINGERPRINT b\n", "a SHA256:x\n", "unix:/tmp/é FINGERPRINT\n",
]

# Keys for `sealing`: the example key of the age format, and forms that no program writes.
SEALING_KEYS = [
    "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX",
    "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj",
    "AGE1ZVKYG2LQZRAA2LNJVQEJ32NKUU0UES2S82HZRYE869XEEXVN73EQUNUJWJ", "A12UEL5L", "age1",
]

# Data that was sealed once for the key of `SealingTarget`, each with its task and the bytes in base64: four files (the second is
# empty, the third is for two recipients, the last for another recipient), a state, a certificate, and the inside of a note.
SEALED = [
    (0,
     "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSA5cWRGK1BlcmNmdElzNVdrVFpaNjU1ZVIybHhhTFNFbVpKR2o4V3FSV0dn"
     "Cmw3TWVuamM3QzF6SXdLT0dJWmVPRDQyQ1FRTU8ySzZZMXYzSkpsMEc1YUkKLS0tIG1Qb2xYRWRSaGl0U3EyVkFPeXNEVFN4Vjdp"
     "Q3lod1FidzJlZGRpUWRPWUEKO/QOhod9k6eUBbT3jrcj1CrrZhHKO7xR6yk+FOlQPi4OH9CUDKD1"),
    (0,
     "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSBORGY2Mm03dW0vV0kxa1lqb3JKOXBuN1NzdkVUM2w3WitjbEhlQWMyYjFB"
     "ClBBS3dzZTY1Y0VOSnJHaFdzYWh6OG9VSGxIM1BtSlFRZ1Boa0p0bWtoRXcKLS0tIFJwdFBFaG9uTUxYOXY1T0hEcFdWMSsydWpl"
     "QUpZKzdVRGlvdGswcDVwb3cKRpFlJ7tuOG0RXK/0nIlHgUBz/PTDvYEg7Gf6P8xzOrw="),
    (0,
     "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSB4S2dmb1FqQ2pBRVV4UStvME9sb0FBbmdYSGVCZUxhMCtoTEV5VnlIWTBv"
     "CkM1QmppUU5vaGtRdCtzcTBTSytBSkpmaU11TlRUcy9oSFErdnJCMXFsQncKLT4gWDI1NTE5IGdPK2FQOHFJckFTUU0zMGhBR21M"
     "Lyt5NW5PY0VpcCtnTFBPRmZnanJLVEkKQjZ5U2NKY0ZuYU1oS1pWM05ia1NzNHRrc0pldGlJQ2trZGd6T0IwTUJUawotLS0gYk9k"
     "bXZTUC9DQVMrZzVleTUvTUU3NTFBUFMzSDFRV2lpR3JPMkNqTWNpYwq4bs1LrjlNkhuHrawJ1BUFdFQQw3y6zlRr7nfaSBOGpLk="),
    (0,
     "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSA0UHRIUm9rNHNPU0tkQldZTlpVR2pXcG1JNUp3Y2IvUVBVOVFyeFRxbnhz"
     "CmJxb3o2MnJDclU1amptTXhDYVJJUjJucXJTMjRQQ25iOFhITVpXbkVLTzAKLS0tIGJySytyVUNleEIzeVQ1NVBVWWxpOUZqUVVo"
     "a3FxVWRKVlBzN2xOS3JiaVUK6Jltcezb2t1ZfPwziXQOVDiixavoEpWHIyoaa+IOzMiD"),
    (2,
     "AXvkSsquWnxUlCS1L6FO1/wf7bSyG61OL/zf3gGa6uKkAAAAAAAAAANVagj2Cm2MxcOGbHZSmOPZUxmeZWBOKRkEDizf/qbsqAAA"
     "AKhhZ2UtZW5jcnlwdGlvbi5vcmcvdjEKLT4gWDI1NTE5ICs4dFJ6SUY1dmJ5QTc0MTRwY1AzZHlNNk1lYXRVQjE0TEd0ZWZ3dk9G"
     "MDQKK1ZpWlY1ZXZIVk91RytJQi82UW1abDZTVnd0L0FWM3JVSE9HWVUxMnR3cwotLS0gYW81SGNxNlRsNnJBVzEwOGxTaGFBVHR0"
     "K0Q0dUk0Skp1WnFxMVhWdVAvawoXkh8YjJ+VFlbtzoVqIrBkjiyphlmaTPHmnI6ngpJVIw=="),
    (3,
     "ARMsRCvgEPvVfnJgMyiqducfzMFQOq4hkyfRTZyZk/RyIVL40Zt5HSRFMkLhXy6rbLfP+ntqXtMAl5YOBpiB2xIAAAAAa0nSAPgw"
     "tRTCa5sBEsE90o4QbqaMmcAMNoWmI+f1XzFikJGV2K/3Pu7X8ITfCSP3v/n1UC3bBNMy9SEkgfk1TMMHUgw="),
    (4,
     "AQIHAAAAAAAAAAMAAAAAarE7gAAAAAUBoMKbZ0nATCq27uk5AYJy0wRBRjWEpgZPtiZweUjMCDpJIVL40Zt5HSRFMkLhXy6rbLfP+ntq"
     "XtMAl5YOBpiB2xIADHBob3Rvcy9hLnBuZ6I4XGIq/MOh4VylOglgCYGth13D01Wr9d5gtVRQ9/hHvFV65h5InDV11JYkiCsFPXTt6fE/"
     "9Wq7puy94ysHEQY="),
]

# Seeds of `tls` without a recording: the task, the number of bytes that each side sends, and changes (see `Interference`).
TLS = [
    [0, 1, 0, 9], [0, 0, 0, 0], [4, 0, 9, 3], [8, 2, 0, 80], [12, 255, 255, 255], [1, 0, 9, 3, 0, 1, 0, 1],
    [0, 0, 9, 3, 0, 6, 0, 2], [0, 0, 9, 3, 1, 80, 0, 128], [1, 16, 0, 9, 3, 0, 2, 1], [0, 16, 0, 9, 5, 0, 255, 0],
    [9, 0, 9, 3, 0, 60, 2, 22, 0, 0, 1, 255],
    # Steps after the handshake (see `PeerWalk`): content and new keys; halves of them; tickets; the end; violations of the rules.
    [240, 0, 9, 1, 0, 0, 9, 1, 1, 0, 1], [241, 0, 9, 1, 1, 0, 9], [240, 2, 9, 5, 0, 0, 9, 6, 0], [241, 2, 8, 0, 1],
    [241, 3, 8, 4, 90, 5, 0, 0, 1], [244, 0, 1, 6, 0, 0, 1], [248, 2, 3, 5, 0, 2, 4, 5, 0], [253, 0, 0, 7, 21, 7, 24],
]


class Proxy:
    """Forwards every connection to the server and records the bytes of both sides."""

    def __init__(self, path: Path, server: Path) -> None:
        self.streams: list[tuple[bytearray, bytearray]] = []
        self._server = server
        self._pumps: list[threading.Thread] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def take(self) -> list[tuple[bytes, bytes]]:
        """The bytes since the last call: for each connection, those of the client and those of the server."""
        for pump in self._pumps:
            pump.join(PATIENCE)
        taken = [(bytes(client), bytes(server)) for client, server in self.streams]
        self.streams.clear()
        self._pumps.clear()
        return taken

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(self._server))
            said = (bytearray(), bytearray())
            self.streams.append(said)
            for source, sink, kept in ((client, server, said[0]), (server, client, said[1])):
                pump = threading.Thread(target=_pump, args=(source, sink, kept), daemon=True)
                self._pumps.append(pump)
                pump.start()


def _pump(source: socket.socket, sink: socket.socket, kept: bytearray) -> None:
    # Either side may close before the other has sent all bytes.
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            kept += data
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def pushes(directory: Path) -> Iterator[list[str]]:
    """Arguments of `push` commands, each of which makes separate conversations."""
    small = directory / "small"
    (small / "sub").mkdir(parents=True)
    for name, content in (("a.txt", b"hello"), ("empty", b""), ("sub/b.png", b"\x89PNG\r\n\x1a\n" + bytes(20))):
        (small / name).write_bytes(content)
    (directory / "words.log").write_text(" ".join(WORDS * 60))
    (directory / "zeros").write_bytes(bytes(9 << 20))
    # The client asks about the files that it has sent before, and about one that the server does not have.
    many = directory / "many"
    many.mkdir()
    for number in range(MANY):
        (many / f"{number}").write_bytes(b"%d" % number * SIZE)
    yield [str(many)]
    (many / "new").write_text("new")
    yield [str(many)]
    receipts = ["--receipts", str(directory / "receipts.jsonl")]
    yield [*receipts, str(small)]
    yield [*receipts, str(small)]
    yield ["--text", "Hello", "--name", "note.txt", "--digest", "sha256", *receipts]
    yield ["--text", "Odd", "--name", 'qu"o\\te\n\x1b\u00e9.txt', *receipts]
    yield ["--text", "Hello again", "--name", "note.txt"]
    for policy in ("overwrite", "skip", "fail"):
        yield ["--text", f"Hello, {policy}", "--name", "note.txt", "--on-conflict", policy]
    yield ["--text", "x", "--name", "note.txt/below"]
    yield ["--compress", "zlib", str(directory / "words.log")]
    yield ["--compress", "zlib", "--compress-level", "9", "--lanes", "1", str(directory / "zeros")]
    yield ["--compress", "zlib", "--lanes", "1", str(directory / "zeros")]


def requests(directory: Path) -> Iterator[list[str]]:
    """Requests for the pushed files, each of which makes separate conversations."""
    yield ["list"]
    yield ["list", "--recursive", "--long"]
    yield ["list", "no-such-folder"]
    yield ["stat", "note.txt", "small/sub/b.png", "gone"]
    yield ["cat", "note.txt"]
    yield ["pull", "--quiet", "-o", str(directory / "out"), "words.log", "small"]
    yield ["remove", "note.txt", "gone"]
    yield ["remove", "--recursive", "many"]


def frames(stream: bytes) -> Iterator[tuple[int, bool, bytes]]:
    """For each frame: the function code, whether the body is compressed, and the body."""
    while stream:
        function, is_compressed, length = int.from_bytes(stream[2:4]), stream[4] == 1, int.from_bytes(stream[5:7])
        start = 7
        if length == 0xFFFF:
            start, length = 15, int.from_bytes(stream[7:15])
        yield function, is_compressed, stream[start : start + length]
        stream = stream[start + length :]


def receipts(body: bytes) -> Iterator[bytes]:
    """The receipts in the body of a result."""
    fields = body[27 + (0 if not body[18] & 2 else 17 if body[27] in (1, 3) else 33) :]
    while fields:
        length = int.from_bytes(fields[1:3])
        if fields[0] == RECEIPT_FIELD:
            yield fields[3 : 3 + length]
        fields = fields[3 + length :]


PATTERNS = [
    ["*.jpg", "a.jpg", "a/b.jpg"], ["**/a", "a", "b/a", "b/c/a", "ba"], ["a/**/b", "a/b", "a/c/d/b"], ["a/**", "a/b/c"],
    ["a**b", "acb", "a/b"], ["?a*", "bac", "/a"], ["[a-c!]]x", "bx"], ["[!a-c]", "d"], ["\\*[a", "*[a"], ["**", "a/b"],
    ["*a*a*a*a*b", "aaaaaaaaaa"], ["照?", "照片"], ["**/**/a/", "x/a/"], ["[]-a]", "]"], ["***/", "a/"],
]

IGNORED = [
    ["*.o\n!keep.o\n", "a.o", "keep.o", "d/keep.o"], ["# a\n\\#a\n\\!b", "#a", "!b"],
    ["/a/\nb/c\n", "a", "x/b/c", "b/c"],
    ["a  \nb\\ \n", "a", "b "], ["a\r\n!a", "a"], ["!\n/\n//\n", "a"], ["**/x/\n", "x", "a/x"],
]

MANIFESTS = [
    '{"path":"a.jpg","name":"b","folder":"c/d","kind":"picture"}', '[1,-2.5e+3,true,false,null,{"a":[]}]',
    '"\\u00e9\\ud83c\\udf89\\n\\/"', '{"a":1,"a":2}', '"\\ud800"', "[[[[[[[[[[", "01", ' { "a" : "b" , "c" : [ ] } ',
]

PICTURES = [
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\2\x80\0\0\1\xe0\x08\2\0\0\0", b"GIF89a\x40\1\xf0\0\xf7\0\0",
    b"\xff\xd8\xff\xe0\0\4\1\2\xff\xff\xc4\0\3\x09\xff\xc2\0\x11\x08\4\x38\7\x80\3",
    b"RIFF\0\0\0\0WEBPVP8 " + bytes(7) + b"\x9d\1\x2a\x80\x42\xe0\x41",
    b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x7f\xc2\x77\0", b"RIFF\0\0\0\0WEBPVP8X\x0a" + bytes(7) + b"\x7f\2\0\xdf\1\0",
]


def keep(target: str, content: bytes) -> None:
    """Writes a seed; seeds with equal content are written once."""
    (SEEDS / target).mkdir(parents=True, exist_ok=True)
    (SEEDS / target / hashlib.sha256(content).hexdigest()[:16]).write_bytes(content)


def keep_zstd() -> None:
    """Makes frames by hand: stored, repeated, with and without a size, with a missing checksum; and content."""
    hello, magic = b"hello", bytes([0x28, 0xB5, 0x2F, 0xFD])
    block = bytes([len(hello) << 3 | 1, 0, 0]) + hello
    for body in (
        bytes([0x20, len(hello)]) + block,
        bytes([0x00, 0x00]) + block,
        bytes([0x24, len(hello)]) + block,
        bytes([0x00, 0x38, 0x03, 0x40, 0x00, 0x61]),
        bytes([0x60, 0xE8, 0x02, 0x4D, 0x00, 0x00, 0x10, 0x61, 0x61, 0x01, 0x00, 0xE3, 0x2B, 0x80, 0x05]),
    ):
        keep("expand", bytes([0, 6, 255, 255]) + magic + body)
        keep("expand", bytes([1, 2, 0, 5]) + body)
    for place, mask in ((0, 0), (9, 1), (21, 0x80)):
        keep("expand", bytes([2, 30, 0, 0, 0, place, mask]) + b"the same again and again\n" * 20)


def keep_conversation(client: bytes, server: bytes) -> None:
    for stream in (client, server):
        keep("frames", b"\x00\x05" + stream)
    keep("server", b"\x87" + client)
    keep("client", b"\x81" + server)


def keep_frames(stream: bytes, seen: set[tuple[int, int]]) -> None:
    # The index of each function code in the table without `data`.
    places = {code: place for place, code in enumerate([*range(1, 6), 16, 17, *range(19, 29), *range(32, 39)])}
    for function, is_compressed, body in frames(stream):
        if (function, len(body)) in seen:
            continue
        seen.add((function, len(body)))
        if function != DATA:
            keep("messages", bytes([places[function]]) + body)
        elif is_compressed:
            for task in (0, 1):
                keep("inflate", bytes([task, 200, 16, 0, 255, 255]) + body)
        else:
            keep("inflate", bytes([5, 7, 0, 90, 1, 0]) + body)
        if function == RESULT:
            for receipt in receipts(body):
                keep("receipts", b"\0" + receipt)


@contextlib.contextmanager
def serving(command: list[str], environment: dict[str, str] | None = None) -> Iterator[None]:
    """Starts a server, waits until it listens, and stops it at the end of the block."""
    server = subprocess.Popen(command, stderr=subprocess.PIPE, env=environment)
    assert server.stderr is not None
    try:
        while b"istening" not in server.stderr.readline():
            assert server.poll() is None, "the server has ended"
        threading.Thread(target=server.stderr.read, daemon=True).start()
        yield
    finally:
        server.terminate()
        server.wait(PATIENCE)


def record(transfer: Path, directory: Path) -> None:
    lines = directory / "receipts.jsonl"
    listen, relay = directory / "s", directory / "p"
    command = [str(transfer), "serve", "--plaintext", "--dir", str(directory / "in"), "--listen", f"unix:{listen}"]
    with serving(command):
        proxy = Proxy(relay, listen)
        seen: set[tuple[int, int]] = set()
        address = f"unix:{relay}"
        # The generators change files between commands, so each command is made only when the previous one has ended.
        commands = itertools.chain(
            (["push", "--quiet", "--to", address, *arguments] for arguments in pushes(directory)),
            ([name, "--from", address, *arguments] for name, *arguments in requests(directory)),
        )
        for name, *arguments in commands:
            command = [str(transfer), name, "--plaintext", *arguments]
            subprocess.run(command, check=False, timeout=PATIENCE, stdout=subprocess.DEVNULL)
            for streams in proxy.take():
                keep_conversation(*streams)
                for stream in streams:
                    keep_frames(stream, seen)
    kept = lines.read_bytes().splitlines(keepends=True)
    keep("receipts", b"\x01" + b"".join(kept[:5]))
    keep("receipts", b"\x01" + kept[-1])


def record_access(transfer: Path, directory: Path) -> None:
    """Records access lists and links that the program writes."""
    served = directory / "access"
    served.mkdir()
    environment = {**os.environ, "XDG_CONFIG_HOME": str(directory / "config"), "HOME": str(directory)}

    def run(*arguments: str) -> str:
        command = [str(transfer), *arguments]
        done = subprocess.run(command, env=environment, check=True, timeout=PATIENCE, capture_output=True, text=True)
        return done.stdout

    key = run("key").split()[1]
    bounds = ["--folder", 'a "b"/c', "--quota", "1.5G", "--write-only", "--expires", "2027-01-01"]
    run("access", "add", "--dir", str(served), "--name", "Alice B", *bounds, f"ed25519 {key} alice")
    run("access", "token", "create", "--dir", str(served), "--name", "ci", "--read-only")
    pairing = run("access", "pair", "--dir", str(served), "--advertise", "nas.local", "--folder", "x/y")
    keys, tokens = ((served / ".transfer" / name).read_bytes() for name in ("authorized_keys", "tokens"))
    hashed = re.search(rb"\$scrypt\S+", tokens)
    assert hashed is not None, "no hash"
    for lines in LINES:
        content = lines.encode().replace(b"KEY", key.encode()).replace(b"HASH", hashed[0])
        keep("access", (b"\x01" if b"token" in content else b"\0") + content)
        keep("access", b"\x02" + b"".join(line + b"\0" for line in content.splitlines()))
    keep("access", b"\0" + keys)
    keep("access", b"\x01" + tokens)
    keep("access", b"\x03" + b"".join(text + b"\0" for text in [*(field.encode() for field in FIELDS), hashed[0]]))
    for link in [*re.findall(r"transfer://[^']+", pairing), *LINKS]:
        keep("links", link.encode() + b"\0")


def make_batches() -> None:
    """Makes patterns with paths, ignore files, manifests, and pictures."""
    for texts in PATTERNS:
        keep("batches", b"\0" + b"".join(text.encode() + b"\0" for text in texts))
    for texts in IGNORED:
        keep("batches", b"\x01" + b"".join(text.encode() + b"\0" for text in texts))
    for text in MANIFESTS:
        keep("batches", b"\x02" + text.encode())
    for front in PICTURES:
        keep("batches", b"\x03" + front)


def make_s3_answers() -> None:
    """Makes answers of object engines, and what operators write about them."""
    listing = (
        b'<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name>'
        b"<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated><Contents><Key>a%2Fb+c&amp;&#x41;</Key>"
        b"<Size>12</Size><Owner><ID>x</ID></Owner></Contents><Contents><Size>0</Size><Key>z</Key></Contents>"
        b"</ListBucketResult>"
    )
    problem = (
        b"<Error><Code>AuthorizationHeaderMalformed</Code><Message><![CDATA[wrong & so on]]></Message>"
        b"<Region>eu-west-1</Region><!-- x --><RequestId/></Error>"
    )
    for kind, text in enumerate((problem, listing, problem)):
        keep("s3-answers", bytes([kind]) + text)
    keep("s3-answers", b"\0" + listing)
    for text in (
        b"# keys\n[default]\naws_access_key_id = A\naws_secret_access_key=B/+\n[other]\naws_session_token=T",
        b"bytes 0-9/443",
        b"bytes 5-5/*",
        b"s3://bucket/some/where",
        b"data/0123456789abcdef",
    ):
        keep("s3-answers", b"\x03" + text)


def make_datagrams() -> None:
    """Makes probes, answers, and other datagrams."""
    front = b"\xf5XFRFIND\x01"
    probe = front + b"\x01" + bytes(166 + 16)
    answers = [
        front + b"\x02" + nonce + bytes(7) + b"\x07" + key + bytes([len(ports), len(name)]) + b"".join(ports) + name
        for nonce in (bytes(16), bytes(range(16)))
        for key in (bytes(33), b"\x01" + bytes(range(32)))
        for ports, name in (([b"\x14\xa8"], b"nas"), ([b"\x00\x01"] * 8, "B\u00fcro ".encode() * 9 + b"x"))
    ]
    for way in (b"\x00\x40", b"\x01\x40", b"\x03\x01", b"\x04\x40", b"\x08\x02"):
        for datagram in (probe, b"exit\0", b"", answers[0]):
            keep("discovery", way + datagram)
    for datagram in (*answers, probe[:-1], probe[:8], probe + b"\0", probe.replace(b"D\x01", b"D\x02")):
        keep("discovery", b"\x00\x40" + datagram)


def make_proxy_headers() -> None:
    """Makes PROXY headers of both versions, each with a client's bytes behind it."""
    behind = b"\x16\x03\x01 hello"
    lines = (
        b"TCP4 203.0.113.9 198.51.100.1 56324 443",
        b"TCP6 2001:db8::9 ::ffff:198.51.100.1 0 65535",
        b"TCP4 203.0.113.9 198.51.100.1 056324 443",
        b"UNKNOWN",
        b"UNKNOWN " + b"f" * 93,
    )
    for line in lines:
        keep("proxy-headers", b"\0\x07PROXY " + line + b"\r\n" + behind)
    ports, certificate = b"\xdc\x04\x01\xbb", b"\x20\x02\x58" + b"c" * 600
    four, six = bytes([203, 0, 113, 9, 198, 51, 100, 1]) + ports, bytes(range(32)) + ports
    for kind, content in (
        (b"\x21\x11", four),
        (b"\x21\x11", four + certificate),
        (b"\x21\x21", six + b"\x03\0\x04abcd"),
        (b"\x21\x31", b"/run/a".ljust(108, b"\0") * 2),
        (b"\x21\0", b""),
        (b"\x20\0", b"\x04\0\x01n"),
        (b"\x21\x11", four[:11]),
        (b"\x31\x11", four),
    ):
        header = b"\r\n\r\n\0\r\nQUIT\n" + kind + len(content).to_bytes(2, "big") + content
        keep("proxy-headers", b"\0\x03" + header + behind)


def make_sealed() -> None:
    """Makes sealed files with their states, certificates and notes, keys, and changes of a file."""
    for task, content in SEALED:
        keep("sealing", bytes([task]) + base64.b64decode(content))
    keep("sealing", b"\x01" + b"".join(text.encode() + b"\0" for text in SEALING_KEYS))
    for changes in ([], [30, 1], [207, 128], [255, 2, 255, 1], [180, 0]):
        keep("sealing", bytes([5, *changes]))


def example_line(line: str) -> bytes:
    """The bytes of a line of an example, by the rules in Sources/TransferClassic/classic.md."""
    if line.startswith("'"):
        text = line[1 : line.rindex("'")]
        return text.replace("\\r", "\r").replace("\\n", "\n").encode()
    tokens = (token.split("*") for token in line.split("#")[0].split())
    return b"".join(bytes.fromhex(token[0]) * (int(token[1]) if token[1:] else 1) for token in tokens)


def make_dialects() -> None:
    """Reads the examples on the pages of the framings: each alone, and all of a framing in a row."""
    caption = re.compile(r"From the client, `(\w+)")
    streams: dict[str, list[bytes]] = {name: [] for name in DIALECTS}
    for page in sorted((HERE.parent / "Sources/TransferClassic/Framings").glob("*/*.md")):
        for before, block in re.findall(r"([^\n]+)\n\n```hex\n(.*?)```", page.read_text(), re.DOTALL):
            found = caption.match(before)
            if found:
                streams[found[1]].append(b"".join(map(example_line, block.splitlines())))
    for number, name in enumerate(DIALECTS):
        for stream in [*streams[name], b"".join(streams[name])]:
            keep("dialects", bytes([number, 0, number]) + stream)


def record_tls(transfer: Path, directory: Path) -> None:
    """Records both sides of an encrypted conversation, and the list of known servers afterwards."""
    listen, relay, known = directory / "ts", directory / "tp", directory / "config/transfer/known_servers"
    environment = {**os.environ, "XDG_CONFIG_HOME": str(directory / "config"), "HOME": str(directory)}
    command = [str(transfer), "serve", "--dir", str(directory / "tin"), "--listen", f"unix:{listen}"]
    with serving(command, environment):
        proxy = Proxy(relay, listen)
        push = [str(transfer), "push", "--trust-new", "--quiet", "--to", f"unix:{relay}", "--text", "Hello"]
        subprocess.run(push, check=False, timeout=PATIENCE, stdout=subprocess.DEVNULL, env=environment)
        for client, said in proxy.take():
            keep("tls", b"\x02" + client)
            keep("tls", b"\x03" + said)
    content = known.read_bytes()
    fingerprint = content.split()[-1]
    for number, lines in enumerate(SERVERS):
        keep("known-servers", b"b:%d\0" % number + lines.encode().replace(b"FINGERPRINT", fingerprint))
    for address in (b"nas.local:5288", b"", b"# a", b"a b", b"\xff", b"a\n"):
        keep("known-servers", address + b"\0" + content)


def make_kept() -> None:
    """Makes a client's lists of known people, and its records of sealed files and of received files."""
    key = b"SHA256:" + base64.b64encode(hashlib.sha256(b"server").digest()).rstrip(b"=")
    other = b"SHA256:" + base64.b64encode(hashlib.sha256(b"other").digest()).rstrip(b"=")
    own = b"SHA256:" + base64.b64encode(hashlib.sha256(bytes([8] * 32)).digest()).rstrip(b"=")
    seven = b"SHA256:" + base64.b64encode(hashlib.sha256(bytes([7] * 32)).digest()).rstrip(b"=")
    lists = [
        b"",
        b"# people\n- bob " + other + b" -\n",
        b"- bob " + own + b" " + other + b" 1800000000\r\n" + key + b" %20a%25 " + other + b" -\n",
        seven + b" bob " + other + b" " + key + b" 1\n" + seven + b" bob " + own + b" -\n",
        b"- bob\n",
        b"- b%0 " + other + b" -\n",
    ]
    for number, content in enumerate(lists):
        keep("known-people", bytes([number]) + b"bob\0" + content)
    keep("known-people", b"\x01\xc3\xbc x\0" + lists[2])
    record = bytes([1, 2]) + bytes(range(32)) + bytes([9] * 16) + (5).to_bytes(8) + (205).to_bytes(8)
    for wrong in (record, record + b"\0", b"\x02" + record[1:], record[:34] + bytes(16) + record[50:], record[:-1]):
        keep("records", b"\0" + wrong)
    line = (
        '{"id":"00112233445566778899aabbccddeeff","path":"a/b\\n","digest":"2:' + "ab" * 32 + '","size":5,'
        '"object":"7","revision":"-1","touch":"3"'
    )
    for end in ("}", ',"travelled":"205"}', ',"travelled":"205","note":"' + "cd" * 32 + '"}', ',"note":"cd"}', ',"travelled":-1}'):
        keep("records", b"\x01" + (line + end).encode())


def delivery_receipt() -> bytes:
    """The example in docs/reference/receipts.md, which is broken into lines for reading."""
    document = (HERE.parent / "docs/reference/receipts.md").read_text(encoding="utf-8")
    block = document.split("```json\n")[2].split("\n```")[0]
    return "".join(line.removeprefix(" ") for line in block.split("\n")).encode()


def main() -> None:
    transfer = Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parent / ".build/release/transfer").resolve()
    for old in SEEDS.glob("*/*"):
        old.unlink()
    with tempfile.TemporaryDirectory() as directory:
        record(transfer, Path(directory))
        record_access(transfer, Path(directory))
        record_tls(transfer, Path(directory))
    for configuration in CONFIGURATIONS:
        keep("configuration", configuration.encode())
    for key in KEYS:
        keep("receipts", b"\x02" + key.encode())
    keep("receipts", bytes([3, 0, 1, 0, 100, 8, 0, 0, 17, 0, 1]))
    keep("receipts", bytes([3, 0x80, 1, 0, 58, 1, 0, 1, 200, 8, 0]))
    keep("receipts", b"\x01" + delivery_receipt() + b"\n" + delivery_receipt())
    for length in (65_536, 3):
        keep("frames", b"\x00\x05\x00\x02\x00\x12\x00\xff\xff" + length.to_bytes(8) + b"abc")
    # Messages that no recorded conversation has: ping, pong, abort, and blocks that the server has.
    for body in (b"\x02" + bytes(8), b"\x03" + bytes(8), b"\x09", b"\x0d" + bytes(16 + 8) + b"\0\1\1" + bytes(16)):
        keep("messages", body)
    for numbers in TLS:
        keep("tls", bytes(numbers))
    for number, paths in enumerate(PATHS):
        keep("paths", b"".join(bytes([number * 41 % 256]) + path + b"\xff" for path in paths))
    keep_zstd()
    make_batches()
    make_sealed()
    make_dialects()
    make_datagrams()
    make_proxy_headers()
    make_s3_answers()
    make_kept()
    for seed in pictures.seeds():
        keep("pictures", seed)
    for number, script in enumerate(SCRIPTS):
        keep("conversations", encoded(script, seed=number))
    for task, texts in ARGUMENTS:
        keep("arguments", bytes([task]) + b"".join(text.encode() + b"\0" for text in texts))
    # All function codes in a sensible order, with answers between them.
    keep("server", bytes([3, 1, 0, 16, 1, 18, 0, 32, 0, 19, 0, 20, 0, 24, 2, 32, 0, 16, 3, 21, 0, 3, 0, 4, 0, 5, 0]))
    keep("client", bytes([0, 32, 1, 33, 2, 2, 4, 25, 2, 17, 2, 17, 1, 22, 1, 3, 0, 4, 0, 23, 1, 5, 0, 23, 0]))


if __name__ == "__main__":
    main()
