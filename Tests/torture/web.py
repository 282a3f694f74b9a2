"""Uploads over HTTP that are cut off by kills at any moment, and continue at the offset that the server reports."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from web.wire import Answer, Connection, Ended, Fields, sha256_field

from .content import digest
from .ledger import Stored, problems_of_single_names
from .program import Broken, Server, free_port
from .tally import Tally

# The same limit for a server as in history.py.
_SPARE_DESCRIPTORS = 8

# Maximum size of an upload, and sizes of the content of one request.
_LONGEST = 12 << 20
_PIECES = (1, 1000, 100_000, 1 << 20, 4 << 20, 16 << 20)

_TUS = {"Tus-Resumable": "1.0.0"}
_APPENDS = {"Content-Type": "application/offset+octet-stream"}
_INTEROP = {"Upload-Draft-Interop-Version": "8"}
_PARTIAL = {"Content-Type": "application/partial-upload"}

# Maximum number of kills within one upload, so that it can complete.
_MOST_KILLS = 12

# Maximum number of requests for one upload; more of them mean that it never completes.
_MOST_REQUESTS = 500

# Maximum number of answers that ask the client to retry while the server completes the upload, which takes seconds on a
# slow disk.
_MOST_WAITS = 20_000


@dataclass(frozen=True)
class WebPlan:
    """One round, decided by its seed alone."""

    # The upload protocol that the client speaks: "tus", "ietf" or "put".
    speaks: str
    size: int
    piece: int
    # Shares of the requests that a kill of the client or of the server cuts off.
    client_dies: float
    server_dies: float
    # Whether each piece has its digest.
    checks: bool
    # Whether only the last piece states the length.
    defers: bool

    @staticmethod
    def make(source: random.Random) -> WebPlan:
        speaks = source.choice(["tus", "tus", "ietf", "put"])
        piece = source.choice(_PIECES)
        # Pieces of one byte are for short uploads only.
        size = source.choice([0, 1, source.randrange(2, 70_000), source.randrange(2, _LONGEST)])
        return WebPlan(
            speaks=speaks,
            size=min(size, piece * 60),
            piece=piece,
            client_dies=source.choice([0, 0.2, 0.6]),
            server_dies=source.choice([0.05, 0.2, 0.4]),
            checks=source.random() < 0.5,
            defers=source.random() < 0.3,
        )


class WebRounds:
    """A server directory, and everything that was ever sent to it."""

    def __init__(self, transfer: Path, directory: Path, tally: Tally, show: Callable[[str], None]) -> None:
        shutil.rmtree(directory, ignore_errors=True)
        (directory / "store").mkdir(parents=True)
        self.directory = directory
        self._tally = tally
        self._show = show
        self._stored = Stored(directory / "store")
        flags = ("--plaintext", "--http", "on")
        self._server = Server(transfer, directory / "store", directory / "server.log", free_port(random.Random()), flags=flags)
        # The digests of acknowledged content and of all sent content, by path.
        self._acknowledged: dict[str, str] = {}
        self._sent: dict[str, str] = {}

    def close(self) -> None:
        """Ends the server and leaves the directory."""
        self._server.abandon()

    def play(self, number: int, plan: WebPlan, source: random.Random) -> None:
        """Plays one round. Raises Broken if a promise is broken."""
        if not self._server.starts:
            self._server.start()
        path = f"r{number}/file"
        content = source.randbytes(plan.size)
        self._sent[path] = digest(content)
        upload = _Upload(self._server, plan, path, content, source, self._fell)
        upload.run()
        self._acknowledged[path] = self._sent[path]
        self._tally.web["uploads"] += 1
        self._tally.web["requests"] += upload.requests
        self._tally.web["told offsets"] += upload.offsets
        if upload.is_repeated:
            self._tally.web["uploads sent again"] += 1
        self._look()
        self._tally.memory = max(self._tally.memory, self._server.memory)
        # Uploads that are never continued stay open, each with two files.
        kept = 2 * len(self._server.unfinished)
        self._tally.descriptors = max(self._tally.descriptors, self._server.rest(_SPARE_DESCRIPTORS + kept) - kept)

    def end(self) -> None:
        """After the last round, reads everything once more, from a server that has just started."""
        self._fell("server")
        self._look(afresh=True)
        self._server.stop()
        if words := self._server.strange_words():
            raise Broken(f"the server said: {words[0]}")

    def _fell(self, victim: str) -> None:
        self._tally.web[f"kills of the {victim}"] += 1
        self._show(f"kill -KILL the {victim}")
        if victim == "server":
            self._server.kill()
            self._server.start()
            self._look()

    def _look(self, afresh: bool = False) -> None:
        """Checks that every acknowledged file is in place, and no other file except completely sent and unacknowledged
        ones."""
        stored = self._stored.look(afresh)
        for problem in problems_of_single_names(stored, self._sent, self._acknowledged):
            raise Broken(problem)
        self._tally.web["files compared"] += len(stored)


class _Upload:
    """One file that is sent until it is acknowledged."""

    def __init__(
        self,
        server: Server,
        plan: WebPlan,
        path: str,
        content: bytes,
        source: random.Random,
        fell: Callable[[str], None],
    ) -> None:
        self._server, self._plan, self._path, self._content = server, plan, path, content
        self._source, self._fell = source, fell
        self._address = ""
        # The offset that the server reported last. It may never report less.
        self._told = 0
        self._kills = 0
        self._waits = 0
        self.requests = 0
        self.offsets = 0
        # Whether the upload was repeated without knowing the result of an earlier request.
        self.is_repeated = False

    def run(self) -> None:
        while self.requests < _MOST_REQUESTS:
            self.requests += 1
            try:
                with self._connect() as connection:
                    if self._step(connection):
                        return
            except ConnectionError:
                continue
        raise Broken(f"{self._path!r} has come to no end after {self.requests} requests: {self._told} of {self._plan.size}")

    def _expect_time(self, answer: Answer) -> None:
        """Raises Ended if the server asks for a retry: it is completing content that a killed client has sent."""
        if answer.status != 503 or "retry-after" not in answer.fields or self._waits >= _MOST_WAITS:
            return
        self._waits += 1
        self.requests -= 1
        raise Ended("the server asks to come again")

    def _connect(self) -> Connection:
        return Connection("127.0.0.1", self._server.port, None)

    def _step(self, connection: Connection) -> bool:
        """Sends one request. Returns whether the whole upload is acknowledged."""
        if self._plan.speaks == "put":
            fields = {"Repr-Digest": sha256_field(self._content)} if self._plan.checks else {}
            # Content that was stored and not acknowledged is not stored again.
            answer = self._send(connection, "PUT", f"/{self._path}?on-conflict=skip", fields, self._content)
            return self._final(answer)
        if not self._address:
            return self._begin(connection)
        return self._ask(connection) or self._append(connection)

    # Requests of each protocol

    def _begin(self, connection: Connection) -> bool:
        if self._plan.speaks == "ietf":
            fields = _INTEROP | {"Upload-Complete": "?0"}
            answer = self._send(connection, "PUT", f"/{self._path}?on-conflict=skip", fields, b"")
        else:
            name = base64.b64encode(self._path.encode()).decode()
            length = {"Upload-Defer-Length": "1"} if self._plan.defers else {"Upload-Length": f"{self._plan.size}"}
            fields = _TUS | length | {"Upload-Metadata": f"filename {name}"}
            answer = self._send(connection, "POST", "/.transfer/tus/?on-conflict=skip", fields, b"")
        if self._was_there(answer):
            return True
        if answer.status != 201:
            raise Broken(f"no upload can be made: {answer.status} {answer.content!r}")
        self._address, self._told = answer.fields["location"], 0
        return self._plan.speaks == "tus" and self._plan.size == 0 and not self._plan.defers

    def _ask(self, connection: Connection) -> bool:
        """Asks for the offset, which may not be less than before. Returns whether the server reports the upload as
        complete."""
        answer = connection.ask("HEAD", self._address, _TUS if self._plan.speaks == "tus" else _INTEROP)
        self._expect_time(answer)
        if answer.status not in (200, 204):
            raise Broken(f"an upload that was told of has gone: {answer.status} for {self._path!r} at {self._told}: {answer.fields}")
        self._hear(answer)
        if self._plan.speaks == "ietf":
            return answer.fields["upload-complete"] == "?1"
        return answer.fields.get("upload-length") == answer.fields["upload-offset"]

    def _hear(self, answer: Answer) -> None:
        offset = answer.number("upload-offset")
        self.offsets += 1
        if not self._told <= offset <= self._plan.size:
            raise Broken(f"{self._path!r} was at {self._told}, and is told to be at {offset} of {self._plan.size}")
        self._told = offset

    def _append(self, connection: Connection) -> bool:
        piece = self._content[self._told : self._told + self._plan.piece]
        is_last = self._told + len(piece) == self._plan.size
        fields: Fields = {"Upload-Offset": f"{self._told}"}
        if self._plan.speaks == "tus":
            fields |= _TUS | _APPENDS
            if self._plan.checks:
                fields["Upload-Checksum"] = f"sha1 {base64.b64encode(hashlib.sha1(piece).digest()).decode()}"
            if self._plan.defers and is_last:
                fields["Upload-Length"] = f"{self._plan.size}"
        else:
            fields |= _INTEROP | _PARTIAL | {"Upload-Complete": f"?{int(is_last)}"}
            if self._plan.checks:
                fields["Content-Digest"] = sha256_field(piece)
        answer = self._send(connection, "PATCH", self._address, fields, piece)
        self._expect_time(answer)
        if answer.status == 409 and self.is_repeated:
            # The server was still reading content of a killed client after it had reported the offset, or has finished
            # the upload with it.
            if "upload-offset" in answer.fields:
                self._hear(answer)
            return False
        if answer.status == 400 and b"#completed-upload" in answer.content and self.is_repeated:
            # The same happened with the last piece. The next question shows the result.
            return False
        if is_last:
            return self._final(answer)
        if answer.status != 204:
            raise Broken(f"a piece of {self._path!r} at {self._told} was answered with {answer.status}: {answer.content!r}")
        before = self._told
        self._hear(answer)
        if self._told != before + len(piece):
            raise Broken(f"a piece of {len(piece)} at {before} was taken, and led to {self._told}")
        return False

    def _was_there(self, answer: Answer) -> bool:
        """Whether the request was refused because the upload was stored before a kill. No other client stores there."""
        return self.is_repeated and answer.status == 409 and json.loads(answer.content).get("result") == "skipped"

    def _final(self, answer: Answer) -> bool:
        if self._was_there(answer):
            return True
        if answer.status not in (200, 201, 204):
            raise Broken(f"the end of {self._path!r} was answered with {answer.status}: {answer.content!r}")
        result = answer.fields.get("transfer-result", "")
        if result not in ("committed", "alreadyStored"):
            raise Broken(f"{self._path!r} was acknowledged as {result!r}")
        return True

    # Dying

    def _send(self, connection: Connection, method: str, target: str, fields: Fields, content: bytes) -> Answer:
        """Sends one request, which may be cut off anywhere: in its content, or before its answer is read."""
        chance = self._source.random()
        if self._kills < _MOST_KILLS and chance < self._plan.client_dies + self._plan.server_dies:
            self._kills += 1
            victim = "client" if chance < self._plan.client_dies else "server"
            cut = self._source.randrange(len(content) + 1) if self._source.random() < 0.7 else len(content)
            connection.send(method, target, fields, content[:cut], length=len(content))
            if cut == len(content) and self._source.random() < 0.3:
                connection.answer(method)
            self._fell(victim)
            self.is_repeated = True
            raise Ended("somebody was killed")
        return connection.ask(method, target, fields, content)

