"""A program that uploads with aiotus: SERVER NAME CHUNK FILE... Several files are uploaded as one."""

import asyncio
import os
import sys

import aiotus
import yarl
from aiotus import creation

_create = creation.create


async def _create_absolute(session, endpoint, *arguments, **options):  # type: ignore[no-untyped-def]
    """aiotus 1.1 resolves a Location that is only a path below the endpoint, unlike RFC 9110, section 10.2.2."""
    return yarl.URL(endpoint).join(await _create(session, endpoint, *arguments, **options))


creation.create = _create_absolute


async def main() -> None:
    server, name, chunk, *files = sys.argv[1:]
    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
    metadata = {"filename": name.encode()}
    config = aiotus.RetryConfiguration(retry_attempts=30, max_retry_period_seconds=0.5)
    streams = [open(file, "rb") for file in files]
    endpoint = f"{server}/.transfer/tus/"
    if len(streams) > 1:
        location = await aiotus.upload_multiple(endpoint, streams, metadata, config=config, headers=headers, chunksize=int(chunk))
    else:
        location = await aiotus.upload(endpoint, streams[0], metadata, config=config, headers=headers, chunksize=int(chunk))
    if location is None:
        sys.exit(1)
    print(location)


asyncio.run(main())
