"""Terminal-Bench: the request for a run of trials, and the results of trials and runs.

A *trial* is one attempt of one participant at one task; a *run* is all trials of a request. Settings, failure modes and
results have the names of the ``terminal-bench`` package (0.2.18), if it has them.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import Field, JsonValue, computed_field, field_validator, model_validator

from purple_sdk.protocol._wire import Instant, WireModel
from purple_sdk.protocol.problems import show_value
from purple_sdk.protocol.provenance import ModelUse, add_costs
from purple_sdk.protocol.request import Raw, check_addresses, checked, read_settings, read_text
from purple_sdk.protocol.results import Doubt
from purple_sdk.protocol.statistics import Comparison, cost_in_words

BENCHMARK = "terminal-bench"
"""The value of ``config.benchmark`` in a request for a run."""

_SHAPE = (
    '{"participants": {NAME: URL, …}, "config": {"benchmark": "terminal-bench", "dataset": NAME, '
    '"task_ids": [NAME OR GLOB, …]}}'
)
LAUNCH_WORDS = "Launch terminal-bench evaluation"
"""The words in which the seed's callers request a run."""

_LAUNCH = re.compile(r"launch\s+terminal[-\s]?bench\s+evaluation", re.IGNORECASE)

AgentKind = Literal["a2a", "oracle", "null"]
"""The solver of the tasks: the participant, the task's own solution, or no one."""

_NOT_A2A = ("oracle", "null")
_LONGEST_NAME = 100

AgentAccess = Literal["docker", "endpoint", "both"]
"""A participant's access to its container: ``docker exec`` on the worker's host, or the trial's command endpoint."""

LeaveRunning = Literal["everything", "services", "nothing"]
"""The processes of an agent that continue to run while its tests run.

* ``everything`` keeps all processes, as in the official harnesses.
* ``services`` keeps each process that listens on a socket, with the processes that it started, and kills all others.
* ``nothing`` kills all processes, so no process of the agent can change the verdict.
"""

VerifierKind = Literal["separate", "same-container"]
"""The place of tests: a fresh container with the agent's changes, or the agent's own container, as in official
harnesses.
"""


class TerminalConfig(WireModel):
    """The sender's choices for a run.

    Attributes:
        benchmark: always ``terminal-bench``.
        dataset: the name of a folder of tasks below the evaluator's ``datasets_dir``, or of a dataset that was pulled
            there, ``NAME`` or ``NAME@VERSION`` (``proctor terminal-bench datasets``).
        task_ids: names of tasks, or patterns with ``*``, ``?`` and ``[…]``; by default all tasks.
        exclude_task_ids: names or patterns of tasks to leave out.
        n_tasks: the largest number of tasks, the first by name.
        n_attempts: how often each task is attempted.
        n_concurrent_trials: the largest number of trials at once.
        global_agent_timeout_sec: seconds for the participant, instead of each task's own limit.
        global_test_timeout_sec: seconds for the tests, instead of each task's own limit.
        global_timeout_multiplier: a factor for the tasks' timeouts, or for the two global timeouts if they are set.
        agent_timeout_multiplier: an additional factor for the participant's seconds.
        test_timeout_multiplier: an additional factor for the tests' seconds.
        build_timeout_sec: seconds in which a task's image must be built.
        agent: the solver of the tasks.
        access: how the participant reaches the container.
        leave_running: the processes of the participant that continue to run while the tests run in its container.
        verifier: the place of the tests.
        tries: how often a trial is played that fails by no fault of the participant's.
        keep_images: whether images that the run has built stay on the hosts.
        record: whether each trial is recorded for asciinema.
        verbose_updates: whether every ended trial gets an update, or only the run's progress.
        max_cost, max_tokens, max_hours: limits on the cost and the tokens of the agents' models, as the agents report
            them, and on time. A trial that would probably pass a limit does not start.
        grows: the id of an ended run, whose trials of the same agent, task and settings are taken over.
    """

    benchmark: Literal["terminal-bench"]
    dataset: str = Field(min_length=1, max_length=500)
    task_ids: list[str] | None = Field(default=None, min_length=1, max_length=10_000)
    exclude_task_ids: list[str] = Field(default_factory=list, max_length=10_000)
    n_tasks: int | None = Field(default=None, ge=1)
    n_attempts: int = Field(default=1, ge=1, le=1_000)
    n_concurrent_trials: int = Field(default=4, ge=1, le=1_000)
    global_agent_timeout_sec: float | None = Field(default=None, gt=0, le=86_400)
    global_test_timeout_sec: float | None = Field(default=None, gt=0, le=86_400)
    global_timeout_multiplier: float = Field(default=1.0, gt=0, le=100)
    agent_timeout_multiplier: float = Field(default=1.0, gt=0, le=100)
    test_timeout_multiplier: float = Field(default=1.0, gt=0, le=100)
    build_timeout_sec: float = Field(default=1_800, gt=0, le=86_400)
    agent: AgentKind = "a2a"
    access: AgentAccess = "both"
    leave_running: LeaveRunning = "everything"
    verifier: VerifierKind = "separate"
    tries: int = Field(default=3, ge=1, le=10)
    keep_images: bool = False
    record: bool = True
    verbose_updates: bool = True
    max_cost: float | None = Field(default=None, gt=0)
    max_tokens: int | None = Field(default=None, ge=1)
    max_hours: float | None = Field(default=None, gt=0, le=24 * 365)
    grows: str | None = Field(default=None, min_length=1, max_length=200)

    @field_validator("task_ids", "exclude_task_ids")
    @classmethod
    def _names_are_not_empty(cls, names: list[str] | None) -> list[str] | None:
        if names is not None and not all(name.strip() for name in names):
            raise ValueError("one of the names is empty: write the names of tasks, or patterns such as hello-*")
        return names

    def agent_seconds(self, of_task: float) -> float:
        """Return the participant's time limit for a task that sets ``of_task`` seconds."""
        base = self.global_agent_timeout_sec or of_task
        return base * self.global_timeout_multiplier * self.agent_timeout_multiplier

    def test_seconds(self, of_task: float) -> float:
        """Return the tests' time limit for a task that sets ``of_task`` seconds."""
        base = self.global_test_timeout_sec or of_task
        return base * self.global_timeout_multiplier * self.test_timeout_multiplier


