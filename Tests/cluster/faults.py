"""Faults that a proxy makes, when it makes them, and the interface through which another process sets them."""

from __future__ import annotations

import argparse
import dataclasses
import http.server
import json
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

# Bytes of a request to the control interface; a list of faults is far shorter.
_LONGEST_REQUEST = 1 << 20


class Misused(Exception):
    """A fault or a request that does not exist; the message says which ones do."""


@dataclasses.dataclass
class Fault:
    """One kind of fault, and the requests that it affects."""

    kind: str
    # Name of the requests that it affects, such as `PUT` or `COMMIT`; empty: all.
    method: str = ""
    # Text that the path of a request (or its statement) must contain.
    contains: str = ""
    # Number of requests that it leaves alone first, and number of requests that it then affects; None: all later ones.
    after: int = 0
    times: int | None = None
    # Probability with which it affects each of these requests.
    probability: float = 1.0
    # Seconds of a delay.
    seconds: float = 0.0
    # Status of an answer in place of the server's, its field `Retry-After`, and whether the answer is sent before the body
    # of the request has arrived.
    status: int = 503
    retry_after: str = ""
    early: bool = False
    # Bytes a second of a slow connection.
    rate: int = 1 << 16


class Faults:
    """The faults of a proxy. Safe to use from all threads.

    Delays add up. A request gets at most one other fault, the first one that affects it. Probabilities come from the seed in
    the order of the requests, so a single client sees the same faults again.
    """

    def __init__(self, kinds: frozenset[str], seed: int = 0) -> None:
        self.kinds = kinds
        self._lock = threading.Lock()
        self._random = random.Random(seed)
        self._faults: list[Fault] = []
        self._counts: Counter[str] = Counter()

    def add(self, kind: str, **options: Any) -> None:
        """Adds a fault behind the others. Raises Misused if there is no such kind or option."""
        if kind not in self.kinds:
            raise Misused(f"no fault {kind!r}; there are {', '.join(sorted(self.kinds))}")
        try:
            fault = Fault(kind, **options)
        except TypeError as error:
            raise Misused(str(error)) from None
        with self._lock:
            self._faults.append(fault)

    def clear(self) -> None:
        """Removes all faults. Requests that they have affected already stay so."""
        with self._lock:
            self._faults.clear()

    def choose(self, method: str, text: str) -> tuple[float, Fault | None]:
        """Seconds by which a request is delayed, and the other fault that it has."""
        delay, chosen = 0.0, None
        with self._lock:
            for fault in self._faults:
                if chosen is not None and fault.kind != "delay":
                    continue
                if not self._affects(fault, method, text):
                    continue
                if fault.kind == "delay":
                    delay += fault.seconds
                else:
                    chosen = fault
                self._counts[f"fault {fault.kind}"] += 1
        return delay, chosen

    def _affects(self, fault: Fault, method: str, text: str) -> bool:
        if fault.method not in ("", method) or fault.contains not in text or fault.times == 0:
            return False
        if fault.after > 0:
            fault.after -= 1
            return False
        if fault.probability < 1 and self._random.random() >= fault.probability:
            return False
        if fault.times is not None:
            fault.times -= 1
        return True

    def count(self, name: str, number: int = 1) -> None:
        with self._lock:
            self._counts[name] += number

    @property
    def counts(self) -> Counter[str]:
        """Numbers of requests and bytes, and of faults as `fault KIND`."""
        with self._lock:
            return Counter(self._counts)

    def reset(self) -> None:
        """Sets all counts to 0."""
        with self._lock:
            self._counts.clear()


class Control:
    """Takes requests for a proxy's faults in JSON, by POST: `{"add": {"kind": "answer", "times": 2}}`, `{"do": "clear"}`,
    `{"do": "counts"}`, `{"do": "reset"}`, and what else the proxy can do. Answers an object, with `error` if it failed."""

    def __init__(self, faults: Faults, actions: Mapping[str, Callable[[], object]], port: int = 0) -> None:
        self._faults = faults
        self._actions: dict[str, Callable[[], object]] = {"clear": faults.clear, "reset": faults.reset, **actions}
        control = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = min(int(self.headers.get("content-length", 0)), _LONGEST_REQUEST)
                status, answer = control.obey(self.rfile.read(length))
                content = json.dumps(answer).encode() + b"\n"
                self.send_response(status)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Logs nothing, since the counts say what happened."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def obey(self, content: bytes) -> tuple[int, dict[str, Any]]:
        """Does what a request says. Returns the status and the answer."""
        try:
            request = json.loads(content)
            if "add" in request:
                self._faults.add(**request["add"])
            elif request.get("do") in self._actions:
                self._actions[request["do"]]()
            elif request.get("do") != "counts":
                raise Misused(f"needs add, or do with one of counts, {', '.join(sorted(self._actions))}")
        except (ValueError, TypeError, AttributeError, Misused) as error:
            return 400, {"error": str(error)}
        return 200, dict(self._faults.counts)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def parse(description: str, kinds: Mapping[str, str]) -> argparse.Namespace:
    """The options of a proxy. Blocks the signals that `run` waits for."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    lines = "\n".join(f"  {kind:16} {words}" for kind, words in kinds.items())
    parser = argparse.ArgumentParser(
        description=f"{description}\n{lines}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", help="the server's address")
    parser.add_argument("--port", type=int, default=0, help="port of the proxy; by default a free one")
    parser.add_argument("--control", type=int, default=0, help="port of the control interface; by default a free one")
    parser.add_argument("--seed", type=int, default=0, help="seed of faults with a probability")
    parser.add_argument("--fault", action="append", default=[], help="a fault as an object, such as {\"kind\": \"delay\"}")
    return parser.parse_args()


def run(proxy: str, faults: Faults, actions: Mapping[str, Callable[[], object]], options: argparse.Namespace) -> None:
    """Runs a proxy with its control interface until a signal ends it."""
    for text in options.fault:
        faults.add(**json.loads(text))
    control = Control(faults, actions, options.control)
    print(json.dumps({"proxy": proxy, "control": control.url}), flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
