#!/usr/bin/env python3
"""Measures what clients of jsonline that only send a heartbeat each second cost a server.

usage: Benchmarks/chat.py [--transfer PATH] [--clients N] [--seconds N] [--dir DIR]

Prints the server's processor time per second as a fraction of one core, the server's memory, and how long a picture takes
from one of the clients to another meanwhile. The clients share one process, whose time is not counted and which needs two
descriptors for each client.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

STARTED = "listening on "
PICTURE = 1 << 20
TICKS = os.sysconf("SC_CLK_TCK")


def head(type: str, name: str, target: str, size: int) -> bytes:
    """The head as the programs write it, line by line."""
    members = {"type": type, "CinentID": name, "targetID": target, "size": str(size)}
    return ("{\n" + ",\n".join(f'  "{key}" : "{value}"' for key, value in members.items()) + "\n}\r\n").encode()


class Server:
    def __init__(self, program: str, directory: Path) -> None:
        arguments = [program, "serve", "--dir", str(directory / "store"), "--listen", "127.0.0.1:0",
                     "--classic", "jsonline=127.0.0.1:0", "--durability", "none",
                     "--max-connections", "10000", "--max-per-address", "10000"]
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("TRANSFER_", "XDG_"))}
        environment |= {"HOME": str(directory), "XDG_CONFIG_HOME": str(directory / "home")}
        self.process = subprocess.Popen(
            arguments, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        line = next(line for line in self.process.stderr or [] if "jsonline" in line)
        self.port = int(line.split(STARTED)[1].split()[0].rpartition(":")[2])
        self.drain = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=subprocess.DEVNULL)
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        self.worker = int(children[0]) if children else self.process.pid

    def seconds(self) -> float:
        """Processor time of all the server's threads, in user mode and in the kernel (proc(5))."""
        fields = Path(f"/proc/{self.worker}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def switches(self) -> int:
        """Number of times that the server's threads have waited."""
        total = 0
        for task in Path(f"/proc/{self.worker}/task").iterdir():
            for line in (task / "status").read_text().splitlines():
                if line.startswith("voluntary_ctxt_switches"):
                    total += int(line.split()[1])
        return total

    def memory(self) -> int:
        line = next(line for line in Path(f"/proc/{self.worker}/status").read_text().splitlines() if "VmRSS" in line)
        return int(line.split()[1]) << 10

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.drain.wait()


def connect(port: int, count: int) -> list[tuple[socket.socket, bytes]]:
    clients = []
    for number in range(count):
        client = socket.create_connection(("127.0.0.1", port))
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        beat = head("heartA", f"phone-{number:05}", "", 0)
        client.sendall(beat)
        clients.append((client, beat))
        # A server keeps only a few connections whose clients have not sent their names yet, so each name gets time to
        # arrive.
        time.sleep(0.003)
    return clients


def beat(clients: list[tuple[socket.socket, bytes]], seconds: int) -> float:
    """Sends a heartbeat for each client once a second, evenly spread. Returns the number of heartbeats a second."""
    started, sent = time.monotonic(), 0
    for _ in range(seconds):
        second = time.monotonic()
        for number, (client, bytes) in enumerate(clients):
            client.send(bytes)
            sent += 1
            if number % 20 == 0:
                time.sleep(max(0.0, second + number / len(clients) - time.monotonic()))
        time.sleep(max(0.0, second + 1 - time.monotonic()))
    return sent / (time.monotonic() - started)


def forward(clients: list[tuple[socket.socket, bytes]]) -> float:
    """Seconds for a picture from the first client to the last."""
    (first, _), (last, _) = clients[0], clients[-1]
    picture = b"\x89PNG\r\n\x1a\n" + os.urandom(PICTURE - 8)
    started = time.monotonic()
    first.sendall(head("img", "phone-00000", f"phone-{len(clients) - 1:05}", PICTURE) + picture)
    stream = last.makefile("rb")
    size = int(json.loads(stream.readline())["size"])
    assert stream.read(size) == picture, "another picture came"
    return time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transfer", default=".build/release/transfer")
    parser.add_argument("--clients", type=int, default=2000)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--dir", default="/dev/shm")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    directory = Path(tempfile.mkdtemp(prefix="transfer-chat-", dir=options.dir))
    server = Server(os.path.abspath(options.transfer), directory)
    try:
        started = server.seconds()
        clients = connect(server.port, options.clients)
        beat(clients, 2)
        print(f"{options.clients} clients came: {server.seconds() - started:.2f} s of processor time")
        before, switches, began = server.seconds(), server.switches(), time.monotonic()
        rate = beat(clients, options.seconds)
        elapsed = time.monotonic() - began
        print(f"{rate:.0f} heartbeats a second: {(server.seconds() - before) / elapsed:.3f} of a core, "
              f"{(server.switches() - switches) / elapsed:.0f} waits a second, {server.memory() >> 20} MiB")
        times = []
        for _ in range(5):
            times.append(forward(clients))
            beat(clients, 3)
        print(f"a picture of {PICTURE >> 20} MiB from one to another: {statistics.median(times) * 1000:.1f} ms")
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
