"""A network between two processes, as a process of its own: stopped it delays, killed it cuts every connection.

``python -m tests.chaos.relay PORT HOST:PORT`` listens on PORT and passes everything on to HOST:PORT, and back.
"""

import asyncio
import sys
from contextlib import suppress

_CHUNK = 65536


async def relay(port: int, host: str, upstream_port: int) -> None:
    """Pass on until the process ends."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            upstream_reader, upstream_writer = await asyncio.open_connection(host, upstream_port)
        except OSError:
            writer.close()
            return
        with suppress(OSError):
            await asyncio.gather(_pass_on(reader, upstream_writer), _pass_on(upstream_reader, writer))

    server = await asyncio.start_server(connected, "127.0.0.1", port)
    await server.serve_forever()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()


if __name__ == "__main__":
    _host, _, _port = sys.argv[2].rpartition(":")
    asyncio.run(relay(int(sys.argv[1]), _host, int(_port)))
