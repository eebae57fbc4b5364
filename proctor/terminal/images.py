"""Prepare a task's image. It is named by the content that it is built from, and built once for all trials and runs."""

import asyncio
import json
import os
import re
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from typing import IO, Any

from aiodocker import DockerError

from proctor.terminal import compose_files, contexts, shell
from proctor.terminal.dockerfiles import needs_buildkit
from proctor.terminal.engine import RUN, TRIAL, Engine, labelled
from proctor.terminal.failures import ImageFailedError, RegistryUnavailableError, TerminalError
from proctor.terminal.format_one import load_yaml
from proctor.terminal.notes import Notes
from proctor.terminal.references import ImageRef
from proctor.terminal.removing import remove_builds
from proctor.terminal.task_model import Build, TaskFormat, TerminalTask
from purple_sdk.processes.locks import BusyError, builds_folder, locked_without_blocking

BUILD_SECONDS = 1800.0
"""Seconds for a build if neither task nor caller sets a limit."""

_TURNS = 2
"""The longest wait for others' builds of an image, as a multiple of a build's time limit. Their first may fail."""

_BUILT = "proctor-task"
_USED = "proctor-run"
_DIGEST = 32
"""Characters of a content's digest at the end of an image's name."""

_LOG_LINES = 60
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)


async def prepare_image(engine: Engine, task: TerminalTask, run: str, timeout: float | None = None) -> ImageRef:
    """Find, build or pull a task's image; other callers wait while it is being built.

    Args:
        run: the run that needs it; ``remove_images`` removes images that no run needs any more.
        timeout: seconds for a build, in place of the task's own.

    Raises:
        ImageFailedError: the Dockerfile fails or takes too long, or there is no such image; with the log's end.
        EngineUnavailableError: the engine doesn't answer.
    """
    seconds = timeout or task.build_timeout or BUILD_SECONDS
    await engine.ask("POST", "volumes/create", body={"Name": f"{_USED}-{_slug(run)}", "Labels": {RUN: run}})
    if task.compose_file is None:
        if task.service is None:
            raise ImageFailedError(f"{task.id} says nothing about its container: add a Dockerfile")
        return ImageRef(name=await _image(engine, task, task.service.build, task.service.image, run, seconds))
    services: dict[str, str] = {}
    for name, (build, image) in read_builds(task).items():
        if build is not None or image is not None:
            services[name] = await _image(engine, task, build, image, run, seconds)
    return ImageRef(name=services[task.compose_main], services=services)


def read_builds(task: TerminalTask) -> dict[str, tuple[Build | None, str | None]]:
    """Return, for each service of a task with several, the build of its image, or the image's name."""
    document = read_compose(task)
    folder = (task.compose_file or task.folder).parent
    builds: dict[str, tuple[Build | None, str | None]] = {}
    for name, definition in document["services"].items():
        build = compose_files.read_build(definition, folder)
        image = None if build else definition.get("image")
        if name == task.compose_main and build is None and task.service is not None:
            is_named = image and image != compose_files.PLACEHOLDERS[compose_files.IMAGE_NAME]
            build, image = (None, image) if is_named else (task.service.build, task.service.image)
        builds[name] = build, image
    return builds


def read_compose(task: TerminalTask, names: dict[str, str] | None = None) -> dict[str, Any]:
    """Return a task's compose file with its variables filled in, with the trial's own ``names``.

    Raises ImageFailedError (it can't be read, which ``load_task`` would have reported).
    """
    notes = Notes(task.id)
    file = task.compose_file or task.folder / "docker-compose.yaml"
    raw = load_yaml(file, task.folder, notes)
    if isinstance(raw, dict) and isinstance(raw.get("services"), dict) and task.format == TaskFormat.TWO:
        raw = {**raw, "services": {task.compose_main: {}, **raw["services"]}}
    values = compose_files.PLACEHOLDERS | dict(task.compose_variables) | (names or {})
    document = None if raw is None else compose_files.read(raw, values, task.compose_main, notes)
    if document is None:
        raise ImageFailedError("; ".join(problem.sentence for problem in notes.problems))
    return document


