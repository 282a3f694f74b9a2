#!/usr/bin/env python3
"""Measures how fast thumbnails of photos are made, with the memory that the server takes without any.

usage: Benchmarks/thumbnails.py [--transfer PATH] [--photos N] [--megapixels N] [--clients N]

Makes JPEGs of 12 megapixels and some 3 MB, all different, stores them, and asks for the thumbnail of each by several
connections at once, first at 320, then at 1,280 pixels, then at 320 again, from the cache. Needs libturbojpeg.so.0.
"""

from __future__ import annotations

import argparse
import ctypes
import http.client
import os
import random
import subprocess
import tempfile
import threading
import time
from pathlib import Path

STARTED = "listening on "


def photo(number: int, width: int, height: int, library: ctypes.CDLL) -> bytes:
    """A baseline JPEG with 4:2:0: slopes, and noise as a sensor has it."""
    generator = random.Random(number)
    noise = generator.randbytes(1 << 16)
    row = bytearray(width * 3)
    pixels = bytearray()
    for y in range(height):
        if y % 16 == 0:
            shift = generator.randrange(1 << 15)
            row = bytearray(
                ((x * 255 // (3 * width) + y * 80 // height) & 0xF0) + (noise[(shift + x * 7) & 0xFFFF] & 0x0F)
                for x in range(width * 3))
        shift = generator.randrange(len(row) // 64) * 3
        pixels += row[shift:] + row[:shift]
    library.tjInitCompress.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(library.tjInitCompress())
    output, size = ctypes.POINTER(ctypes.c_ubyte)(), ctypes.c_ulong()
    source = (ctypes.c_ubyte * len(pixels)).from_buffer(pixels)
    # TJPF_RGB is 0, TJSAMP_420 is 2 (turbojpeg.h).
    if library.tjCompress2(handle, source, width, 0, height, 0, ctypes.byref(output), ctypes.byref(size), 2, 88, 0):
        raise RuntimeError("tjCompress2 failed")
    result = ctypes.string_at(output, size.value)
    library.tjFree(output)
    library.tjDestroy(handle)
    return result


class Server:
    def __init__(self, program: str, directory: Path, *flags: str) -> None:
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("TRANSFER_", "XDG_"))}
        self.process = subprocess.Popen(
            [program, "serve", "--dir", str(directory / "store"), "--listen", "127.0.0.1:0", "--plaintext", "--http", "on",
             "--no-supervise", *flags],
            env=environment | {"HOME": str(directory)}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        line = next(line for line in self.process.stderr or [] if STARTED in line)
        self.port = int(line.split(STARTED)[1].split()[0].rsplit(":", 1)[1])
        self.drain = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=subprocess.DEVNULL)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()
        self.drain.wait()

    def processes(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [self.process.pid, *{int(child) for file in children for child in file.read_text().split()}]

    def memory(self) -> dict[str, int]:
        """KiB that only these processes have (proc(5), smaps_rollup), by what they are."""
        found = {}
        for number in self.processes():
            lines = Path(f"/proc/{number}/smaps_rollup").read_text().splitlines()
            private = sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
            found["server" if number == self.process.pid else "helper"] = private
        return found

    def decoded(self) -> float:
        """Seconds of the processor that decoders have taken so far."""
        total = 0
        for number in self.processes()[1:]:
            fields = Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()
            # cutime and cstime of proc(5), counted from the state.
            total += int(fields[13]) + int(fields[14])
        return total / os.sysconf("SC_CLK_TCK")


def ask(port: int, method: str, paths: list[str], bodies: dict[str, bytes] | None = None) -> int:
    """Sends requests one after the other; returns the bytes of the answers."""
    connection, total = http.client.HTTPConnection("127.0.0.1", port), 0
    for path in paths:
        connection.request(method, path, (bodies or {}).get(path))
        answer = connection.getresponse()
        total += len(answer.read())
        if answer.status not in (200, 201):
            raise RuntimeError(f"{path}: {answer.status}")
    connection.close()
    return total


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--transfer", default=".build/release/transfer")
    parser.add_argument("--photos", type=int, default=60)
    parser.add_argument("--megapixels", type=int, default=12)
    parser.add_argument("--clients", type=int, default=4)
    options = parser.parse_args()
    library = ctypes.CDLL("libturbojpeg.so.0")
    width = 4 * int((options.megapixels * 1e6 / 12) ** 0.5)
    with tempfile.TemporaryDirectory(prefix="transfer-thumbnails-") as name:
        directory = Path(name)
        with Server(options.transfer, directory, "--thumbnails", "off") as server:
            print("memory without thumbnails, KiB:", server.memory())
        with Server(options.transfer, directory, "--thumbnails", "demand") as server:
            print("memory with thumbnails, unused, KiB:", server.memory())
            photos = {f"/{number}.jpg": photo(number, width, width * 3 // 4, library) for number in range(options.photos)}
            print(f"{len(photos)} photos of {width} x {width * 3 // 4}, {sum(map(len, photos.values())) // len(photos)} bytes each")
            ask(server.port, "PUT", list(photos), photos)
            for title, side in [("first", 320), ("first", 1280), ("cached", 320)]:
                before, began = server.decoded(), time.monotonic()
                sizes: list[int] = []
                paths = [f"/.transfer/thumb{path}?s={side}" for path in photos]
                threads = [
                    threading.Thread(target=lambda part=paths[index::options.clients]: sizes.append(ask(server.port, "GET", part)))
                    for index in range(options.clients)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                took, processor = time.monotonic() - began, server.decoded() - before
                rate = f", {len(photos) / processor:.1f} a second and core" if processor > 0 else ""
                print(f"{title} at {side}: {len(photos) / took:.1f} a second{rate}, {sum(sizes) // len(photos)} bytes each")


if __name__ == "__main__":
    main()
