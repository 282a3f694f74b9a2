"""scp to a separate sshd, with keys made for the benchmark."""

from __future__ import annotations

import getpass
import shutil
from collections.abc import Sequence
from pathlib import Path

from .base import Peer, Place, is_root

# The fastest cipher on processors with AES instructions.
_CIPHER = "aes128-gcm@openssh.com"

# The directory in which an sshd started by root confines its children. sshd does not start without it; its service
# makes the directory, too.
_PRIVILEGE_SEPARATION = Path("/run/sshd")


class Scp(Peer):
    """`scp -r`, with further options if given."""

    promise = "encrypted"

    def __init__(self, place: Place, options: Sequence[str] = ()) -> None:
        super().__init__(place)
        self._options = options
        self.name = " ".join(["scp", *options])

    def prepare(self) -> None:
        keys = self.place.directory("ssh")
        for name in ("host", "user"):
            self.place.processes.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name)])
        self._port, self._key = self.place.route.free_port(), keys / "user"
        configuration = keys / "sshd_config"
        configuration.write_text(_configuration(keys, self.place.route.host, self._port))
        if is_root():
            _PRIVILEGE_SEPARATION.mkdir(exist_ok=True)
        daemon = self.serve([shutil.which("sshd") or "sshd", "-D", "-f", str(configuration)])
        daemon.wait_until_listening(self._port)

    def push(self) -> None:
        options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "BatchMode=yes", "IdentitiesOnly=yes"]
        command = ["scp", "-r", "-q", "-F", "none", "-P", str(self._port), "-i", str(self._key), "-c", _CIPHER]
        command += [word for option in options for word in ("-o", option)]
        target = f"{getpass.getuser()}@{self.place.route.host}:{self.place.target}/"
        self.run([*command, *self._options, f"{self.place.corpus.root}/.", target])


def _configuration(keys: Path, host: str, port: int) -> str:
    return "\n".join(
        [
            f"Port {port}",
            f"ListenAddress {host}",
            f"HostKey {keys}/host",
            f"AuthorizedKeysFile {keys}/user.pub",
            "PasswordAuthentication no",
            "PermitRootLogin prohibit-password",
            "StrictModes no",
            "PidFile none",
            "Subsystem sftp internal-sftp",
            "",
        ]
    )