@dataclass(frozen=True)
class TerminalAgent:
    """An agent of a run: its name in the request, its kind, and a participant's address."""

    name: str
    kind: AgentKind
    url: str = ""


class TerminalRequest(WireModel):
    """The agents, and the tasks that they work on.

    ``participants`` has the A2A address of each agent by its name. In place of an address, ``oracle`` means the tasks'
    own solutions, and ``null`` means no agent. ``participants`` may be empty if ``config.agent`` is ``oracle`` or
    ``null``.
    """

    participants: dict[str, str] = Field(default_factory=dict, max_length=100)
    config: TerminalConfig

    @field_validator("participants")
    @classmethod
    def _addresses_are_urls(cls, participants: dict[str, str]) -> dict[str, str]:
        check_addresses({name: url for name, url in participants.items() if url not in _NOT_A2A})
        if unnamed := [name for name in participants if not name.strip() or len(name) > _LONGEST_NAME]:
            raise ValueError(
                f"{show_value(unnamed[0])} names an agent: write a name of 1 to {_LONGEST_NAME} characters"
            )
        return participants

    @model_validator(mode="after")
    def _has_agents(self) -> Self:
        if self.config.agent != "a2a":
            if self.participants:
                raise ValueError(
                    f"config.agent is {self.config.agent}, which needs no participant: leave participants out, or "
                    "config.agent"
                )
        elif not self.participants:
            raise ValueError(
                'participants is empty: name the agent, such as {"terminal_agent": "http://localhost:8001"}, or '
                'choose "agent": "oracle" or "null" in config'
            )
        return self

    @property
    def agents(self) -> list[TerminalAgent]:
        """The agents, sorted by name: data parts of A2A have no order."""
        if not self.participants:
            return [TerminalAgent(self.config.agent, self.config.agent)]
        return [
            TerminalAgent(name, url) if url in _NOT_A2A else TerminalAgent(name, "a2a", url)  # type: ignore[arg-type]
            for name, url in sorted(self.participants.items())
        ]


def is_terminal_request(raw: Raw) -> bool:
    """Tell whether a message asks for a run of terminal trials, by ``config.benchmark`` or by the seed's words."""
    is_launch = isinstance(raw, str) and _LAUNCH.search(raw) is not None
    return is_launch or read_settings(raw).get("benchmark") is not None


