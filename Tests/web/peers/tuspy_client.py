"""A program that uploads with tuspy: SERVER FILE NAME CHUNK STORE [CHECKSUM]. A second run continues the upload."""

import os
import sys

from tusclient.client import TusClient
from tusclient.storage.filestorage import FileStorage

server, file, name, chunk, store, *flags = sys.argv[1:]
client = TusClient(f"{server}/.transfer/tus/", headers={"Authorization": f"Bearer {os.environ['TOKEN']}"})
uploader = client.uploader(
    file,
    chunk_size=int(chunk),
    metadata={"filename": name},
    retries=int(os.environ.get("RETRIES", "0")),
    retry_delay=1,
    store_url=True,
    url_storage=FileStorage(store),
    upload_checksum=bool(flags),
)
print(uploader.offset, flush=True)
while uploader.offset < uploader.stop_at:
    uploader.upload_chunk()
    print(uploader.offset, flush=True)
