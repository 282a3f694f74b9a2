#!/usr/bin/env python3
"""Measures HTTP over TLS beside nginx, in turn within each run.

usage: Benchmarks/web.py [--transfer PATH] [--runs N] [--only put,get,small,tus,idle] [--size MIB] [--dir DIR]

    put    a file by one `curl -T`; nginx digests nothing and syncs nothing
    get    the same file by curl, from both
    small  10,000 files of 4 KiB by one curl over 8 persistent connections at once
    tus    the file in pieces of 8 MiB by tus, and by one PUT, both by one client in Python
    idle   memory of the server for each of 2,000 connections that are idle after an answer

Prints medians of the time and of the processor time. DIR is a directory in memory, /dev/shm by default; name one on a
real file system to include the disk. Needs curl, and nginx for the first three.
"""

from __future__ import annotations

import argparse
import http.client
import os
import resource
import shutil
import socket
import ssl
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

STARTED = "listening on "
SMALL_FILES, SMALL_SIZE, PIECE, IDLE = 10_000, 4096, 8 << 20, 2000
SETS = ["put", "get", "small", "tus", "idle"]


def unverified() -> ssl.SSLContext:
    """Both servers have self-made certificates."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


class Transfer:
    name = "transfer"

    def __init__(self, program: str, directory: Path) -> None:
        self.root = directory / "store"
        home = directory / "home"
        home.mkdir()
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("TRANSFER_", "XDG_"))}
        self.process = subprocess.Popen(
            [program, "serve", "--dir", str(self.root), "--listen", "127.0.0.1:0", "--http", "on", "--open"],
            env=environment | {"HOME": str(home)}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        line = next(line for line in self.process.stderr or [] if STARTED in line)
        self.port = int(line.split(STARTED)[1].split()[0].rsplit(":", 1)[1])
        self.drain = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=subprocess.DEVNULL)

    def clean(self) -> None:
        for path in self.root.iterdir():
            if not path.name.startswith("."):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def workers(self) -> list[int]:
        """The process IDs of a supervisor and its children."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *map(int, children)]

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.drain.wait()


class Nginx:
    name = "nginx"

    def __init__(self, directory: Path) -> None:
        self.root, home = directory / "nginx", directory / "nginx-own"
        self.root.mkdir()
        home.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
             "/CN=localhost", "-days", "9", "-keyout", home / "k.pem", "-out", home / "c.pem"],
            check=True, stderr=subprocess.DEVNULL)
        user = "user root;" if os.geteuid() == 0 else ""
        (home / "conf").write_text(f"""{user} daemon off; pid {home}/pid; error_log {home}/error; worker_processes 2;
            events {{ worker_connections 4096; }}
            http {{ access_log off; client_max_body_size 0; client_body_temp_path {self.root}/.temp; sendfile on;
              server {{ listen 127.0.0.1:{self.port} ssl; ssl_certificate {home}/c.pem; ssl_certificate_key {home}/k.pem;
                ssl_protocols TLSv1.3; keepalive_requests 1000000;
                location / {{ root {self.root}; dav_methods PUT; create_full_put_path on; }} }} }}""")
        self.process = subprocess.Popen(["nginx", "-c", home / "conf", "-p", home], stderr=subprocess.DEVNULL)
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except ConnectionRefusedError:
                time.sleep(0.02)

    def clean(self) -> None:
        for path in self.root.iterdir():
            if not path.name.startswith("."):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def curl(*arguments: str) -> None:
    subprocess.run(["curl", "-sS", "-k", "--fail", *arguments], check=True, stdout=subprocess.DEVNULL)


def timed(body: Callable[[], None]) -> tuple[float, float]:
    """The seconds of a call, and the processor seconds of all cores."""
    def busy() -> float:
        fields = list(map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]))
        return sum(fields[index] for index in (0, 1, 2, 5, 6)) / os.sysconf("SC_CLK_TCK")

    started, cores = time.monotonic(), busy()
    body()
    return time.monotonic() - started, busy() - cores


