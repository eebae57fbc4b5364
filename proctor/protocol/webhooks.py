"""Webhooks: the addresses to which a task's updates are pushed, and the check of names and IP addresses.

A caller chooses the address to which the evaluator posts. Forbidden addresses (``purple_sdk.processes.addresses``) are
refused.
"""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import Field

from purple_sdk.protocol._wire import WireModel

_LOOK_UPS = ThreadPoolExecutor(16, "webhook-look-ups")
_LOOK_UP_SECONDS = 5.0
_LONGEST_URL = 2_048
_LONGEST_SECRET = 4_096


class Webhook(WireModel):
    """The address for a task's updates, and the credentials to send along.

    Attributes:
        id: the caller's name for it, unique within its task.
        url: the address to which notifications are posted.
        token: sent as ``X-A2A-Notification-Token``, by which the receiver recognizes notifications.
        scheme, credentials: sent as ``Authorization``, if both are given.
        protocol: the caller's protocol version, which determines the form of notifications.
    """

    id: str
    url: str
    token: str = Field(default="", repr=False)
    scheme: str = ""
    credentials: str = Field(default="", repr=False)
    protocol: Literal["1.0", "0.3"] = "1.0"

    def make_headers(self) -> dict[str, str]:
        """Return the headers of every notification."""
        headers = {"X-A2A-Notification-Token": self.token} if self.token else {}
        if self.scheme and self.credentials:
            headers["Authorization"] = f"{self.scheme} {self.credentials}"
        return headers


class BadWebhookError(ValueError):
    """A webhook that can't be used; the message is a sentence for its sender."""


def check_webhook(webhook: Webhook) -> SplitResult:
    """Refuse an unusable webhook (``BadWebhookError``); return its address in parts."""
    if not webhook.id.isprintable() or len(webhook.id) > 255:
        raise BadWebhookError("the webhook's id isn't a short text: leave it out, or use letters, digits and hyphens")
    for name, value in (("token", webhook.token), ("scheme", webhook.scheme), ("credentials", webhook.credentials)):
        if len(value) > _LONGEST_SECRET or not (value.isascii() and value.isprintable()):
            raise BadWebhookError(
                f"the webhook's {name} can't travel in a header: use at most {_LONGEST_SECRET} ASCII characters"
            )
    try:
        parts = urlsplit(webhook.url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or len(webhook.url) > _LONGEST_URL or any(c.isspace() or not c.isprintable() for c in webhook.url):
        raise BadWebhookError(
            "the webhook's url can't be used: give an http or https address, such as https://example.org/notified, of "
            f"at most {_LONGEST_URL} characters"
        )
    if parts.username is not None or parts.password is not None:
        raise BadWebhookError(
            "the webhook's url has a user in it: give scheme and credentials in authentication instead"
        )
    return parts


async def look_up(host: str) -> list[str]:
    """Return the IP addresses of a host. Raises ``OSError`` if the host has none, or the look-up takes too long.

    The look-up uses its own threads, so a slow name server delays only webhooks.
    """
    asking = partial(socket.getaddrinfo, host, None, type=socket.SOCK_STREAM)
    async with asyncio.timeout(_LOOK_UP_SECONDS):
        try:
            answers = await asyncio.get_running_loop().run_in_executor(_LOOK_UPS, asking)
        except UnicodeError:
            raise OSError(f"{host!r} isn't the name of a host") from None
    return list(dict.fromkeys(str(address[0]) for *_, address in answers))
