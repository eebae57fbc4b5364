"""Connecting to Temporal, and payloads that travel as references."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.common.v1 import Payloads
from temporalio.service import GrpcCompression

from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobStore
from proctor.storage.temporal import PAYLOAD_LIMIT, TemporalUnreachableError, connect, data_converter
from tests.sentences import says


async def test_a_large_payload_travels_as_a_reference(tmp_path: Path) -> None:
    converter = data_converter(BlobStore(str(tmp_path)))
    large, small = "y" * (PAYLOAD_LIMIT * 3), "small"
    payloads = await converter.encode([large, small])
    assert payloads[0].ByteSize() < 2000
    assert await converter.decode(payloads) == [large, small]
    assert isinstance(Payloads(payloads=payloads).SerializeToString(), bytes)


async def test_nobody_there_is_a_sentence() -> None:
    with pytest.raises(TemporalUnreachableError, check=says()):
        await connect(GreenAgentConfig(temporal_address="127.0.0.1:1"))


async def test_whoever_takes_the_connection_and_says_nothing_is_given_up() -> None:
    silent = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    async with silent:
        address = f"127.0.0.1:{silent.sockets[0].getsockname()[1]}"
        with pytest.raises(TemporalUnreachableError, check=says(address=address)):
            await connect(GreenAgentConfig(temporal_address=address, connect_timeout=0.5))


@pytest.mark.parametrize(
    ("address", "compression"),
    [
        ("127.0.0.1:7233", GrpcCompression.NONE),
        ("localhost:7233", GrpcCompression.NONE),
        ("[::1]:7233", GrpcCompression.NONE),
        ("temporal.example:7233", GrpcCompression.GZIP),
        ("10.0.0.7:7233", GrpcCompression.GZIP),
    ],
)
async def test_only_what_goes_to_another_machine_is_packed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str, compression: GrpcCompression
) -> None:
    options = {}

    async def connected(_address: str, **given: Any) -> None:
        options.update(given)

    monkeypatch.setattr("proctor.storage.temporal.Client.connect", connected)
    await connect(GreenAgentConfig(temporal_address=address, storage_url=str(tmp_path)))
    assert options["grpc_compression"] is compression