class Bench:
    def __init__(self, options: argparse.Namespace, directory: Path) -> None:
        self.directory, self.runs, self.size = directory, options.runs, options.size << 20
        self.transfer = Transfer(options.transfer, directory)
        self.servers: list[Transfer | Nginx] = [self.transfer]
        if shutil.which("nginx"):
            self.servers.append(Nginx(directory))
        self.file = directory / "file"
        with self.file.open("wb") as file:
            for _ in range(options.size):
                file.write(os.urandom(1 << 20))

    def stop(self) -> None:
        for server in self.servers:
            server.stop()

    def compare(self, name: str, body: Callable[[Transfer | Nginx], None], keeps: bool = False) -> None:
        taken: dict[str, list[tuple[float, float]]] = {server.name: [] for server in self.servers}
        for run in range(self.runs + 1):
            for server in self.servers:
                if not keeps:
                    server.clean()
                measured = timed(lambda server=server: body(server))
                if run > 0:
                    taken[server.name].append(measured)
        self.report(name, taken)

    def report(self, name: str, taken: dict[str, list[tuple[float, float]]]) -> None:
        medians = {which: statistics.median(seconds for seconds, _ in runs) for which, runs in taken.items()}
        base = list(medians.values())[-1]
        for which, seconds in medians.items():
            cores = statistics.median(cores for _, cores in taken[which])
            print(f"{name:6} {which:14} {seconds:7.2f} s   {cores:6.2f} core s   {base / seconds:5.2f}x", flush=True)

    def put(self) -> None:
        self.compare("put", lambda server: curl("-T", str(self.file), f"https://127.0.0.1:{server.port}/file"))

    def get(self) -> None:
        for server in self.servers:
            server.clean()
            curl("-T", str(self.file), f"https://127.0.0.1:{server.port}/file")
        self.compare(
            "get", lambda server: curl(f"https://127.0.0.1:{server.port}/file", "-o", "/dev/null"), keeps=True)

    def small(self) -> None:
        source = self.directory / "small"
        source.mkdir()
        for number in range(SMALL_FILES):
            (source / f"{number}").write_bytes(os.urandom(SMALL_SIZE))
        for server in self.servers:
            lines = [
                f'upload-file = "{source}/{number}"\nurl = "https://127.0.0.1:{server.port}/d{number % 20}/{number}"\n'
                for number in range(SMALL_FILES)]
            (self.directory / f"{server.name}.curl").write_text("".join(lines))
        self.compare("small", lambda server: curl(
            "--parallel", "--parallel-max", "8", "-K", str(self.directory / f"{server.name}.curl")))

    def tus(self) -> None:
        port = self.transfer.port
        taken: dict[str, list[tuple[float, float]]] = {"tus": [], "one PUT": []}
        for run in range(self.runs + 1):
            for which, body in [("tus", self.upload_in_pieces), ("one PUT", self.upload_at_once)]:
                self.transfer.clean()
                measured = timed(lambda body=body: body(port))
                if run > 0:
                    taken[which].append(measured)
        self.report("tus", taken)

    def upload_at_once(self, port: int) -> None:
        client = http.client.HTTPSConnection("127.0.0.1", port, context=unverified(), blocksize=1 << 20)
        with self.file.open("rb") as file:
            client.request("PUT", "/file", file, {"Content-Length": str(self.size)})
            assert client.getresponse().status == 201

    def upload_in_pieces(self, port: int) -> None:
        client = http.client.HTTPSConnection("127.0.0.1", port, context=unverified(), blocksize=1 << 20)
        version = {"Tus-Resumable": "1.0.0"}
        client.request("POST", "/.transfer/tus/", headers=version | {
            "Upload-Length": str(self.size), "Upload-Metadata": "filename ZmlsZQ==", "Content-Length": "0"})
        answer = client.getresponse()
        address = answer.getheader("Location", "")
        answer.read()
        with self.file.open("rb") as file:
            for offset in range(0, self.size, PIECE):
                client.request("PATCH", address, file.read(PIECE), version | {
                    "Content-Type": "application/offset+octet-stream", "Upload-Offset": str(offset)})
                answer = client.getresponse()
                assert answer.status == 204, answer.status
                answer.read()

    def idle(self) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (IDLE + 200, max(IDLE + 200, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
        before, clients = self.memory(), []
        for _ in range(IDLE):
            client = http.client.HTTPSConnection("127.0.0.1", self.transfer.port, context=unverified())
            client.request("HEAD", "/")
            client.getresponse().read()
            clients.append(client)
        # The server frees some memory of a connection that has been silent for two seconds.
        time.sleep(5)
        print(f"idle   {(self.memory() - before) / IDLE / 1024:.1f} KiB for each of {IDLE} connections")
        for client in clients:
            client.close()

    def memory(self) -> int:
        """Bytes of memory that only the server uses."""
        total = 0
        for worker in self.transfer.workers():
            for line in Path(f"/proc/{worker}/status").read_text().splitlines():
                if line.startswith("RssAnon"):
                    total += int(line.split()[1]) * 1024
        return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transfer", default=".build/release/transfer")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default=",".join(SETS))
    parser.add_argument("--size", type=int, default=1024, help="MiB of the large file")
    parser.add_argument("--dir", default="/dev/shm")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.dir) as directory:
        os.chmod(directory, 0o755)
        bench = Bench(options, Path(directory))
        try:
            for name in options.only.split(","):
                getattr(bench, name)()
        finally:
            bench.stop()


if __name__ == "__main__":
    main()
