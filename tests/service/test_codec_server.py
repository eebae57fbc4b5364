"""The codec server: Temporal's UI gets payloads in clear, and nobody else does."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.protobuf.json_format import MessageToDict, ParseDict
from pydantic import SecretStr
from temporalio.api.common.v1 import Payloads

from proctor.a2a_gateway.auth.tokens import Tokens, make_token
from proctor.service.codec_server import create_codec_app
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobStore
from proctor.storage.codec import PayloadKeyError, payload_codec
from proctor.storage.temporal import PAYLOAD_LIMIT, data_converter
from tests.sentences import says

UI = "http://127.0.0.1:8233"
MAIL = "Could we have lunch on Thursday?"


@pytest.fixture
def config(tmp_path: Path) -> GreenAgentConfig:
    keys = SecretStr(f"k:{base64.b64encode(b'k' * 32).decode()}")
    return GreenAgentConfig(host="127.0.0.1", state=str(tmp_path), payload_keys=keys)


@asynccontextmanager
async def coming(config: GreenAgentConfig, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_codec_app(config, [UI]))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8234", headers=headers) as http:
        yield http


async def encrypted(config: GreenAgentConfig, *values: str) -> dict[str, Any]:
    converter = data_converter(BlobStore(config.storage_url), payload_codec(config))
    return MessageToDict(Payloads(payloads=await converter.encode(values)))


async def test_the_ui_reads_payloads_in_clear_those_in_the_store_too(config: GreenAgentConfig) -> None:
    large = "y" * (2 * PAYLOAD_LIMIT)
    async with coming(config, Origin=UI) as http:
        for path in ("/decode", "/default/decode"):
            answer = await http.post(path, json=await encrypted(config, MAIL, large))
            assert answer.headers["access-control-allow-origin"] == UI
            shown = ParseDict(answer.json(), Payloads()).payloads
            assert [payload.data.decode() for payload in shown] == [f'"{MAIL}"', f'"{large}"']
        again = await http.post("/encode", json=MessageToDict(Payloads(payloads=shown[:1])))
        assert MAIL not in again.text
        assert (await http.post("/decode", json=again.json())).json() == MessageToDict(Payloads(payloads=shown[:1]))


async def test_pages_from_elsewhere_and_strangers_read_nothing(config: GreenAgentConfig) -> None:
    body = await encrypted(config, MAIL)
    async with coming(config, Origin="http://evil.example") as http:
        assert (await http.post("/decode", json=body)).status_code == 403
    async with coming(config, Host="evil.example") as http:
        assert (await http.post("/decode", json=body)).status_code == 421
    texts = {}
    for name, is_admin in (("root", True), ("alice", False)):
        token, texts[name] = make_token(name, is_admin=is_admin)
        Tokens(Path(config.state) / "tokens.json").add(token)
    for headers, expected in (
        ({}, 401),
        ({"Authorization": f"Bearer {texts['alice']}"}, 403),
        ({"Authorization": f"Bearer {texts['root']}"}, 200),
    ):
        async with coming(config, **headers) as http:
            assert (await http.post("/decode", json=body)).status_code == expected


async def test_what_is_no_payload_and_what_no_key_opens_are_sentences(config: GreenAgentConfig) -> None:
    other = config.model_copy(update={"payload_keys": SecretStr(f"j:{base64.b64encode(b'j' * 32).decode()}")})
    async with coming(config) as http:
        no_payloads = says()
        for body in (b"", b"[]", b'{"payloads": 7}'):
            refused = await http.post("/decode", content=body)
            assert refused.status_code == 400
            assert no_payloads.within(refused.text)
        refused = await http.post("/decode", json=await encrypted(other, MAIL))
        assert says("j").within(refused.json()["error"]["message"])
    with pytest.raises(PayloadKeyError, check=says()):
        create_codec_app(config.model_copy(update={"payload_keys": None}), [UI])
