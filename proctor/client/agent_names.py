"""The agents of archived runs. An agent is named by its label if no other agent has the same label."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from proctor.common.errors import UsageError
from proctor.common.phrases import clean, counted
from proctor.protocol.archive import ArchiveEntry
from proctor.storage.archive import Archive
from purple_sdk.protocol.statistics import Run

_CANDIDATES_NAMED = 6

Who = tuple[str, str, str]
"""An agent's label, the name on its card, and its address."""


def chosen_agent(name: str, entries: Sequence[ArchiveEntry]) -> list[ArchiveEntry]:
    """The entries of one agent; empty if no agent has this name.

    Args:
        name: the agent's name in one of these forms:

            * its label, which is its name in its campaign, or else the name on its card
            * the name on its card, or its address, if only one agent has it
            * ``LABEL=ADDRESS`` or ``LABEL=CARD``, if several agents have its label

    Raises:
        UsageError: several agents have the name; the message lists unambiguous names.
    """
    agents = _group_entries(entries)
    label, _, which = name.partition("=")
    labelled = [who for who in agents if who[0] == name]
    if not labelled:
        exact = [who for who in agents if which and who[0] == label and which in who[1:]]
        if exact:
            return [entry for who in exact for entry in agents[who]]
        labelled = [who for who in agents if name in who[1:]]
    if len(labelled) > 1:
        raise UsageError(_ambiguous(name, {who: len(agents[who]) for who in labelled}))
    return agents[labelled[0]] if labelled else []


def runs_of_agents(
    archive: Archive, entries: Sequence[ArchiveEntry], names: Sequence[str], campaign: str | None = None
) -> list[Run]:
    """Return the runs of agents, each under the given name of its agent.

    Forks are left out, since they begin with turns of another assessment.

    Args:
        names: names as ``chosen_agent`` takes them.
        campaign: the campaign of the ``entries``, for error messages; None for any.

    Raises:
        UsageError: no agent has a name, several agents have it, or two names are the same agent's.
    """
    chosen = {name: chosen_agent(name, entries) for name in names}
    if unknown := [name for name, own in chosen.items() if not own]:
        where = f"of the campaign {campaign} " if campaign else ""
        raise UsageError(f"nothing {where}in {archive.folder.place} is of an agent {unknown[0]!r}")
    called = {entry.id: name for name, own in chosen.items() for entry in own}
    if len(called) < sum(map(len, chosen.values())):
        raise UsageError(f"{' and '.join(map(repr, chosen))} are names of the same agent: name two agents")
    return archive.collect_runs([entry for entry in entries if entry.id in called and not entry.forked_from], called)


def agent_names(entries: Iterable[ArchiveEntry]) -> dict[str, str]:
    """Entries' ids to their agents' names: the label, or ``LABEL=ADDRESS`` if several agents have that label."""
    agents = _group_entries(entries)
    labels = Counter(label for label, _, _ in agents)
    return {
        entry.id: who[0] if labels[who[0]] == 1 else _full_name(who, agents)
        for who, own in agents.items()
        for entry in own
    }


def _group_entries(entries: Iterable[ArchiveEntry]) -> dict[Who, list[ArchiveEntry]]:
    agents: dict[Who, list[ArchiveEntry]] = {}
    for entry in entries:
        if entry.kind != "campaign":
            agents.setdefault((entry.agent, entry.participant, entry.participant_url), []).append(entry)
    return agents


def _full_name(who: Who, agents: Iterable[Who]) -> str:
    """``LABEL=ADDRESS``; ``LABEL=CARD`` if several cards were at that address."""
    label, card, url = who
    return f"{label}={url if sum((agent[0], agent[2]) == (label, url) for agent in agents) == 1 else card}"


def _ambiguous(name: str, agents: Mapping[Who, int]) -> str:
    """An error message for a name that several agents have. It lists their unambiguous names."""
    forms = [
        f"{_full_name(who, agents)} ({counted(runs, 'run')}"
        + (f", card {clean(who[1])!r})" if who[1] not in ("", who[0]) else ")")
        for who, runs in sorted(agents.items())
    ]
    more = f" and {len(forms) - _CANDIDATES_NAMED} more" if len(forms) > _CANDIDATES_NAMED else ""
    return (
        f"{name!r} is the name of {len(forms)} agents: {', '.join(forms[:_CANDIDATES_NAMED])}{more}. Write one of "
        "these (LABEL=CARD takes all addresses of a card), or --campaign ID to compare within one campaign"
    )
