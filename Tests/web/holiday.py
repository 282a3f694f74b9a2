"""A small made-up holiday: a folder with pictures, which are drawn here, and with other files."""

from __future__ import annotations

import math
import random
import struct
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

Colour = tuple[int, int, int]

# Upper and lower colours of the sky, of the hills, and of the water: by day, in the evening, at night, in fog.
_LIGHTS: tuple[tuple[Colour, Colour, Colour, Colour], ...] = (
    ((58, 128, 201), (186, 222, 240), (62, 98, 74), (44, 110, 140)),
    ((66, 52, 110), (250, 166, 96), (52, 44, 66), (150, 98, 92)),
    ((8, 14, 38), (34, 66, 92), (12, 20, 30), (16, 36, 56)),
    ((150, 162, 172), (214, 218, 220), (104, 118, 120), (136, 150, 156)),
)

_WIDTH, _HEIGHT = 600, 400

# Bytes of a PNG before its second chunk.
_HEAD = 8 + 12 + 13

# 2026-07-18, in seconds since 1970.
_DEPARTURE = 1_784_332_800

FOLDER = "Lofoten 2026"


@dataclass(frozen=True)
class File:
    """A file, with its path below the top folder and its time in seconds since 1970."""

    path: str
    modified: int
    content: bytes


def files() -> Iterator[File]:
    """All files, in the order of their times."""
    for day, (place, names) in enumerate(_PICTURES.items()):
        for number, name in enumerate(names):
            folder = f"{FOLDER}/{place}" if place else FOLDER
            hour = 7 + 3 * number
            yield File(f"{folder}/{name}.png", _DEPARTURE + day * 86_400 + hour * 3_607, picture(name, number + day))
    for number, (name, content) in enumerate(_OTHERS.items()):
        yield File(f"{FOLDER}/{name}", _DEPARTURE - 400_000 + number * 93_211, content)


def snapshots(count: int) -> Iterator[File]:
    """Pictures that differ in their bytes, taken on four days in the order of their names. The camera has kept the times in
    the pictures alone, and some of them are large."""
    landscapes = [picture(f"Snapshot {light}", light) for light in range(len(_LIGHTS))]
    for number in range(count):
        taken = _DEPARTURE + number * 4 * 86_400 // count
        more = random.Random(number).randbytes(1 << 20 if number % 10 == 0 else 8)
        landscape = landscapes[number % len(landscapes)]
        content = landscape[:_HEAD] + _chunk(b"eXIf", _exif(taken)) + _chunk(b"noTe", more) + landscape[_HEAD:]
        yield File(f"IMG_{number:04}.png", _DEPARTURE, content)


def _exif(taken: int) -> bytes:
    """The time at which a picture was taken (Exif, section 4.6)."""
    date = time.strftime("%Y:%m:%d %H:%M:%S", time.gmtime(taken)).encode() + b"\0"
    first, second = 8, 26
    return b"".join((
        struct.pack("<2sHI", b"II", 42, first),
        struct.pack("<HHHIII", 1, 0x8769, 4, 1, second, 0),
        struct.pack("<HHHIII", 1, 0x9003, 2, len(date), second + 18, 0),
        date,
    ))


def picture(seed: str, light: int) -> bytes:
    """A landscape as PNG: sky, a sun or moon, two ranges of hills, and water."""
    chance = random.Random(seed)
    top, bottom, hill, water = _LIGHTS[light % len(_LIGHTS)]
    shore = int(_HEIGHT * chance.uniform(0.62, 0.74))
    sun_x, sun_y, radius = chance.uniform(0.15, 0.85) * _WIDTH, chance.uniform(0.15, 0.4) * _HEIGHT, chance.randint(16, 30)
    far, near = _range(chance, shore, 0.42), _range(chance, shore, 0.24)
    distant = _mix(hill, bottom, 0.5)
    rows = []
    for y in range(_HEIGHT):
        sky = _mix(top, bottom, min(1.0, y / shore))
        if y >= shore:
            # What is in the water is what is above it, darker and broken by waves.
            above = shore - int((y - shore) * 1.4)
            shift = int(6 * math.sin(y * 0.9) + 2 * math.sin(y * 2.3))
            light_here = _mix(top, bottom, max(0.0, above / shore))
            tones = [_mix(tone, water, 0.55) for tone in (hill, distant, light_here)]
            row = [tones[_layer((x + shift) % _WIDTH, above, near, far)] for x in range(_WIDTH)]
        else:
            tones = [hill, distant, sky]
            row = [tones[_layer(x, y, near, far)] for x in range(_WIDTH)]
            half = radius**2 - (y - sun_y) ** 2
            if half > 0:
                for x in range(int(sun_x - half**0.5), int(sun_x + half**0.5)):
                    if 0 <= x < _WIDTH and row[x] == sky:
                        row[x] = (255, 244, 214)
        rows.append(b"\0" + bytes(value for colour in row for value in colour))
    return _png(b"".join(rows))


def _layer(x: int, y: int, near: list[int], far: list[int]) -> int:
    return 0 if y >= near[x] else 1 if y >= far[x] else 2


def _range(chance: random.Random, shore: int, height: float) -> list[int]:
    """For each column, the height of the ridge of a range of hills."""
    waves = [(chance.uniform(0.004, 0.03), chance.uniform(0, 6), 1 / (number + 1)) for number in range(4)]
    total = sum(share for _, _, share in waves)
    return [
        shore - int(shore * height * sum(share * (1 + math.sin(x * rate + phase)) for rate, phase, share in waves) / total)
        for x in range(_WIDTH)
    ]


def _mix(one: Colour, other: Colour, share: float) -> Colour:
    red, green, blue = (int(a + (b - a) * share) for a, b in zip(one, other))
    return red, green, blue


def _png(rows: bytes) -> bytes:
    parts = ((b"IHDR", struct.pack(">IIBBBBB", _WIDTH, _HEIGHT, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


_PICTURES = {
    "": ("Ferry at dawn", "Reine from the bridge", "Midnight sun", "Fog over Hamnøy", "Å, last village", "红色小屋"),
    "Hike to Kvalvika": ("Trailhead", "First sight of the beach", "Tents in the evening", "Stars", "Clouds in the morning"),
    "From Anna": ("Harbour", "Sunset"),
}

_OTHERS = {
    "Packing list.txt": b"tent\nstove\nrain jacket\nmap\n" * 40,
    "Ferry tickets.pdf": b"%PDF-1.4\n" + bytes(182_000),
    "Route.gpx": b"<gpx version='1.1'><trk><name>Kvalvika</name></trk></gpx>\n" * 700,
    "Waves.mp4": bytes(9_300_000),
}
