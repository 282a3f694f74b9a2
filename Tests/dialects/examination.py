"""Examines everything that a server has stored through the other commands of the program."""

from __future__ import annotations

import json
import os
import subprocess
import unittest
from pathlib import Path
from typing import Any

from .server import Server
from .store import Content, Store

_FINDINGS = ("rotten", "changed", "missing", "unreadable", "untracked", "recent", "others", "unfinished")


class Examination:
    """Examines one server after its clients have left. Each method raises AssertionError for a wrong state."""

    def __init__(self, test: unittest.TestCase, server: Server, store: Store) -> None:
        self._test = test
        self._server = server
        self._store = store
        self._digests: dict[str, str] = {}

    def run(self) -> None:
        """Examines the store beside the running server first, and then without it."""
        self._list()
        if self._store.uploads:
            self._pull()
            self._push_again()
        self._verify()
        self._end()

    def _list(self) -> None:
        """The server knows kind, size and digest of every upload, and of no other file."""
        entries = self._objects("list", "--recursive", "--json", "--from", self._server.address)
        files = {entry["path"]: entry for entry in entries if entry["type"] == "file"}
        known = {path: (entry["kind"], entry["size"]) for path, entry in files.items()}
        uploads = self._store.uploads
        self._test.assertEqual(known, {path: (upload.kind, upload.content.size) for path, upload in uploads.items()})
        for path, entry in files.items():
            self._test.assertIsNotNone(entry["stored"], path)
            self._test.assertRegex(entry["digest"] or "", "^(xxh128|sha256)(-tree-4m)?:[0-9a-f]+$", path)
            self._digests[path] = entry["digest"]
        if files:
            self._test.assertEqual(
                self._objects("stat", "--json", "--from", self._server.address, "--", *sorted(files)),
                [files[path] for path in sorted(files)],
            )

    @property
    def _pulled(self) -> Path:
        return self._server.path / "pulled"

    def _pull(self) -> None:
        """Every upload can be pulled with its original content."""
        self._command("pull", "/", "--output", str(self._pulled), "--from", self._server.address)
        pulled = Store(self._pulled)
        self._test.assertEqual(
            {path: Content.at(self._pulled / path) for path in pulled.visible()},
            {path: upload.content for path, upload in self._store.uploads.items()},
        )

    def _push_again(self) -> None:
        """The catalog knows each upload: the same content at the same path is already stored, and has a good receipt.

        A present client computes from the bytes the digest that the server keeps.
        """
        receipts = str(self._server.path / "receipts.jsonl")
        for folder, names in sorted(self._by_folder().items()):
            target = "/".join(filter(None, [self._server.address, folder]))
            arguments = ("push", "--json", "--receipts", receipts, "--to", target, "--", *names)
            pushed = self._objects(*arguments, directory=self._pulled / folder)
            self._test.assertEqual(len(pushed), len(names), f"in folder {folder!r}")
            for one in pushed:
                path = os.path.join(folder, one["source"])
                found = (one["result"], one["storedPath"], one["digest"], one["durable"])
                self._test.assertEqual(found, ("alreadyStored", path, self._digests[path], True), one)
        checked = self._objects("receipt", "verify", receipts, "--json", "--against", str(self._server.directory))
        self._test.assertEqual(len(checked), 1, checked)

    def _by_folder(self) -> dict[str, list[str]]:
        folders: dict[str, list[str]] = {}
        for path in sorted(self._store.uploads):
            folder, _, name = path.rpartition("/")
            folders.setdefault(folder, []).append(name)
        return folders

    def _verify(self) -> None:
        """All files match the catalog when they are read again."""
        *findings, summary = self._objects("verify", "--dir", str(self._server.directory), "--json")
        self._test.assertEqual(findings, [])
        self._test.assertEqual(summary["intact"], len(self._store.uploads), summary)
        self._test.assertEqual({name: summary[name] for name in _FINDINGS}, dict.fromkeys(_FINDINGS, 0))

    def _end(self) -> None:
        """The server stops in order, was always healthy, and leaves no file without an upload."""
        self._test.assertEqual(self._server.stop(), 0, self._server.log.tail())
        self._test.assertEqual(self._server.log.strange(), [])
        self._test.assertEqual(self._server.crashes, [])
        self._test.assertEqual(self._server.unfinished, [])
        self._test.assertEqual(self._store.strangers(), [])

    def _command(self, *arguments: str, directory: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        done = self._server.transfer(*arguments, directory=directory)
        said = (done.stdout + done.stderr).decode(errors="replace")
        self._test.assertEqual(done.returncode, 0, f"{arguments[0]}: {said[-2000:]}")
        return done

    def _objects(self, *arguments: str, directory: Path | None = None) -> list[dict[str, Any]]:
        done = self._command(*arguments, directory=directory)
        return [json.loads(line) for line in done.stdout.splitlines()]
