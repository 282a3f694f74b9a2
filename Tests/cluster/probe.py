"""Examines what a server that speaks S3 does, and prints a table.

usage: python3 -m cluster.probe URL KEY SECRET BUCKET
       python3 -m cluster.probe ENGINE...

An ENGINE is one that scripts/engines.sh has started. Leaves nothing in the bucket. A row says what was asked, and for each
server what it did: `as AWS` if that is what Amazon S3 does, otherwise its answer.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from .engines import PROJECT, Engines
from .s3 import Answer, Client, Endpoint

_AS_AWS = "as AWS"
# How often a list, a read and a race are tried.
_TRIES = 20


class Examination:
    """Questions to one bucket, below one random prefix."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._client = Client(endpoint)
        self._prefix = f"probe/{os.urandom(8).hex()}/"
        self._made = 0

    def rows(self) -> dict[str, str]:
        """What the server did, by question."""
        questions: dict[str, Callable[[], str]] = {
            "a wrong secret": self._wrong_secret,
            "wrong Content-MD5": self._wrong_md5,
            "wrong x-amz-checksum-sha256": lambda: self._wrong_checksum("sha256", hashlib.sha256(b"other").digest()),
            "wrong x-amz-checksum-crc32": lambda: self._wrong_checksum("crc32", bytes(4)),
            "wrong x-amz-content-sha256 (signed)": self._wrong_signed_digest,
            "the ETag is the MD5": self._etag,
            "a range": self._range,
            "a range beyond the end": self._range_beyond,
            "PUT If-None-Match: * on an object": lambda: self._conditional("if-none-match", "*"),
            "PUT If-Match of a wrong ETag": lambda: self._conditional("if-match", '"00000000000000000000000000000000"'),
            f"race of {_TRIES} such PUTs": self._race,
            "read right after write": self._read_after_write,
            "list right after write": self._list_after_write,
            "pages of a list": lambda: self._pages("A", "a", "a b", "a-b", "b", "c/d", "c/e", "\u00e4"),
            "... with `c-x` beside `c/d`": lambda: self._pages("A", "c-x", "c/d", "c/e", "c0"),
            "... with `c` beside `c/d`": lambda: self._pages("A", "c", "c-x", "c/d", "c/e", "c0"),
            "metadata": self._metadata,
            "delete": self._delete,
            "delete of what is not there": self._delete_again,
        }
        rows = {}
        for name, question in questions.items():
            try:
                rows[name] = question()
            except (OSError, http.client.HTTPException) as error:
                rows[name] = f"no answer: {type(error).__name__}"
        return rows

    def clean(self) -> None:
        """Removes what the examination has stored."""
        for key in self._client.list(self._prefix).keys:
            self._client.delete(key)

    def _key(self) -> str:
        self._made += 1
        return f"{self._prefix}{self._made:04}"

    def _wrong_secret(self) -> str:
        endpoint = self._client.endpoint
        stranger = Client(Endpoint(endpoint.url, endpoint.key, endpoint.secret[::-1] + "x", endpoint.bucket))
        return _expected(stranger.put(self._key(), b"x"), 403)

    def _wrong_md5(self) -> str:
        wrong = base64.b64encode(hashlib.md5(b"other").digest()).decode()
        return _expected(self._client.put(self._key(), b"content", content_md5=wrong), 400)

    def _wrong_checksum(self, name: str, digest: bytes) -> str:
        fields = {f"x_amz_checksum_{name}": base64.b64encode(digest).decode()}
        return _expected(self._client.put(self._key(), b"content", **fields), 400)

    def _wrong_signed_digest(self) -> str:
        answer = self._client.ask("PUT", self._key(), b"content", digest=hashlib.sha256(b"other").hexdigest())
        return _expected(answer, 400)

    def _etag(self) -> str:
        etag = self._client.put(self._key(), b"content").etag
        return _AS_AWS if etag == hashlib.md5(b"content").hexdigest() else f"no: {etag or 'without'}"

    def _range(self) -> str:
        key, content = self._key(), bytes(range(256)) * 64
        self._client.put(key, content)
        answer = self._client.get(key, 300, 4999)
        if answer.content != content[300:5000]:
            return f"{answer.status}, other bytes"
        return _expected(answer, 206)

    def _range_beyond(self) -> str:
        key = self._key()
        self._client.put(key, b"content")
        return _expected(self._client.get(key, 100, 200), 416)

    def _conditional(self, field: str, value: str) -> str:
        key = self._key()
        self._client.put(key, b"first")
        answer = self._client.put(key, b"second", **{field.replace("-", "_"): value})
        replaced = self._client.get(key).content != b"first"
        return f"{answer.status}, replaced" if replaced else _expected(answer, 412)

    def _race(self) -> str:
        key, wins = self._key(), []

        def put(number: int) -> None:
            if self._client.put(key, b"%d" % number, if_none_match="*").status == 200:
                wins.append(number)

        threads = [threading.Thread(target=put, args=(number,)) for number in range(_TRIES)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return _AS_AWS if len(wins) == 1 else f"{len(wins)} succeed"

    def _read_after_write(self) -> str:
        missing = 0
        for number in range(_TRIES):
            key, content = self._key(), b"%d" % number
            self._client.put(key, content)
            missing += self._client.get(key).content != content
        return f"{missing} of {_TRIES} missing" if missing else _AS_AWS

    def _list_after_write(self) -> str:
        missing = 0
        for _ in range(_TRIES):
            key = self._key()
            self._client.put(key, b"x")
            missing += key not in self._client.list(key).keys
        return f"{missing} of {_TRIES} missing" if missing else _AS_AWS

    def _pages(self, *names: str) -> str:
        """Pages of two keys, each after the last key of the page before it. They are in the order of their bytes."""
        prefix = f"{self._key()}/"
        keys = [prefix + name for name in names]
        refused = [name for name, key in zip(names, keys) if self._client.put(key, b"x").status != 200]
        if refused:
            return f"{', '.join(refused)} refused"
        found: list[str] = []
        for _ in keys:
            page = self._client.list(prefix, **{"max-keys": "2"} | ({"start-after": found[-1]} if found else {})).keys
            found += page
            if len(page) < 2:
                break
        if found == keys:
            return _AS_AWS
        lost = [name for name, key in zip(names, keys) if key not in found]
        return f"loses {', '.join(lost)}" if lost else "another order"

    def _metadata(self) -> str:
        key = self._key()
        self._client.put(key, b"x", x_amz_meta_origin="a%20b")
        value = self._client.get(key).fields.get("x-amz-meta-origin")
        return _AS_AWS if value == "a%20b" else f"{value}"

    def _delete(self) -> str:
        key = self._key()
        self._client.put(key, b"x")
        answer = self._client.delete(key)
        return "still there" if self._client.get(key).status != 404 else _expected(answer, 204)

    def _delete_again(self) -> str:
        return _expected(self._client.delete(self._key()), 204)


def _expected(answer: Answer, status: int) -> str:
    return _AS_AWS if answer.status == status else f"{answer.status} {answer.code}".strip()


def table(results: dict[str, dict[str, str]]) -> str:
    """The results in Markdown, with a column for each server."""
    questions = list(dict.fromkeys(question for rows in results.values() for question in rows))
    lines = [["asked", *results]]
    lines += [[question, *(rows.get(question, "") for rows in results.values())] for question in questions]
    widths = [max(map(len, column)) for column in zip(*lines)]
    padded = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |" for line in lines]
    return "\n".join([padded[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *padded[1:]])


def _endpoints(words: list[str]) -> dict[str, Endpoint]:
    """The buckets that the words of the command line name."""
    if len(words) == 4 and "://" in words[0]:
        return {words[0]: Endpoint(words[0].rstrip("/"), *words[1:])}
    settings = Engines(Path(os.environ.get("ENGINES_DIR", PROJECT / ".build/engines"))).settings()
    found = {}
    for word in words:
        name = f"ENGINES_{word.upper()}"
        if name not in settings:
            sys.exit(f"{word} does not run; scripts/engines.sh start {word} starts it")
        found[word] = Endpoint(*(settings[name + part] for part in ("", "_KEY", "_SECRET", "_BUCKET")))
    return found


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    results = {}
    for name, endpoint in _endpoints(sys.argv[1:]).items():
        examination = Examination(endpoint)
        try:
            results[name] = examination.rows()
        finally:
            examination.clean()
    print(table(results))


if __name__ == "__main__":
    main()
