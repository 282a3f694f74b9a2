"""Against the real server: rclone, which reads folders as pages of links."""

from __future__ import annotations

from urllib.parse import quote

from web.case import made
from web.peers.case import PeerCase

_NAMES = ("a.bin", "b c.txt", "%41.txt", "\u4f60\u597d.txt", "sub/&amp;.txt", "sub/deep/x#y?z.txt", "sub/+.txt", "sub/<b>.txt")


class RcloneTests(PeerCase):
    needs = ("rclone",)

    def test_it_reads_a_tree(self) -> None:
        contents = {name: made(10_000 + len(name), name) for name in _NAMES}
        for name, content in contents.items():
            self.assertEqual(self.ask("PUT", f"/tree/{quote(name)}", {}, content).status, 201)
        self.run_client(
            ["rclone", "copy", "--config", "", f"--ca-cert={self.server.certificate}", ":http:", "copied"],
            RCLONE_HTTP_URL=f"{self.server.url}/tree/",
            RCLONE_HTTP_HEADERS=f"Authorization,Bearer {self.server.token}",
        )
        copied = self.place() / "copied"
        self.assertEqual(
            {str(path.relative_to(copied)): path.read_bytes() for path in copied.rglob("*") if path.is_file()}, contents
        )
