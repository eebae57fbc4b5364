"""``acceptedOutputModes``: callers that accept only text or only JSON get only that.

The evaluator sends text (``text/plain``: sentences) and JSON (``application/json``: updates, results).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from a2a.server.events import Event
from a2a.types import Artifact, Message, Part, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from a2a.utils.errors import ContentTypeNotSupportedError

from proctor.a2a_gateway.parts import JSON_MEDIA_TYPE, text_part

TEXT_MEDIA_TYPE = "text/plain"
OUTPUT_MODES = (JSON_MEDIA_TYPE, TEXT_MEDIA_TYPE)
_ANY_TEXT = {TEXT_MEDIA_TYPE, "text/*", "*/*", "text"}
_ANY_JSON = {JSON_MEDIA_TYPE, "application/*", "*/*", "json"}
"""Types that accept JSON, including a short name from examples of protocol 0.3."""


@dataclass(frozen=True)
class OutputModes:
    """The content types that a caller accepts; by default all."""

    text: bool = True
    json: bool = True

    def tailor_event(self, event: Event) -> Event:
        """Remove parts that the caller doesn't accept from the event, in place, and return it."""
        match event:
            case Task():
                self._tailor_message(event.status.message)
                for message in event.history:
                    self._tailor_message(message)
                for artifact in event.artifacts:
                    self._tailor_artifact(artifact)
            case TaskStatusUpdateEvent():
                self._tailor_message(event.status.message)
            case TaskArtifactUpdateEvent():
                self._tailor_artifact(event.artifact)
        return event

    def tailor_task(self, task: Task) -> Task:
        self.tailor_event(task)
        return task

    def _tailor_message(self, message: Message) -> None:
        """Remove parts that the caller doesn't accept. If no part would remain, keep all parts: they say why a task
        ended.
        """
        if accepted := [part for part in message.parts if self._takes(part)]:
            del message.parts[:]
            message.parts.extend(accepted)

    def _tailor_artifact(self, artifact: Artifact) -> None:
        accepted = [part for part in artifact.parts if self._takes(part)]
        if not self.json and len(accepted) == 1:  # add the result itself to the sentence about it
            accepted += [text_part(part.raw.decode()) for part in artifact.parts if part.WhichOneof("content") == "raw"]
        del artifact.parts[:]
        artifact.parts.extend(accepted)

    def _takes(self, part: Part) -> bool:
        return self.text if part.WhichOneof("content") == "text" else self.json


EVERYTHING = OutputModes()


def read_output_modes(accepted: Iterable[str]) -> OutputModes:
    """Read ``acceptedOutputModes``; parameters such as ``charset`` are ignored.

    Raises ContentTypeNotSupportedError if the evaluator has none of these types.
    """
    modes = {mode.partition(";")[0].strip().lower() for mode in accepted}
    if not modes:
        return EVERYTHING
    wanted = OutputModes(text=bool(modes & _ANY_TEXT), json=bool(modes & _ANY_JSON))
    if not (wanted.text or wanted.json):
        shown = ", ".join(sorted(modes)[:5])[:200]
        raise ContentTypeNotSupportedError(
            f"acceptedOutputModes has nothing that this agent can give ({shown}): accept {' or '.join(OUTPUT_MODES)}, "
            "or leave it out."
        )
    return wanted
