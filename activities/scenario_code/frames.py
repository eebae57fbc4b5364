"""Messages between the worker and a process with a scenario's code. Each is a piece of bytes, preceded by its length.

The reader sets a limit for the length of a piece, since the other side may run untrusted code.
"""

import asyncio
import io
import socket
import struct

_CHUNK = 1 << 20
_LENGTH = struct.Struct(">Q")


class FrameTooLongError(Exception):
    """The other side sends a longer piece than it may."""


class HungUpError(Exception):
    """The other side has ended, or closed its end."""


def send(connection: socket.socket, piece: bytes) -> None:
    connection.sendall(_LENGTH.pack(len(piece)))
    connection.sendall(piece)


def receive(connection: socket.socket) -> bytes:
    """Receive a piece from the worker over a blocking socket; raises ``HungUpError``."""
    (length,) = _LENGTH.unpack(_receive_exactly(connection, _LENGTH.size))
    return _receive_exactly(connection, length)


def _receive_exactly(connection: socket.socket, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        chunk = connection.recv(min(count - len(received), 1 << 20))
        if not chunk:
            raise HungUpError
        received += chunk
    return bytes(received)


async def write(writer: asyncio.StreamWriter, piece: bytes) -> None:
    """Send a piece; raises ``HungUpError``."""
    try:
        writer.write(_LENGTH.pack(len(piece)))
        writer.write(piece)
        await writer.drain()
    except (ConnectionError, RuntimeError):  # uvloop's error for a connection that it has closed
        raise HungUpError from None


async def read(reader: asyncio.StreamReader, longest: int) -> bytes:
    """Receive a piece; raises ``HungUpError`` and ``FrameTooLongError``."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        if length > longest:
            raise FrameTooLongError
        content = io.BytesIO()  # unlike a reader's buffer, this makes no second copy of a large piece
        while content.tell() < length:
            content.write(await reader.readexactly(min(length - content.tell(), _CHUNK)))
        return content.getvalue()
    except (asyncio.IncompleteReadError, ConnectionError):
        raise HungUpError from None
