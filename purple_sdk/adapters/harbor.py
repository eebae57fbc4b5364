"""Adapters for Harbor (0.24), the successor of Terminal-Bench's harness: an A2A agent, and an environment for old
versions of Docker Compose.

    harbor run --path TASKS --agent purple_sdk.adapters.harbor:A2AAgent --agent-kwarg agent_url=http://HOST:8001 \\
        --env purple_sdk.adapters.harbor:DockerEnvironment

``A2AAgent`` sends the agent the container's name, so the environment must use containers on this host.
``DockerEnvironment`` plays tasks of one Dockerfile through ``docker`` alone, and tasks of several services with the
installed compose. Harbor's own environment needs a newer compose than many distributions have.
"""

import asyncio
import json
import os
import re
import shlex
import tempfile
from pathlib import Path
from typing import Any

from purple_sdk.adapters.asking import ask
from purple_sdk.protocol.terminal import FailureMode, TerminalTaskMessage

try:
    from harbor.agents.base import BaseAgent
    from harbor.agents.installed.base import NonZeroAgentExitCodeError
    from harbor.environments.base import BaseEnvironment, ExecResult
    from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities

    _IS_INSTALLED = True
except ImportError:  # users who only inspect this module need no harness
    BaseAgent, BaseEnvironment, ExecResult, _IS_INSTALLED = object, object, None, False
    EnvironmentCapabilities = EnvironmentResourceCapabilities = None
    NonZeroAgentExitCodeError = RuntimeError

_MISSING = "harbor is not installed: pip install harbor (Python 3.12 or newer)"
_BUILD_SECONDS = 1_800


class AgentFailedError(NonZeroAgentExitCodeError):  # type: ignore[misc, unused-ignore]  # Any if it isn't installed
    """The A2A agent failed, in its own words. With this base class Harbor tests the work that the agent has done so
    far.
    """


class A2AAgent(BaseAgent):
    """Hands each task to an A2A agent.

    Args:
        agent_url: the agent's address; by default ``A2A_AGENT_URL``.
        args, kwargs: Harbor's arguments for every agent.
    """

    def __init__(self, *args: Any, agent_url: str | None = None, **kwargs: Any) -> None:
        if not _IS_INSTALLED:
            raise ImportError(_MISSING)
        super().__init__(*args, **kwargs)
        self._url = agent_url or os.environ.get("A2A_AGENT_URL") or "http://localhost:8001"

    @staticmethod
    def name() -> str:
        """Return the agent's name in Harbor."""
        return "a2a-agent"

    def version(self) -> str:
        """Return the version of this adapter."""
        return "1.0.0"

    async def setup(self, environment: Any) -> None:
        """Do nothing: the agent stays outside of the environment."""

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        """Run the agent on a task, and add its use of models to the context. Raises AgentFailedError if the agent
        failed.
        """
        report = await ask(
            self._url,
            TerminalTaskMessage(
                task_id=environment.environment_name,
                instruction=instruction,
                container=await _find_container(environment),
                workdir=(await environment.exec("pwd")).stdout.strip() or "/app",
            ),
        )
        context.n_input_tokens, context.n_output_tokens = report.input_tokens, report.output_tokens
        context.metadata = {"agent_message": report.text, "failure_mode": str(report.failure_mode)}
        if report.failure_mode != FailureMode.NONE:
            raise AgentFailedError(f"{report.failure_mode}: {report.failure or report.text}")


async def _find_container(environment: Any) -> str:
    """Return the container's name, which our environment knows. In other environments, return the host name, which is
    the container's id.
    """
    if isinstance(environment, DockerEnvironment):
        return environment.container
    return str((await environment.exec("hostname")).stdout.strip())


