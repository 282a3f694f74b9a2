"""Names of peers and of works in the report that the requirements and the charts refer to."""

NETCAT = "nc"
NETCAT_TAR = "nc with tar"
RSYNC = "rsync daemon"
RSYNC_FSYNC = "rsync daemon --fsync"
RSYNC_Z = "rsync daemon -z"
RSYNC_ZLIB = "rsync daemon -z --compress-choice=zlib"
NGINX = "nginx PUT http (curl)"
TRANSFER = "transfer, plaintext"
TRANSFER_TLS = "transfer, TLS"
TRANSFER_ZLIB = "transfer, plaintext --compress zlib"
TRANSFER_NONE = "transfer, plaintext --compress none"
TRANSFER_PAGE = "transfer, page"
COPYPARTY = "copyparty, page"

FIRST_PUSH = "first push"
PUSH_AGAIN = "the same again"
TEN_CHANGED = "ten files changed"
PULL = "pull"
PULL_AGAIN = "the same pull again"

FAR_LINKS = ["continent", "lossy", "mobile", "moon"]
FAR_PHOTOS = "40 photos of 1.5 MB"
FAR_BIG = "one file of 60 MB"


def far_set(link: str) -> str:
    """The name of the set that measures over this link."""
    return f"far-{link}"
