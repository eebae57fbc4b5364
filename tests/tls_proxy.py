"""A Temporal server behind TLS: a proxy with an authority of the test's own, which asks for client certificates or for
an API key, as clusters and Temporal Cloud do.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from hpack import Decoder

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEADERS, _CONTINUATION = 1, 9
_END_STREAM, _END_HEADERS, _PADDED, _PRIORITY = 1, 4, 8, 32


@dataclass(frozen=True)
class Authority:
    """Certificates: of an authority, of a server at 127.0.0.1, and of a client; each key is beside its certificate."""

    ca: Path
    server: Path
    client: Path

    @classmethod
    def make(cls, folder: Path) -> "Authority":
        key, name = ec.generate_private_key(ec.SECP256R1()), _name("authority of a test")
        basic = x509.BasicConstraints(ca=True, path_length=0)
        own = _builder(name, name, key).add_extension(basic, critical=True).sign(key, hashes.SHA256())
        (folder / "ca.pem").write_bytes(own.public_bytes(serialization.Encoding.PEM))
        for kind, usage in (("server", ExtendedKeyUsageOID.SERVER_AUTH), ("client", ExtendedKeyUsageOID.CLIENT_AUTH)):
            theirs = ec.generate_private_key(ec.SECP256R1())
            address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
            made = _builder(_name(kind), name, theirs).add_extension(address, critical=False)
            made = made.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            signed = made.sign(key, hashes.SHA256())
            (folder / f"{kind}.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
            (folder / f"{kind}.key").write_bytes(
                theirs.private_bytes(
                    serialization.Encoding.PEM,
                    serialization.PrivateFormat.PKCS8,
                    serialization.NoEncryption(),
                )
            )
        return cls(folder / "ca.pem", folder / "server.pem", folder / "client.pem")


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(whose: x509.Name, by: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(whose)
        .issuer_name(by)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
    )


@asynccontextmanager
async def behind_tls(
    upstream: str, authority: Authority, *, asks_for_certificate: bool = False, api_key: str | None = None
) -> AsyncIterator[str]:
    """Serve what listens at ``upstream`` (``host:port``, without TLS) over TLS; gives the address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.server, authority.server.with_suffix(".key"))
    context.set_alpn_protocols(["h2"])
    if asks_for_certificate:
        context.load_verify_locations(authority.ca)
        context.verify_mode = ssl.CERT_REQUIRED
    host, _, port = upstream.partition(":")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection(host, int(port))
        there = _copy(reader, inner_writer) if api_key is None else _checked(reader, inner_writer, writer, api_key)
        both = [asyncio.create_task(there), asyncio.create_task(_copy(inner_reader, writer))]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for task in both:
            task.cancel()
        await asyncio.gather(*both, return_exceptions=True)
        for stream in (writer, inner_writer):
            stream.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


async def _checked(
    reader: asyncio.StreamReader, onward: asyncio.StreamWriter, back: asyncio.StreamWriter, api_key: str
) -> None:
    """Pass HTTP/2 frames on; requests without the key get gRPC's ``UNAUTHENTICATED``."""
    decoder, block = Decoder(), b""
    with suppress(OSError, asyncio.IncompleteReadError):
        onward.write(await reader.readexactly(len(_PREFACE)))
        while True:
            head = await reader.readexactly(9)
            body = await reader.readexactly(int.from_bytes(head[:3]))
            kind, flags, stream = head[3], head[4], head[5:9]
            if kind in (_HEADERS, _CONTINUATION):
                block += _fragment(body, flags) if kind == _HEADERS else body
                if flags & _END_HEADERS:
                    headers, block = dict(decoder.decode(block)), b""
                    if ":path" in headers and headers.get("authorization") != f"Bearer {api_key}":
                        back.write(_refusal(stream))
                        continue
            onward.write(head + body)
            await onward.drain()


def _fragment(body: bytes, flags: int) -> bytes:
    padding = body[0] if flags & _PADDED else 0
    start = bool(flags & _PADDED) + 5 * bool(flags & _PRIORITY)
    return body[start : len(body) - padding]


def _refusal(stream: bytes) -> bytes:
    """Headers alone: status 200, and the error in gRPC's own words; literal, so that no table changes."""
    told = {b"content-type": b"application/grpc", b"grpc-status": b"16", b"grpc-message": b"Request unauthorized."}
    block = b"\x88" + b"".join(b"\x00" + bytes([len(n)]) + n + bytes([len(v)]) + v for n, v in told.items())
    return len(block).to_bytes(3) + bytes([_HEADERS, _END_STREAM | _END_HEADERS]) + stream + block
