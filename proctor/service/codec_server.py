"""``proctor codec-server``: decodes payloads for Temporal's UI and command line.

The protocol is Temporal's own: ``POST /decode`` and ``/encode`` take and return ``{"payloads": […]}`` in protobuf's
JSON. A payload that only refers to a file in the store is fetched, too.
"""

from collections.abc import Awaitable, Callable, Sequence

from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.converter import DataConverter

from proctor.a2a_gateway.auth.middleware import Authentication
from proctor.a2a_gateway.limits import BodyLimit
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobDamagedError, BlobNotFoundError, BlobStore, StoreUnavailableError
from proctor.storage.codec import PayloadKeyError, payload_codec
from proctor.storage.temporal import data_converter

Change = Callable[[Sequence[Payload]], Awaitable[list[Payload]]]


def create_codec_app(config: GreenAgentConfig, ui_origins: Sequence[str]) -> Starlette:
    """The codec server, with the gateway's authentication. If the gateway has tokens, only admins may use the server.

    Args:
        ui_origins: the UI's addresses in browsers. Pages of other origins may not send requests.

    Raises:
        PayloadKeyError: there are no keys, or they aren't valid.
    """
    codec = payload_codec(config)
    if codec is None:
        raise PayloadKeyError("there is nothing to decode: AGENTBEATS_GREEN_PAYLOAD_KEYS names no key")
    converter = data_converter(BlobStore(config.storage_url), codec)

    async def decode(payloads: Sequence[Payload]) -> list[Payload]:
        return await _in_clear(converter, payloads)

    authentication = Authentication(config, ui_origins, admins_only=True)
    routes = [
        *authentication.routes,
        *(Route(f"{prefix}/decode", _answering(decode), methods=["POST"]) for prefix in ("", "/{namespace}")),
        *(Route(f"{prefix}/encode", _answering(codec.encode), methods=["POST"]) for prefix in ("", "/{namespace}")),
    ]
    return Starlette(routes=routes, middleware=[*authentication.middleware, Middleware(BodyLimit, rpc_path="")])


def _answering(change: Change) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            body = await request.json()
            if not isinstance(body, dict):
                raise ParseError
            payloads = ParseDict(body, Payloads())
        except (ParseError, ValueError, RecursionError):
            return _problem(400, 'The body is not a list of payloads: send {"payloads": […]}.')
        try:
            return JSONResponse(MessageToDict(Payloads(payloads=await change(payloads.payloads))))
        except (PayloadKeyError, BlobNotFoundError, BlobDamagedError) as error:
            return _problem(400, str(error))
        except StoreUnavailableError as error:
            return _problem(503, str(error))

    return answer


async def _in_clear(converter: DataConverter, payloads: Sequence[Payload]) -> list[Payload]:
    """Decrypt payloads, and fetch stored ones."""
    message = Payloads(payloads=payloads)
    # The SDK's public methods would also convert the payloads to Python's values.
    await converter._transform_inbound_payloads(message)
    return list(message.payloads)


def _problem(code: int, sentence: str) -> JSONResponse:
    return JSONResponse({"error": {"code": code, "message": sentence}}, code)
