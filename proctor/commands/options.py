"""Options and arguments that several commands have."""

import os
from typing import Annotated

from typer import Argument, Option


def _use_token_file(file: str | None) -> None:
    """One place says where the token is: the environment, which a flag overrules."""
    if file is not None:
        os.environ.pop("AGENTBEATS_TOKEN", None)
        os.environ["AGENTBEATS_TOKEN_FILE"] = file


Host = Annotated[
    str | None, Option(metavar="HOST", help="Address to listen on; 0.0.0.0 for all.  [default: 127.0.0.1]")
]
Port = Annotated[int | None, Option(metavar="PORT", min=0, max=65535, help="Port to listen on; 0 takes a free one.")]
CardUrl = Annotated[str | None, Option(metavar="URL", help="Address that the agent card names.")]
Temporal = Annotated[str | None, Option(metavar="HOST:PORT", help="Temporal's front end.  [default: 127.0.0.1:7233]")]
Storage = Annotated[
    str | None,
    Option(
        metavar="PLACE",
        help="Folder or fsspec URL of checkpoints and large payloads.  [default: storage in the state folder]",
    ),
]
Scenarios = Annotated[
    str | None,
    Option(
        metavar="FOLDER",
        help="Folder that holds the scenario packages.  [default: scenarios, else those that came with proctor]",
    ),
]
State = Annotated[
    str | None,
    Option(
        metavar="FOLDER",
        help="Folder for what outlives a process: secret, checkpoints.  [default: ~/.local/state/proctor]",
    ),
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
        help="A file with your token, where the gateway asks for one.  [default: AGENTBEATS_TOKEN or …_TOKEN_FILE]",
    ),
]
Gateway = Annotated[
    str | None,
    Option(
        "--gateway",
        metavar="URL",
        help="The evaluator's address.  [default: AGENTBEATS_GATEWAY_URL, else this machine's]",
    ),
]
Seed = Annotated[int | None, Option(metavar="N", help="What every random choice derives from.")]
Difficulty = Annotated[int | None, Option(metavar="N", min=1, max=4, help="Of a family's day, 1 to 4.  [default: 2]")]
Clock = Annotated[
    str | None,
    Option(
        metavar="CLOCK",
        help="`fixed:5`: each request costs five seconds. `measured`: time passes.  [default: standing]",
    ),
]
Noise = Annotated[
    int | None,
    Option(metavar="N", min=0, max=3, help="How often requests fail, or get old or half answers.  [default: 0]"),
]
Id = Annotated[str, Argument(metavar="ID", help="An assessment's id, or a beginning that only it has.")]
Archive = Annotated[
    str | None, Option("--archive", metavar="PLACE", help="The archive.  [default: archive in the state folder]")
]
ConfigFile = Annotated[
    str | None, Option("--config", metavar="FILE", help="Settings.  [default: config.toml, where there is one]")
]
Output = Annotated[str | None, Option(metavar="FOLDER", help="Where results are written.  [default: ./eval_results]")]
Dataset = Annotated[str, Argument(metavar="NAME[@VERSION]", help="The dataset.")]
Pin = Annotated[
    str | None, Option("--sha256", metavar="HASH", help="The hash that the tasks must have (`datasets show`).")
]
TokensFile = Annotated[str | None, Option("--file", metavar="FILE", help="Another file of tokens.")]
AsJson = Annotated[bool, Option("--json", help="All that is known of each, as JSON.")]
AtOnce = Annotated[int | None, Option(metavar="N", min=1, help="The largest number at once.  [default: 4]")]
BaseUrl = Annotated[str | None, Option(metavar="URL", help="Where the model is served, if not by its provider.")]
Harness = Annotated[
    str | None,
    Option("--harness", metavar="NAME", help="A CLI agent to start, in place of --agent; see `harness list`."),
]
HarnessModel = Annotated[str | None, Option("--model", metavar="NAME", help="The model that the CLI agent asks.")]
ModelUrl = Annotated[
    str | None, Option("--model-url", metavar="URL", help="Where that model is, if not at its provider.")
]
Program = Annotated[
    str | None, Option("--program", metavar="FILE", help="The CLI agent's executable; for `acp` a command line.")
]
HarnessCost = Annotated[
    float | None, Option("--max-cost", metavar="X", help="Stop the CLI agent at this cost (AGENTBEATS_PURPLE_PRICES).")
]
HarnessTokens = Annotated[
    int | None, Option("--max-tokens", metavar="N", min=1, help="Stop the CLI agent once it used as many tokens.")
]
Whole = Annotated[bool, Option("--all", help="Show every criterion, not only where most points were lost.")]
JsonFile = Annotated[str | None, Option("--json", metavar="FILE", help="Write the exact result there.")]
MaxTurns = Annotated[int | None, Option(metavar="N", min=1, help="The largest number of turns.")]
TaskId = Annotated[str, Argument(metavar="ID", help="The assessment's or the campaign's task id.")]
AnyPort = Annotated[int, Option(metavar="PORT", min=0, max=65535, help="0 takes a free one.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Show nothing but problems.")]
Scenario = Annotated[str, Argument(metavar="PATH_OR_ID", help="A scenario's folder, or its id.")]
TaskIds = Annotated[
    list[str] | None, Option("--task-id", metavar="GLOB", help="A task, or a pattern; may be repeated.")
]
TemporalPort = Annotated[int, Option(metavar="PORT", min=1, max=65535, help="Temporal's port.")]
UesUrl = Annotated[str | None, Option(metavar="URL", help="The simulator's address.  [default: http://127.0.0.1:8100]")]
UiPort = Annotated[int, Option(metavar="PORT", min=1, max=65535, help="The Temporal UI's port.")]
