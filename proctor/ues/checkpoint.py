"""Take and restore checkpoints: exact copies of a simulation, named by their digests (SHA-256).

A *whole* checkpoint is one dump of plain data. A checkpoint *in parts* is a manifest and pages (``parts``): the pages
hold the large collections, and the manifest holds all other data. Its cost depends on the changes since the last one.

An unchanged simulation returns its last checkpoint from memory. Equal states thus have equal bytes, even if the access
log has grown. A seal over the content reveals altered or foreign content without a check of every email.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson

from proctor.ues.access_log import AccessLog
from proctor.ues.holds import Holds
from proctor.ues.ids import IdSource
from proctor.ues.modalities import MODALITIES
from proctor.ues.parts import Cut, Name, Page, Path, add_keys, join, list_lacking, list_names, name_content
from proctor.ues.problems import Impossible
from proctor.ues.schema import JsonObject
from proctor.ues.simulation import Simulation, new_life

FORMAT, IN_PARTS = 1, 2
"""The versions of a checkpoint's layout: for a whole checkpoint, and for a manifest."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A checkpoint in parts: its digest, its manifest, and the parts that the evaluator's store may not have yet."""

    digest: str
    manifest: bytes
    new: dict[Name, bytes]


def take(simulation: Simulation) -> tuple[str, bytes]:
    """Take a whole checkpoint; returns its digest (SHA-256, hexadecimal) and bytes."""
    if False not in simulation.checkpoints:
        data = _dump(simulation)
        _note(simulation, FORMAT, orjson.dumps({**data, "events": simulation.events.list_all(), **_dump_log(data)}))
    return simulation.checkpoints[False]


def take_in_parts(simulation: Simulation, *, everything: bool = False) -> Taken:
    """Take a checkpoint in parts. If ``everything`` is true, all of its parts count as new."""
    parts = simulation.parts
    fresh: dict[Name, bytes] = {}
    if True not in simulation.checkpoints:
        short, listed, fresh = parts.cut(_dump(simulation))
        _note(simulation, IN_PARTS, orjson.dumps({"parts": listed, **short}))
    digest, manifest = simulation.checkpoints[True]
    new = [name for name in parts.names if everything or name not in parts.stored]
    contents = {**parts.waiting, **fresh}
    if missing := {name for name in new if name not in contents}:
        contents |= parts.write(missing)
        if not missing <= contents.keys():  # the access log has lost their entries
            simulation.note_change()
            return take_in_parts(simulation, everything=everything)
    parts.waiting = {name: contents[name] for name in new}
    return Taken(digest, manifest, parts.waiting)


def note_stored(simulation: Simulation, digest: str) -> None:
    """If ``digest`` names the simulation's last checkpoint, note that the evaluator has stored all of its parts."""
    known = simulation.checkpoints.get(True)
    if known is not None and known[0] == digest:
        simulation.parts.stored = frozenset(simulation.parts.names)
        simulation.parts.waiting = {}


def restore(simulation: Simulation, content: bytes, parts: Mapping[Name, bytes] | None = None) -> str:
    """Make the simulation equal to a checkpoint and return its digest. Raises Impossible (400) for other content.

    The simulation keeps its id. Afterwards, both its own admin secret and the checkpoint's are valid. For a manifest,
    ``parts`` holds its parts by name; parts that the simulation already has may be left out (``find_lacking``).
    """
    data = _read_content(content)
    in_parts = "parts" in data
    cuts, names = _join(simulation, data, parts or {}) if in_parts else ([], [])
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
    simulation.course = None
    simulation.is_turn_over = False
    simulation.allowance.renew()
    simulation.life = new_life()
    simulation.parts.take_over(_find_cuts(simulation, cuts), names)
    simulation.checkpoints.clear()
    digest = sha256(content).hexdigest()
    simulation.note_checkpoint(digest, content, in_parts=in_parts)
    return digest


def find_lacking(simulation: Simulation | None, manifest: bytes, parts: Mapping[Name, bytes]) -> list[Name]:
    """List the parts of a checkpoint that are neither given nor in the simulation; empty for a whole checkpoint.

    Raises Impossible (400) for other content.
    """
    data = _read_content(manifest)
    if "parts" not in data:
        return []
    pages, lacking = list_names(data["parts"], parts.get)
    held = simulation.parts.list_held() if simulation is not None else {}
    return lacking + list_lacking((name for page in pages for name, _ in page), parts, held)


