"""Make HTTP clients. All our clients come from here, and have the same proxies, certificates and time-outs.

* Requests to this machine use no proxy. All others use the proxies that the environment names.
* Cookies are not kept: a client may talk to several servers, and cookies don't distinguish ports.
* Certificates come from ``SSL_CERT_FILE`` or ``SSL_CERT_DIR``; if neither is set, from certifi.
"""

import os
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, TypedDict, Unpack
from urllib.request import getproxies, proxy_bypass

import httpx

from purple_sdk.processes.addresses import is_loopback, own_host
from purple_sdk.processes.environment import BadEnvironmentError

_TIMEOUT = httpx.Timeout(60.0, connect=10.0)
_LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=20)
_PORTS = {"http": 80, "https": 443}


class Options(TypedDict, total=False):
    """Further arguments of httpx's clients."""

    base_url: str
    headers: Mapping[str, str]
    event_hooks: Mapping[str, list[Callable[..., Any]]]
    follow_redirects: bool


def make_http_client(
    *,
    timeout: httpx.Timeout | float = _TIMEOUT,
    limits: httpx.Limits = _LIMITS,
    direct: bool = False,
    transport: httpx.AsyncBaseTransport | None = None,
    **options: Unpack[Options],
) -> httpx.AsyncClient:
    """Make an asynchronous client; the caller must close it.

    Args:
        timeout: seconds.
        limits: the limits of its connections.
        direct: whether never to use a proxy.
        transport: sends the requests, in place of the usual HTTP connections.
    """

    def make(proxy: httpx.Proxy | None) -> httpx.AsyncHTTPTransport:
        return httpx.AsyncHTTPTransport(verify=tls(), limits=limits, proxy=proxy)

    way = transport or (make(None) if direct or not _proxies() else _Ways(make))
    return httpx.AsyncClient(timeout=timeout, transport=way, trust_env=False, cookies=_no_cookies(), **options)


def make_sync_http_client(
    *, timeout: httpx.Timeout | float = _TIMEOUT, limits: httpx.Limits = _LIMITS, **options: Unpack[Options]
) -> httpx.Client:
    """Make a synchronous client; see ``make_http_client``."""

    def make(proxy: httpx.Proxy | None) -> httpx.HTTPTransport:
        return httpx.HTTPTransport(verify=tls(), limits=limits, proxy=proxy)

    way = _Ways(make) if _proxies() else make(None)
    return httpx.Client(timeout=timeout, transport=way, trust_env=False, cookies=_no_cookies(), **options)


@cache
def tls() -> ssl.SSLContext:
    """Return the TLS settings of all clients of a process. They are made once, since that takes as long as ten
    requests.

    Raises:
        BadEnvironmentError: the environment names certificates that can't be read.
    """
    folder = os.environ.get("SSL_CERT_DIR")
    if folder and not os.environ.get("SSL_CERT_FILE") and not os.path.isdir(folder):
        raise BadEnvironmentError(f"SSL_CERT_DIR is {folder}, which isn't a folder: name one, or unset it")
    try:
        return httpx.create_ssl_context()
    except OSError as error:
        reason = getattr(error, "reason", "") or error.strerror or str(error)
        raise BadEnvironmentError(
            f"SSL_CERT_FILE is {os.environ.get('SSL_CERT_FILE', '')}, of which no certificates can be read ({reason}): "
            "name a file of certificates (PEM), or unset it"
        ) from None


def find_proxy(url: str | httpx.URL) -> str | None:
    """Return the environment's proxy for a request; None for a direct request. Requests to this machine are always
    direct.
    """
    url = httpx.URL(url)
    proxies, port = _proxies(), url.port or _PORTS.get(url.scheme, 0)
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy or is_loopback(own_host(url.host)) or proxy_bypass(f"{url.host}:{port}"):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _no_cookies() -> CookieJar:
    return CookieJar(DefaultCookiePolicy(allowed_domains=()))


def _proxies() -> dict[str, str]:
    return {scheme: proxy for scheme, proxy in getproxies().items() if scheme in ("http", "https", "all") and proxy}


class _Ways(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Sends each request by its proxy, or directly.

    Args:
        make: makes a transport for a proxy; for None, a direct transport.
    """

    def __init__(self, make: Callable[[httpx.Proxy | None], Any]) -> None:
        self._make = make
        self._ways: dict[str | None, Any] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        with self._way(request) as way:
            answer: httpx.Response = way.handle_request(request)
        return answer

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        with self._way(request) as way:
            answer: httpx.Response = await way.handle_async_request(request)
        return answer

    def close(self) -> None:
        for way in self._ways.values():
            way.close()

    async def aclose(self) -> None:
        for way in self._ways.values():
            await way.aclose()

    @contextmanager
    def _way(self, request: httpx.Request) -> Iterator[Any]:
        name = find_proxy(request.url)
        try:
            if name not in self._ways:
                self._ways[name] = self._make(httpx.Proxy(name) if name else None)
            yield self._ways[name]
        except (ValueError, ImportError, httpx.InvalidURL, httpx.ConnectError) as error:
            if name is None:
                raise
            where = name.rpartition("@")[2]  # without a password
            reason = f"the environment's proxy {where} can't be used: {error}"
            raise httpx.ProxyError(reason, request=request) from None
