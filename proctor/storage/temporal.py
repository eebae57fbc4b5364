"""The only way to connect to Temporal. Payloads are typed; large ones are stored as blobs and referenced."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from temporalio import converter
from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.runtime import Runtime
from temporalio.service import GrpcCompression, RPCError, RPCStatusCode

from proctor.observing.tracing import temporal_plugins
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobRef, BlobStore, blob_ref
from proctor.storage.codec import PayloadKeyError, payload_codec
from proctor.storage.connections import ConnectionSettingsError, read_profile
from purple_sdk.processes.addresses import is_loopback
from purple_sdk.processes.together import do_all
from purple_sdk.protocol.problems import Problem

PAYLOAD_LIMIT = 128 * 1024
"""Bytes from which a payload is stored as a blob; Temporal itself refuses payloads over 2 MB."""

_A_MOMENT = 60.0
"""Seconds for which a stored payload is assumed to be still in the store."""


_REASONS = {
    "dns error": "there is no such host",
    "CertificateRequired": "it asks for a client certificate, which TEMPORAL_TLS_CLIENT_CERT_PATH and …_KEY_PATH name",
    "UnknownIssuer": "its certificate's authority is unknown: name it in TEMPORAL_TLS_SERVER_CA_CERT_PATH",
    "NotValidForName": "its certificate is for another name: TEMPORAL_TLS_SERVER_NAME says which one to expect",
    "InvalidContentType": "what answers there speaks no TLS",
    "Unauthenticated": "it doesn't take the API key (TEMPORAL_API_KEY)",
    "ConnectionRefused": "connection refused",
    "FRAME_SIZE_ERROR": "what answers there isn't Temporal",
    "TimeoutError": "no answer in time",
}
"""Marks in the client's errors, with their meaning."""


class TemporalUnreachableError(ConnectionError):
    """No server answers at the Temporal address."""


class BlobPayloads(converter.StorageDriver):
    """A storage driver that keeps large payloads in the blob store.

    For a minute after a payload was stored, the driver doesn't store it again. If a slow store delays a step of a
    workflow until the step is repeated, the repetition is therefore quick.
    """

    def __init__(self, store: BlobStore) -> None:
        self._store = store
        self._kept_at: dict[BlobRef, float] = {}

    def name(self) -> str:
        """Return the driver's name, which references to payloads contain."""
        return "proctor-blobs"

    async def store(
        self, context: converter.StorageDriverStoreContext, payloads: Sequence[Payload]
    ) -> list[converter.StorageDriverClaim]:
        refs = await do_all(*(self._keep(payload.SerializeToString()) for payload in payloads))
        return [converter.StorageDriverClaim(claim_data={"sha256": ref.sha256, "size": str(ref.size)}) for ref in refs]

    async def retrieve(
        self, context: converter.StorageDriverRetrieveContext, claims: Sequence[converter.StorageDriverClaim]
    ) -> list[Payload]:
        async def fetch(claim: converter.StorageDriverClaim) -> Payload:
            ref = BlobRef(sha256=claim.claim_data["sha256"], size=int(claim.claim_data["size"]))
            return Payload.FromString(await self._store.get(ref))

        return await do_all(*map(fetch, claims))

    async def _keep(self, content: bytes) -> BlobRef:
        ref, now = blob_ref(content), time.monotonic()
        self._kept_at = {ref: at for ref, at in self._kept_at.items() if now - at < _A_MOMENT}
        if ref not in self._kept_at:
            await self._store.put(content)
            self._kept_at[ref] = time.monotonic()
        return ref


def data_converter(store: BlobStore, codec: converter.PayloadCodec | None = None) -> converter.DataConverter:
    """Return the converter between Pydantic models and payloads; large payloads go through ``store``.

    With a codec, all payloads are encrypted before they leave the process, including those for the store. The messages
    and stack traces of failures are encrypted too.
    """
    return replace(
        pydantic_data_converter,
        payload_codec=codec,
        failure_converter_class=converter.DefaultFailureConverterWithEncodedAttributes
        if codec
        else converter.DefaultFailureConverter,
        external_storage=converter.ExternalStorage(drivers=[BlobPayloads(store)], payload_size_threshold=PAYLOAD_LIMIT),
    )


async def connect(config: GreenAgentConfig, runtime: Runtime | None = None) -> Client:
    """Connect to Temporal.

    The settings give the address; the SDK's own environment configuration adds TLS, client certificate, API key and
    metadata. ``runtime`` is the SDK's runtime, by default the process's usual one.

    Raises:
        TemporalUnreachableError: no server answers, the server refuses us, or the settings of the connection or the
            encryption are invalid.
    """
    try:
        options = read_profile().options
        converter = data_converter(BlobStore(config.storage_url), payload_codec(config))
    except (PayloadKeyError, ConnectionSettingsError) as error:
        raise TemporalUnreachableError(Problem.of(error)) from None
    try:
        return await asyncio.wait_for(
            Client.connect(
                config.temporal_address,
                namespace=config.temporal_namespace,
                data_converter=converter,
                plugins=temporal_plugins(),
                runtime=runtime,
                # On one machine, compression costs either side more than it saves.
                grpc_compression=GrpcCompression.NONE if _is_here(config.temporal_address) else GrpcCompression.GZIP,
                **options,
            ),
            timeout=timedelta(seconds=config.connect_timeout).total_seconds(),
        )
    except (RuntimeError, RPCError, TimeoutError, OSError) as error:
        raise TemporalUnreachableError(
            Problem(
                f"can't reach Temporal at {config.temporal_address} ({_why(error)})",
                "start it (`proctor up` does) or set AGENTBEATS_GREEN_TEMPORAL_ADDRESS, or TEMPORAL_ADDRESS and what "
                "else the connection takes (TEMPORAL_TLS…, TEMPORAL_API_KEY)",
            )
        ) from None


def _is_here(address: str) -> bool:
    """Tell whether an address, ``host:port``, is a loopback address."""
    return is_loopback(address.rpartition(":")[0].strip("[]"))


def refusal_by_temporal(config: GreenAgentConfig, problem: RPCError) -> Problem:
    if problem.status == RPCStatusCode.NOT_FOUND:
        namespace = config.temporal_namespace
        return Problem(
            f"Temporal at {config.temporal_address} has no namespace {namespace!r}",
            f"make it (`temporal operator namespace create --namespace {namespace}`) or set "
            "AGENTBEATS_GREEN_TEMPORAL_NAMESPACE",
        )
    return Problem(f"Temporal at {config.temporal_address} refuses: {problem.message}")


def _why(problem: Exception) -> str:
    """Return the useful part of the client's error, which otherwise quotes internal details."""
    report = str(problem) or type(problem).__name__
    for mark, why in _REASONS.items():
        if mark in report:
            return why
    return report
