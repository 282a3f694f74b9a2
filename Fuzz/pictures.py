"""Small pictures and videos of all formats for the fuzzer, with metadata."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator

# Pictures of 16 x 16 pixels by Pillow.
CODED = (
    # JPEG, baseline.
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDACgcHiMeGSgjISMtKygwPGRBPDc3PHtYXUlkkYCZlo+AjIqgtObDoKrarYqMyP/L2u71////m8H////6"
    "/+b9//j/2wBDASstLTw1PHZBQXb4pYyl+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj/wAARCAAQABAD"
    "ASIAAhEBAxEB/8QAFgABAQEAAAAAAAAAAAAAAAAABAUG/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/EABQBAQAAAAAAAAAAAAAAAAAAAAD/xAAcEQAB"
    "AwUAAAAAAAAAAAAAAAARAAIEAxIUIUH/2gAMAwEAAhEDEQA/ACnI7WleLYNpJdkDgX//2Q==",
    # JPEG, progressive.
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDACgcHiMeGSgjISMtKygwPGRBPDc3PHtYXUlkkYCZlo+AjIqgtObDoKrarYqMyP/L2u71////m8H////6"
    "/+b9//j/2wBDASstLTw1PHZBQXb4pYyl+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj/wgARCAAQABAD"
    "ASIAAhEBAxEB/8QAFgABAQEAAAAAAAAAAAAAAAAAAwQF/8QAFAEBAAAAAAAAAAAAAAAAAAAAAP/aAAwDAQACEAMQAAABJ49Y/8QAFBABAAAAAAAA"
    "AAAAAAAAAAAAIP/aAAgBAQABBQIf/8QAFxEAAwEAAAAAAAAAAAAAAAAAAAEDE//aAAgBAwEBPwGj0P/EABcRAAMBAAAAAAAAAAAAAAAAAAACAxH/"
    "2gAIAQIBAT8BeWH/xAAUEAEAAAAAAAAAAAAAAAAAAAAg/9oACAEBAAY/Ah//xAAUEAEAAAAAAAAAAAAAAAAAAAAg/9oACAEBAAE/IR//2gAMAwEA"
    "AgADAAAAEBP/xAAXEQADAQAAAAAAAAAAAAAAAAAAESFB/9oACAEDAQE/EJMR/8QAFREBAQAAAAAAAAAAAAAAAAAAIQD/2gAIAQIBAT8QK3//xAAU"
    "EAEAAAAAAAAAAAAAAAAAAAAg/9oACAEBAAE/EB//2Q==",
    # JPEG, CMYK with the marker of Adobe.
    "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwBQNzxGPDJQRkFGWlVQX3jIgnhubnj1r7mRyP//////////////////////////////////////////////"
    "/////8AAFAgAEAAQBEMRAE0RAFkRAEsRAP/EABYAAQEBAAAAAAAAAAAAAAAAAAAFBP/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAOBEMATQBZAEsA"
    "AD8A2sTE2oq0AirQtLQP/9k=",
    # WebP, lossless.
    "UklGRjYAAABXRUJQVlA4TCoAAAAvD8ADAB8gEEjeHzqN+RcQFPwf3fxHZA+AMNtokpOc5L3PIKL/UfrB9gE=",
    # WebP, lossy with alpha.
    "UklGRm4AAABXRUJQVlA4WAoAAAAQAAAADwAADwAAQUxQSBcAAAABuYzof4BI22ZzMP+GD08jJmACqDV3AQBWUDggMAAAALABAJ0BKhAAEAAEAGgl"
    "oAJ0twAB2AAA+z//Un+TX/+v3F9CuSn/EG//oSflz9gAAA==",
    # WebP, two frames.
    "UklGRrgAAABXRUJQVlA4WAoAAAACAAAADwAADwAAQU5JTQYAAAAAAAAAAABBTk1GQgAAAAAAAAAAAA8AAA8AAGQAAAJWUDhMKgAAAC8PwAMAHyAQ"
    "SN4fOo35FxAU/B/d/EdkD4Aw22iSkzzJvc8gov+x6Qd1BUFOTUZCAAAAAAAAAAAADwAADwAAZAAAAFZQOEwqAAAALw/AAwAfIBBI3h86jfkXEBT8"
    "H938R2QPgDDbaJKTnOS9zyCi/6HbV3AB",
)

FILE, ROWS, EXIF, BOXES = range(4)

ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


def exif(order: str = ">") -> bytes:
    """EXIF data with orientation, camera, time and location."""
    text = b"2026:01:31 18:30:05\0"
    main = 8
    second = main + 2 + 5 * 12 + 4
    third = second + 2 + 12 + 4 + len(text)

    def entry(tag: int, kind: int, count: int, value: bytes) -> bytes:
        return struct.pack(order + "HHI", tag, kind, count) + value.ljust(4, b"\0")

    def number(value: int) -> bytes:
        return struct.pack(order + "I", value)

    return (
        (b"MM" if order == ">" else b"II") + struct.pack(order + "HI", 42, main)
        + struct.pack(order + "H", 5) + entry(0x10F, 2, 3, b"Ab\0") + entry(0x110, 2, 2, b"C\0")
        + entry(0x112, 3, 1, struct.pack(order + "H", 6)) + entry(0x8769, 4, 1, number(second))
        + entry(0x8825, 4, 1, number(third)) + number(0)
        + struct.pack(order + "H", 1) + entry(0x9003, 2, len(text), number(second + 18)) + number(0) + text
        + struct.pack(order + "H", 1) + entry(2, 5, 3, number(0)) + number(0)
    )


def png(width: int, height: int, colour: int, depth: int, interlaced: bool, chunks: bytes = b"") -> bytes:
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    data = zlib.compress(rows(width, height, colour, depth, interlaced))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunks + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def rows(width: int, height: int, colour: int, depth: int, interlaced: bool) -> bytes:
    """Rows of a PNG that take turns with all filters; the samples are anything."""
    samples = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    content = b""
    for left, top, across, down in ADAM7 if interlaced else ((0, 0, 1, 1),):
        columns = len(range(left, width, across))
        if not columns:
            continue
        size = (columns * samples * depth + 7) // 8
        for number, y in enumerate(range(top, height, down)):
            content += bytes([number % 5]) + bytes((y * 7 + x * 5) % 256 for x in range(size))
    return content


def gif(interlaced: bool) -> bytes:
    """An animation of 4 x 4 pixels, whose second frame is empty."""
    palette = bytes(range(12))
    loop = b"\x21\xff\x0bNETSCAPE2.0\3\1\0\0\0"
    control = b"\x21\xf9\4\1\0\0\1\0"
    frame = b"\x2c" + struct.pack("<HHHHB", 1, 1, 4, 4, 0x40 if interlaced else 0)
    # Codes of 3 bits that begin again before they need a fourth.
    codes = [4, 0, 1, 4, 2, 3, 4, 1, 6, 4, 0, 2, 4, 3, 3, 4, 1, 2, 4, 0, 0, 4, 1, 1, 4, 0, 5]
    bits = sum(code << (3 * index) for index, code in enumerate(codes))
    data = bits.to_bytes((3 * len(codes) + 7) // 8, "little")
    return b"GIF89a" + struct.pack("<HHBBB", 6, 5, 0x81, 0, 0) + palette + loop + control + frame + b"\2" + bytes(
        [len(data)]) + data + b"\0" + frame + b"\2\1\x2c\0;"


def box(name: bytes, *bodies: bytes) -> bytes:
    body = b"".join(bodies)
    return struct.pack(">I", len(body) + 8) + name + body


def full(name: bytes, *bodies: bytes, version: int = 0) -> bytes:
    return box(name, bytes([version, 0, 0, 0]), *bodies)


def heif(start: int) -> bytes:
    """The boxes behind the brands, which have `start` bytes."""
    properties = box(
        b"ipco", full(b"ispe", struct.pack(">II", 640, 480)), box(b"irot", b"\1"), box(b"imir", b"\1"),
        box(b"colr", b"prof" + bytes(132)), full(b"auxC", b"urn:mpeg:hevc:2015:auxid:1 alpha"))
    items = full(b"iinf", b"\0\1", full(b"infe", b"\0\2\0\0Exif\0", version=2))
    item = b"\0\0\0\0" + exif()

    def meta(place: int) -> bytes:
        return full(
            b"meta", full(b"pitm", b"\0\1"), items,
            full(b"iloc", bytes([0x44, 0, 0, 1, 0, 2, 0, 0, 0, 1]), struct.pack(">II", place, len(item))),
            box(b"iprp", properties, full(b"ipma", bytes([0, 0, 0, 1, 0, 1, 5, 1, 2, 3, 4, 5]))))

    return meta(start + len(meta(0)) + 8) + box(b"mdat", item)


def movie() -> bytes:
    track = bytes(36) + struct.pack(">9I", 0, 0x10000, 0, 0xFFFF0000, 0, 0, 0, 0, 0x40000000)
    track += struct.pack(">II", 1920 << 16, 1080 << 16)
    keys = [
        (b"com.apple.quicktime.creationdate", b"2026-01-31T20:30:05+0200"),
        (b"com.apple.quicktime.location.ISO6709", b"+48.1+011.5/"), (b"com.apple.quicktime.model", b"X"),
    ]
    names = full(b"keys", struct.pack(">I", len(keys)), *(box(b"mdta", key) for key, _ in keys))
    values = box(b"ilst", *(
        box(struct.pack(">I", index + 1), box(b"data", b"\0\0\0\1\0\0\0\0" + value))
        for index, (_, value) in enumerate(keys)))
    return box(
        b"moov", full(b"mvhd", struct.pack(">I", 3_852_729_005)), box(b"trak", full(b"tkhd", track)),
        box(b"udta", box(b"\xa9xyz", b"\0\1\2\3")), box(b"meta", names, values))


def seeds() -> Iterator[bytes]:
    """Inputs of the target `pictures`."""
    for text in CODED:
        picture = base64.b64decode(text)
        yield bytes([FILE]) + picture
        if picture[:2] == b"\xff\xd8":
            profile = b"ICC_PROFILE\0\1\1" + struct.pack(">I", 136) + bytes(12) + b"RGB " + bytes(16) + b"acsp" + bytes(96)
            segment = b"\xff\xe2" + struct.pack(">H", len(profile) + 2) + profile
            yield bytes([FILE]) + picture[:2] + segment + picture[2:] + picture
    metadata = (
        chunk(b"iCCP", b"x\0\0" + zlib.compress(bytes(200))) + chunk(b"eXIf", exif("<"))
        + chunk(b"PLTE", bytes(range(48))) + chunk(b"tRNS", b"\0\1") + chunk(b"acTL", b"\0\0\0\2\0\0\0\0"))
    for colour, depth in ((0, 1), (0, 16), (2, 8), (3, 2), (4, 8), (6, 16)):
        for interlaced in (False, True):
            yield bytes([FILE]) + png(9, 5, colour, depth, interlaced, metadata)
            power = {1: 0, 2: 1, 4: 2, 8: 3, 16: 4}[depth]
            yield bytes([ROWS, colour, power, interlaced, 9, 5]) + rows(9, 5, colour, depth, interlaced)
    for interlaced in (False, True):
        yield bytes([FILE]) + gif(interlaced)
    for order in "<>":
        yield bytes([EXIF]) + exif(order)
    yield bytes([BOXES]) + heif(16)
    yield bytes([BOXES + 4]) + heif(16)
    yield bytes([BOXES + 8]) + movie()
    yield bytes([BOXES + 12]) + struct.pack(">I4sQ", 1, b"free", 16) + movie() + struct.pack(">I4s", 0, b"mdat")