class DockerEnvironment(BaseEnvironment):
    """An environment of one container, by ``docker build``, ``run``, ``exec`` and ``cp``. Several containers run by
    Docker Compose, 1.29 or newer.

    A task with ``network_mode`` none has no network. Other tasks use the engine's bridge, or the host's network if the
    engine has no bridge.
    """

    @property
    def container(self) -> str:
        """The container's name."""
        return f"harbor-{_make_plain(self.session_id)}"

    @staticmethod
    def type() -> str:
        """Return the environment's type in Harbor."""
        return "proctor-docker"

    @property
    def capabilities(self) -> Any:
        """Report that it can work without a network, and has no mounts."""
        return EnvironmentCapabilities(disable_internet=True)

    @classmethod
    def resource_capabilities(cls) -> Any:
        """Report that it enforces limits on processors and memory."""
        return EnvironmentResourceCapabilities(cpu_limit=True, memory_limit=True)

    def _validate_definition(self) -> None:
        files = (self.environment_dir / "Dockerfile", self._compose_file)
        if not self.task_env_config.docker_image and not any(file.is_file() for file in files):
            raise FileNotFoundError(
                f"{self.environment_dir} has neither Dockerfile nor docker-compose.yaml, and the task names no image"
            )

    async def start(self, force_build: bool) -> None:
        """Build the image, unless it exists, and start the container. If there are several services, start all of
        them.
        """
        if self._compose_file.is_file():
            await self._start_services()
        else:
            await self._start_one(force_build)
        # Writable for all users of the task, since agent and tests write there.
        folders = "/logs/agent /logs/verifier /logs/artifacts"
        await _must("exec", "--user", "root", self.container, "sh", "-c", f"mkdir -p {folders}; chmod 777 {folders}")

    @property
    def _compose_file(self) -> Path:
        return Path(self.environment_dir) / "docker-compose.yaml"

    async def _start_one(self, force_build: bool) -> None:
        config = self.task_env_config
        image = config.docker_image
        network = "none" if self._network_disabled else await _network()
        if not image:
            image = f"proctor-harbor/{_make_plain(self.environment_name)}:{_make_plain(self.environment_id)[:20]}"
            if force_build or (await _docker("image", "inspect", image))[0]:
                build = await _network()
                await _must("build", "--network", build, "-t", image, str(self.environment_dir), seconds=_BUILD_SECONDS)
        await _docker("rm", "--force", "--volumes", self.container)
        limits = [
            *(["--cpus", str(config.cpus)] if config.cpus else []),
            *(["--memory", f"{config.memory_mb}m"] if config.memory_mb else []),
        ]
        variables = [part for name, value in self._startup_env().items() for part in ("--env", f"{name}={value}")]
        await _must(
            *("run", "--detach", "--name", self.container, "--network", network, *limits, *variables),
            *("--entrypoint", "sh", image, "-c", "sleep infinity"),
        )

    async def _start_services(self) -> None:
        document = await asyncio.to_thread(_read_yaml, self._compose_file)
        services: dict[str, Any] = {"main": {}, **(document.get("services") or {})}
        if await _network() == "host":
            for service in services.values():
                if build := service.get("build"):
                    service["build"] = {**({"context": build} if isinstance(build, str) else build), "network": "host"}
        main, config = services["main"], self.task_env_config
        if not main.get("build") and not main.get("image"):
            main.update({"image": config.docker_image} if config.docker_image else {"build": {"context": "."}})
        main["container_name"] = self.container
        main.setdefault("command", ["sh", "-c", "sleep infinity"])
        stated = main.get("environment") or {}
        if isinstance(stated, list):
            stated = dict(variable.partition("=")[::2] for variable in stated)
        main["environment"] = {**stated, **self._startup_env()}
        if config.cpus:
            main.setdefault("cpus", config.cpus)
        if config.memory_mb:
            main.setdefault("mem_limit", f"{config.memory_mb}m")
        # Compose 1.29 reads a file without a version as its first format.
        whole = {"version": "3.8", **document, "services": services}
        if self._network_disabled:
            whole["networks"] = {"default": {"internal": True}, **(document.get("networks") or {})}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(whole, file)
            file.flush()
            await self._compose("-f", file.name, "up", "--detach", "--build", seconds=_BUILD_SECONDS)

    async def _compose(self, *arguments: str, seconds: float | None = None) -> None:
        """Run compose on this environment's services. Raises RuntimeError if compose fails or isn't installed."""
        is_plugin = (await _docker("compose", "version"))[0] == 0
        program = ("docker", "compose") if is_plugin else ("docker-compose",)
        where = ("--project-name", self.container, "--project-directory", str(self.environment_dir))
        code, _, stderr = await _ran(*program, *where, *arguments, seconds=seconds)
        if code:
            raise RuntimeError(f"{' '.join(program)} failed ({code}): {stderr.strip()[-1000:]}")

    async def stop(self, delete: bool) -> None:
        """Stop the containers, and remove them on request."""
        if self._compose_file.is_file():
            label = f"label=com.docker.compose.project={self.container}"
            for kind, *options in (("container", "--all"), ("network",), ("volume",)) if delete else ():
                _, listed, _ = await _docker(kind, "ls", *options, "--quiet", "--filter", label)
                if listed.split():
                    await _docker(kind, "rm", *(["--force"] if kind != "network" else []), *listed.split())
            if delete:
                return
        await _docker(*(("rm", "--force", "--volumes") if delete else ("stop", "--time", "1")), self.container)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file in."""
        await self.exec(f"mkdir -p {shlex.quote(os.path.dirname(target_path) or '/')}", user="root")
        await _must("cp", str(source_path), f"{self.container}:{target_path}")

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy a folder's content in."""
        await self.exec(f"mkdir -p {shlex.quote(target_dir)}", user="root")
        await _must("cp", f"{source_dir}/.", f"{self.container}:{target_dir}")

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a file out."""
        await _must("cp", f"{self.container}:{source_path}", str(target_path))

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy a folder's content out."""
        os.makedirs(target_dir, exist_ok=True)
        await _must("cp", f"{self.container}:{source_dir}/.", str(target_dir))

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> Any:
        """Run a command with bash, and return Harbor's ``ExecResult``. Raises TimeoutError after ``timeout_sec``."""
        user = user if user is not None else self.default_user
        variables = {**self._persistent_env, **(env or {})}
        code, stdout, stderr = await _docker(
            "exec",
            *(["--workdir", cwd] if cwd else []),
            *(["--user", str(user)] if user is not None else []),
            *(part for name, value in variables.items() for part in ("--env", f"{name}={value}")),
            *(self.container, "bash", "-c", command),
            seconds=timeout_sec,
        )
        return ExecResult(stdout=stdout, stderr=stderr, return_code=code)


