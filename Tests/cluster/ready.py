"""Makes a bucket and tries it: exits with 0 if an object was stored, read and removed, otherwise says why not.

usage: python3 -m cluster.ready URL KEY SECRET BUCKET
"""

from __future__ import annotations

import http.client
import sys

from .s3 import Client, Endpoint

# Key of the object that is stored and removed.
_KEY = "ready"
# Seconds to wait for an answer. The caller tries again.
_PATIENCE = 20.0


def trouble(client: Client) -> str:
    """What does not work, or an empty text."""
    content = b"ready"
    # 409: the bucket is there already. Some servers answer 200.
    steps = (
        ("make the bucket", "PUT", "", b"", (200, 409)),
        ("store an object", "PUT", _KEY, content, (200,)),
        ("read the object", "GET", _KEY, b"", (200,)),
        ("remove the object", "DELETE", _KEY, b"", (200, 204)),
    )
    for words, method, key, body, wanted in steps:
        answer = client.ask(method, key, body)
        if answer.status not in wanted or (method == "GET" and answer.content != content):
            return f"cannot {words}: {answer.status} {answer.content[:500]!r}"
    return ""


def main() -> None:
    try:
        found = trouble(Client(Endpoint(*sys.argv[1:5]), _PATIENCE))
    except (OSError, http.client.HTTPException) as error:
        found = f"no answer: {error}"
    if found:
        sys.exit(found)


if __name__ == "__main__":
    main()
