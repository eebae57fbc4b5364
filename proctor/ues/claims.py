"""Claim a simulation: take it over with a fence and bring it to the wanted state, in one step.

Nothing here awaits, so no other request runs in between.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated

from pydantic import Field

from proctor.ues import checkpoint, fences
from proctor.ues.course import Course, TurnConditions
from proctor.ues.host import Host
from proctor.ues.keys import ADMIN_KEY_ID
from proctor.ues.problems import Conflict, Impossible, NotFound
from proctor.ues.schema import Int, Request, Secret
from proctor.ues.simulation import Simulation

Mark = Annotated[str, Field(min_length=1, max_length=200)]


class WantedKey(Request):
    """The only key of its name that will open the simulation."""

    key_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    name: Annotated[str, Field(min_length=1, max_length=100)]
    secret: Secret
    permissions: Annotated[list[str], Field(min_length=1)]


class Claim(Request):
    """A request to take a simulation over and bring it to a state.

    Attributes:
        fence: the claimer's fence.
        admin_key, seed: the values for a simulation that must be made.
        anew: whether the simulation starts empty, regardless of its content. Otherwise it is restored from
            ``checkpoint``, or keeps its state because of ``keep``.
        checkpoint: the digest of the checkpoint that the simulation shall equal.
        keep: a mark. If the simulation has this mark, a turn is under way, and the simulation keeps its state.
        mark: the simulation's new mark; a turn that was over (``steps``) can then continue.
        conditions: the conditions of the turn that begins with the mark; None for a turn without any.
        sets_course: whether a kept turn gets a course from ``conditions``, unless it has one. If ``conditions`` is
            None, its course is removed.
        key: see ``WantedKey``; active keys of the same name are revoked.
        looks: whether the claimer only reads. A simulation that equals ``checkpoint`` then accepts any fence.
    """

    fence: Annotated[Int, Field(ge=1)]
    admin_key: Secret
    seed: Int | str | None = None
    anew: bool = False
    checkpoint: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    keep: Mark | None = None
    mark: Mark | None = None
    conditions: TurnConditions | None = None
    sets_course: bool = False
    key: WantedKey | None = None
    looks: bool = False


def claim(
    host: Host, simulation_id: str, claim: Claim, content: bytes, parts: Mapping[str, bytes] | None = None
) -> Simulation:
    """Take a simulation over.

    Args:
        host: the host of the simulation.
        simulation_id: the simulation's id.
        claim: the request.
        content: the checkpoint's content; empty if the claimer expects the simulation to equal the checkpoint.
        parts: the parts sent with this claim, by name; other parts may have been left with the host before.

    Raises:
        Overtaken: 412, another claimer has a higher fence.
        Conflict: 409, the simulation doesn't equal the checkpoint. ``detail["needs"]`` is the digest of the content to
            send. If the content was sent, ``detail["parts"]`` names the missing parts.
        Impossible: 400, the content isn't that of the checkpoint.
        NotFound: 404, the state to keep is lost, and there is no checkpoint to restore.
    """
    simulation = host.simulations.get(simulation_id)
    held = host.find_fence(simulation_id)
    is_there = simulation is not None and simulation.equals_checkpoint(claim.checkpoint)
    if not (claim.looks and is_there):
        fences.refuse_lower(claim.fence, held)
    if simulation is not None and claim.keep is not None and simulation.mark == claim.keep:
        if claim.checkpoint is not None:
            checkpoint.note_stored(simulation, claim.checkpoint)
        simulation.fence = max(claim.fence, simulation.fence)
        _keep_course(simulation, claim)
        return simulation
    if claim.anew:
        simulation = host.replace(simulation_id, claim.admin_key, claim.seed)
    elif claim.checkpoint is None:
        raise NotFound(f"The running state of simulation {simulation_id[:80]!r} is lost.")
    elif not is_there:
        simulation = _restored(host, simulation, simulation_id, claim, content, parts or {})
    assert simulation is not None
    if claim.checkpoint is not None and not claim.anew:
        checkpoint.note_stored(simulation, claim.checkpoint)
    simulation.fence = max(claim.fence, simulation.fence)
    if claim.key is not None:
        _issue(simulation, claim.key)
    if claim.mark is not None:
        simulation.mark = claim.mark
        simulation.course = Course(claim.conditions) if claim.conditions is not None else None
        simulation.is_turn_over = False
    if not claim.looks:
        simulation.is_untouched = True
    return simulation


def _keep_course(simulation: Simulation, claim: Claim) -> None:
    if claim.sets_course and claim.conditions is None:
        simulation.course = None
    elif claim.sets_course and simulation.course is None and claim.conditions is not None:
        simulation.course = Course(claim.conditions)
    if simulation.course is not None:
        simulation.course.rest()


def _restored(
    host: Host,
    simulation: Simulation | None,
    simulation_id: str,
    claim: Claim,
    content: bytes,
    parts: Mapping[str, bytes],
) -> Simulation:
    if not content:
        message = "The simulation does not stand at that checkpoint: send its content after the first line."
        raise Conflict({"message": message, "needs": claim.checkpoint})
    if sha256(content).hexdigest() != claim.checkpoint:
        raise Impossible("The content is not that of the checkpoint that the claim names.")
    contents = {**host.pending_parts(simulation_id), **parts}
    if lacking := checkpoint.find_lacking(simulation, content, contents):
        message = "The checkpoint has parts that are not here: leave them with POST /simulations/{id}/parts."
        raise Conflict({"message": message, "needs": claim.checkpoint, "parts": lacking})
    kept = simulation or Simulation(simulation_id, claim.admin_key, "" if claim.seed is None else str(claim.seed))
    checkpoint.restore(kept, content, contents)
    host.forget_parts(simulation_id)
    host.keep(kept)
    return kept


def _issue(simulation: Simulation, wanted: WantedKey) -> None:
    """Let this key open the simulation, and revoke all others of its name."""
    key = simulation.keys.find(wanted.secret)
    if key is not None and key.key_id == wanted.key_id:
        return
    revoke_all(simulation, wanted.name)
    simulation.keys.create(wanted.key_id, wanted.name, wanted.permissions, wanted.secret, ADMIN_KEY_ID, simulation.ids)
    simulation.note_change()


def revoke_all(simulation: Simulation, name: str) -> None:
    for key in list(simulation.keys.by_id.values()):
        if key.data["name"] == name and key.data["revoked_at"] is None:
            simulation.keys.revoke(key.key_id)
            simulation.note_change()