def parse_terminal_request(raw: Raw, defaults: Mapping[str, Any] | None = None) -> TerminalRequest:
    """Read a request for a run from a message's data part, or from its text.

    The text is JSON, or contains one JSON object. The object is the request, or the flat configuration that the seed
    sends with "Launch terminal-bench evaluation…", in which ``white_agent_url`` names the agent. ``defaults`` supply
    settings that a flat configuration lacks; with them, the seed's words need no JSON.

    Raises ``BadRequestError`` whose message states the problem and what to send instead.
    """
    value = _read_value(raw, defaults)
    if isinstance(value, dict) and "config" not in value:
        value = _from_flat(_with_defaults(value, defaults or {}))
    return checked(TerminalRequest, value, _SHAPE)


def unknown_terminal_settings(raw: Raw) -> list[str]:
    """Return the names under ``config`` that a run doesn't know, to report misspelt ones."""
    value = _read_value(raw, {})
    is_flat = isinstance(value, dict) and value.get("config") is None
    config = _from_flat(value)["config"] if is_flat else read_settings(value)
    return sorted(set(config) - set(TerminalConfig.model_fields))


_FLAT_NAMES = {
    "dataset_path": "dataset",
    "dataset_name": "dataset",
    "task_id": "task_ids",
    "timeout_multiplier": "global_timeout_multiplier",
    "max_agent_timeout_sec": "global_agent_timeout_sec",
    "max_test_timeout_sec": "global_test_timeout_sec",
    "cleanup": "keep_images",
}
"""Names of settings in the seed's flat configuration, with our names."""

_NOT_OURS = {"white_agent_url", "agent_url", "agents", "dataset_version", "output_path"}


def _read_value(raw: Raw, defaults: Mapping[str, Any] | None) -> Any:
    """Return the JSON of a request; an empty object for the seed's words alone, if there are defaults."""
    if not isinstance(raw, str):
        return raw
    is_bare = defaults is not None and "{" not in raw and _LAUNCH.search(raw) is not None
    return {} if is_bare else read_text(raw)