async def remove_images(engine: Engine, run: str) -> None:
    """Remove the images that were built for a run and that no other run uses; repeating it does no harm.

    While a container still uses such an image, ``list_runs`` continues to list the run.
    """
    prefix = f"{_USED}:{_slug(run)}-"
    await remove_builds(engine, labelled(run), but_with=TRIAL)
    for image in await engine.ask("GET", "images/json"):  # a filter by name would hide an image's other names
        is_built_for_it = (image["Labels"] or {}).get(RUN) == run
        for tag in image["RepoTags"] or []:
            if tag.startswith(prefix) or (is_built_for_it and tag.startswith(f"{_BUILT}:")):
                await _remove_use(engine, run, tag[-_DIGEST:])
    for image in await engine.ask(
        "GET", "images/json", {"all": True, "filters": labelled(run) | {"dangling": ["true"]}}
    ):
        await _delete_image(engine, image["Id"])
    if not await engine.ask("GET", "images/json", {"filters": {"reference": [f"{prefix}*"]}}):
        with suppress(DockerError):
            await engine.ask("DELETE", f"volumes/{_USED}-{_slug(run)}")


async def _remove_use(engine: Engine, run: str, digest: str) -> None:
    """Remove a run's name of an image, and the image if no other run uses it.

    Runs that end at the same time do this one after the other. Each could otherwise leave the image to the other run.
    The run's name is removed last. If an attempt is killed before that, the next attempt begins again.
    """
    built, own = f"{_BUILT}:{digest}", f"{_USED}:{_slug(run)}-{digest}"
    async with _alone(f"{engine.url} {digest}"):
        try:
            names = (await engine.ask("GET", f"images/{built}/json"))["RepoTags"] or []
        except DockerError:
            names = []
        if not any(name.startswith(f"{_USED}:") and name != own for name in names):
            await _delete_image(engine, built)
        await _delete_image(engine, own)


async def _delete_image(engine: Engine, name: str) -> None:
    with suppress(DockerError):  # it is gone already, or another image needs it
        await engine.ask("DELETE", f"images/{name}", {"force": False})


def _slug(run: str) -> str:
    return sha256(run.encode()).hexdigest()[:16]


async def _image(
    engine: Engine, task: TerminalTask, build: Build | None, image: str | None, run: str, seconds: float
) -> str:
    if image is not None:
        try:
            return await _pulled(engine, image, seconds)
        except (ImageFailedError, RegistryUnavailableError):
            if build is None:
                raise
    assert build is not None
    try:
        context, digest = await asyncio.to_thread(contexts.pack, build, task.format == TaskFormat.ONE)
    except OSError as error:
        raise ImageFailedError(
            f"The files that {task.id} is built from can't be read ({error.strerror}: {error.filename}): mend that"
        ) from None
    digest = digest[:_DIGEST]
    name, used = f"{_BUILT}:{digest}", f"{_USED}:{_slug(run)}-{digest}"
    try:
        async with _alone(f"{engine.url} {digest}", seconds):
            if not await _is_there(engine, name):
                await _build(engine, task, build, context, name, run, seconds)
            try:
                await engine.ask("POST", f"images/{name}/tag", {"repo": _USED, "tag": used.partition(":")[2]})
            except DockerError:  # another run's end removed it in between
                raise engine.unavailable(f"the image {name} was removed while it was being used") from None
    finally:
        context.close()
    return used


@asynccontextmanager
async def _alone(what: str, seconds: float = BUILD_SECONDS) -> AsyncIterator[None]:
    """Let only one process on this machine at a time run the block; waits for others for ``_TURNS * seconds``.

    Raises TerminalError (another process takes longer than that).
    """
    async with _locks[what]:
        os.makedirs(builds_folder(), mode=0o700, exist_ok=True)
        file = builds_folder() / sha256(what.encode()).hexdigest()[:32]
        try:
            async with locked_without_blocking(file, _TURNS * seconds):
                yield
        except BusyError as error:
            raise TerminalError(f"The task's image can't be built: {error}") from None


async def _is_there(engine: Engine, name: str) -> bool:
    try:
        await engine.ask("GET", f"images/{name}/json")
    except DockerError as error:
        if error.status == 404:
            return False
        raise ImageFailedError(f"The image {name} can't be used: {error.message[:300]}") from error
    return True


