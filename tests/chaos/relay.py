"""A network between two processes, as a process of its own: stopped it delays, killed it cuts every connection.

``python -m tests.chaos.relay PORT HOST:PORT…`` listens on PORT and passes everything on to HOST:PORT, and back; of
several to each by turns, unless it isn't there.
"""

import asyncio
import itertools
import sys
from contextlib import suppress

_CHUNK = 65536


async def relay(port: int, upstreams: list[tuple[str, int]]) -> None:
    """Pass on until the process ends."""
    turns = itertools.count()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = next(turns)
        for number in range(len(upstreams)):
            with suppress(OSError):
                upstream = upstreams[(first + number) % len(upstreams)]
                upstream_reader, upstream_writer = await asyncio.open_connection(*upstream)
                break
        else:
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
    _places = [word.rpartition(":") for word in sys.argv[2:]]
    asyncio.run(relay(int(sys.argv[1]), [(host, int(port)) for host, _, port in _places]))
