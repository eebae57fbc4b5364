"""Options and arguments that several commands have."""

import os
from typing import Annotated, Any

from typer import Argument, Option


def option(default: Any, metavar: str, text: str, *names: str, **bounds: float) -> Any:
    """Declare an option; the result is the default value of a command's parameter.

    ``bounds`` are ``min`` and ``max``. Unless ``names`` are given, the option has the parameter's name.
    """
    return Option(default, *names, metavar=metavar, help=text, min=bounds.get("min"), max=bounds.get("max"))


def valued(metavar: str, text: str, *names: str, **bounds: float) -> Any:
    """Declare an option for an annotation that several commands share. The arguments are those of ``option``."""
    return option(..., metavar, text, *names, **bounds)


def _use_token_file(file: str | None) -> None:
    """Put the flag's file into the environment, where the token is looked up. Remove a token from the environment."""
    if file is not None:
        os.environ.pop("AGENTBEATS_TOKEN", None)
        os.environ["AGENTBEATS_TOKEN_FILE"] = file


Host = Annotated[str | None, valued("HOST", "Address to listen on; 0.0.0.0 for all.  [default: 127.0.0.1]")]
Port = Annotated[int | None, valued("PORT", "Port to listen on; 0 takes a free one.", min=0, max=65535)]
CardUrl = Annotated[str | None, valued("URL", "Address that the agent card names.")]
Temporal = Annotated[str | None, valued("HOST:PORT", "Temporal's front end.  [default: 127.0.0.1:7233]")]
Storage = Annotated[
    str | None,
    valued("PLACE", "Folder or fsspec URL of checkpoints and large payloads.  [default: storage in the state folder]"),
]
Scenarios = Annotated[
    str | None,
    valued(
        "FOLDER", "Folder that holds the scenario packages.  [default: scenarios, else those that came with proctor]"
    ),
]
State = Annotated[
    str | None,
    valued("FOLDER", "Folder for what outlives a process: secret, checkpoints.  [default: ~/.local/state/proctor]"),
]
Open = Annotated[
    bool, Option("--open", help="Listen beyond this machine without authentication, though there are no tokens.")
]
TokenFile = Annotated[
    str | None,
    Option(
        "--token-file",
        metavar="FILE",
        callback=_use_token_file,
        expose_value=False,
        help="A file with your token, if the gateway asks for one.  [default: AGENTBEATS_TOKEN or …_TOKEN_FILE]",
    ),
]
Gateway = Annotated[
    str | None,
    valued("URL", "The evaluator's address.  [default: AGENTBEATS_GATEWAY_URL, else this machine's]", "--gateway"),
]
Seed = Annotated[int | None, valued("N", "What every random choice derives from.")]
Difficulty = Annotated[int | None, valued("N", "Of a family's day, 1 to 4.  [default: 2]", min=1, max=4)]
Clock = Annotated[
    str | None,
    valued("CLOCK", "`fixed:5`: each request costs five seconds. `measured`: time passes.  [default: standing]"),
]
Noise = Annotated[
    int | None,
    valued("N", "How often requests fail, or get old or half answers.  [default: 0]", min=0, max=3),
]
Id = Annotated[str, Argument(metavar="ID", help="An assessment's id, or a beginning that only it has.")]
Archive = Annotated[
    str | None,
    valued("PLACE", "The archive.  [default: that of the running deployment, else of the state folder]", "--archive"),
]
ConfigFile = Annotated[str | None, valued("FILE", "Settings.  [default: config.toml, if it exists]", "--config")]
Output = Annotated[str | None, valued("FOLDER", "Where results are written.  [default: ./eval_results]")]
Dataset = Annotated[str, Argument(metavar="NAME[@VERSION]", help="The dataset.")]
Pin = Annotated[str | None, valued("HASH", "The hash that the tasks must have (`datasets show`).", "--sha256")]
TokensFile = Annotated[str | None, valued("FILE", "Another file of tokens.", "--file")]
AsJson = Annotated[bool, Option("--json", help="All that is known of each, as JSON.")]
AtOnce = Annotated[int | None, valued("N", "The largest number at once.  [default: 4]", min=1)]
BaseUrl = Annotated[str | None, valued("URL", "Where the model is served, if not by its provider.")]
Harness = Annotated[
    str | None,
    valued("NAME", "A CLI agent to start, in place of --agent; see `harness list`.", "--harness"),
]
HarnessModel = Annotated[str | None, valued("NAME", "The model that the CLI agent asks.", "--model")]
ModelUrl = Annotated[str | None, valued("URL", "Where that model is, if not at its provider.", "--model-url")]
Program = Annotated[str | None, valued("FILE", "The CLI agent's executable; for `acp` a command line.", "--program")]
HarnessCost = Annotated[
    float | None, valued("X", "Stop the CLI agent at this cost (AGENTBEATS_PURPLE_PRICES).", "--max-cost")
]
HarnessTokens = Annotated[
    int | None, valued("N", "Stop the CLI agent once it used as many tokens.", "--max-tokens", min=1)
]
Whole = Annotated[bool, Option("--all", help="Show every criterion, not only where most points were lost.")]
JsonFile = Annotated[str | None, valued("FILE", "Write the exact result there.", "--json")]
MaxTurns = Annotated[int | None, valued("N", "The largest number of turns.", min=1)]
TaskId = Annotated[str, Argument(metavar="ID", help="The assessment's or the campaign's task id.")]
AnyPort = Annotated[int, valued("PORT", "0 takes a free one.", min=0, max=65535)]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Show nothing but problems.")]
Scenario = Annotated[str, Argument(metavar="PATH_OR_ID", help="A scenario's folder, or its id.")]
TaskIds = Annotated[list[str] | None, valued("GLOB", "A task, or a pattern; may be repeated.", "--task-id")]
TemporalPort = Annotated[int, valued("PORT", "Temporal's port.", min=1, max=65535)]
UesUrl = Annotated[str | None, valued("URL", "The simulator's address.  [default: http://127.0.0.1:8100]")]
UiPort = Annotated[int, valued("PORT", "The Temporal UI's port.", min=1, max=65535)]
