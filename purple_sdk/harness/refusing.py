"""Refusals of a relay, and its reading of request bodies."""

from starlette.requests import Request
from starlette.responses import JSONResponse

MOST_BODY = 32 * 1024 * 1024
"""Maximum bytes of a request's or an answer's body: providers take requests of up to 32 MB."""


class RefusedError(Exception):
    """A request that isn't passed on: its HTTP status, and a sentence for the CLI agent."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status

    def response(self) -> JSONResponse:
        """Return an error in a form that clients of all providers read."""
        kind = "invalid_request_error" if self.status < 500 else "api_error"
        error = {"type": kind, "message": str(self), "code": self.status, "status": kind.upper()}
        return JSONResponse({"type": "error", "error": error}, self.status, headers={"connection": "close"})


async def read_body(request: Request) -> bytes:
    """Return the whole body. Raises RefusedError if the body is compressed or too long, and starlette's
    ClientDisconnect.
    """
    if request.headers.get("content-encoding", "identity") != "identity":
        raise RefusedError(415, "compressed requests are not read here: send the body as it is")
    check_length(int(request.headers.get("content-length") or 0))
    body = bytearray()
    async for piece in request.stream():
        body += piece
        check_length(len(body))
    return bytes(body)


def check_length(size: int) -> None:
    """Raise RefusedError if a body is too long."""
    if size > MOST_BODY:
        raise RefusedError(413, f"the request is too long: send at most {MOST_BODY:,} bytes")
