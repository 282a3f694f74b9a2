"""A small client for servers that speak S3. Its requests are signed, so that these servers check them as a product's."""

from __future__ import annotations

import datetime
import hashlib
import hmac
import html
import http.client
import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field

# Seconds to wait for an answer; it only ends waits that would last forever.
PATIENCE = 180.0

_ALGORITHM = "AWS4-HMAC-SHA256"

Fields = Mapping[str, str]


@dataclass(frozen=True)
class Endpoint:
    """A bucket on a server, and the key that opens it."""

    url: str
    key: str
    secret: str
    bucket: str
    region: str = "us-east-1"

    @property
    def host(self) -> str:
        """Host and port of the server."""
        return urllib.parse.urlsplit(self.url).netloc

    def at(self, url: str) -> Endpoint:
        """The same bucket behind another address, such as a proxy's."""
        return Endpoint(url, self.key, self.secret, self.bucket, self.region)


@dataclass(frozen=True)
class Answer:
    """An answer; the names of header fields are in lower case."""

    status: int
    fields: dict[str, str]
    content: bytes

    @property
    def etag(self) -> str:
        return self.fields.get("etag", "").strip('"')

    @property
    def code(self) -> str:
        """The code of an error, such as `NoSuchKey`, or an empty text."""
        found = re.search(rb"<Code>([^<]*)</Code>", self.content)
        return found[1].decode() if found else ""

    @property
    def keys(self) -> list[str]:
        """The keys in a list of objects with `encoding-type=url`, in which a space may be a plus sign."""
        keys = re.findall(r"<Key>([^<]*)</Key>", self.content.decode())
        return [urllib.parse.unquote_plus(html.unescape(key)) for key in keys]


    @property
    def next(self) -> str | None:
        """The token of the next page of a list of objects, or None at its end."""
        found = re.search(r"<NextContinuationToken>([^<]+)</NextContinuationToken>", self.content.decode())
        return html.unescape(found[1]) if found else None


@dataclass(frozen=True)
class Request:
    """A request before it is signed. The path is that of the URL, not encoded."""

    method: str
    host: str
    path: str
    query: Fields = field(default_factory=dict)
    fields: Fields = field(default_factory=dict)
    # SHA-256 of the body in hexadecimal digits, or what stands in its place.
    digest: str = hashlib.sha256().hexdigest()

    @property
    def target(self) -> str:
        """Path and query as they are sent."""
        return encode(self.path, safe="/") + (f"?{self.encoded_query}" if self.query else "")

    @property
    def encoded_query(self) -> str:
        return "&".join(sorted(f"{encode(name)}={encode(value)}" for name, value in self.query.items()))

    def signed(self, endpoint: Endpoint, time: datetime.datetime) -> dict[str, str]:
        """All header fields, with the signature of version 4 (AWS Signature Version 4, "Create a signed request")."""
        stamp = time.strftime("%Y%m%dT%H%M%SZ")
        fields = {"host": self.host, "x-amz-content-sha256": self.digest, "x-amz-date": stamp}
        fields |= {name.lower(): value for name, value in self.fields.items()}
        names = ";".join(sorted(fields))
        lines = [self.method, encode(self.path, safe="/"), self.encoded_query]
        lines += [f"{name}:{' '.join(fields[name].split())}" for name in sorted(fields)]
        lines += ["", names, self.digest]
        scope = f"{stamp[:8]}/{endpoint.region}/s3/aws4_request"
        text = "\n".join([_ALGORITHM, stamp, scope, hashlib.sha256("\n".join(lines).encode()).hexdigest()])
        key = f"AWS4{endpoint.secret}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.new(key, text.encode(), "sha256").hexdigest()
        credential = f"Credential={endpoint.key}/{scope}"
        return fields | {"authorization": f"{_ALGORITHM} {credential},SignedHeaders={names},Signature={signature}"}


def encode(text: str, safe: str = "") -> str:
    """Percent-encodes all but the unreserved characters, as signatures need it."""
    return urllib.parse.quote(text, safe=f"{safe}-_.~")


class Client:
    """Sends each request over a separate connection, so that the fault of one request does not affect the next one."""

    def __init__(self, endpoint: Endpoint, patience: float = PATIENCE) -> None:
        self.endpoint = endpoint
        self._patience = patience

    def ask(
        self,
        method: str,
        key: str = "",
        content: bytes = b"",
        query: Fields | None = None,
        fields: Fields | None = None,
        digest: str | None = None,
    ) -> Answer:
        """Sends a request about an object, or about the bucket if the key is empty. `digest` replaces the SHA-256 of the
        content in the signature. Raises OSError or http.client.HTTPException if the answer is lost or cut."""
        path = f"/{self.endpoint.bucket}/{key}" if key else f"/{self.endpoint.bucket}"
        digest = hashlib.sha256(content).hexdigest() if digest is None else digest
        request = Request(method, self.endpoint.host, path, query or {}, fields or {}, digest)
        headers = request.signed(self.endpoint, datetime.datetime.now(datetime.timezone.utc))
        if content or method in ("PUT", "POST"):
            headers["content-length"] = str(len(content))
        connection = http.client.HTTPConnection(self.endpoint.host, timeout=self._patience)
        try:
            connection.putrequest(method, request.target, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders(content or None)
            answer = connection.getresponse()
            received = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, received, answer.read())
        finally:
            connection.close()

    def put(self, key: str, content: bytes, **fields: str) -> Answer:
        """Stores an object; `content_md5` is the field `content-md5`."""
        return self.ask("PUT", key, content, fields={name.replace("_", "-"): value for name, value in fields.items()})

    def get(self, key: str, first: int | None = None, last: int | None = None) -> Answer:
        """Reads an object, or its bytes from the first to the last one inclusive."""
        return self.ask("GET", key, fields={} if first is None else {"range": f"bytes={first}-{last}"})

    def delete(self, key: str) -> Answer:
        return self.ask("DELETE", key)

    def list(self, prefix: str = "", **query: str) -> Answer:
        return self.ask("GET", query={"list-type": "2", "prefix": prefix, "encoding-type": "url"} | query)
