#!/usr/bin/env python3
"""Records a push of some photos on a terminal as an animated picture.

usage: scripts/record-push.py [PICTURE]    docs/images/push.svg unless given; the binary is .build/release/transfer

Runs the real program in a separate terminal. The bandwidth is limited, so that the picture shows the progress.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS, ROWS = 92, 12
COMMAND = ["push", "holiday", "--to", "nas:/photos"]
# Names of the files, their sizes in bytes, and the bandwidth, with which the push takes about four seconds.
FILES = {"beach.jpg": 9_400_000, "harbour.jpg": 7_100_000, "lighthouse.jpg": 11_800_000, "notes.txt": 2_300}
BANDWIDTH = "8M"
# Pixels of a character, and of the frame around them.
WIDTH, HEIGHT, MARGIN = 8.4, 19, 14
# Seconds for which the last picture stays.
REST = 3.0
COLOURS = {"31": "#f47067", "32": "#6bc46d", "33": "#daaa3f"}
CONTROL = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")


class Screen:
    """A terminal with the features that the program uses."""

    def __init__(self) -> None:
        self.rows = [[(" ", "")] * COLUMNS for _ in range(ROWS)]
        self.row = self.column = 0
        self.colour = ""

    def write(self, text: str) -> None:
        position = 0
        while position < len(text):
            control = CONTROL.match(text, position)
            if control:
                self.obey(control[1], control[2])
                position = control.end()
            else:
                self.put(text[position])
                position += 1

    def put(self, character: str) -> None:
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.row += 1
            if self.row == ROWS:
                self.rows = [*self.rows[1:], [(" ", "")] * COLUMNS]
                self.row -= 1
        elif character >= " " and self.column < COLUMNS:
            self.rows[self.row][self.column] = (character, self.colour)
            self.column += 1

    def obey(self, numbers: str, letter: str) -> None:
        if letter == "A":
            self.row = max(0, self.row - int(numbers or 1))
        elif letter == "m":
            self.colour = COLOURS.get(numbers, "")
        elif letter in "JK":
            self.rows[self.row][self.column :] = [(" ", "")] * (COLUMNS - self.column)
            below = range(self.row + 1, ROWS) if letter == "J" else range(0)
            for row in below:
                self.rows[row] = [(" ", "")] * COLUMNS

    def picture(self) -> str:
        """The text of all rows, as parts of one colour."""
        lines = []
        for number, row in enumerate(self.rows):
            parts = []
            start = 0
            for end in range(1, COLUMNS + 1):
                if end < COLUMNS and row[end][1] == row[start][1]:
                    continue
                text = "".join(character for character, _ in row[start:end])
                fill = f' fill="{row[start][1]}"' if row[start][1] else ""
                parts.append(f"<tspan{fill}>{escape(text)}</tspan>")
                start = end
            if any(character != " " for character, _ in row):
                y = MARGIN + HEIGHT * (number + 1) - 5
                lines.append(f'<text x="{MARGIN}" y="{y}" xml:space="preserve">{"".join(parts)}</text>')
        return "".join(lines)


def record(transfer: Path, home: Path) -> list[tuple[float, str]]:
    """The pictures that the terminal shows, each with the time at which it appears."""
    photos = home / "holiday"
    photos.mkdir()
    for name, size in FILES.items():
        (photos / name).write_bytes(os.urandom(size))
    environment = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    environment["TRANSFER_PUSH_BANDWIDTH"] = BANDWIDTH
    serve = [str(transfer), "serve", "--dir", str(home / "inbox"), "--listen", "127.0.0.1:0"]
    server = subprocess.Popen(serve, stderr=subprocess.PIPE, env=environment, text=True)
    assert server.stderr is not None
    try:
        address = next(line.split()[-1] for line in server.stderr if "listening on" in line)
        subprocess.run([str(transfer), "remote", "add", "nas", address], env=environment, check=True)
        return play(transfer, home, environment)
    finally:
        server.terminate()
        server.wait()


def play(transfer: Path, home: Path, environment: dict[str, str]) -> list[tuple[float, str]]:
    screen = Screen()
    screen.write(f"$ transfer {' '.join(COMMAND)}\r\n")
    frames = [(0.0, screen.picture())]
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    start = time.monotonic()
    program = subprocess.Popen(
        [str(transfer), *COMMAND], cwd=home, env=environment, stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    pending = b""
    while True:
        readable, _, _ = select.select([master], [], [], 0.05)
        if not readable:
            if program.poll() is not None:
                break
            continue
        try:
            pending += os.read(master, 65536)
        except OSError:
            break
        text = pending.decode(errors="ignore")
        pending = b""
        screen.write(text)
        frames.append((time.monotonic() - start + 0.8, screen.picture()))
    os.close(master)
    if program.wait() != 0:
        raise SystemExit("The push failed.")
    return frames


def animation(frames: list[tuple[float, str]]) -> str:
    distinct = [frame for number, frame in enumerate(frames) if number == 0 or frame[1] != frames[number - 1][1]]
    length = distinct[-1][0] + REST
    width, height = 2 * MARGIN + WIDTH * COLUMNS, 2 * MARGIN + HEIGHT * ROWS
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img"'
        ' aria-label="A push of four files, with its progress">',
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="#22272e"/>',
        '<g font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="14" fill="#cdd9e5">',
    ]
    for number, (start, picture) in enumerate(distinct):
        end = distinct[number + 1][0] if number + 1 < len(distinct) else length
        times = [0.0, start / length, end / length]
        values = "hidden;visible;hidden"
        if number == 0:
            times, values = times[1:], "visible;hidden"
        elif number + 1 == len(distinct):
            times, values = times[:2], "hidden;visible"
        keys = ";".join(f"{moment:.4f}" for moment in times)
        # A viewer without animations shows the last frame.
        shown = "visible" if number + 1 == len(distinct) else "hidden"
        parts.append(
            f'<g visibility="{shown}"><animate attributeName="visibility" calcMode="discrete" dur="{length:.2f}s"'
            f' repeatCount="indefinite" keyTimes="{keys}" values="{values}"/>{picture}</g>'
        )
    return "\n".join([*parts, "</g>", "</svg>", ""])


def main() -> None:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/images/push.svg"
    with tempfile.TemporaryDirectory() as home:
        frames = record(ROOT / ".build/release/transfer", Path(home))
    target.write_text(animation(frames), encoding="utf-8")


main()
