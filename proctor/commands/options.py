"""Options and arguments that several commands have."""

import os
from typing import Annotated

from typer import Argument, Option


def _use_token_file(file: str | None) -> None:
    """One place says where the token is: the environment, which a flag overrules."""
    if file is not None:
        os.environ.pop("AGENTBEATS_TOKEN", None)
        os.environ["AGENTBEATS_TOKEN_FILE"] = file


HostOption = Annotated[
    str | None, Option(metavar="HOST", help="Address to listen on; 0.0.0.0 for all.  [default: 127.0.0.1]")
]
PortOption = Annotated[
    int | None, Option(metavar="PORT", min=0, max=65535, help="Port to listen on; 0 takes a free one.")
]
CardUrlOption = Annotated[str | None, Option(metavar="URL", help="Address that the agent card names.")]
TemporalOption = Annotated[
    str | None, Option(metavar="HOST:PORT", help="Temporal's front end.  [default: 127.0.0.1:7233]")
]
StorageOption = Annotated[
    str | None,
    Option(
        metavar="PLACE",
        help="Folder or fsspec URL of checkpoints and large payloads.  [default: storage in the state folder]",
    ),
]
ScenariosOption = Annotated[
    str | None,
    Option(
        metavar="FOLDER",
        help="Folder that holds the scenario packages.  [default: scenarios, else those that came with proctor]",
    ),
]
StateOption = Annotated[
    str | None,
    Option(
        metavar="FOLDER",
        help="Folder for what outlives a process: secret, checkpoints.  [default: ~/.local/state/proctor]",
    ),
]
OpenOption = Annotated[
    bool, Option("--open", help="Listen beyond this machine without authentication, though there are no tokens.")
]
TokenFileOption = Annotated[
    str | None,
    Option(
        "--token-file",
        metavar="FILE",
        callback=_use_token_file,
        expose_value=False,
        help="A file with your token, where the gateway asks for one.  [default: AGENTBEATS_TOKEN or …_TOKEN_FILE]",
    ),
]
GatewayOption = Annotated[
    str | None,
    Option(
        "--gateway",
        metavar="URL",
        help="The evaluator's address.  [default: AGENTBEATS_GATEWAY_URL, else this machine's]",
    ),
]
SeedOption = Annotated[int | None, Option(metavar="N", help="What every random choice derives from.")]
DifficultyOption = Annotated[
    int | None, Option(metavar="N", min=1, max=4, help="Of a family's day, 1 to 4.  [default: 2]")
]
ClockOption = Annotated[
    str | None,
    Option(
        metavar="CLOCK",
        help="`fixed:5`: each request costs five seconds. `measured`: time passes.  [default: standing]",
    ),
]
NoiseOption = Annotated[
    int | None,
    Option(metavar="N", min=0, max=3, help="How often requests fail, or get old or half answers.  [default: 0]"),
]
IdArgument = Annotated[str, Argument(metavar="ID", help="An assessment's id, or a beginning that only it has.")]
ArchiveOption = Annotated[
    str | None, Option("--archive", metavar="PLACE", help="The archive.  [default: archive in the state folder]")
]
ConfigFileOption = Annotated[
    str | None, Option("--config", metavar="FILE", help="Settings.  [default: config.toml, where there is one]")
]
OutputOption = Annotated[
    str | None, Option(metavar="FOLDER", help="Where results are written.  [default: ./eval_results]")
]
DatasetArgument = Annotated[str, Argument(metavar="NAME[@VERSION]", help="The dataset.")]
PinOption = Annotated[
    str | None, Option("--sha256", metavar="HASH", help="The hash that the tasks must have (`datasets show`).")
]
TokensFileOption = Annotated[str | None, Option("--file", metavar="FILE", help="Another file of tokens.")]
AsJsonOption = Annotated[bool, Option("--json", help="All that is known of each, as JSON.")]
AtOnceOption = Annotated[int | None, Option(metavar="N", min=1, help="The largest number at once.  [default: 4]")]
BaseUrlOption = Annotated[str | None, Option(metavar="URL", help="Where the model is served, if not by its provider.")]
HarnessOption = Annotated[
    str | None,
    Option("--harness", metavar="NAME", help="A CLI agent to start, in place of --agent; see `harness list`."),
]
HarnessModelOption = Annotated[str | None, Option("--model", metavar="NAME", help="The model that the CLI agent asks.")]
ModelUrlOption = Annotated[
    str | None, Option("--model-url", metavar="URL", help="Where that model is, if not at its provider.")
]
ProgramOption = Annotated[
    str | None, Option("--program", metavar="FILE", help="The CLI agent's executable; for `acp` a command line.")
]
HarnessCostOption = Annotated[
    float | None, Option("--max-cost", metavar="X", help="Stop the CLI agent at this cost (AGENTBEATS_PURPLE_PRICES).")
]
HarnessTokensOption = Annotated[
    int | None, Option("--max-tokens", metavar="N", min=1, help="Stop the CLI agent once it used as many tokens.")
]
WholeOption = Annotated[bool, Option("--all", help="Show every criterion, not only where most points were lost.")]
JsonFileOption = Annotated[str | None, Option("--json", metavar="FILE", help="Write the exact result there.")]
MaxTurnsOption = Annotated[int | None, Option(metavar="N", min=1, help="The largest number of turns.")]
TaskIdArgument = Annotated[str, Argument(metavar="ID", help="The assessment's or the campaign's task id.")]
AnyPortOption = Annotated[int, Option(metavar="PORT", min=0, max=65535, help="0 takes a free one.")]
QuietOption = Annotated[bool, Option("--quiet", "-q", help="Show nothing but problems.")]
ScenarioArgument = Annotated[str, Argument(metavar="PATH_OR_ID", help="A scenario's folder, or its id.")]
TaskIdsOption = Annotated[
    list[str] | None, Option("--task-id", metavar="GLOB", help="A task, or a pattern; may be repeated.")
]
TemporalPortOption = Annotated[int, Option(metavar="PORT", min=1, max=65535, help="Temporal's port.")]
UesUrlOption = Annotated[
    str | None, Option(metavar="URL", help="The simulator's address.  [default: http://127.0.0.1:8100]")
]
UiPortOption = Annotated[int, Option(metavar="PORT", min=1, max=65535, help="The Temporal UI's port.")]
