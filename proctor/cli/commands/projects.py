"""Commands for those who write agents and scenarios."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from proctor.cli import options
from proctor.cli.options import option

app = typer.Typer()


@app.command("new-agent")
def new_agent(
    name: Annotated[str, Argument(metavar="NAME", help="The project's name, such as mail-clerk.")],
    folder: str = option(".", "FOLDER", "Where to make the project's folder."),
) -> None:
    """Write a project for an agent of your own: agent, tests, Dockerfile, README."""
    from hashlib import sha256
    from importlib.metadata import version

    from proctor.cli.new_projects import say_next, split_name, write_project
    from proctor.cli.purple_wheel import write_wheel

    class_name = "".join(word.capitalize() for word in split_name(name))
    values = {"class_name": class_name, "version": version("proctor")}
    target = write_project("agent", name, Path(folder), "mail-clerk", values)
    wheel = write_wheel(target / "wheels")
    with (target / "requirements.lock").open("a", encoding="utf-8") as lock:
        digest = sha256(wheel.read_bytes()).hexdigest()
        lock.write(f"proctor-purple=={version('proctor')} \\\n    --hash=sha256:{digest}\n")
    say_next("agent", target=target)


@app.command("check-agent")
def check_agent(
    url: Annotated[
        str | None, Argument(metavar="[URL]", help="The agent's address, such as http://localhost:8001.")
    ] = None,
    harness: options.Harness = None,
    model: options.HarnessModel = None,
    model_url: options.ModelUrl = None,
    program: options.Program = None,
    timeout: float = option(60.0, "SECONDS", "How long the agent has for each message.", min=0.1, max=3600),
    host: str | None = option(None, "HOST", "This machine's address, as the agent reaches it.  [default: 127.0.0.1]"),
    as_json: bool = Option(False, "--json", help="Print the findings as JSON."),
) -> None:
    """Play a miniature assessment with an agent, and say what it does right and wrong."""
    from proctor.local.agent_check.command import check_agent
    from proctor.local.harness_runs import choose_harness

    choice = choose_harness(harness, model, model_url, program, has_agent=url is not None)
    raise typer.Exit(check_agent(url or "", timeout=timeout, host=host, as_json=as_json, harness=choice))


@app.command("new-scenario")
def new_scenario(
    name: Annotated[str, Argument(metavar="NAME", help="The scenario's id, such as team-lunch.")],
    folder: str = option(".", "FOLDER", "Where to make the scenario's folder."),
) -> None:
    """Write a scenario of your own: people, mails, criteria, calibration cases, participants that test it."""
    import subprocess
    import sys
    from uuid import uuid4

    from proctor.cli.new_projects import say_next, write_project
    from proctor.common.errors import CommandError

    target = write_project("scenario", name, Path(folder), "team-lunch", {"canary": str(uuid4())})
    built = subprocess.run([sys.executable, "build.py"], cwd=target, capture_output=True, text=True, check=False)
    if built.returncode:
        raise CommandError(f"{target} is written, but its build.py fails: {built.stderr.strip()}")
    where = target if target.is_absolute() else f"./{target}"
    say_next("scenario", target=target, where=where, folder=Path(folder), name=name)


@app.command("new-family")
def new_family(
    name: Annotated[str, Argument(metavar="NAME", help="The family's name, such as barn_sale.")],
    folder: str = option(".", "FOLDER", "The scenarios folder that gets it."),
) -> None:
    """Write a family of your own. It makes days from seeds, and its audit passes as it is."""
    from proctor.cli.new_projects import say_next, write_project

    target = write_project("family", name, Path(folder) / "families", "barn_sale", {})
    say_next("family", target=target, folder=Path(folder), name=name)