async def _pulled(engine: Engine, image: str, seconds: float) -> str:
    if await _is_there(engine, image):
        return image
    repository, colon, tag = image.rpartition(":")
    if not colon or "/" in tag or "@" in image:
        repository, tag = image, "" if "@" in image else "latest"
    log = await _stream(engine, "images/create", {"fromImage": repository, "tag": tag or None}, None, seconds, "pulled")
    if not await _is_there(engine, image):
        raise ImageFailedError(f"The image {image} can't be pulled: see that it exists and may be read", log)
    return image


async def _build(
    engine: Engine, task: TerminalTask, build: Build, context: IO[bytes], name: str, run: str, seconds: float
) -> None:
    text = (build.context / build.dockerfile).read_text(errors="replace")
    if needs_buildkit(text):
        await _build_with_buildkit(engine, task, build, context, name, run, seconds)
        return
    parameters = {
        "t": name,
        "dockerfile": build.dockerfile,
        "rm": True,
        "forcerm": True,
        "buildargs": dict(build.args) or None,
        "target": build.target,
        "labels": {RUN: run},
    }
    labelled_context = await asyncio.to_thread(contexts.with_label, context, build, run)
    try:
        await _stream(engine, "build", parameters, labelled_context, seconds, f"built from {build.dockerfile}")
    finally:
        labelled_context.close()


async def _stream(
    engine: Engine, path: str, parameters: dict[str, Any], body: IO[bytes] | None, seconds: float, done: str
) -> str:
    """Make the engine build or pull, and return its output. If it fails, the error has the output."""
    printed = ""
    wrong: str | None = None
    try:
        async with (
            asyncio.timeout(seconds),
            engine.asking("POST", path, parameters, body, seconds + 10, "application/x-tar") as response,
        ):
            rest = b""
            async for chunk in response.content.iter_any():
                *whole, rest = (rest + chunk).split(b"\n")
                for line in filter(None, map(bytes.strip, whole)):
                    message = json.loads(line)
                    wrong = message.get("error") or wrong
                    # A line of a command's output may come in several pieces, each of them in colour.
                    printed += str(message["stream"]) if "stream" in message else f"{message.get('status') or ''}\n"
                printed = "\n".join(printed.split("\n")[-_LOG_LINES:])
    except TimeoutError:
        raise ImageFailedError(
            f"The image could not be {done} in {seconds:g} s: make it quicker, or allow more with build_timeout_sec",
            _COLOUR.sub("", printed),
        ) from None
    except DockerError as error:
        wrong = error.message
    log = "\n".join(line for line in _COLOUR.sub("", printed).splitlines() if line.strip())
    if wrong and (passing := engine.refused(wrong)) is not None:
        raise passing
    if wrong:
        raise ImageFailedError(f"The image can't be {done}: {' '.join(wrong.split())[:500]}", log)
    return log


async def _build_with_buildkit(
    engine: Engine, task: TerminalTask, build: Build, context: IO[bytes], name: str, run: str, seconds: float
) -> None:
    """Build a Dockerfile that needs BuildKit with Docker's own command, which can use it."""
    arguments = ["docker", "build", "--tag", name, "--file", build.dockerfile, "--label", f"{RUN}={run}", "--force-rm"]
    for variable, value in build.args.items():
        arguments += ["--build-arg", f"{variable}={value}"]
    if build.target:
        arguments += ["--target", build.target]
    ended = await shell.run(
        [*arguments, "-"], seconds, {"DOCKER_HOST": engine.url, "DOCKER_BUILDKIT": "1"}, task.folder, context
    )
    if ended.exit_code is None:
        raise ImageFailedError(
            f"The image could not be built in {seconds:g} s: allow more with build_timeout_sec", ended.output
        )
    if ended.exit_code != 0:
        if (passing := engine.refused(ended.output)) is not None:
            raise passing
        last = ended.output.strip().splitlines()[-1:] or ["docker build said nothing"]
        raise ImageFailedError(f"The image can't be built from {build.dockerfile}: {last[0][:500]}", ended.output)
