"""A program that uploads with resumable-upload: SERVER FILE NAME CHUNK CHECKSUM PARALLEL."""

import os
import sys

from resumable_upload import TusClient

server, file, name, chunk, checksum, parallel = sys.argv[1:]
client = TusClient(
    f"{server}/.transfer/tus/",
    chunk_size=int(chunk),
    checksum=checksum if checksum != "none" else False,
    headers={"Authorization": f"Bearer {os.environ['TOKEN']}"},
    max_retries=30,
    retry_delay=0.2,
)
print(client.upload_file(file, metadata={"filename": name}, parallel_uploads=int(parallel)))
