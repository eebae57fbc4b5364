"""Start a CLI agent for one prompt, with its files, its environment and its confinement, and decide whether it
succeeded.
"""

import asyncio
import importlib.util
import os
import re
import shlex
import sys
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import urlsplit

from purple_sdk.harness import agents_files
from purple_sdk.harness.declared import TOKEN_VARIABLE, Harness, HarnessError, Launch, Outcome, Printed
from purple_sdk.harness.folders import Folders
from purple_sdk.harness.installing import find_program
from purple_sdk.harness.launcher import Rules
from purple_sdk.harness.program import run_program
from purple_sdk.harness.relay import Relay
from purple_sdk.harness.upstream import find_upstream
from purple_sdk.processes.locks import builds_folder
from purple_sdk.settings.config import HarnessConfig

_LONGEST_PROBLEM = 600
_ASKS_FOR_LOGIN = re.compile(r"(?i)\b(?:log ?in|sign ?in|not logged in|authenticat|api[ _-]?key)\b")
_MAY_NOT_WRITE = re.compile(r"(?i)\b(?:EACCES|EROFS)\b|permission denied|PermissionError|read-only file system")
_PATHS_KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")


class Starter:
    """Starts one CLI agent, any number of times.

    Raises:
        HarnessError: the program isn't there, or the model's name, key or address is missing.
    """

    def __init__(self, config: HarnessConfig, harness: Harness) -> None:
        self.harness = harness
        self._config = config
        self._program = find_program(harness, config.program)
        self.upstream = find_upstream(config.wire or harness.wire, config.model_base_url)
        if not config.model:
            raise HarnessError(f"{harness.name} needs a model: name one with --model")

    async def play(self, prompt: str, folders: Folders, relay: Relay, seconds: float) -> Outcome:
        """Start the CLI agent and wait for its end.

        Args:
            folders: its working folders, with the session to resume.
            relay: its only way to model and tools.

        Raises:
            HarnessError: the result doesn't count; the sentence has the reason.
        """
        launch = Launch(
            program=self._program,
            model=self._config.model,
            prompt=prompt,
            session=folders.session,
            new_session=str(uuid.uuid4()),
            home=folders.home,
            work=folders.work,
            relay=relay.address,
        )
        return self._judge(await self._run(launch, folders, relay, seconds), launch, relay)

    async def _run(self, launch: Launch, folders: Folders, relay: Relay, seconds: float) -> Printed:
        for path, content in self.harness.files(launch).items():
            agents_files.write(launch.home, path, content)
        try:
            return await run_program(
                self.harness.command(launch),
                rules=self._rules(launch, folders),
                environment=self._environment(launch, folders, relay.token),
                seconds=seconds,
                started=folders.note_process,
            )
        except HarnessError as error:
            raise HarnessError(f"{relay.unanswered}{self.harness.name} {error}") from None

    def _rules(self, launch: Launch, folders: Folders) -> Rules:
        writable = (folders.home, folders.work, folders.temporary, *map(Path, self.harness.writes))
        for folder in writable:
            folder.mkdir(mode=0o700, exist_ok=True)
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                raise HarnessError(f"{self.harness.name} needs {folder}, which is a link or another user's: remove it")
        return Rules(
            work=str(folders.work),
            writable=[str(folder) for folder in writable],
            hidden=hidden_folders(folders.base.parent, self._config.hidden),
            readable=[str(folders.work.parent), sys.prefix],
            port=urlsplit(launch.relay).port or 80,
        )

    def _environment(self, launch: Launch, folders: Folders, token: str) -> dict[str, str]:
        """Return the CLI agent's whole environment. From the caller's environment, it has only the paths of
        programs.
        """
        kept = {name: os.environ[name] for name in _PATHS_KEPT if name in os.environ}
        folder = os.path.dirname(shlex.split(self._program)[0] if not self.harness.program else self._program)
        own = {
            "HOME": str(launch.home),
            "TMPDIR": str(folders.temporary),
            "PATH": f"{folder}:{kept.get('PATH', os.defpath)}",
            TOKEN_VARIABLE: token,
            **dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"), token),
            "NO_PROXY": "127.0.0.1,localhost",
            "CI": "1",
            "TERM": "dumb",
        }
        return {**kept, **own, **self.harness.environment(launch)}

    def _judge(self, printed: Printed, launch: Launch, relay: Relay) -> Outcome:
        outcome = self.harness.read(printed, launch)
        problem = outcome.problem
        remedy = ""
        if relay.excess is not None:
            problem, remedy = relay.excess.problem, f": {relay.excess.remedy}"
        elif problem is None and not (relay.record.has_listed_tools and relay.record.has_offered_tools):
            listed = "offering them to its model" if relay.record.has_listed_tools else "asking for them"
            problem = f"ignored the {relay.tools.owner}'s tools: it ended its turn without {listed}; {printed.ending()}"
            remedy = f": see whether MCP works with `proctor harness try {self.harness.name}`"
        elif problem is not None:
            remedy = self._remedy(problem + printed.ending())
        if problem is not None:
            sentence = f"{self.harness.name} did not play the turn (exit code {printed.exit_code}): {problem}"
            raise HarnessError(f"{sentence[:_LONGEST_PROBLEM]}{remedy}")
        return outcome

    def _remedy(self, text: str) -> str:
        found = next((remedy for pattern, remedy in self.harness.hints.items() if re.search(pattern, text)), None)
        if found is None and _ASKS_FOR_LOGIN.search(text):
            found = "it asks for a login or a key: keys come from the caller's environment, logins aren't supported"
        if found is None and _MAY_NOT_WRITE.search(text):
            found = "it is confined, and writes only in its home, its working directory and TMPDIR: have it write there"
        return f": {found}" if found else ""


async def to_the_end(work: Callable[[], None]) -> None:
    """Work on files on a thread. A cancellation waits for the end of the work, so no two threads use one folder."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


def hidden_folders(homes: Path, configured: str = "") -> list[str]:
    """Return the folders to hide: proctor's scenarios, homes of all assessments, locks of builds, and configured ones.

    Args:
        homes: holds the folders of all assessments.
        configured: more folders, separated as in PATH.
    """
    named = [Path(folder).expanduser() for folder in configured.split(os.pathsep) if folder]
    return sorted({str(folder.resolve()) for folder in (homes, builds_folder(), *_shipped_scenarios(), *named)})


def _shipped_scenarios() -> Iterable[Path]:
    """Yield the folders of an installed ``proctor``'s scenarios, without importing it.

    In a source checkout, yield the whole checkout, because tests and history also have the solutions.
    """
    spec = importlib.util.find_spec("proctor")
    for location in (spec.submodule_search_locations if spec else None) or ():
        folder = Path(location)
        yield folder.parent if (folder.parent / "pyproject.toml").is_file() else folder / "scenarios"
