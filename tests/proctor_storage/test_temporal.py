"""Connecting to Temporal, and payloads that travel as references."""

import time

import pytest
from temporalio.api.common.v1 import Payloads

from proctor_protocol.config import GreenAgentConfig
from proctor_storage.blobs import BlobStore
from proctor_storage.temporal import PAYLOAD_LIMIT, TemporalUnreachableError, connect, data_converter


async def test_a_large_payload_travels_as_a_reference(tmp_path):
    converter = data_converter(BlobStore(str(tmp_path)))
    large, small = "y" * (PAYLOAD_LIMIT * 3), "small"
    payloads = await converter.encode([large, small])
    assert payloads[0].ByteSize() < 2000
    assert await converter.decode(payloads) == [large, small]
    assert isinstance(Payloads(payloads=payloads).SerializeToString(), bytes)


async def test_nobody_there_is_a_sentence_and_soon():
    began = time.monotonic()
    with pytest.raises(TemporalUnreachableError, match=r"can't reach Temporal at 127.0.0.1:1 .*proctor up"):
        await connect(GreenAgentConfig(temporal_address="127.0.0.1:1", connect_timeout=2))
    assert time.monotonic() - began < 10
