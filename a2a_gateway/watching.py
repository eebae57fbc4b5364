"""Monitoring of the gateway: ``/health``, ``/ready`` and ``/metrics``.

``/health`` says whether assessments can be played, and ``/ready`` whether everything that the gateway needs works, the
store included. These two need no authentication, and show reasons only to admins. Metrics are for admins. At an
observing address (``observe_port``) all three are served without authentication.
"""

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from temporalio.service import RPCError

from proctor.a2a_gateway.auth.identity import Identity
from proctor.a2a_gateway.metrics import ASSESSMENTS, STATES, TEMPORAL_UP, WORKERS, count_assessments
from proctor.a2a_gateway.temporal import TemporalConnection
from proctor.observing import metrics
from proctor.observing.readiness import Look, check_needs, remember_success
from proctor.protocol.callers import get_caller
from proctor.settings.config import GreenAgentConfig
from proctor.storage.temporal import TemporalUnreachableError
from proctor.storage.trying import find_problem_of_store

_STORE_TRIED_EVERY = 30.0
_PROVIDER_ASKED_EVERY = 30.0
_COUNTED_WITHIN = 4.0
_PLAYED_WITH = ("temporal", "worker")


class Watching:
    def __init__(self, config: GreenAgentConfig, connection: TemporalConnection) -> None:
        self._config = config
        self._connection = connection
        store = remember_success(_STORE_TRIED_EVERY, lambda: find_problem_of_store(config.storage_url))
        self.needs: dict[str, Look] = {
            "temporal": connection.find_problem,
            "worker": lambda: connection.find_worker_problem(config),
            "store": store,
        }
        identity = Identity(config)

        async def tokens() -> str | None:
            return await asyncio.to_thread(identity.find_problem_of_tokens)

        if identity.is_asked():
            self.needs["tokens"] = tokens
        if config.oidc_issuer:
            from proctor.a2a_gateway.auth.oidc import Oidc

            self.needs["oidc"] = remember_success(_PROVIDER_ASKED_EVERY, Oidc(config).find_problem)
        self.routes = [
            Route("/health", self._health),
            Route("/ready", self._ready),
            Route("/metrics", self._metrics),
        ]

    async def render(self) -> bytes:
        """Render all metrics of this process, with the number of assessments in Temporal. If Temporal doesn't answer,
        leave that number out.
        """
        try:
            async with asyncio.timeout(_COUNTED_WITHIN):
                client = await self._connection.connect()
                counts = await count_assessments(client)
                workers = await self._connection.count_workers(self._config.task_queue)
        except (TemporalUnreachableError, RPCError, TimeoutError):
            TEMPORAL_UP.set(0)
            WORKERS.set(0)
            ASSESSMENTS.clear()
        else:
            TEMPORAL_UP.set(1)
            WORKERS.set(workers)
            for state in STATES:
                ASSESSMENTS.labels(state).set(counts.get(state, 0))
        return await metrics.render()

    async def _health(self, request: Request) -> JSONResponse:
        return await self._status_response(request, {name: self.needs[name] for name in _PLAYED_WITH})

    async def _ready(self, request: Request) -> JSONResponse:
        return await self._status_response(request, self.needs)

    async def _status_response(self, request: Request, needs: dict[str, Look]) -> JSONResponse:
        states = await check_needs(needs)
        is_well = set(states.values()) == {"ok"}
        details = states if get_caller(request.scope).is_admin else {}
        return JSONResponse({"status": "ok" if is_well else "degraded", **details}, 200 if is_well else 503)

    async def _metrics(self, request: Request) -> Response:
        if not get_caller(request.scope).is_admin:
            return JSONResponse({"error": {"code": 403, "message": "Metrics are for admins."}}, 403)
        return Response(await self.render(), media_type=metrics.MEDIA_TYPE)
