"""The messages in docs/PURPLE_AGENT_GUIDE.md are those of the protocol, with all of their fields."""

import ast
import json
import re
import textwrap
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from proctor.protocol.wire_schemas import wire_schemas
from purple_sdk.protocol.messages import parse_from_participant, parse_to_participant

GUIDE = (Path(__file__).parents[2] / "docs" / "PURPLE_AGENT_GUIDE.md").read_text()
MESSAGES = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)]
TO_PARTICIPANT = {"assessment_start", "turn_start", "assessment_complete"}


def test_every_message_is_there() -> None:
    assert {message["message_type"] for message in MESSAGES} == {*TO_PARTICIPANT, "turn_complete", "early_completion"}


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: str(message["message_type"]))
def test_a_message_has_the_fields_that_it_has_on_the_wire(message: dict[str, Any]) -> None:
    read = parse_to_participant if message["message_type"] in TO_PARTICIPANT else parse_from_participant
    assert shape(read(message).model_dump(mode="json")) == shape(message)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: str(message["message_type"]))
def test_a_message_fits_the_schema_that_is_printed_for_it(message: dict[str, Any]) -> None:
    schema = wire_schemas()[message["message_type"]]
    jsonschema.validate(message, schema)
    without_nulls = {name: value for name, value in message.items() if value is not None}
    jsonschema.validate(without_nulls, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**message, "message_type": "something_else"}, schema)


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: shape(member) for name, member in value.items()} if "message_type" in value else "..."
    return [shape(element) for element in value] if isinstance(value, list) else type(value).__name__


def test_what_is_python_in_it_is_python() -> None:
    for block in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL):
        compile(textwrap.dedent(block), "the guide", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
