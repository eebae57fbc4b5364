"""Checkpoints: exact copies of a simulation, and their digests.

Taking one is one dump of plain data; restoring is one load. While nothing has changed since the last one, it is
answered from memory, so that equal states have equal bytes even though the access log went on.

A checkpoint carries a seal over its own content. So whatever isn't one, or was altered, is told apart at once and
without going through every email, and what passes can be taken over as it is.
"""

from hashlib import sha256
from typing import Any

import orjson

from ues_sim.access_log import AccessLog
from ues_sim.holds import Holds
from ues_sim.ids import IdSource
from ues_sim.modalities import MODALITIES
from ues_sim.problems import Impossible
from ues_sim.schema import JsonObject
from ues_sim.simulation import Simulation, new_life

FORMAT = 1
"""The version of a checkpoint's layout."""


def take(simulation: Simulation) -> tuple[str, bytes]:
    """The checkpoint's digest (SHA-256, hexadecimal) and bytes."""
    if simulation.checkpoint is None:
        content = orjson.dumps(
            {
                "ids": {"seed": simulation.ids.seed, "drawn": simulation.ids.drawn},
                "clock": simulation.clock.dump(),
                "is_running": simulation.is_running,
                "states": simulation.states,
                "events": simulation.events.list_all(),
                "undo": simulation.undo_stack,
                "redo": simulation.redo_stack,
                "holds": simulation.holds.list_active(),
                "keys": simulation.keys.dump(),
                "access_log": simulation.access_log.dump(),
                "scenario_metadata": simulation.scenario_metadata,
            }
        )
        sealed = b'{"format":%d,"seal":"%s",%s' % (FORMAT, _seal(content).encode(), content[1:])
        simulation.checkpoint = (sha256(sealed).hexdigest(), sealed)
    return simulation.checkpoint


def restore(simulation: Simulation, content: bytes) -> str:
    """Make the simulation equal to a checkpoint and return its digest. Raises Impossible (400) for anything else.

    The simulation keeps its own id, and its own admin secret opens it beside the checkpoint's.
    """
    data = _read(content)
    simulation.ids = IdSource(data["ids"]["seed"], data["ids"]["drawn"])
    simulation.clock.load(data["clock"])
    simulation.is_running = data["is_running"]
    simulation.replace_states(data["states"])
    simulation.replace_events(data["events"])
    simulation.undo_stack = data["undo"]
    simulation.redo_stack = data["redo"]
    simulation.holds = Holds(data["holds"])
    simulation.keys.load(data["keys"])
    simulation.access_log = AccessLog()
    simulation.access_log.load(data["access_log"])
    simulation.scenario_metadata = data["scenario_metadata"]
    simulation.mark = None
    simulation.allowance.renew()
    simulation.life = new_life()
    digest = sha256(content).hexdigest()
    simulation.checkpoint = (digest, content)
    return digest


def _seal(content: bytes) -> str:
    return sha256(content).hexdigest()


def _read(content: bytes) -> JsonObject:
    """The checked content. One that was parsed and written anew, but not altered, passes too."""
    try:
        data: Any = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise Impossible(f"The body is not a checkpoint: not JSON ({error}).") from None
    if not isinstance(data, dict) or "format" not in data or "seal" not in data:
        raise Impossible("The body is not a checkpoint; send what GET /simulation/checkpoint answered, unaltered.")
    layout, seal = data.pop("format"), data.pop("seal")
    if layout != FORMAT:
        raise Impossible(f"The checkpoint has format {str(layout)[:20]}; this server reads format {FORMAT}.")
    prefix = b'{"format":%d,"seal":"%s",' % (FORMAT, str(seal).encode())
    as_written = content.startswith(prefix) and _seal(b"{" + content[len(prefix) :]) == seal
    if not as_written and not _same_when_written_anew(data, seal):
        raise Impossible("The checkpoint was altered: its seal doesn't fit its content.")
    unknown = sorted(set(data["states"]) - set(MODALITIES))
    if unknown:
        raise Impossible(f"The checkpoint has modalities that this server doesn't have: {', '.join(unknown)}.")
    checked: JsonObject = data
    return checked


def _same_when_written_anew(data: JsonObject, seal: object) -> bool:
    try:
        return bool(_seal(orjson.dumps(data)) == seal)
    except orjson.JSONEncodeError:
        return False
