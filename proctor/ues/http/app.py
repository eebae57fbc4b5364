"""The ASGI application: finds the simulation, checks the key, finds the route, checks permission and input."""

import asyncio
import hmac
import logging
from collections.abc import Awaitable, MutableMapping
from contextlib import suppress
from dataclasses import replace
from time import perf_counter, thread_time
from typing import Any

from pydantic import BaseModel

from proctor.ues import fences
from proctor.ues.course import Course
from proctor.ues.host import Host
from proctor.ues.http import mcp
from proctor.ues.http.host_routes import HOST_ROUTES, OF_THE_HOST, HostCall
from proctor.ues.http.open_routes import OPEN_PATHS, OpenPages
from proctor.ues.http.requests import (
    Disconnected,
    Receive,
    Scope,
    Send,
    read_body,
    read_fence,
    read_json,
    read_params,
    read_secret,
    received,
    unauthorized,
)
from proctor.ues.http.route import Call, Reply, Route, Router, problem_reply
from proctor.ues.http.routes import SIMULATION_ROUTES, USER_PERMISSIONS
from proctor.ues.keys import ADMIN_KEY_ID, Key
from proctor.ues.limits import Allowance, Limits, configured
from proctor.ues.memory import Memory
from proctor.ues.modalities import MODALITIES
from proctor.ues.noise import Noise
from proctor.ues.pace import TICK_SECONDS as PACE_SECONDS
from proctor.ues.pace import Pace
from proctor.ues.problems import Conflict, Forbidden, NotFound, Problem, WrongMethod
from proctor.ues.schema import JsonObject, validate
from proctor.ues.simulation import Simulation
from proctor.ues.times import wall_text

logger = logging.getLogger(__name__)

SIMULATIONS = "/simulations/"
_PARTICIPANT = frozenset(USER_PERMISSIONS)
"""A key with exactly these permissions is a participant's."""

TICK_SECONDS = 0.25
"""The seconds between updates of a simulation with auto-advance that gets no requests."""

_SERVER_ERROR = Reply({"error": "Internal Server Error", "detail": "An unexpected error; the log says more."}, 500)


