"""Events of a stream, each made once and serialized once in each form, for all listeners of its task."""

from copy import deepcopy
from typing import Literal

from a2a.compat.v0_3.conversions import to_compat_stream_response
from a2a.compat.v0_3.proto_utils import ToProto
from a2a.server.events import Event
from a2a.utils import json_utils, proto_utils
from google.protobuf.json_format import MessageToDict

from proctor.a2a_gateway.output_modes import EVERYTHING, OutputModes

Form = Literal["1.0", "0.3 JSON-RPC", "0.3 HTTP+JSON"]


class SharedEvent:
    """An event that all listeners share. ``event`` must not be changed; ``tailored`` returns a copy."""

    def __init__(self, event: Event) -> None:
        self.event = event
        self._written: dict[tuple[Form, OutputModes], bytes] = {}

    def tailored(self, modes: OutputModes) -> Event:
        """Return a copy with only the content types that a caller accepts."""
        return modes.tailor_event(deepcopy(self.event))

    def written(self, form: Form, modes: OutputModes) -> bytes:
        """Return the event's JSON, on one line."""
        key = (form, modes)
        if (json := self._written.get(key)) is None:
            event = self.event if modes == EVERYTHING else self.tailored(modes)
            json = self._written[key] = _write(event, form).encode()
        return json


def _write(event: Event, form: Form) -> str:
    response = proto_utils.to_stream_response(event)
    if form == "1.0":
        return json_utils.dumps(MessageToDict(response))
    result = to_compat_stream_response(response).result
    if form == "0.3 JSON-RPC":
        return result.model_dump_json(by_alias=True, exclude_none=True)
    return json_utils.dumps(MessageToDict(ToProto.stream_response(result)))
