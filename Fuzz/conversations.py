"""Scripts of conversations, which are the seeds of the fuzz target `conversations`.

Each step is a word and up to three numbers. With `~` in front of the word, the step's bytes wait to be sent with those of the next
step; `:N` behind the word selects another connection than the first. `Fuzz/TransferFuzzing/Conversations/ConversationTarget.swift`
defines the steps.
"""

from __future__ import annotations

STEPS = {
    "hello": 0, "begin": 1, "part": 2, "assembly": 3, "data": 4, "block": 5, "end": 6, "wrong": 7, "abort": 8, "lookup": 9,
    "resume": 10, "list": 11, "fetch": 12, "remove": 13, "cancel": 14, "ping": 15, "goodbye": 16, "raw": 17, "cut": 18,
    "close": 19, "disk": 20, "records": 21, "mend": 22, "restart": 23, "power": 24, "stop": 25, "upload": 26, "whole-part": 27,
}  # fmt: skip

# Faults of the disk: 0 a sync fails, 1 a call is refused, 2 the disk is full, 3 a write is short, 4 to 6 the process dies.
SCRIPTS = [
    # One upload, and requests about it.
    "hello, begin 0 3 0, data 3 4, end, lookup 0 1 2, list 0 0 0, fetch 0 0 1, goodbye",
    # Several uploads of one name at once, with each conflict policy, and then a repetition.
    "~hello, ~upload 0 3 0, ~upload 1 19 0, ~upload 2 36 0, upload 3 52 0, ~upload 0 3 0, upload 1 19 0, list 0 0 0",
    # Uploads without a size, compressed, with an awaited answer, of a text, with the other digest, in small pieces.
    "hello, begin 16 3 1, data 1 5, end, begin 33 4 2, data 3 5, end, begin 50 2 12, data 0 4, end",
    # Faults of clients.
    "hello, begin 0 3 0, data 3 2, end, begin 1 3 0, wrong 2, begin 2 3 0, wrong 3, begin 3 1 0, abort, begin 112 3 0",
    "hello, upload 0 3 0, ~begin 1 3 0, ~data 5 4, cut 60, hello:1, upload:1 1 3 0, raw 3, hello",
    "begin 0 0 0, hello, hello, hello:1, begin:1 0 0 0, begin:1 0 0 0, end:2",
    # An upload in parts on two connections, out of order, with block digests; resumed on a third.
    "hello, hello:1, part:1 0 1 0, data:1 5 4, end:1, part 0 0 0, data 5 4, block 0 0, end, assembly 0 0 0, end",
    "hello, whole-part 0 0 0, close, restart, hello:1, resume:1 0 0 0, whole-part:1 0 1 0, assembly:1 0 0 0, end:1",
    "hello, hello:1, part 0 0 0, data 5 0, resume:1 0 0 0, data 5 4, end, part:1 0 0 0, data:1 5 4, end:1, abort:1",
    # An upload fails while others continue, and lookups follow.
    "hello, upload 0 3 0, disk 0 1, ~upload 1 4 0, upload 18 2 0, upload 1 4 0, restart, hello, upload 1 4 0, lookup 0 1 2",
    "hello, disk 1 9, upload 0 3 0, upload 0 3 0, mend, upload 0 3 0, disk 2 0, upload 1 4 0, mend, upload 1 4 0",
    "hello, disk 3 0, upload 0 4 0, records 0, upload 16 3 0, lookup 0 0 0, restart, hello, lookup 0 0 0",
    # The process dies, or the power is cut, during uploads, which are then sent again.
    "hello, disk 4 12, ~upload 0 3 16, upload 1 19 0, hello, ~upload 0 3 16, upload 1 19 0, power, hello, upload 0 3 16",
    "hello, upload 0 3 0, power, hello, upload 0 3 0, begin 1 4 0, data 2 0, power, hello, upload 1 4 0, lookup 0 1 1",
    "hello, whole-part 0 0 0, power, hello, resume 0 0 0, whole-part 0 0 0, whole-part 0 1 0, assembly 0 0 0, end, power",
    "hello, disk 5 14, upload 0 3 0, hello, disk 6 0, upload 0 3 0, hello, upload 0 3 0, restart",
    # Removals beside uploads, by an owner and by a guest.
    "hello, hello:1, upload 0 3 0, upload:1 1 19 0, remove:1 0 0 0, remove 0 0 1, upload:1 1 19 0, fetch 0 0 2, cancel 0 0 2",
    # Uploads to a server that is stopping.
    "hello, whole-part 0 0 0, begin 16 3 0, stop, data 3 4, end, whole-part 0 1 0, assembly 0 0 0, end, upload 2 3 0, ping 1",
]


def encoded(script: str, seed: int = 0) -> bytes:
    """The fuzzer's input for a script."""
    content = bytearray([seed])
    for step in script.split(", "):
        word, *numbers = step.split()
        name, _, line = word.lstrip("~").partition(":")
        content.append(STEPS[name] | int(line or 0) << 5 | (0x80 if word.startswith("~") else 0))
        content += bytes(([int(number) for number in numbers] + [0, 0, 0])[:3])
        # The raw bytes of the step.
        if name == "raw":
            content += bytes(range(int(numbers[0])))
    return bytes(content)