def _with_defaults(flat: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Add defaults to a flat configuration. A dataset or agent in it replaces all defaults about datasets or agents."""
    chosen = {name: value for name, value in flat.items() if value is not None}
    unused: set[str] = set()
    is_same = chosen.get("dataset_name") == defaults.get("dataset_name") and "dataset_version" not in chosen
    if "dataset_path" in chosen or "dataset" in chosen or ("dataset_name" in chosen and not is_same):
        unused |= {"dataset", "dataset_name", "dataset_path", "dataset_version"}
        unused |= {"task_ids", "exclude_task_ids", "n_tasks"}
    if {"white_agent_url", "agent_url", "agent"} & set(chosen):
        unused |= {"white_agent_url", "agent_url", "agents"}
    if "task_id" in chosen:
        unused.add("task_ids")
    return {**{name: value for name, value in defaults.items() if name not in unused}, **chosen}


def _from_flat(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the seed's flat configuration to a request."""
    config: dict[str, Any] = {"benchmark": BENCHMARK}
    for name, value in flat.items():
        if name not in _NOT_OURS and value is not None:
            config[_FLAT_NAMES.get(name, name)] = _as_ours(name, value)
    if flat.get("dataset_path"):
        config["dataset"] = _as_ours("dataset_path", flat["dataset_path"])
    elif flat.get("dataset_name") and flat.get("dataset_version"):
        config["dataset"] = f"{flat['dataset_name']}@{flat['dataset_version']}"
    config.setdefault("dataset", "terminal_bench")
    url = flat.get("white_agent_url") or flat.get("agent_url")
    agents = flat.get("agents") or ({"white_agent": url} if url else {})
    return {"participants": agents, "config": config}


class FailureMode(StrEnum):
    """The failure of a trial, by Terminal-Bench's names; ``none`` if nothing failed, solved or not."""

    UNSET = "unset"
    NONE = "none"
    UNKNOWN = "unknown"
    TEST_TIMEOUT = "test_timeout"
    AGENT_TIMEOUT = "agent_timeout"
    UNKNOWN_AGENT_ERROR = "unknown_agent_error"
    PARSE_ERROR = "parse_error"
    FATAL_LLM_PARSE_ERROR = "fatal_llm_parse_error"
    CONTEXT_LENGTH_EXCEEDED = "context_length_exceeded"
    OUTPUT_LENGTH_EXCEEDED = "output_length_exceeded"
    AGENT_INSTALLATION_FAILED = "agent_installation_failed"


Blame = Literal["participant", "task", "evaluator"]
"""The party to blame for a failed trial; only the evaluator's own failures are played again."""

TestStatus = Literal["passed", "failed"]


class Blob(WireModel):
    """A file of a trial in the store: its name below the trial's folder, its hash and its size."""

    name: str
    sha256: str
    size: int = Field(ge=0)
    is_cut: bool = False


class TrialResult(WireModel):
    """One attempt of one participant at one task.

    Attributes:
        participant: the agent's name in the run.
        taken_over: whether an earlier run played it.
        trial_name: ``TASK.ATTEMPT-of-ATTEMPTS.RUN``, the name of the trial's folder.
            is_resolved: whether all tests passed; None if that is unknown.
            reward: 0 to 1; without the task's own reward, 1 for resolved and 0 for not.
            failure_mode: the kind of failure.
            failure: the failure as a sentence; None if nothing failed.
            blame: the party to blame for it; None if nothing failed.
            parser_results: each test by name.
            verifier: the place of the tests; None if none ran.
            verifier_reason: why they ran in the participant's container although a fresh one was requested.
            doubts: why the verdict is doubtful: the participant's changes to programs and files that run the tests.
            tries: how often the trial was played.
            usage: tokens and cost as the participant reports them, unchecked.
            details: ``left_running``, the processes that the participant left; ``limits_reached``, sentences on limits
                of
                its container; ``rewards`` by name; ``build_failed`` and ``log`` of an image that could not be built.
        phases: seconds by step: ``build``, ``start``, ``agent``, ``tests``, ``logs``, ``stop``.
        files: logs, recording and transcript in the store.
    """

    message_type: Literal["trial_result"] = "trial_result"
    trial_id: str
    trial_name: str
    participant: str = ""
    task_id: str
    attempt: int = Field(ge=1)
    taken_over: bool = False
    instruction: str = ""
    is_resolved: bool | None = None
    reward: float | None = Field(default=None, ge=0, le=1)
    failure_mode: FailureMode = FailureMode.UNSET
    failure: str | None = None
    blame: Blame | None = None
    parser_results: dict[str, TestStatus] | None = None
    verifier: VerifierKind | None = None
    verifier_reason: str | None = None
    doubts: list[Doubt] = Field(default_factory=list)
    recording_path: str | None = None
    total_input_tokens: int | None = None
    total_output_tokens: int | None = None
    usage: list[ModelUse] = Field(default_factory=list)
    trial_started_at: Instant | None = None
    trial_ended_at: Instant | None = None
    agent_started_at: Instant | None = None
    agent_ended_at: Instant | None = None
    test_started_at: Instant | None = None
    test_ended_at: Instant | None = None
    agent_message: str | None = None
    tries: int = Field(default=1, ge=1)
    phases: dict[str, float] = Field(default_factory=dict)
    files: list[Blob] = Field(default_factory=list)
    details: dict[str, JsonValue] = Field(default_factory=dict)


class Share(WireModel):
    """A mean over a number of ``tasks``, with its 95 % interval. A single task has no interval."""

    value: float = Field(ge=0, le=1)
    low: float | None = Field(default=None, ge=0, le=1)
    high: float | None = Field(default=None, ge=0, le=1)
    tasks: int = Field(ge=0)

    def in_words(self) -> str:
        """Write the share in percent, with the interval if there is one."""
        interval = "" if self.low is None or self.high is None else f" ({self.low:.1%} to {self.high:.1%})"
        return f"{self.value:.1%}{interval}"


class AgentResult(WireModel):
    """One agent of a run, over all its trials.

    ``tokens`` is None if a trial doesn't report them. ``cost`` is the sum over the ``cost_known`` trials that report
    theirs, None if there are none.
    """

    agent: str
    n_trials: int = Field(ge=0)
    n_resolved: int = Field(ge=0)
    n_failed: int = Field(default=0, ge=0)
    n_doubtful: int = Field(default=0, ge=0)
    accuracy: Share
    mean_reward: float
    pass_at_k: dict[int, Share] = Field(default_factory=dict)
    tokens: int | None = None
    cost: float | None = None
    cost_known: int | None = None

    @property
    def cost_text(self) -> str:
        """The cost in words; empty if it is unknown."""
        return cost_in_words(self.cost, self.cost_known, self.n_trials)


class TerminalResults(WireModel):
    """The outcome of a run: the A2A artifact ``terminal_bench_results``.

    ``participant`` has the names of all agents, ``agents`` their addresses, and ``by_agent`` the result of each.
    ``comparisons`` has one row for each pair of agents, by tasks; the first agent's points count positively.
    ``n_missing`` trials were never played; ``stopped`` names the limit that prevented them. Intervals are those of
    shares, for the effective number of independent trials (``proctor.statistics.estimates.share_interval``).

    ``resolved_ids`` and ``unresolved_ids`` name a task once for each of its trials, as in Terminal-Bench. ``accuracy``
    counts every trial, including failed ones; ``pass_at_k`` is by k. ``n_doubtful`` verdicts are doubtful.
    ``accuracy_without_doubtful`` covers the other trials alone, None if all verdicts or none are doubtful.
    ``accuracy_if_settled`` is the lowest and the highest possible accuracy once each doubtful verdict is settled, None
    if none is doubtful.
    """

    message_type: Literal["terminal_bench_results"] = "terminal_bench_results"
    run_id: str
    dataset: str
    dataset_hash: str | None = None
    participant: str
    participant_url: str = ""
    agents: dict[str, str] = Field(default_factory=dict)
    status: Literal["completed", "failed", "canceled"]
    failure: str | None = None
    stopped: str | None = None
    n_tasks: int = Field(ge=0)
    n_attempts: int = Field(ge=1)
    n_trials: int = Field(ge=0)
    n_resolved: int = Field(ge=0)
    n_unresolved: int = Field(ge=0)
    n_failed: int = Field(default=0, ge=0)
    n_missing: int = Field(default=0, ge=0)
    n_doubtful: int = Field(default=0, ge=0)
    accuracy: float = Field(ge=0, le=1)
    accuracy_interval: Share | None = None
    accuracy_without_doubtful: float | None = Field(default=None, ge=0, le=1)
    accuracy_if_settled: tuple[float, float] | None = None
    mean_reward: float | None = None
    pass_at_k: dict[int, Share] = Field(default_factory=dict)
    resolved_ids: list[str] = Field(default_factory=list)
    unresolved_ids: list[str] = Field(default_factory=list)
    failure_modes: dict[str, int] = Field(default_factory=dict)
    by_agent: list[AgentResult] = Field(default_factory=list)
    comparisons: list[Comparison] = Field(default_factory=list)
    tokens: int | None = None
    cost: float | None = None
    results: list[TrialResult] = Field(default_factory=list)
    started_at: Instant | None = None
    ended_at: Instant | None = None
    duration_seconds: float = Field(default=0, ge=0)
    config: dict[str, JsonValue] = Field(default_factory=dict)
    proctor_version: str = ""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cost_known(self) -> int:
        """The number of trials that report their costs."""
        return sum(add_costs(trial.usage) is not None for trial in self.results)

    @property
    def cost_text(self) -> str:
        """The cost in words; empty if it is unknown."""
        return cost_in_words(self.cost, self.cost_known, self.n_trials)

    def doubts_in_words(self) -> str:
        """Return the number of doubtful verdicts and the accuracy without them; empty if no verdict is doubtful."""
        if not self.n_doubtful or self.accuracy_if_settled is None:
            return ""
        low, high = self.accuracy_if_settled
        verdicts = "verdict is" if self.n_doubtful == 1 else "verdicts are"
        without = self.accuracy_without_doubtful
        return (
            f"{self.n_doubtful} {verdicts} doubtful: accuracy "
            + (f"{without:.1%} without, " if without is not None else "")
            + f"{low:.1%} to {high:.1%} if settled"
        )


def as_text(results: TerminalResults) -> str:
    """Return a run's result in words, in the form of the seed's evaluator."""
    lines = [
        "Terminal-Bench evaluation results",
        f"Agent: {results.participant_url or results.participant}",
        f"Dataset: {results.dataset}",
        f"Tasks: {results.n_tasks}, trials: {results.n_trials}",
        f"Accuracy: {results.accuracy:.2%} ({results.n_resolved} resolved, {results.n_unresolved} not)",
        *([results.doubts_in_words()] if results.n_doubtful else []),
        *(f"pass@{k}: {share.in_words()}" for k, share in results.pass_at_k.items()),
        *([results.stopped] if results.stopped else []),
    ]
    if len(results.by_agent) > 1:
        lines += [
            f"{agent.agent}: {agent.n_resolved} of {agent.n_trials} resolved, accuracy {agent.accuracy.in_words()}"
            for agent in results.by_agent
        ]
    for trial in results.results:
        who = f"{trial.participant} · " if len(results.by_agent) > 1 else ""
        verdict = "resolved" if trial.is_resolved else "unresolved"
        mode = "" if trial.failure_mode == FailureMode.NONE else f" ({trial.failure_mode})"
        doubt = ", doubtful" if trial.doubts else ""
        lines.append(f"- {who}{trial.task_id} attempt {trial.attempt}: {verdict}{mode}{doubt}")
    return "\n".join(lines)


def _limits_reached(trial: TrialResult) -> list[str]:
    sentences = trial.details.get("limits_reached")
    return [str(sentence) for sentence in sentences] if isinstance(sentences, list) else []


def trial_as_text(trial: TrialResult) -> str:
    """Return a trial's verdict in words, with its doubts and its tests."""
    verdict = "no verdict" if trial.is_resolved is None else "resolved" if trial.is_resolved else "not resolved"
    where = {"separate": ", tested in a fresh container", "same-container": ", tested in the agent's container"}
    lines = [
        verdict + (", doubtful" if trial.doubts else "") + (where[trial.verifier] if trial.verifier else ""),
        *([f"reason: {trial.verifier_reason}"] if trial.verifier_reason else []),
        *(f"doubtful: {doubt.statement} {doubt.reason}" for doubt in trial.doubts),
        *([f"{trial.failure_mode}: {trial.failure}"] if trial.failure else []),
        *(f"limit reached: {sentence}" for sentence in _limits_reached(trial)),
        *(f"{status}: {name}" for name, status in (trial.parser_results or {}).items()),
    ]
    return "\n".join(lines)


class TerminalTaskMessage(WireModel):
    """The message to a participant at the start of a trial, as data; ``as_text`` returns it in words.

    Attributes:
        container: the container's name, for ``docker exec`` on the same host; None if the participant must not use it.
        endpoint: the address of the trial's command endpoint; None if there is none.
        token: the endpoint's bearer token.
        timeout_seconds: the participant's time limit.
    """

    message_type: Literal["terminal_task_start"] = "terminal_task_start"
    task_id: str
    instruction: str
    container: str | None = None
    endpoint: str | None = None
    token: str | None = None
    workdir: str = "/app"
    timeout_seconds: float | None = None

    def as_text(self) -> str:
        """Return the message in words. Its lines on task and container have the form that the seed's agents expect."""
        ways = []
        if self.container:
            ways.append(
                f"The container name is: {self.container}\n"
                f"On its host, run a command with: docker exec -w {self.workdir} {self.container} bash -c COMMAND"
            )
        if self.endpoint:
            ways.append(
                f"The command endpoint is: {self.endpoint}\n"
                f"Its token is: {self.token}\n"
                "From any host, run a command with a POST to that address followed by /exec, with the header "
                f"Authorization: Bearer TOKEN and JSON such as {json.dumps({'command': 'ls', 'timeout': 60})}"
            )
        return "\n\n".join(
            [
                "You are being evaluated on Terminal-Bench: solve the task in its container, then answer with a short "
                "summary.",
                f"TASK: {self.instruction.strip()}",
                *ways,
                f"The working directory is {self.workdir}. Use your execute_bash_command tool, or one like it, for "
                "every command.",
            ]
        )


def _as_ours(name: str, value: Any) -> Any:
    """Convert the value of one of the seed's settings to ours."""
    match name, value:
        case "cleanup", _:
            return not value
        case "task_id", _:
            return [value]
        case "dataset_path", str():
            # The folder's path belongs to the evaluator; callers know only its last part.
            return value.rstrip("/").rpartition("/")[2]
    return value
