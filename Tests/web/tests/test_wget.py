"""Against the real server: wget."""

from __future__ import annotations

from urllib.parse import quote

from web.case import WebCase, made


class WgetTests(WebCase):
    """wget offers no protocol in TLS, so the documentation explains how it gets the certificate with names."""

    needs = ("wget",)

    def wget(self, *arguments: str) -> str:
        known = [f"--ca-certificate={self.server.certificate}", "--ciphers=NORMAL:-SIGN-EDDSA-ED25519"]
        known += ["--auth-no-challenge", "--user=me", f"--password={self.server.token}"]
        return self.run_client(["wget", "-q", *known, *arguments])

    def test_it_goes_on(self) -> None:
        content, place = made(1_500_000, "wget"), self.place()
        self.assertEqual(self.ask("PUT", "/wget", {}, content).status, 201)
        for have in (0, 1, 700_000, len(content)):
            (place / "wget").write_bytes(content[:have])
            self.wget("-c", f"{self.server.url}/wget")
            self.assertEqual((place / "wget").read_bytes(), content)

    def test_it_follows_the_links_of_folders(self) -> None:
        names = ("a.txt", "b c.txt", "\u4f60\u597d.txt", "sub/&amp;.txt", "sub/x#y?z.txt")
        place = self.place()
        for name in names:
            self.assertEqual(self.ask("PUT", f"/tree/{quote(name)}", {}, name.encode()).status, 201, name)
        self.wget("-r", "-np", "-nH", "--restrict-file-names=nocontrol", f"{self.server.url}/tree/")
        for name in names:
            self.assertEqual((place / "tree" / name).read_bytes(), name.encode(), name)
