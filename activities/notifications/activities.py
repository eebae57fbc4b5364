"""Push a task's updates to a webhook, in order and at least once. Each update is sent until the webhook accepts it. An
attempt notes its progress for the next attempt.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Literal, Self

import httpx
from temporalio import activity
from temporalio.exceptions import ApplicationError

from proctor.activities.attempts import failures, heartbeats
from proctor.activities.notifications.plan import SEALED_WEBHOOK, Delivered, Delivery, Notification
from proctor.protocol.webhooks import BadWebhookError, Webhook, check_webhook, look_up
from proctor.settings.config import GreenAgentConfig
from proctor.storage.sealing import NotOursError, unseal
from purple_sdk.processes.addresses import is_forbidden
from purple_sdk.processes.http_clients import make_http_client

STANDSTILL = 5.0
"""Seconds without a step of the event loop after which the process counts as stopped. The heartbeat's timeout is much
longer (``limits.notified``).
"""

_ANSWER_SECONDS = 10.0

log = logging.getLogger(__name__)


NotificationSource = Callable[[str, Literal["1.0", "0.3"]], AsyncGenerator[Notification]]
"""Yields all notifications of a task (its id), until its end, in the given version of A2A."""


class NotificationActivities:
    def __init__(self, config: GreenAgentConfig, source: NotificationSource) -> None:
        self._config = config
        self._source = source

    @activity.defn
    async def notify(self, payload: Delivery) -> Delivered:
        """Send a task's notifications to a webhook, beginning after the last one that the webhook has accepted.

        An attempt that made progress and then fails counts as a success, so the next activity's retries count from
        zero.
        """
        webhook = self._open(payload)
        begun_after = taken = max([payload.after, *map(int, map(str, heartbeats.notes()))])
        try:
            async with (
                _Pace() as pace,
                make_http_client(timeout=_ANSWER_SECONDS, direct=True) as http,
                aclosing(self._source(payload.task_id, webhook.protocol)) as notifications,
            ):
                is_news = False
                async for notification in notifications:
                    is_news = is_news or notification.number > begun_after
                    if is_news:
                        pace.require_steady()
                        await _post(http, webhook, notification)
                        taken = notification.number
                        heartbeats.note_only(str(taken))
        except Exception as error:
            log.info("%s: notifying %s: %s", payload.task_id, webhook.id, error)
            if taken == begun_after or (isinstance(error, ApplicationError) and error.non_retryable):
                raise
            return Delivered(after=taken, is_done=False)
        return Delivered(after=taken, is_done=True)

    def _open(self, payload: Delivery) -> Webhook:
        try:
            return Webhook.model_validate_json(unseal(self._config, SEALED_WEBHOOK, payload.sealed_webhook))
        except NotOursError as error:
            raise failures.WEBHOOK_UNUSABLE.final(f"The webhook can't be read: {error}.") from None


class _Pace:
    """Detects that this process was stopped and continued. Another worker may have replaced the process since, and its
    data may be old.
    """

    def __init__(self) -> None:
        self._looked_at = time.monotonic()
        self._has_stood = False

    async def __aenter__(self) -> Self:
        self._looking = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._looking.cancel()

    def require_steady(self) -> None:
        """Fail if this attempt may have been abandoned without noticing."""
        self._look()
        if self._has_stood:
            raise failures.WEBHOOK_FAILED.passing(
                "The worker was stopped for a while, so another one may have taken its place."
            )

    def _look(self) -> None:
        now = time.monotonic()
        self._has_stood = self._has_stood or now - self._looked_at > STANDSTILL
        self._looked_at = now

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(STANDSTILL / 10)
            self._look()


async def _post(http: httpx.AsyncClient, webhook: Webhook, notification: Notification) -> None:
    """Send one notification; only the answer's status is read and reported.

    Fails if the notification was not accepted. The failure is final (``WebhookUnusable``) if the webhook will never
    accept one.
    """
    url = httpx.URL(webhook.url)
    problem: Exception | None = None
    for address in await _addresses(webhook):
        request = http.build_request(
            "POST",
            url.copy_with(host=address),  # the checked address: the name may resolve to another one by now
            json=notification.body,
            headers={**webhook.make_headers(), "Host": url.netloc.decode("ascii")},
            extensions={"sni_hostname": url.raw_host.decode("ascii")},
        )
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                answer = await http.send(request, stream=True)
                await answer.aclose()
        except httpx.ConnectError as error:
            problem = error
            continue
        except (httpx.HTTPError, TimeoutError) as error:
            problem = error
            break
        if answer.is_success:
            return
        if answer.status_code == httpx.codes.GONE:
            raise failures.WEBHOOK_UNUSABLE.final(f"The webhook at {url.host} says that it is gone (410).")
        raise failures.WEBHOOK_FAILED.passing(f"The webhook at {url.host} answered {answer.status_code}.")
    raise failures.WEBHOOK_FAILED.passing(f"The webhook at {url.host} can't be reached ({type(problem).__name__}).")


async def _addresses(webhook: Webhook) -> list[str]:
    try:
        parts = check_webhook(webhook)
    except BadWebhookError as error:
        raise failures.WEBHOOK_UNUSABLE.final(f"The webhook can't be used: {error}.") from None
    host = parts.hostname or ""
    try:
        addresses = await look_up(host)
    except OSError:
        raise failures.WEBHOOK_FAILED.passing(f"The webhook's host {host} can't be resolved.") from None
    if any(map(is_forbidden, addresses)):
        raise failures.WEBHOOK_UNUSABLE.final(f"The webhook's host {host} has an address that no webhook may have.")
    return addresses