def _dump(simulation: Simulation) -> JsonObject:
    """Return all data of a simulation; collections are not copied."""
    log = simulation.access_log
    return {
        "ids": {"seed": simulation.ids.seed, "drawn": simulation.ids.drawn},
        "clock": simulation.clock.dump(),
        "is_running": simulation.is_running,
        "states": simulation.states,
        "events": simulation.events.by_id,
        "undo": simulation.undo_stack,
        "redo": simulation.redo_stack,
        "holds": simulation.holds.list_active(),
        "keys": simulation.keys.dump(),
        "access_log": {**log.dump(), "entries": log.entries},
        "scenario_metadata": simulation.scenario_metadata,
    }


def _dump_log(data: JsonObject) -> JsonObject:
    return {"access_log": {**data["access_log"], "entries": list(data["access_log"]["entries"])}}


def _note(simulation: Simulation, layout: int, content: bytes) -> None:
    sealed = b'{"format":%d,"seal":"%s",%s' % (layout, _seal(content).encode(), content[1:])
    simulation.note_checkpoint(sha256(sealed).hexdigest(), sealed, in_parts=layout == IN_PARTS)


def _join(
    simulation: Simulation, data: JsonObject, parts: Mapping[Name, bytes]
) -> tuple[list[tuple[Path, list[Page]]], list[Name]]:
    """Put the parts into a manifest's data. Returns the pages of each collection, and the names of all parts."""
    listed = data.pop("parts")
    pages, lacking = list_names(listed, parts.get)
    held = simulation.parts.list_held()
    lacking += list_lacking((name for page in pages for name, _ in page), parts, held)
    if lacking:
        raise Impossible(
            f"{len(lacking)} parts of the checkpoint are neither given nor in the simulation, such as {lacking[0]}."
        )
    used: set[Name] = set()

    def read(name: Name) -> Any:
        if name in parts:
            return orjson.loads(parts[name])
        content = held[name]()
        if name in used:  # used in two places: each gets a copy
            return orjson.loads(orjson.dumps(content))
        used.add(name)
        return content

    cuts = []
    for listed_part, names in zip(listed, pages, strict=True):
        *above, last = listed_part["path"]
        node = data
        for part in above:
            node = node[part]
        node[last], cut = join(node[last], names, read)
        cuts.append((tuple(listed_part["path"]), cut))
    indexes = [name for listed_part in listed for name, _ in listed_part["index"]]
    return cuts, [*indexes, *(name for page in pages for name, _ in page)]


def _find_cuts(simulation: Simulation, cuts: list[tuple[Path, list[Page]]]) -> list[tuple[Path, Cut]]:
    """Return the cut collections of a restored simulation; their tails are written again."""
    kept: list[tuple[Path, Cut]] = []
    for path, pages in cuts:
        if path == ("events",):
            container: Any = simulation.events.by_id
            kept.append((path, Cut(container, True, add_keys(pages, list(container)))))
        elif path[0] == "access_log":
            kept.append((path, Cut(simulation.access_log.entries, True, pages, first=simulation.access_log.oldest)))
        else:
            node: Any = {"states": simulation.states, "undo": simulation.undo_stack, "redo": simulation.redo_stack}
            for part in path:
                node = node[part]
            kept.append((path, Cut(node, isinstance(node, list), pages)))
    return kept


def _seal(content: bytes) -> str:
    return name_content(content)


def _read_content(content: bytes) -> JsonObject:
    """Return the checked content. Content that was parsed and written again, but not altered, also passes."""
    try:
        data: Any = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise Impossible(f"The body is not a checkpoint: not JSON ({error}).") from None
    if not isinstance(data, dict) or "format" not in data or "seal" not in data:
        raise Impossible("The body is not a checkpoint; send what GET /simulation/checkpoint answered, unaltered.")
    layout, seal = data.pop("format"), data.pop("seal")
    if layout not in (FORMAT, IN_PARTS):
        raise Impossible(
            f"The checkpoint has format {str(layout)[:20]}; this server reads formats {FORMAT} and {IN_PARTS}."
        )
    if (layout == IN_PARTS) != ("parts" in data):
        raise Impossible("The checkpoint was altered: it has another format than it says.")
    prefix = b'{"format":%d,"seal":"%s",' % (layout, str(seal).encode())
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