class Application:
    """Serves a host of simulations, or, with ``single``, one simulation at the root."""

    def __init__(self, host: Host, *, host_key: str, single: Simulation | None, public_url: str | None) -> None:
        self.host = host
        self._host_key = host_key.encode()
        self.single = single
        self._public_url = public_url.rstrip("/") if public_url else None
        self._router: Router[Call] = Router(SIMULATION_ROUTES)
        self._host_router: Router[HostCall] = Router(HOST_ROUTES)
        self._simulation_pages = OpenPages("User Environment Simulator", [("", SIMULATION_ROUTES)])
        self._host_pages = OpenPages(
            "User Environment Simulator: host", [("", HOST_ROUTES), ("/simulations/{simulation_id}", SIMULATION_ROUTES)]
        )
        self._mcp = mcp.McpEndpoint(SIMULATION_ROUTES)
        self._memory = Memory()
        self._ticking: dict[str, asyncio.Task[None]] = {}
        self._pacing: dict[Course, asyncio.Task[None]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI connection."""
        if scope["type"] == "http":
            await self._answer_http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await receive()
            await send({"type": "websocket.close", "code": 1000})

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for task in (*self._ticking.values(), *self._pacing.values()):
            task.cancel()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer_http(self, scope: Scope, receive: Receive, send: Send) -> None:
        simulation = self._find_mcp_simulation(scope["path"])
        if simulation is not None:
            await self._answer_mcp(simulation, scope, receive, send)
        else:
            await self._answer(self._reply(scope, receive), scope, send)

    async def _answer(self, replying: Awaitable[Reply], scope: Scope, send: Send) -> None:
        try:
            reply = (await replying).encode()
        except Problem as error:
            reply = problem_reply(error)
        except Disconnected:
            return
        except Exception:
            logger.exception("%s %s failed", scope["method"], scope["path"])
            reply = _SERVER_ERROR
        await _send(reply, send)

    async def _reply(self, scope: Scope, receive: Receive) -> Reply:
        path = scope["path"]
        if self.single is not None:
            return await self._simulation_reply(self.single, path, scope, receive)
        if path.startswith(SIMULATIONS):
            simulation_id, slash, rest = path[len(SIMULATIONS) :].partition("/")
            if slash and rest not in OF_THE_HOST:
                simulation = self.host.simulations.get(simulation_id)
                if simulation is None:
                    if "/" + rest in OPEN_PATHS:
                        raise NotFound(f"There is no simulation {simulation_id[:80]!r}.")
                    raise unauthorized(read_secret(scope["headers"]))
                return await self._simulation_reply(simulation, "/" + rest, scope, receive)
        return await self._host_reply(path, scope, receive)

    # --- MCP ------------------------------------------------------------------------------------------------------

    def _find_mcp_simulation(self, path: str) -> Simulation | None:
        if not path.endswith(mcp.PATH):
            return None
        if self.single is not None:
            return self.single if path == mcp.PATH else None
        simulation_id, slash, rest = path.removeprefix(SIMULATIONS).partition("/")
        is_one = path.startswith(SIMULATIONS) and slash + rest == mcp.PATH
        return self.host.simulations.get(simulation_id) if is_one else None

    async def _answer_mcp(self, simulation: Simulation, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an MCP message. Key and limits are checked here; the route of a tool call checks them again."""
        began = perf_counter()
        secret = read_secret(scope["headers"])
        key = simulation.keys.find(secret) if secret else None
        status, has_begun = 500, False

        async def ask(method: str, path: str, query: bytes, body: bytes) -> Reply:
            asked = {**scope, "method": method, "path": path, "query_string": query, "headers": _without_length(scope)}
            return await self._simulation_reply(simulation, path, asked, received(body))

        async def note(message: MutableMapping[str, Any]) -> None:
            nonlocal status, has_begun
            status, has_begun = message.get("status", status), True
            await send(message)

        try:
            mcp.refuse_foreign_origin(scope["headers"], self._public_url)
            if key is None:
                raise unauthorized(secret)
            key.last_used_at = wall_text()
            allowance = simulation.allowance if key.has_exactly(_PARTICIPANT) else None
            if allowance is not None:
                allowance.take_request()
                allowance.note_work(mcp.COST_OF_A_MESSAGE)
            if scope["method"] != "POST":
                raise WrongMethod(f"{mcp.PATH} takes messages by POST, and keeps no stream open.", ["POST"])
            limits = allowance.limits if allowance is not None else configured()
            body = await read_body(receive, scope["headers"], limits.request_bytes, "request_bytes")
            read_json(body, nesting=limits.nesting + mcp.DEPTH_OF_ARGUMENTS)
            if simulation.keys.find(secret or "") is not key or not self._serves(simulation):
                raise unauthorized(secret)
            course = simulation.course if allowance is not None else None
            noise = course.noise if course is not None else None
            await self._mcp.answer(mcp.Caller(key, ask, noise), body, scope, note)
        except Problem as error:
            await _send(problem_reply(error), note)
        except Disconnected:
            return
        except Exception:
            logger.exception("%s %s failed", scope["method"], scope["path"])
            if not has_begun:
                await _send(_SERVER_ERROR, note)
        if key is not None:
            duration = round((perf_counter() - began) * 1000, 3)
            simulation.access_log.record(
                (wall_text(), key.key_id, key.data["name"], scope["method"], mcp.PATH, status, duration)
            )

    # --- the host -------------------------------------------------------------------------------------------------

    async def _host_reply(self, path: str, scope: Scope, receive: Receive) -> Reply:
        if path in OPEN_PATHS:
            return _open(self._host_pages, path, scope["method"])
        secret = read_secret(scope["headers"])
        if secret is None or not hmac.compare_digest(secret.encode("latin-1"), self._host_key):
            raise unauthorized(secret, of_host=True)
        route, values = self._host_router.find(scope["method"], path)
        body, _ = _checked_input(route, scope, await _raw_body(route, scope, receive))
        call = HostCall(self.host, self._base(scope), body, values, read_fence(scope["headers"]))
        reply = _as_reply(route, route.handler(call))
        if route.method == "DELETE":
            self._memory.release_soon()
        self._keep_pace(self.host.simulations.get(values.get("simulation_id", "")))
        return reply

    def _base(self, scope: Scope) -> str:
        if self._public_url is not None:
            return self._public_url
        host = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1")
        if not host:
            server = scope.get("server") or ("localhost", 80)
            host = f"{server[0]}:{server[1]}"
        return f"{scope.get('scheme', 'http')}://{host}"

    # --- one simulation -------------------------------------------------------------------------------------------

    async def _simulation_reply(self, simulation: Simulation, path: str, scope: Scope, receive: Receive) -> Reply:
        if path in OPEN_PATHS:
            hosted = simulation is not self.single
            address = f"{self._base(scope)}{SIMULATIONS}{simulation.simulation_id}" if hosted else None
            return _open(self._simulation_pages, path, scope["method"], address)
        began = perf_counter()
        method = scope["method"]
        secret = read_secret(scope["headers"])
        key = simulation.keys.find(secret) if secret else None
        try:
            if key is None:
                raise unauthorized(secret)
            key.last_used_at = wall_text()
            allowance = simulation.allowance if key.has_exactly(_PARTICIPANT) else None
            if allowance is not None:
                allowance.take_request()
            route, values = self._router.find(method, path)
            reply = await self._permitted_reply(simulation, key, allowance, route, values, scope, receive)
        except Problem as error:
            reply = problem_reply(error)
        if key is not None:
            duration = round((perf_counter() - began) * 1000, 3)
            simulation.access_log.record(
                (wall_text(), key.key_id, key.data["name"], method, path, reply.status, duration)
            )
        return reply

    async def _permitted_reply(
        self,
        simulation: Simulation,
        key: Key,
        allowance: Allowance | None,
        route: Route[Call],
        values: dict[str, str],
        scope: Scope,
        receive: Receive,
    ) -> Reply:
        if route.permission is not None and not key.allows(route.permission):
            raise Forbidden(f"This key lacks the permission {route.permission!r}.")
        limits = allowance.limits if allowance is not None else None
        raw = await _raw_body(route, scope, receive, limits)
        # A slow sender may have been overtaken while the body was read. The code below never waits.
        if simulation.keys.find(read_secret(scope["headers"]) or "") is not key or not self._serves(simulation):
            raise unauthorized(read_secret(scope["headers"]))
        if key.key_id == ADMIN_KEY_ID:
            fences.require(read_fence(scope["headers"]), simulation.fence, changes=route.changes)
            if simulation.course is not None:
                simulation.course.rest()
        elif route.changes and simulation.is_turn_over:
            raise Conflict("Your turn is over, since you have answered: you can look, and act again in the next one.")
        simulation.catch_up()
        course = simulation.course if allowance is not None and not simulation.is_turn_over else None
        began = thread_time() if allowance is not None else 0.0
        try:
            if course is not None:
                simulation.let_pass(course, course.begin_request())
                if course.noise is not None:
                    course.noise.fail_before()
            body, params = _checked_input(route, scope, raw, limits)
            reply = _as_reply(route, route.handler(Call(simulation, key, body, params, values, allowance)))
            if course is not None and course.noise is not None:
                reply = _with_noise(course.noise, route, scope, raw, reply)
            if allowance is not None:
                reply = reply.encode()
        finally:
            if allowance is not None:
                allowance.note_work(thread_time() - began)
            if course is not None:
                course.rest()
        if simulation.is_running and simulation.clock.auto_advance:
            self._keep_ticking(simulation)
        return reply

    def _keep_ticking(self, simulation: Simulation) -> None:
        """While auto-advance is on, run a task that executes events near their time even without requests."""
        if simulation.simulation_id not in self._ticking:
            task = asyncio.create_task(self._tick(simulation))
            self._ticking[simulation.simulation_id] = task
            task.add_done_callback(lambda _: self._ticking.pop(simulation.simulation_id, None))

    async def _tick(self, simulation: Simulation) -> None:
        with suppress(asyncio.CancelledError):
            while simulation.is_running and simulation.clock.auto_advance and self._serves(simulation):
                await asyncio.sleep(TICK_SECONDS)
                if simulation.events.find_next() is not None:
                    simulation.catch_up()

    def _keep_pace(self, simulation: Simulation | None) -> None:
        """While a turn's time is measured, run a task that keeps pauses of this server from being counted."""
        if simulation is None or simulation.course is None or simulation.course.pace is None:
            return
        if simulation.is_turn_over or simulation.course in self._pacing:
            return
        task = asyncio.create_task(self._pace(simulation, simulation.course, simulation.course.pace))
        self._pacing[simulation.course] = task

    async def _pace(self, simulation: Simulation, course: Course, pace: Pace) -> None:
        try:
            while simulation.course is course and not simulation.is_turn_over and self._serves(simulation):
                await asyncio.sleep(PACE_SECONDS)
                pace.tick()
        finally:
            self._pacing.pop(course, None)

    def _serves(self, simulation: Simulation) -> bool:
        return self.single is simulation or self.host.simulations.get(simulation.simulation_id) is simulation


async def _send(reply: Reply, send: Send) -> None:
    body = reply.to_bytes()
    length = (b"content-length", str(len(body)).encode())
    headers = [(b"content-type", reply.media_type.encode()), length, *reply.headers]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _without_length(scope: Scope) -> list[tuple[bytes, bytes]]:
    return [header for header in scope["headers"] if header[0] not in (b"content-length", b"content-type")]


def _open(pages: OpenPages, path: str, method: str, address: str | None = None) -> Reply:
    if method not in ("GET", "HEAD"):
        raise WrongMethod(f"{path} doesn't take {method[:20]}; it takes GET.", ["GET"])
    return pages.answer(path, address)


async def _raw_body(route: Route[Any], scope: Scope, receive: Receive, limits: Limits | None = None) -> bytes:
    """Read the body's bytes, within a participant's limits. Raises TooLarge (413)."""
    if route.body is None:
        return b""
    if limits is not None:
        return await read_body(receive, scope["headers"], limits.request_bytes, "request_bytes")
    if route.body is bytes:  # a checkpoint, which may have any size
        return await read_body(receive, scope["headers"], None)
    return await read_body(receive, scope["headers"], configured().admin_request_bytes, "admin_request_bytes")


def _checked_input(route: Route[Any], scope: Scope, raw: bytes, limits: Limits | None = None) -> tuple[Any, Any]:
    """Return the checked body and query parameters, within a participant's limits. Raises Invalid (422)."""
    params = None if route.params is None else validate(route.params, read_params(scope["query_string"]), "query")
    if route.body is None:
        return None, params
    if not issubclass(route.body, BaseModel):
        return raw, params
    nesting, years = (None, None) if limits is None else (limits.nesting, limits.years if route.writes else None)
    data = read_json(raw, required=route.body_required, nesting=nesting)
    return validate(route.body, data, "body", context=years), params


def _with_noise(noise: Noise, route: Route[Call], scope: Scope, raw: bytes, reply: Reply) -> Reply:
    """Apply noise to a reply. Raises Broken (500) if the noise loses the answer to an executed action."""
    if route.changes:
        noise.fail_after()
        return reply
    if route.tag == "time":
        return reply
    asked = b"\n".join((scope["path"].encode(), scope["query_string"], raw))
    return replace(reply, content=noise.alter(asked, reply.to_bytes(), is_list=route.tag in MODALITIES))


def _as_reply(route: Route[Any], content: JsonObject | Reply) -> Reply:
    return content if isinstance(content, Reply) else Reply(content, route.status)
