"""Files of a run's trials (logs, recordings, transcripts) for callers who may read the run's result."""

from collections.abc import Awaitable, Callable

from a2a.utils.errors import A2AError
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from proctor.a2a_gateway.tasks import find_own, get_owner, is_closed, read_outcome
from proctor.a2a_gateway.temporal import TemporalConnection, temporal_errors
from proctor.protocol.callers import Caller, get_caller
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobDamagedError, BlobNotFoundError, BlobRef, BlobStore, StoreUnavailableError
from purple_sdk.protocol.terminal import TerminalResults

RUN_FILES_PATH = "/runs/{task_id}/files/{sha256}"
_RUNS_REMEMBERED = 8


def run_files_route(config: GreenAgentConfig, connection: TemporalConnection) -> Route:
    """Return the route for ``GET`` of a file named in a run's result, by its hash; no other content is served."""
    known: dict[str, tuple[str, dict[str, int]]] = {}
    store = BlobStore(config.storage_url)

    async def list_files(task_id: str, caller: Caller) -> dict[str, int]:
        if task_id not in known or not caller.may_see(known[task_id][0]):
            with temporal_errors(task_id):
                client = await connection.connect()
                execution = await find_own(client, task_id, caller)
                is_over = is_closed(execution)
                results = (await read_outcome(client, execution, config)).results if is_over else None
            trials = results.results if isinstance(results, TerminalResults) else []
            files = {file.sha256: file.size for trial in trials for file in trial.files}
            if not is_over:
                return files
            while len(known) >= _RUNS_REMEMBERED:
                known.pop(next(iter(known)))
            known[task_id] = get_owner(execution), files
        return known[task_id][1]

    return Route(RUN_FILES_PATH, _answering(list_files, store))


def _answering(
    list_files: Callable[[str, Caller], Awaitable[dict[str, int]]], store: BlobStore
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        task_id, sha256 = request.path_params["task_id"], request.path_params["sha256"]
        try:
            files = await list_files(task_id, get_caller(request.scope))
        except A2AError as error:
            return PlainTextResponse(str(error), 404)
        if sha256 not in files:
            return PlainTextResponse(f"The result of {task_id} names no such file.", 404)
        try:
            content = await store.get(BlobRef(sha256=sha256, size=files[sha256]))
        except (BlobNotFoundError, BlobDamagedError) as error:
            return PlainTextResponse(store.without_place(error), 410)
        except StoreUnavailableError as error:
            return PlainTextResponse(store.without_place(error), 503)
        # Participants wrote the file: a browser must not show it as a page of ours.
        headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
        return Response(content, media_type="application/octet-stream", headers=headers)

    return answer
