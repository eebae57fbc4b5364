"""Encrypted payloads: nothing in clear, keys that change, and what a wrong key is told."""

import base64
from pathlib import Path

import pytest
from temporalio.api.failure.v1 import Failure
from temporalio.exceptions import ApplicationError

from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobStore
from proctor.storage.codec import EncryptedPayloads, PayloadKeyError, payload_codec, read_keys
from proctor.storage.temporal import PAYLOAD_LIMIT, data_converter
from tests.sentences import says

OLD, NEW = b"o" * 32, b"n" * 32
MAIL = "Could we have lunch on Thursday?"


def test_keys_are_read_as_they_are_written() -> None:
    text = f"new:{base64.b64encode(NEW).decode()}, old:{base64.urlsafe_b64encode(OLD).decode()}"
    assert list(read_keys(text).items()) == [("new", NEW), ("old", OLD)]
    assert payload_codec(GreenAgentConfig()) is None


@pytest.mark.parametrize("text", ["", "k", "k:", ":AAAA", "k:not base64!", f"k:{base64.b64encode(b'short').decode()}"])
def test_what_is_no_key_is_a_sentence_that_shows_none(text: str) -> None:
    with pytest.raises(PayloadKeyError, match="AGENTBEATS_GREEN_PAYLOAD_KEYS") as problem:
        read_keys(text)
    assert "c2hvcnQ" not in str(problem.value)


async def test_keys_change_while_payloads_stay_readable(tmp_path: Path) -> None:
    store = BlobStore(str(tmp_path))
    plain = await data_converter(store).encode([MAIL])
    before = await data_converter(store, EncryptedPayloads({"old": OLD})).encode([MAIL])
    both = data_converter(store, EncryptedPayloads({"new": NEW, "old": OLD}))
    after = await both.encode([MAIL])
    assert await both.decode([*plain, *before, *after]) == [MAIL] * 3
    assert [payload[0].metadata["encryption-key-id"] for payload in (before, after)] == [b"old", b"new"]
    with pytest.raises(PayloadKeyError, check=says("old")):
        await data_converter(store, EncryptedPayloads({"new": NEW})).decode(before)
    with pytest.raises(PayloadKeyError, check=says("old")):
        await data_converter(store, EncryptedPayloads({"old": NEW})).decode(before)


async def test_nobody_changes_a_payload_or_gives_it_another_key(tmp_path: Path) -> None:
    converter = data_converter(BlobStore(str(tmp_path)), EncryptedPayloads({"a": OLD, "b": OLD}))
    (payload,) = await converter.encode([MAIL])
    payload.metadata["encryption-key-id"] = b"b"
    with pytest.raises(PayloadKeyError):
        await converter.decode([payload])
    payload.metadata["encryption-key-id"] = b"a"
    payload.data = payload.data[:-1] + bytes([payload.data[-1] ^ 1])
    with pytest.raises(PayloadKeyError):
        await converter.decode([payload])
    payload.data = b"short"
    with pytest.raises(PayloadKeyError):
        await converter.decode([payload])


async def test_the_store_and_failures_are_encrypted_too(tmp_path: Path) -> None:
    converter = data_converter(BlobStore(str(tmp_path)), EncryptedPayloads({"k": OLD}))
    large = MAIL * (PAYLOAD_LIMIT // 10)
    payloads = await converter.encode([large])
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert sum(map(len, kept)) > PAYLOAD_LIMIT
    assert not any(MAIL.encode() in content for content in [*kept, payloads[0].SerializeToString()])
    assert await converter.decode(payloads) == [large]
    failure = Failure()
    await converter.encode_failure(ApplicationError(MAIL, {"mail": MAIL}, type="Failed"), failure)
    assert MAIL.encode() not in failure.SerializeToString()
    told = await converter.decode_failure(failure)
    assert isinstance(told, ApplicationError)
    assert (told.message, told.details) == (MAIL, ({"mail": MAIL},))
