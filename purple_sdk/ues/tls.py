"""What connections by HTTPS trust."""

import ssl
from functools import cache

import httpx


@cache
def tls() -> ssl.SSLContext:
    """What connections trust; made once for all clients of a process, since that takes as long as ten requests."""
    return httpx.create_ssl_context()
