"""What the simulator's own HTTP layer saves: ``python -m benchmarks.http_layers`` prints a JSON line for each layer.

The same handlers, models and simulation, once behind ``ues_sim.http`` and once behind starlette, as one would write
it with that: its router, a ``Request``, the same check of the key, the same pydantic adapters, a ``Response`` with the
same bytes; but no access log, limits and fences, which the own layer has to pay for. Each layer runs in a process of
its own under uvicorn, and one client on one kept-alive connection asks. It prints requests a second, and the server's
processor time for each request in microseconds. ``README.md`` has the figures, and what follows from them.
"""

import json
import subprocess
import sys
import time
from typing import Any

import orjson
import psutil
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from benchmarks.simulator import Client, email, say
from ues_sim.http.app import Application
from ues_sim.http.requests import read_json, read_params, secret_of, unauthorized
from ues_sim.http.route import Call, Reply, Route, problem_reply
from ues_sim.http.routes import SIMULATION_ROUTES
from ues_sim.problems import Forbidden, Problem
from ues_sim.server import create_app
from ues_sim.simulation import Simulation

ADMIN = "admin-key-of-the-benchmark"
TIMES = 3000


def starlette_app(simulation: Simulation) -> Starlette:
    """The same routes behind starlette."""
    return Starlette(routes=[_starlette_route(simulation, route) for route in SIMULATION_ROUTES])


def _starlette_route(simulation: Simulation, route: Route[Call]) -> StarletteRoute:
    async def endpoint(request: Request) -> Response:
        try:
            secret = secret_of(request.scope["headers"])
            key = simulation.keys.find(secret) if secret else None
            if key is None:
                raise unauthorized(secret)
            if route.permission is not None and not key.allows(route.permission):
                raise Forbidden(f"This key lacks the permission {route.permission!r}.")
            params = None
            if route.params is not None:
                params = read_params(request.scope["query_string"], route.params_adapter)
            body: Any = None
            if route.body is bytes:
                body = await request.body()
            elif route.body is not None:
                body = read_json(await request.body(), route.body_adapter, required=route.body_required)
            simulation.catch_up()
            content = route.handler(Call(simulation, key, body, params, request.path_params))
            reply = content if isinstance(content, Reply) else Reply(content, route.status)
        except Problem as problem:
            reply = problem_reply(problem)
        return Response(reply.to_bytes(), reply.status, media_type=reply.media_type)

    return StarletteRoute(route.path, endpoint, methods=[route.method])


def serve(layer: str) -> None:
    """Serve one layer until the process is ended."""
    own: Application = create_app(single=True, admin_key=ADMIN)
    app: Any = own
    if layer == "starlette":
        simulation = own.single
        assert simulation is not None
        app = starlette_app(simulation)
    config = uvicorn.Config(app, port=0, log_level="warning", access_log=False, ws="none")
    server = uvicorn.Server(config)
    listener = config.bind_socket()
    listener.listen(100)
    print(listener.getsockname()[1], flush=True)
    server.run(sockets=[listener])


def measure(layer: str) -> dict[str, float | str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.http_layers", layer], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        client = Client(f"http://127.0.0.1:{int(process.stdout.readline())}", ADMIN)
        watched = psutil.Process(process.pid)
        figures: dict[str, float | str] = {"layer": layer}
        requests: list[tuple[str, str, str, Any]] = [
            ("time", "GET", "/simulator/time", None),
            ("missing", "GET", "/events/unknown", None),
            ("receive", "POST", "/email/receive", email(1)),
            ("query", "POST", "/email/query", {"limit": 10}),
        ]
        for _ in range(200):
            client.get("/simulator/time")
        for name, method, path, body in requests:
            content = None if body is None else orjson.dumps(body)
            cpu, began = sum(watched.cpu_times()[:2]), time.perf_counter()
            for _ in range(TIMES):
                try:
                    client.ask(method, path, content)
                except RuntimeError:
                    if name != "missing":
                        raise
            figures[f"{name}_per_second"] = round(TIMES / (time.perf_counter() - began))
            figures[f"{name}_cpu_us"] = round((sum(watched.cpu_times()[:2]) - cpu) / TIMES * 1e6)
        client.close()
        return figures
    finally:
        process.terminate()
        process.wait(timeout=10)


def main() -> None:
    """Measure both layers, twice in turn, or serve one."""
    if len(sys.argv) > 1:
        serve(sys.argv[1])
        return
    for layer in ("ues_sim.http", "starlette") * 2:
        say(f"{layer} ...")
        print(json.dumps(measure(layer)), flush=True)


if __name__ == "__main__":
    main()