def _make_plain(name: str) -> str:
    return re.sub(r"[^a-z0-9_.-]+", "-", name.lower()).strip("-._") or "x"


async def _network() -> str:
    _, listed, _ = await _docker("network", "ls", "--format", "{{.Name}}")
    return "bridge" if "bridge" in listed.split() else "host"


def _read_yaml(file: Path) -> dict[str, Any]:
    """Read a compose file with Harbor's YAML library."""
    import yaml

    document = yaml.safe_load(file.read_text())
    return document if isinstance(document, dict) else {}


async def _docker(*arguments: str, seconds: float | None = None) -> tuple[int, str, str]:
    """Run ``docker``; returns its exit code, output and errors."""
    return await _ran("docker", *arguments, seconds=seconds)


async def _ran(*command: str, seconds: float | None = None) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(seconds):
            stdout, stderr = await process.communicate()
    except BaseException:
        if process.returncode is None:
            process.kill()
            await process.wait()
        raise
    return process.returncode or 0, stdout.decode(errors="replace"), stderr.decode(errors="replace")


async def _must(*arguments: str, seconds: float | None = None) -> None:
    code, _, stderr = await _docker(*arguments, seconds=seconds)
    if code:
        raise RuntimeError(f"docker {shlex.join(arguments[:2])} failed ({code}): {stderr.strip()[-1000:]}")
