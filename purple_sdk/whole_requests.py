"""Pass on only complete requests: a request whose caller hangs up in the middle has no effect."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class WholeRequests:
    """An ASGI application that gives requests to another one when their bodies are there.

    Without it, if a caller disconnects in the middle of a request (at its time limit, say), the reader of the body logs
    a traceback. The application then sends an answer that is not received.

    Args:
        app: what answers them; its bodies are small enough to be held in memory, and it holds them there itself.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        pieces: list[bytes] = []
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            pieces.append(message.get("body", b""))
            more = message.get("more_body", False)
        whole: list[Message] = [{"type": "http.request", "body": b"".join(pieces), "more_body": False}]
        await self._app(scope, lambda: _next(whole, receive), send)


async def _next(whole: list[Message], receive: Receive) -> Message:
    return whole.pop() if whole else await receive()
